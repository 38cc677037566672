"""Passes the requests about groups to the coordinator, without the partitions that the broker does not know.

Source: Kafka 2.8, KafkaApis.handleOffsetCommitRequest and handleOffsetDeleteRequest.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from kcsim.brokers.groups.admin_requests import (
    GroupAdminRequest,
    GroupAdminResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
)
from kcsim.brokers.groups.coordinator import GroupCoordinator
from kcsim.brokers.groups.requests import GroupRequest, GroupResponse, OffsetCommitRequest, OffsetCommitResponse
from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import TopicPartition


@dataclass(frozen=True, slots=True)
class GroupRequests:
    """The coordinator, and the metadata in which a partition is known."""

    coordinator: GroupCoordinator
    metadata: MetadataCache

    async def handle(self, request: GroupRequest | GroupAdminRequest, cause: int) -> GroupResponse | GroupAdminResponse:
        """Return the response to a request. Joins and syncs wait for other members."""
        match request:
            case OffsetCommitRequest():
                return await self._commit(request, cause)
            case OffsetDeleteRequest():
                return await self._delete_offsets(request, cause)
            case _:
                return await self.coordinator.handle(request, cause)

    async def _commit(self, request: OffsetCommitRequest, cause: int) -> OffsetCommitResponse:
        unknown = self._unknown(request.offsets)
        if not unknown:
            return await self.coordinator.commit(request, cause)
        known = {tp: offset for tp, offset in request.offsets.items() if tp not in unknown}
        answer = OffsetCommitResponse(ErrorCode.NONE)
        if known:
            answer = await self.coordinator.commit(replace(request, offsets=known), cause)
        return replace(answer, partition_errors={**answer.partition_errors, **unknown})

    async def _delete_offsets(self, request: OffsetDeleteRequest, cause: int) -> OffsetDeleteResponse:
        unknown = self._unknown(request.partitions)
        known = tuple(tp for tp in request.partitions if tp not in unknown)
        answer = self.coordinator.delete_offsets(OffsetDeleteRequest(request.group_id, known), cause)
        if answer.error is not ErrorCode.NONE:
            return answer
        return OffsetDeleteResponse(ErrorCode.NONE, {**answer.partition_errors, **unknown})

    def _unknown(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, ErrorCode]:
        return {tp: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION for tp in partitions if tp not in self.metadata}
