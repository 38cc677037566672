"""A group coordinator in virtual time, on a log that is a list; the test acts as the members."""

import random
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.groups.admin_requests import GroupAdminRequest
from kcsim.brokers.groups.coordinator import GroupCoordinator, GroupStorage
from kcsim.brokers.groups.group_metadata import GroupState, StoredRecord
from kcsim.brokers.groups.requests import (
    NO_MEMBER_ID,
    GroupRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    Subscription,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import Event, EventKind
from kcsim.runtime.ports import Promise
from kcsim.runtime.simulated import SimulatedRuntime
from kcsim.vocabulary import TopicPartition

GROUP = "billing"
SESSION_MS, REBALANCE_MS, DELAY_MS = 10_000, 60_000, 3_000
CAUSE = 0
ORDERS_0, ORDERS_1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
Assignments = dict[str, tuple[TopicPartition, ...]]


class ListLog:
    """The GroupLog port on a list for each partition. `error` is the result of appends."""

    def __init__(self) -> None:
        self.records: dict[TopicPartition, list[StoredRecord]] = {}
        self.error = ErrorCode.NONE
        self.held: Promise[None] | None = None

    async def append(self, tp: TopicPartition, records: tuple[StoredRecord, ...], cause: int) -> ErrorCode:
        if self.held is not None:
            await self.held.wait()
        if self.error is ErrorCode.NONE:
            self.records.setdefault(tp, []).extend(records)
        return self.error

    def read(self, tp: TopicPartition) -> Iterable[StoredRecord]:
        return list(self.records.get(tp, ()))


class GroupBench:
    """One coordinator that leads every partition of __consumer_offsets."""

    def __init__(self, **settings: int) -> None:
        self.runtime = SimulatedRuntime()
        self.log = EventLog(self.runtime.now_ms)
        self.stored = ListLog()
        self.made_topics: list[int] = []
        named = {name.replace("_", "."): value for name, value in settings.items()}
        self.config = BrokerConfig.of({"offsets.topic.num.partitions": 1, **named})
        self.metadata = MetadataCache()
        self.coordinator = self.new_coordinator("broker-1")

    def new_coordinator(self, node: str) -> GroupCoordinator:
        async def create(cause: int) -> bool:
            self.made_topics.append(cause)
            return True

        numbers = random.Random(node)
        storage = GroupStorage(self.stored, create)
        return GroupCoordinator(self.runtime, self.log.sink(node), self.config, self.metadata, storage, numbers)

    def play(self, script: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async def main() -> None:
            self.coordinator.on_election(0, CAUSE)
            await self.runtime.sleep_ms(1)
            await script()

        self.runtime.run(main())

    # --- observation

    def of_kind(self, kind: EventKind) -> list[Event]:
        return [event for event in self.log.events if event.kind is kind]

    @property
    def states(self) -> list[GroupState]:
        """Return the states of all groups of this coordinator."""
        return [group.metadata.state for groups in self.coordinator.groups.values() for group in groups.values()]

    # --- requests

    async def ask(self, request: GroupRequest | GroupAdminRequest) -> Any:
        return await self.coordinator.handle(request, CAUSE)

    async def new_id(self, client_id: str) -> str:
        """Return the id with which a dynamic member must join."""
        response: JoinGroupResponse = await self.ask(join(client_id))
        assert response.error is ErrorCode.MEMBER_ID_REQUIRED
        return response.member_id

    def later(self, request: GroupRequest) -> "Answer":
        """Send a request whose answer may come later."""
        answer = Answer(self.runtime)
        self.runtime.spawn("member", answer.of(self.coordinator, request))
        return answer

    async def sync(self, member_id: str, generation: int, assignments: Assignments | None = None) -> SyncGroupResponse:
        answer: SyncGroupResponse = await self.ask(SyncGroupRequest(GROUP, generation, member_id, None, assignments or {}))
        return answer

    async def heartbeat(self, member_id: str, generation: int, instance_id: str | None = None) -> ErrorCode:
        answer: HeartbeatResponse = await self.ask(HeartbeatRequest(GROUP, generation, member_id, instance_id))
        return answer.error

    async def leave(self, member_id: str) -> ErrorCode:
        answer: LeaveGroupResponse = await self.ask(LeaveGroupRequest(GROUP, member_id))
        return answer.error

    async def commit(self, member_id: str, generation: int, offset: int) -> ErrorCode:
        answer: OffsetCommitResponse = await self.ask(OffsetCommitRequest(GROUP, {ORDERS_0: offset}, generation, member_id))
        return answer.error

    async def form(self, *client_ids: str, assignments: Callable[[list[str]], Assignments] | None = None) -> list[str]:
        """Bring these members into a stable group; return their ids. The first leads."""
        ids = [await self.new_id(client_id) for client_id in client_ids]
        joins = [self.later(join(client_id, member_id)) for client_id, member_id in zip(client_ids, ids, strict=True)]
        generation = (await joins[0].joined()).generation
        given: Assignments = assignments(ids) if assignments else {ids[0]: (ORDERS_0,)}
        syncs = [self.later(SyncGroupRequest(GROUP, generation, member_id)) for member_id in ids[1:]]
        await self.sync(ids[0], generation, given)
        for sync in syncs:
            await sync.promise.wait(1_000)
        return ids


class Answer:
    """The answer to a request, when it comes."""

    def __init__(self, runtime: SimulatedRuntime) -> None:
        self.promise: Promise[Any] = runtime.promise()

    async def of(self, coordinator: GroupCoordinator, request: GroupRequest) -> None:
        self.promise.resolve(await coordinator.handle(request, CAUSE))

    @property
    def is_there(self) -> bool:
        return self.promise.is_settled

    async def joined(self, within_ms: int = 600_000) -> JoinGroupResponse:
        answer: JoinGroupResponse = await self.promise.wait(within_ms)
        return answer


def join(
    client_id: str,
    member_id: str = NO_MEMBER_ID,
    protocols: tuple[str, ...] = ("range",),
    topics: tuple[str, ...] = ("orders",),
    instance_id: str | None = None,
    session_ms: int = SESSION_MS,
    rebalance_ms: int = REBALANCE_MS,
    protocol_type: str = "consumer",
) -> JoinGroupRequest:
    subscriptions = tuple((name, Subscription(topics)) for name in protocols)
    return JoinGroupRequest(GROUP, session_ms, rebalance_ms, member_id, subscriptions, client_id, instance_id, protocol_type)
