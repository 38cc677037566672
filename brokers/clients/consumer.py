"""A consumer: it subscribes, joins its group, fetches its partitions, commits offsets, and refreshes its metadata.

One task, the application's, does what poll does in Kafka: it processes what has arrived and decides what to do next. Joining
and looking up positions run in tasks of their own, and so does the heartbeat: a consumer whose application is busy stays in
the group until max.poll.interval.ms has passed.

Left out: interceptors, the application's own rebalance listeners, commits of anything but consumed offsets. Offsets that
have not changed are not committed again.
Source: Kafka 2.8, KafkaConsumer and ConsumerCoordinator; docs/kafka/consumer_groups.md 7 to 11.
"""

from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kcsim.brokers.clients.clients import Address, ClientConfig, ClientProcess, ClusterClient
from kcsim.brokers.clients.consumer_config import ConsumerSpec
from kcsim.brokers.clients.fetching import FetchReply, PartitionFetcher
from kcsim.brokers.clients.membership import Assignments, FatalGroupError, GroupMembership, Joined, Protocols
from kcsim.brokers.clients.topic_watch import MetadataAnswer, TopicWatch
from kcsim.brokers.groups.assignors.assignors import AssignmentStrategy, assign
from kcsim.brokers.groups.assignors.members import GroupMember
from kcsim.brokers.groups.consumer_protocol import ConsumerProtocolError, subscription_of
from kcsim.brokers.groups.requests import NO_GENERATION, NO_MEMBER_ID, JoinGroupResponse, Subscription
from kcsim.controller.requests import ErrorCode
from kcsim.errors import TimedOutError
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.sink import EventSink
from kcsim.runtime.ports import Mailbox, Promise, Task
from kcsim.vocabulary import TopicPartition

Owned = tuple[TopicPartition, ...]

REPORT_EVERY_MS = 1_000
"""Shortest interval between events about records read. Reads since the last event go unreported if a consumer is killed."""


@dataclass(frozen=True, slots=True)
class _Positions:
    """The start offsets of partitions, as far as they could be determined."""

    offsets: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class _JoinFailed:
    """A join that failed; `error` if it must not be tried again."""

    error: FatalGroupError | None


class Consumer:
    """One consumer, from its start until its process ends.

    Args:
        bootstrap: addresses of the brokers to ask first.

    Attributes:
        owned: the partitions that it consumes, sorted.
    """

    def __init__(
        self, process: ClientProcess, bootstrap: tuple[Address, ...], spec: ConsumerSpec, sink: EventSink, cause: int
    ) -> None:
        self.owned: Owned = ()
        self._spec = spec
        self._config = spec.config
        self._process = process
        self._sink = sink
        self._cause = cause  # the latest event of its own, which is the cause of what it does
        self._client = ClusterClient(process, bootstrap, (), ClientConfig(self._config.request_timeout_ms))
        self._inbox: Mailbox[object] = process.mailbox()
        self._membership = GroupMembership(self._client, spec)
        self._topics = TopicWatch(process, self._client, spec, self._inbox)
        self._fetcher = PartitionFetcher(process, self._client, self._config, self._inbox)
        self._joined_topics: tuple[str, ...] = ()
        self._assigned_with: dict[str, int] | None = None  # the leader's: the partition counts of its assignment
        self._last_assignment: tuple[Owned, int] = ((), NO_GENERATION)  # what a sticky assignor remembers
        self._committed: dict[TopicPartition, int] = {}
        self._is_joining = self._is_locating = self._is_committing = False
        self._busy_since_ms: int | None = None
        self._busy_until_ms = 0
        self._next_commit_ms = self._next_report_ms = 0
        self._unreported: dict[TopicPartition, int] = {}
        self._tasks: dict[str, Task] = {}
        self._ended: Promise[None] = process.promise()

    # --- the application's task

    async def run(self) -> None:
        """Consume until the process ends. Raises: FatalGroupError when the coordinator rejects the consumer for good."""
        self._spawn("heartbeat", self._heartbeat())
        self._spawn("poll", self._poll())
        await self._ended.wait()

    async def _poll(self) -> None:
        try:
            await self._consume()
        except FatalGroupError as error:
            self._ended.fail(error)

    async def _consume(self) -> None:
        self._next_commit_ms = self._process.now_ms() + self._config.auto_commit_interval_ms
        while True:
            await self._be_busy()
            self._report_if_due()
            self._commit_if_due()
            await self._join_if_need_be()
            self._locate()
            self._fetcher.fetch(self._cause)
            self._look_at_topics()  # last, because the other steps may have found metadata to be outdated
            try:
                await self._take(await self._inbox.get(self._next_look_in_ms()))
            except TimedOutError:
                continue

    async def _take(self, item: object) -> None:
        match item:
            case MetadataAnswer():
                self._topics.learn(item)
                self._rejoin_if_changed()
            case FetchReply():
                self._count(self._fetcher.take(item))
            case _Positions(offsets):
                self._is_locating = False
                self._fetcher.begin_at({tp: offset for tp, offset in offsets.items() if tp in self.owned})
            case Joined():
                self._is_joining = False
                self._complete_join(item)
            case _JoinFailed(error):
                self._is_joining = False
                if error is not None:
                    raise error

    def _spawn(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        self._tasks[name] = self._process.spawn(name, work)

    def _next_look_in_ms(self) -> int:
        now_ms = self._process.now_ms()
        due_ms = self._topics.due_ms
        if self._uncommitted():
            due_ms = min(due_ms, self._next_commit_ms)
        if self._unreported:
            due_ms = min(due_ms, self._next_report_ms)
        return max(due_ms - now_ms, 0)

    def _look_at_topics(self) -> None:
        if self._fetcher.has_old_metadata:
            self._topics.is_amiss, self._fetcher.has_old_metadata = True, False
        self._topics.look(self._cause)

    def _count(self, consumed: Mapping[TopicPartition, int]) -> None:
        for tp, count in consumed.items():
            self._unreported[tp] = self._unreported.get(tp, 0) + count

    def _report_if_due(self) -> None:
        """Append the numbers of records read, summed up: a million records must not make a million events."""
        if self._unreported and self._process.now_ms() >= self._next_report_ms:
            self._next_report_ms = self._process.now_ms() + REPORT_EVERY_MS
            self._report()

    def _report(self) -> None:
        unreported, self._unreported = self._unreported, {}
        for tp, count in sorted(unreported.items()):
            position = self._fetcher.positions.get(tp)
            self._sink.emit(
                EventKind.RECORDS_CONSUMED,
                self._cause,
                group=self._spec.group_id,
                topic=tp.topic,
                partition=tp.partition,
                count=count,
                detail=f"up to offset {position - 1}" if position is not None else "of a log that has been cut off since",
            )

    # --- a busy application

    def stall(self, for_ms: int, cause: int) -> None:
        """Keep the application busy for `for_ms`: it does not poll, but its client's heartbeats go on."""
        self._cause = cause
        self._busy_until_ms = self._process.now_ms() + for_ms
        self._inbox.put(None)

    async def _be_busy(self) -> None:
        now_ms = self._process.now_ms()
        if self._busy_until_ms > now_ms:
            self._busy_since_ms = now_ms
            await self._process.sleep_ms(self._busy_until_ms - now_ms)
            self._busy_since_ms = None

    async def _heartbeat(self) -> None:
        while True:
            await self._process.sleep_ms(self._config.heartbeat_interval_ms)
            if not self._membership.is_stable:
                continue
            busy_ms = self._process.now_ms() - self._busy_since_ms if self._busy_since_ms is not None else 0
            if busy_ms > self._config.max_poll_interval_ms:
                await self._membership.leave(self._cause)
                continue
            try:
                rejoin_cause = await self._membership.heartbeat(self._cause)
            except FatalGroupError as error:
                self._inbox.put(_JoinFailed(error))
                return
            if rejoin_cause is not None:
                self._cause = rejoin_cause
                self._inbox.put(None)

    def _rejoin_if_changed(self) -> None:
        """Rejoin when a pattern matches other topics; the leader also when partition counts have changed."""
        membership = self._membership
        if not membership.is_stable:
            return
        is_assignment_old = self._assigned_with not in (None, self._topics.group_counts)
        if self._topics.subscribed != self._joined_topics or (membership.is_leader and is_assignment_old):
            membership.must_rejoin = True

    # --- the group

    async def _join_if_need_be(self) -> None:
        if self._is_joining or not self._membership.must_rejoin or self._client.metadata is None:
            return
        if not self._topics.is_fresh_enough_to_join():
            return
        self._is_joining = True
        await self._prepare_join()
        self._spawn("join", self._join())

    async def _prepare_join(self) -> None:
        """Give up partitions before the join: eagerly all, cooperatively those of topics it no longer subscribes to."""
        if self._membership.generation == NO_GENERATION and self._membership.member_id == NO_MEMBER_ID:
            self._give_up(self.owned, EventKind.PARTITIONS_LOST)
            return
        await self._commit()
        subscribed = self._topics.subscribed
        kept = tuple(tp for tp in self.owned if tp.topic in subscribed) if self._config.is_cooperative else ()
        self._give_up([tp for tp in self.owned if tp not in kept], EventKind.PARTITIONS_REVOKED)

    def _give_up(self, partitions: Iterable[TopicPartition], kind: EventKind) -> None:
        gone = sorted(partitions)
        if not gone:
            return
        self.owned = tuple(tp for tp in self.owned if tp not in gone)
        self._report()
        self._fetcher.keep(self.owned)
        self._committed = {tp: offset for tp, offset in self._committed.items() if tp not in gone}
        self._emit_partitions(kind, gone)

    def _emit_partitions(self, kind: EventKind, partitions: Iterable[TopicPartition]) -> None:
        named = [str(tp) for tp in partitions]
        self._cause = self._sink.emit(
            kind,
            self._cause,
            group=self._spec.group_id,
            member=self._membership.member_id,
            generation=self._membership.generation,
            count=len(named),
            partitions=named,
        )

    async def _join(self) -> None:
        """Try to join once; the application's task runs between attempts."""
        try:
            joined = await self._membership.join(self._protocols(), self._assign, self._cause)
        except FatalGroupError as error:
            self._inbox.put(_JoinFailed(error))
            return
        if joined is None and not self._membership.may_retry_at_once:
            await self._process.sleep_ms(self._config.retry_backoff_ms)
        self._inbox.put(joined or _JoinFailed(None))

    def _protocols(self) -> Protocols:
        """Return the consumer's subscription in the form that each assignor uses."""
        self._joined_topics = topics = self._topics.subscribed
        owned, generation = self._last_assignment
        subscriptions = {
            AssignmentStrategy.STICKY: Subscription(topics, owned, None if generation == NO_GENERATION else generation),
            AssignmentStrategy.COOPERATIVE_STICKY: Subscription(topics, self.owned),
        }
        return tuple(
            (s.value, subscriptions.get(s, Subscription(topics))) for s in self._config.partition_assignment_strategy
        )

    async def _assign(self, joined: JoinGroupResponse) -> tuple[Assignments, int]:
        """Compute the group's assignment, as its leader. Raises: FatalGroupError if a member is no consumer."""
        try:
            subscribed = [(m, subscription_of(m.subscription, joined.protocol)) for m in joined.members]
        except ConsumerProtocolError as error:
            raise FatalGroupError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL) from error
        topics = [topic for _, subscription in subscribed for topic in subscription.topics]
        await self._topics.get_to_know(topics, joined.cause)
        counts = self._assigned_with = self._topics.group_counts
        members = [
            GroupMember(m.member_id, subscription.topics, m.instance_id, None, subscription.owned, subscription.generation)
            for m, subscription in subscribed
        ]
        assignment = assign(AssignmentStrategy(joined.protocol or ""), counts, members)
        described = (f"{member}: {', '.join(map(str, sorted(given))) or 'nothing'}" for member, given in assignment.items())
        self._cause = self._sink.emit(
            EventKind.GROUP_ASSIGNMENT,
            joined.cause,
            group=self._spec.group_id,
            generation=joined.generation,
            rule=joined.protocol or "",
            count=sum(assignment.sizes.values()),
            detail="; ".join(described),
        )
        return dict(assignment), self._cause

    def _complete_join(self, joined: Joined) -> None:
        """Take over the assignment; if owned partitions are not in it (cooperatively), revoke them and rejoin."""
        self._cause = joined.cause
        assigned = tuple(sorted(joined.assignment))
        self._last_assignment = assigned, self._membership.generation
        lost = [tp for tp in self.owned if tp not in assigned]
        if lost:
            self._give_up(lost, EventKind.PARTITIONS_REVOKED)
            self._membership.must_rejoin = True
        added = [tp for tp in assigned if tp not in self.owned]
        self.owned = assigned
        self._emit_partitions(EventKind.PARTITIONS_ASSIGNED, added)
        self._rejoin_if_changed()

    # --- positions

    def _locate(self) -> None:
        """Start to look up the positions of owned partitions that have none."""
        unknown = tuple(tp for tp in self.owned if tp not in self._fetcher.positions)
        if unknown and not self._is_locating:
            self._is_locating = True
            self._spawn("locate", self._look_up(unknown))

    async def _look_up(self, partitions: Owned) -> None:
        offsets: Mapping[TopicPartition, int] = {}
        try:
            found = await self._membership.committed(partitions, self._cause)
            if found is not None:
                committed = {tp: offset for tp, offset in found.items() if tp not in self._fetcher.out_of_range}
                others = [tp for tp in partitions if tp not in committed]
                offsets = {**await self._fetcher.reset(others, self._cause), **committed}
        except FatalGroupError as error:
            self._inbox.put(_JoinFailed(error))
            return
        if len(offsets) < len(partitions):
            await self._process.sleep_ms(self._config.retry_backoff_ms)
        self._inbox.put(_Positions(offsets))

    def _uncommitted(self) -> dict[TopicPartition, int]:
        return {tp: offset for tp, offset in self._fetcher.positions.items() if self._committed.get(tp) != offset}

    def _commit_if_due(self) -> None:
        """Commit in a task of its own when auto.commit.interval.ms has passed; nothing waits for it."""
        now_ms = self._process.now_ms()
        if now_ms >= self._next_commit_ms:
            self._next_commit_ms = now_ms + self._config.auto_commit_interval_ms
            if self._membership.is_stable and not self._is_committing:
                self._is_committing = True
                self._spawn("commit", self._commit_beside())

    async def _commit_beside(self) -> None:
        try:
            await self._commit()
        except FatalGroupError as error:
            self._inbox.put(_JoinFailed(error))
        self._is_committing = False

    async def _commit(self) -> None:
        offsets = self._uncommitted()
        if offsets and await self._membership.commit(offsets, self._cause):
            self._committed |= offsets

    async def close(self, cause: int) -> None:
        """Kill the consumer's tasks; then commit, give up all partitions, and leave the group."""
        for task in self._tasks.values():
            task.kill()
        self._cause = cause
        await self._commit()
        self._give_up(self.owned, EventKind.PARTITIONS_REVOKED)
        await self._membership.leave(self._cause)
