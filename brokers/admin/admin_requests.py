"""Passes the requests of admin clients to the component of the broker that carries them out.

Source: Kafka 2.8, KafkaApis.
"""

from dataclasses import dataclass
from typing import assert_never

from kcsim.brokers.admin.config_changes import ConfigChanges
from kcsim.brokers.admin.leader_changes import LeaderChanges
from kcsim.brokers.admin.record_deletions import RecordDeletions
from kcsim.brokers.admin.change_requests import (
    AdminRequest,
    AdminResponse,
    AlterConfigsRequest,
    AlterPartitionReassignmentsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteRecordsRequest,
    DeleteTopicsRequest,
    ElectLeadersRequest,
    IncrementalAlterConfigsRequest,
)
from kcsim.brokers.admin.topic_changes import TopicChanges


@dataclass(frozen=True, slots=True)
class AdminRequests:
    """The components that carry out the requests."""

    topics: TopicChanges
    configs: ConfigChanges
    records: RecordDeletions
    leaders: LeaderChanges

    async def handle(self, request: AdminRequest, cause: int) -> AdminResponse:
        """Carry out a request and return its response."""
        match request:
            case CreateTopicsRequest():
                return await self.topics.create_topics(request, cause)
            case DeleteTopicsRequest():
                return await self.topics.delete_topics(request, cause)
            case CreatePartitionsRequest():
                return await self.topics.create_partitions(request, cause)
            case AlterConfigsRequest():
                return await self.configs.alter(request, cause)
            case IncrementalAlterConfigsRequest():
                return await self.configs.alter_incrementally(request, cause)
            case DeleteRecordsRequest():
                return await self.records.delete(request, cause)
            case AlterPartitionReassignmentsRequest():
                return await self.leaders.alter_partition_reassignments(request, cause)
            case ElectLeadersRequest():
                return await self.leaders.elect_leaders(request, cause)
            case _:
                assert_never(request)
