"""The group coordinator of one broker, for the groups whose partition of __consumer_offsets this broker leads.

Groups and offsets are records in that partition. A member is answered only when all in-sync replicas have them. The
partition's next leader reads the records and continues from them.

Left out: compaction and expiry of offsets, transactional commits.
Source: Kafka 2.8, GroupCoordinator and GroupMetadataManager; docs/kafka/consumer_groups.md 9 to 12.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, assert_never

from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.groups.admin_requests import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    GroupAdminRequest,
    GroupAdminResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
)
from kcsim.brokers.groups.coordinated_group import CoordinatedGroup, CoordinatorServices
from kcsim.brokers.groups.group_descriptions import (
    deletion_refusal,
    described,
    described_as_dead,
    is_subscribed,
    listed,
    offset_deletion_refusal,
)
from kcsim.brokers.groups.group_events import GroupEvents
from kcsim.brokers.groups.group_metadata import (
    GroupMetadata,
    GroupState,
    GroupTombstone,
    OffsetRecord,
    OffsetTombstone,
    StoredRecord,
    restored,
)
from kcsim.brokers.groups.offsets_topic import partition_for
from kcsim.brokers.groups.requests import (
    NO_DETAILS,
    NO_MEMBER_ID,
    CoordinatorKind,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    GroupRequest,
    GroupResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupMembersRequest,
    LeaveGroupMembersResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.controller.decisions.placement import RandomNumbers
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.sink import EventSink
from kcsim.runtime.ports import Runtime
from kcsim.vocabulary import OFFSETS_TOPIC, TopicPartition
from kcsim.zk.memory.timetable import Timetable

CreateOffsetsTopic = Callable[[int], Awaitable[bool]]


class GroupLog(Protocol):
    """The partitions of __consumer_offsets that this broker leads, as a store of groups."""

    async def append(self, tp: TopicPartition, records: tuple[StoredRecord, ...], cause: int) -> ErrorCode:
        """Append records and wait until all in-sync replicas have them."""
        ...

    def read(self, tp: TopicPartition) -> Iterable[StoredRecord]:
        """Return all records, oldest first."""
        ...


@dataclass(frozen=True, slots=True)
class GroupStorage:
    """The partitions of __consumer_offsets as a store of groups, and a function that creates this topic."""

    log: GroupLog
    create_topic: CreateOffsetsTopic


class GroupCoordinator:
    """Answers the requests of consumer groups.

    Args:
        numbers: the source of the random part of member ids.

    Attributes:
        groups: the groups that this broker coordinates, by partition of __consumer_offsets.
    """

    def __init__(
        self,
        runtime: Runtime,
        sink: EventSink,
        config: BrokerConfig,
        metadata: MetadataCache,
        storage: GroupStorage,
        numbers: RandomNumbers,
    ) -> None:
        self._runtime = runtime
        self._sink = sink
        self._config = config
        self._metadata = metadata
        self._log = storage.log
        self._create_topic = storage.create_topic
        self._numbers = numbers
        self._services = CoordinatorServices(
            runtime, Timetable(runtime, "group-timers"), GroupEvents(sink), config, self._new_member_id
        )
        self.groups: dict[int, dict[str, CoordinatedGroup]] = {}
        self._loading: dict[int, None] = {}
        self._is_topic_being_made = False

    # --- which partitions are led here

    def on_election(self, partition: int, cause: int) -> None:
        """Load the groups of a partition of __consumer_offsets of which this broker has become leader."""
        if partition not in self.groups and partition not in self._loading:
            self._loading[partition] = None
            self._runtime.spawn("load-groups", self._load(partition, cause))

    async def _load(self, partition: int, cause: int) -> None:
        # Requests are refused with COORDINATOR_LOAD_IN_PROGRESS for a moment, which is as short as possible.
        await self._runtime.sleep_ms(0)
        if partition not in self._loading:
            return
        del self._loading[partition]
        found = restored(self._log.read(TopicPartition(OFFSETS_TOPIC, partition)))
        if found:
            cause = self._emit_coordination(partition, "loaded", found, cause)
        self.groups[partition] = {group_id: self._coordinated(group, cause) for group_id, group in found.items()}

    def on_resignation(self, partition: int, cause: int) -> None:
        """Answer all waiting members and give up the groups: this broker no longer leads the partition."""
        self._loading.pop(partition, None)
        groups = self.groups.pop(partition, {})
        if groups:
            self._emit_coordination(partition, "given up", groups, cause)
        for group in groups.values():
            group.retire()

    def _emit_coordination(self, partition: int, state: str, groups: Iterable[str], cause: int) -> int:
        names = sorted(groups)
        return self._sink.emit(
            EventKind.GROUP_COORDINATION,
            cause,
            topic=OFFSETS_TOPIC,
            partition=partition,
            state=state,
            count=len(names),
            detail=", ".join(names),
        )

    def _coordinated(self, group: GroupMetadata, cause: int) -> CoordinatedGroup:
        return CoordinatedGroup(group, self._services, partial(self._store, group.group_id), cause)

    def _new_member_id(self, client_id: str) -> str:
        digits = f"{self._numbers.randrange(1 << 128):032x}"
        return f"{client_id}-{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    # --- requests

    async def handle(self, request: GroupRequest | GroupAdminRequest, cause: int) -> GroupResponse | GroupAdminResponse:
        """Return the response to a request. Joins and syncs wait for other members."""
        match request:
            case FindCoordinatorRequest():
                return await self._find(request, cause)
            case JoinGroupRequest():
                return await self._join(request, cause)
            case SyncGroupRequest():
                error, group = self._group(request.group_id, ErrorCode.UNKNOWN_MEMBER_ID)
                if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                    error = ErrorCode.REBALANCE_IN_PROGRESS  # the members have to join again, at this coordinator
                return SyncGroupResponse(error) if group is None else await group.sync(request, cause)
            case HeartbeatRequest(group_id, generation, member_id, instance_id):
                error, group = self._group(group_id, ErrorCode.UNKNOWN_MEMBER_ID)
                if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                    return HeartbeatResponse(ErrorCode.NONE)  # no member may be considered dead while groups are loaded
                if group is None:
                    return HeartbeatResponse(error)
                return group.heartbeat(member_id, instance_id, generation, cause)
            case LeaveGroupRequest(group_id, member_id, instance_id):
                error, group = self._group(group_id, ErrorCode.UNKNOWN_MEMBER_ID)
                return LeaveGroupResponse(error if group is None else group.leave(member_id, instance_id, cause))
            case LeaveGroupMembersRequest():
                return self._remove_members(request, cause)
            case OffsetCommitRequest():
                return await self.commit(request, cause)
            case OffsetFetchRequest():
                return self._fetch_offsets(request)
            case DescribeGroupsRequest(groups):
                return DescribeGroupsResponse(tuple(map(self._describe, groups)))
            case ListGroupsRequest():
                return self._list(request)
            case DeleteGroupsRequest(groups):
                return DeleteGroupsResponse({group_id: self._delete(group_id, cause) for group_id in groups})
            case OffsetDeleteRequest():
                return self.delete_offsets(request, cause)
            case _:
                assert_never(request)

    def _partition_of(self, group_id: str) -> int:
        return partition_for(group_id, self._config.offsets_topic_num_partitions)

    def _group(
        self, group_id: str, if_unknown: ErrorCode, may_be_unnamed: bool = False
    ) -> tuple[ErrorCode, CoordinatedGroup | None]:
        """Return the group, or the error why this broker cannot serve it.

        Args:
            may_be_unnamed: a group with the empty id is served, which only simple consumers can have.
        """
        partition = self._partition_of(group_id)
        if not group_id and not may_be_unnamed:
            return ErrorCode.INVALID_GROUP_ID, None
        if partition in self._loading:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, None
        if partition not in self.groups:
            return ErrorCode.NOT_COORDINATOR, None
        group = self.groups[partition].get(group_id)
        return (if_unknown if group is None else ErrorCode.NONE), group

    def _get_or_add(self, group_id: str, cause: int) -> CoordinatedGroup:
        groups = self.groups[self._partition_of(group_id)]
        if group_id not in groups:
            groups[group_id] = self._coordinated(GroupMetadata(group_id), cause)
        return groups[group_id]

    # --- finding

    async def _find(self, request: FindCoordinatorRequest, cause: int) -> FindCoordinatorResponse:
        if request.kind is CoordinatorKind.TRANSACTION:
            return FindCoordinatorResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        tp = TopicPartition(OFFSETS_TOPIC, self._partition_of(request.group_id))
        if tp not in self._metadata:
            await self._make_topic(cause)
            return FindCoordinatorResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        leader, _ = self._metadata.leader_for_clients(tp)
        listener = self._config.controller.inter_broker_listener_name
        endpoint = None if leader is None else self._metadata.endpoint(leader, listener)
        if endpoint is None:
            return FindCoordinatorResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return FindCoordinatorResponse(ErrorCode.NONE, leader, endpoint)

    async def _make_topic(self, cause: int) -> None:
        """Create __consumer_offsets, once at a time; requests that arrive meanwhile do not start a second creation."""
        if self._is_topic_being_made:
            return
        self._is_topic_being_made = True
        try:
            await self._create_topic(cause)
        finally:
            self._is_topic_being_made = False

    # --- joining

    async def _join(self, request: JoinGroupRequest, cause: int) -> JoinGroupResponse:
        error, group = self._group(request.group_id, ErrorCode.UNKNOWN_MEMBER_ID)
        is_here = error in (ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID)
        shortest, longest = self._config.group_min_session_timeout_ms, self._config.group_max_session_timeout_ms
        if is_here and not shortest <= request.session_timeout_ms <= longest:
            return JoinGroupResponse(ErrorCode.INVALID_SESSION_TIMEOUT, request.member_id)
        if group is None and is_here and request.member_id == NO_MEMBER_ID:
            group = self._get_or_add(request.group_id, cause)
        if group is None:
            return JoinGroupResponse(error, request.member_id)
        return await group.join(request, cause)

    # --- leaving

    def _remove_members(self, request: LeaveGroupMembersRequest, cause: int) -> LeaveGroupMembersResponse:
        error, group = self._group(request.group_id, ErrorCode.NONE)
        if error is not ErrorCode.NONE:
            return LeaveGroupMembersResponse(error)
        if group is None:
            return LeaveGroupMembersResponse(error, tuple((m, ErrorCode.UNKNOWN_MEMBER_ID) for m in request.members))
        return LeaveGroupMembersResponse(error, tuple((m, group.leave(*m, cause)) for m in request.members))

    # --- records

    async def _store(self, group_id: str, record: StoredRecord, cause: int) -> ErrorCode:
        """Store a record of a group. Return the error for the group's members."""
        error = await self._append(group_id, (record,), cause)
        return ErrorCode.REBALANCE_IN_PROGRESS if error is ErrorCode.REQUEST_TIMED_OUT else error

    async def _append(self, group_id: str, records: tuple[StoredRecord, ...], cause: int) -> ErrorCode:
        tp = TopicPartition(OFFSETS_TOPIC, self._partition_of(group_id))
        error = await self._log.append(tp, records, cause)
        match error:
            case (
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                | ErrorCode.NOT_ENOUGH_REPLICAS
                | ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
            ):
                return ErrorCode.COORDINATOR_NOT_AVAILABLE
            case ErrorCode.NOT_LEADER_OR_FOLLOWER | ErrorCode.KAFKA_STORAGE_ERROR:
                return ErrorCode.NOT_COORDINATOR
            case _:
                return error

    # --- offsets

    async def commit(self, request: OffsetCommitRequest, cause: int) -> OffsetCommitResponse:
        """Store offsets, if the sender may commit any."""
        error, group = self._group(request.group_id, ErrorCode.ILLEGAL_GENERATION, may_be_unnamed=True)
        if group is None and error is ErrorCode.ILLEGAL_GENERATION and request.generation < 0:
            group = self._get_or_add(request.group_id, cause)
        if group is None:
            return OffsetCommitResponse(error)
        refused = group.may_commit(request.member_id, request.instance_id, request.generation, cause)
        if refused is not ErrorCode.NONE:
            return OffsetCommitResponse(refused)
        longest = self._config.offset_metadata_max_bytes
        too_long = {tp for tp, details in request.details.items() if len(details.metadata) > longest}
        records = tuple(
            OffsetRecord(request.group_id, tp, offset, request.details.get(tp, NO_DETAILS))
            for tp, offset in sorted(request.offsets.items())
            if tp not in too_long
        )
        error = await self._append(request.group_id, records, cause) if records else ErrorCode.NONE
        if records and error is ErrorCode.NONE:
            for record in records:
                group.metadata.commit(record)
            detail = ", ".join(f"{record.partition} at {record.offset}" for record in records)
            self._services.events.committed(group.metadata, request.member_id, len(records), detail, cause)
        return OffsetCommitResponse(error, dict.fromkeys(too_long, ErrorCode.OFFSET_METADATA_TOO_LARGE))

    def _fetch_offsets(self, request: OffsetFetchRequest) -> OffsetFetchResponse:
        error, group = self._group(request.group_id, ErrorCode.NONE, may_be_unnamed=True)
        if group is None:
            return OffsetFetchResponse(error)
        known, details = group.metadata.offsets, group.metadata.offset_details
        found = [tp for tp in (known if request.partitions is None else request.partitions) if tp in known]
        return OffsetFetchResponse(
            error, {tp: known[tp] for tp in found}, {tp: details[tp] for tp in found if tp in details}
        )

    def delete_offsets(self, request: OffsetDeleteRequest, cause: int) -> OffsetDeleteResponse:
        """Delete the offsets of topics to which no member is subscribed."""
        error, group = self._group(request.group_id, ErrorCode.GROUP_ID_NOT_FOUND)
        if group is not None:
            error = offset_deletion_refusal(group.metadata)
        if group is None or error is not ErrorCode.NONE:
            return OffsetDeleteResponse(error)
        consumed = {tp for tp in request.partitions if is_subscribed(group.metadata, tp.topic)}
        others = [tp for tp in request.partitions if tp not in consumed]
        if others:
            self._remove_offsets(group, others, cause)
        return OffsetDeleteResponse(
            error, {tp: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if tp in consumed else error for tp in request.partitions}
        )

    def _remove_offsets(self, group: CoordinatedGroup, partitions: Collection[TopicPartition], cause: int) -> None:
        """Remove offsets, and the group if it is empty and has no other offsets. Nobody waits until that is stored."""
        metadata = group.metadata
        group_id = metadata.group_id
        removed = metadata.remove_offsets(partitions)
        tombstones: list[StoredRecord] = [OffsetTombstone(group_id, tp) for tp in removed]
        if metadata.is_in(GroupState.EMPTY) and not metadata.offsets:
            del self.groups[self._partition_of(group_id)][group_id]
            group.retire()
            if metadata.generation > 0:
                tombstones.append(GroupTombstone(group_id))
        if removed or metadata.is_in(GroupState.DEAD):
            cause = self._services.events.offsets_deleted(metadata, removed, cause)
        if tombstones:
            self._runtime.spawn("store-tombstones", self._append_unattended(group_id, tuple(tombstones), cause))

    async def _append_unattended(self, group_id: str, records: tuple[StoredRecord, ...], cause: int) -> None:
        await self._append(group_id, records, cause)

    # --- administrators

    def _describe(self, group_id: str) -> DescribedGroup:
        error, group = self._group(group_id, ErrorCode.NONE, may_be_unnamed=True)
        if error is not ErrorCode.NONE:
            return DescribedGroup(error, group_id)
        return described_as_dead(group_id) if group is None else described(group.metadata)

    def _list(self, request: ListGroupsRequest) -> ListGroupsResponse:
        error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if self._loading else ErrorCode.NONE
        groups = (listed(group.metadata) for groups in self.groups.values() for group in groups.values())
        return ListGroupsResponse(error, tuple(one for one in groups if not request.states or one.state in request.states))

    def _delete(self, group_id: str, cause: int) -> ErrorCode:
        error, group = self._group(group_id, ErrorCode.GROUP_ID_NOT_FOUND, may_be_unnamed=True)
        if group is None:
            return error
        refusal = deletion_refusal(group.metadata)
        if refusal is ErrorCode.NONE:
            self._remove_offsets(group, tuple(group.metadata.offsets), cause)
        return refusal
