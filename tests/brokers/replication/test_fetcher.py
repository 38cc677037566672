"""A follower's fetching. Source: docs/kafka/requests.md 7.1."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import pytest

from kcsim.brokers.config import PROTOCOL_VERSION, BrokerConfig
from kcsim.brokers.log.disk import Disk
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.brokers.log.retention_task import RetentionTask
from kcsim.brokers.network.network import SIMULATED_DELAY_MS, MemoryNetwork
from kcsim.brokers.ports import BrokerPorts, Incoming, ListenerClosedError, Listening
from kcsim.brokers.records import Run
from kcsim.brokers.replication.fetcher import FIRST_FETCH_AFTER_MS, LeaderEndpoint
from kcsim.brokers.replication.fetcher_manager import ReplicaFetcherManager
from kcsim.brokers.replication.follower_logs import FollowerLogs
from kcsim.brokers.replication.high_watermark_checkpoint import HighWatermarkCheckpoint
from kcsim.brokers.replication.hosted_partitions import HostedPartitions
from kcsim.brokers.replication.log_events import LogEvents
from kcsim.brokers.requests import EpochEnd, FetchPartition, FetchRequest, FetchResponse, OffsetsForLeaderEpochResponse
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventKind
from kcsim.runtime.ports import Mailbox
from kcsim.runtime.simulated import SimulatedRuntime
from kcsim.vocabulary import LeaderEpoch, TopicPartition
from tests.brokers.broker_bench import B1, B2, EPOCH_MS, ORDERS_0, ORDERS_1, refused

LEADER = LeaderEndpoint(B2, "localhost", 9094)
ROUND_TRIP_MS = 2 * SIMULATED_DELAY_MS
CONNECT_MS = 2 * SIMULATED_DELAY_MS
CAUSE = 0
NONE = ErrorCode.NONE


def of(epoch: int = 0, offset: int = 0) -> FetchPartition:
    return FetchPartition(LeaderEpoch(epoch), offset, CAUSE)


def written(count: int, epoch: int = 0, offset: int = 0, writer: str = "a", sequence: int = 0) -> Run:
    """Return records of 100 bytes."""
    return Run(offset, count, LeaderEpoch(epoch), writer, sequence, EPOCH_MS, 100)


class Follower:
    """Broker 1's fetchers; the test acts as the leader."""

    def __init__(self, config: BrokerConfig | None = None) -> None:
        self.runtime = SimulatedRuntime()
        self.log = EventLog(self.runtime.now_ms)
        self.log.append("scenario", EventKind.RUN_STARTED, None, {})
        self.network = MemoryNetwork(self.runtime, SIMULATED_DELAY_MS)
        self.leader = self.network.interface()
        self.fetches: Mailbox[Incoming] = self.runtime.mailbox()
        self.came_ms: list[int] = []
        sink, self.hosted = self.log.sink("broker-1"), HostedPartitions(B1)
        for tp in (ORDERS_0, ORDERS_1):
            self.hosted.get_or_add(tp).log = ReplicaLog(tp)
        checkpoint = HighWatermarkCheckpoint(self.runtime, 5_000)
        retention = RetentionTask(self.runtime, Disk(["/logs"]), sink, EPOCH_MS, 300_000)
        self.logs = FollowerLogs(
            lambda: EPOCH_MS + self.runtime.now_ms(), self.hosted, LogEvents(sink), checkpoint, retention
        )
        self.fetchers = ReplicaFetcherManager(
            B1, BrokerPorts(self.runtime, self.network.interface(), sink, EPOCH_MS), config or BrokerConfig(), self.logs
        )

    def play(self, script: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.runtime.run(script())

    def replica_log(self, tp: TopicPartition) -> ReplicaLog:
        partition = self.hosted.get(tp)
        assert partition is not None
        return partition.written_log

    def listen(self) -> None:
        """Let the leader listen."""
        self.runtime.spawn("leader", self._accept(self.leader.listen(LEADER.host, LEADER.port)))

    async def _accept(self, listening: Listening) -> None:
        while True:
            try:
                self.fetches.put(await listening.accept())
            except ListenerClosedError:
                return

    def add(self, partitions: Mapping[TopicPartition, FetchPartition]) -> None:
        self.fetchers.remove(partitions)
        self.fetchers.add({LEADER: partitions})

    async def next_fetch(self, within_ms: int = 60_000) -> Incoming:
        incoming = await self.fetches.get(within_ms)
        self.came_ms.append(self.runtime.now_ms())
        return incoming

    async def asked(self) -> dict[TopicPartition, int]:
        """Return what the next fetch requests: partition -> leader epoch."""
        return {tp: fetch.leader_epoch for tp, fetch in (await self.next_fetch()).request.partitions.items()}


def test_one_fetch_asks_for_all_partitions_of_the_leader() -> None:
    follower = Follower()

    async def script() -> None:
        follower.listen()
        follower.add({ORDERS_0: of(3), ORDERS_1: of(4, offset=0)})
        incoming = await follower.next_fetch()
        assert incoming.request == FetchRequest(B1, 15_000, {ORDERS_0: of(3), ORDERS_1: of(4)}, is_full=True)
        assert incoming.cause == CAUSE

    follower.play(script)


def test_an_empty_answer_is_followed_by_the_same_request() -> None:
    """The request is the very same object, which shows the leader that nothing has changed."""
    follower = Follower()

    async def script() -> None:
        follower.listen()
        follower.add({ORDERS_0: of()})
        first = await follower.next_fetch()
        first.respond(FetchResponse())
        second = await follower.next_fetch()
        assert second.request is first.request
        assert follower.came_ms[1] - follower.came_ms[0] == ROUND_TRIP_MS

    follower.play(script)


def test_once_there_are_records_a_fetch_waits_no_longer_than_kafkas() -> None:
    """replica.fetch.wait.max.ms; with empty logs, half of replica.socket.timeout.ms, so that the answer is in time."""
    follower = Follower(
        BrokerConfig.of({PROTOCOL_VERSION: "2.6", "replica.fetch.wait.max.ms": 200, "replica.socket.timeout.ms": 10_000})
    )

    async def script() -> None:
        follower.listen()
        follower.add({ORDERS_0: of()})
        assert (await follower.next_fetch()).request.max_wait_ms == 5_000
        follower.replica_log(ORDERS_1).append_as_leader([written(7)], LeaderEpoch(0), EPOCH_MS)
        follower.add({ORDERS_1: of()})
        (await follower.next_fetch()).respond(OffsetsForLeaderEpochResponse({ORDERS_1: EpochEnd(NONE, LeaderEpoch(0), 7)}))
        assert (await follower.next_fetch()).request.max_wait_ms == 200

    follower.play(script)


def test_a_partition_that_joins_is_fetched_a_moment_later_with_all_others() -> None:
    """Fetches in progress continue meanwhile."""
    follower = Follower()

    async def script() -> None:
        follower.listen()
        follower.add({ORDERS_0: of()})
        assert await follower.asked() == {ORDERS_0: 0}
        follower.add({ORDERS_1: of()})
        assert await follower.asked() == {ORDERS_0: 0, ORDERS_1: 0}

    follower.play(script)
    first_ms = FIRST_FETCH_AFTER_MS + CONNECT_MS + SIMULATED_DELAY_MS
    assert follower.came_ms == [first_ms, 2 * first_ms]


def test_a_partition_that_leaves_is_asked_for_no_more_at_once() -> None:
    """So is a partition that is added again, with another leader epoch, until its first fetch is due."""
    follower = Follower()

    async def script() -> None:
        follower.listen()
        follower.add({ORDERS_0: of(), ORDERS_1: of()})
        assert await follower.asked() == {ORDERS_0: 0, ORDERS_1: 0}
        follower.add({ORDERS_1: of(1)})
        assert await follower.asked() == {ORDERS_0: 0}
        assert await follower.asked() == {ORDERS_0: 0, ORDERS_1: 1}
        follower.fetchers.remove([ORDERS_0])
        assert await follower.asked() == {ORDERS_1: 1}

    follower.play(script)
    assert follower.came_ms[1] - follower.came_ms[0] == CONNECT_MS + SIMULATED_DELAY_MS


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.KAFKA_STORAGE_ERROR,
    ],
)
def test_a_refused_partition_is_tried_again_after_the_back_off_the_others_go_on(error: ErrorCode) -> None:
    follower = Follower()

    async def script() -> None:
        follower.listen()
        follower.add({ORDERS_0: of(), ORDERS_1: of()})
        (await follower.next_fetch()).respond(refused({ORDERS_0: error}))
        assert await follower.asked() == {ORDERS_1: 0}
        assert await follower.asked() == {ORDERS_1: 0, ORDERS_0: 0}
        assert follower.came_ms[2] - follower.came_ms[0] == SIMULATED_DELAY_MS + 1_000 + CONNECT_MS + SIMULATED_DELAY_MS

    follower.play(script)


def test_a_fenced_partition_is_given_up_until_the_next_leader_and_isr() -> None:
    follower = Follower()

    async def script() -> None:
        follower.listen()
        follower.add({ORDERS_0: of(1), ORDERS_1: of(1)})
        fenced = refused({ORDERS_0: ErrorCode.FENCED_LEADER_EPOCH})
        (await follower.next_fetch()).respond(fenced)
        assert await follower.asked() == {ORDERS_1: 1}
        follower.add({ORDERS_0: of(2)})
        assert await follower.asked() == {ORDERS_1: 1, ORDERS_0: 2}

    follower.play(script)
    (refusal,) = [e for e in follower.log.events if e.kind is EventKind.REQUEST_REFUSED]
    assert (refusal.event, refusal.error, refusal.broker_id, refusal.cause) == ("Fetch", "FENCED_LEADER_EPOCH", 2, CAUSE)


def test_an_answer_about_a_partition_that_was_added_anew_meanwhile_says_nothing() -> None:
    """The error belongs to the old leader epoch."""
    follower = Follower()

    async def script() -> None:
        follower.listen()
        follower.add({ORDERS_0: of(1)})
        incoming = await follower.next_fetch()
        incoming.respond(refused({ORDERS_0: ErrorCode.FENCED_LEADER_EPOCH}))
        follower.add({ORDERS_0: of(2)})
        assert await follower.asked() == {ORDERS_0: 2}

    follower.play(script)
    assert [e for e in follower.log.events if e.kind is EventKind.REQUEST_REFUSED] == []


def test_a_leader_that_is_not_there_is_tried_again_after_the_back_off() -> None:
    follower = Follower()

    async def script() -> None:
        follower.add({ORDERS_0: of()})
        await follower.runtime.sleep_ms(2_500)
        follower.listen()
        await follower.next_fetch()
        # Refused at 52, 1054 and 2056 ms; the next attempt begins at 3056 ms.
        first_ms = FIRST_FETCH_AFTER_MS + 3 * (CONNECT_MS + 1_000)
        assert follower.came_ms == [first_ms + CONNECT_MS + SIMULATED_DELAY_MS]

    follower.play(script)


def test_a_broken_connection_and_a_silent_leader_are_tried_again() -> None:
    follower = Follower()

    async def script() -> None:
        follower.listen()
        follower.add({ORDERS_0: of()})
        await follower.next_fetch()
        follower.leader.close()
        await follower.runtime.sleep_ms(500)
        follower.listen()
        await follower.next_fetch()  # is never answered
        await follower.next_fetch()
        assert follower.came_ms[2] - follower.came_ms[1] >= BrokerConfig().replica_socket_timeout_ms

    follower.play(script)


def test_a_closed_fetcher_is_heard_of_no_more() -> None:
    follower = Follower()

    async def script() -> None:
        follower.listen()
        follower.add({ORDERS_0: of()})
        incoming = await follower.next_fetch()
        follower.fetchers.remove([ORDERS_0])
        follower.fetchers.shutdown_idle()
        assert follower.fetchers.fetchers == {}
        incoming.respond(FetchResponse())
        await follower.runtime.sleep_ms(60_000)
        assert len(follower.fetches) == 0

    follower.play(script)
