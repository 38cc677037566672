"""The group coordinator of one broker, for the groups whose partition of __consumer_offsets this broker leads.

Groups and offsets are records in that partition. A member is answered only when all in-sync replicas have them. The
partition's next leader reads the records and continues from them.

Left out: compaction and expiry of offsets, transactional commits, DescribeGroups and DeleteGroups.
Source: Kafka 2.8, GroupCoordinator and GroupMetadataManager; docs/kafka/consumer_groups.md 9 to 11.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol, assert_never

from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.groups.coordinated_group import CoordinatedGroup, CoordinatorServices
from kcsim.brokers.groups.group_events import GroupEvents
from kcsim.brokers.groups.group_metadata import GroupMetadata, OffsetRecord, StoredRecord, restored
from kcsim.brokers.groups.offsets_topic import partition_for
from kcsim.brokers.groups.requests import (
    NO_MEMBER_ID,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    GroupRequest,
    GroupResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
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

    async def handle(self, request: GroupRequest, cause: int) -> GroupResponse:
        """Return the response to a request. Joins and syncs wait for other members."""
        match request:
            case FindCoordinatorRequest():
                return await self._find(request, cause)
            case JoinGroupRequest():
                return await self._join(request, cause)
            case SyncGroupRequest():
                error, group = self._group(request.group_id, ErrorCode.UNKNOWN_MEMBER_ID)
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
            case OffsetCommitRequest():
                return OffsetCommitResponse(await self._commit(request, cause))
            case OffsetFetchRequest():
                return self._fetch_offsets(request)
            case _:
                assert_never(request)

    def _partition_of(self, group_id: str) -> int:
        return partition_for(group_id, self._config.offsets_topic_num_partitions)

    def _group(self, group_id: str, if_unknown: ErrorCode) -> tuple[ErrorCode, CoordinatedGroup | None]:
        """Return the group, or the error why this broker cannot serve it."""
        partition = self._partition_of(group_id)
        if not group_id:
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
        if not request.group_id:
            return FindCoordinatorResponse(ErrorCode.INVALID_GROUP_ID)
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

    async def _commit(self, request: OffsetCommitRequest, cause: int) -> ErrorCode:
        error, group = self._group(request.group_id, ErrorCode.ILLEGAL_GENERATION)
        if group is None and error is ErrorCode.ILLEGAL_GENERATION and request.generation < 0:
            group = self._get_or_add(request.group_id, cause)
        if group is None:
            return error
        refused = group.may_commit(request.member_id, request.instance_id, request.generation, cause)
        if refused is not ErrorCode.NONE or not request.offsets:
            return refused
        offsets = sorted(request.offsets.items())
        records = tuple(OffsetRecord(request.group_id, tp, offset) for tp, offset in offsets)
        error = await self._append(request.group_id, records, cause)
        if error is ErrorCode.NONE:
            group.metadata.offsets.update(offsets)
            detail = ", ".join(f"{tp} at {offset}" for tp, offset in offsets)
            self._services.events.committed(group.metadata, request.member_id, len(offsets), detail, cause)
        return error

    def _fetch_offsets(self, request: OffsetFetchRequest) -> OffsetFetchResponse:
        error, group = self._group(request.group_id, ErrorCode.NONE)
        known: Mapping[TopicPartition, int] = group.metadata.offsets if group is not None else {}
        return OffsetFetchResponse(error, {tp: known[tp] for tp in request.partitions if tp in known})
