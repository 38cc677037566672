"""Records on three brokers: which are committed, lost and truncated. Source: docs/kafka/requests.md 6.3, 7.2, 8, 9, 13."""

from collections.abc import Mapping, Sequence

import pytest

from kcsim.brokers.clients.clients import ClusterClient
from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.log.log_comparison import divergence
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.brokers.requests import ProduceBatch, ProduceRequest, ProduceResponse, ProduceResult
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.run_actions import ClusterError
from kcsim.vocabulary import BrokerId
from tests.brokers.broker_bench import appended_at
from tests.brokers.cluster.environments import TWINS, WITHIN_MS, kill_and_expire
from tests.brokers.cluster.topic_cluster import ORDERS_0, begin, play

NONE = ErrorCode.NONE
ON_1_AND_2: Mapping[int, Sequence[int]] = {0: [1, 2]}
ON_ALL: Mapping[int, Sequence[int]] = {0: [1, 2, 3]}
ALL, LEADER = -1, 1
CAUSE = 0


class Producer:
    """A producer that writes batch after batch to orders-0, from a process of its own."""

    def __init__(self, cluster: Cluster) -> None:
        self._client = ClusterClient(cluster.client_process("producer-a"), cluster.bootstrap, ["orders"])
        self._cluster = cluster
        self._sequence = 0

    async def send(self, count: int, acks: int, timeout_ms: int = 10_000) -> ProduceResult:
        now_ms = self._cluster.epoch_ms + self._cluster.runtime.now_ms()
        batch = ProduceBatch("a", self._sequence, count, 100, now_ms, is_idempotent=False)
        self._sequence += count
        request = ProduceRequest("a", acks, timeout_ms, {ORDERS_0: batch})
        self._client.forget(ORDERS_0)
        response: ProduceResponse = await self._client.send_to_leader(ORDERS_0, request, CAUSE)
        return response.results[ORDERS_0]


def log(cluster: Cluster, broker: int) -> ReplicaLog:
    return cluster.replica_logs(ORDERS_0)[BrokerId(broker)]


def ends(cluster: Cluster, broker: int) -> tuple[int, int]:
    """Return log end offset and high watermark."""
    found = log(cluster, broker)
    return found.log_end_offset, found.high_watermark


async def until_led_by(cluster: Cluster, leader: int, isr: Sequence[int]) -> None:
    def seen() -> str | None:
        partition = cluster.broker(f"broker-{leader}").replicas.hosted.get(ORDERS_0)
        is_so = partition is not None and partition.is_leader and sorted(partition.isr) == sorted(isr)
        return None if is_so else f"broker {leader} has {partition}"

    await cluster.wait_until(seen, WITHIN_MS)


async def until_ends_are(cluster: Cluster, broker: int, log_end: int, high_watermark: int) -> None:
    """Wait until a replica has these offsets, bounded, in small steps: changes of the high watermark are not events."""
    for _ in range(600):
        if ends(cluster, broker) == (log_end, high_watermark):
            return
        await cluster.runtime.sleep_ms(10)
    raise AssertionError(f"broker {broker} is at {ends(cluster, broker)}, not at {log_end, high_watermark}")


def test_the_high_watermark_reaches_the_follower_with_the_fetch_after_next() -> None:
    """13.1 to the number: acknowledged when the leader knows; the follower learns of it within 500 ms."""

    async def script(cluster: Cluster) -> None:
        await begin(cluster, ON_1_AND_2)
        assert await Producer(cluster).send(1, ALL) == appended_at(0)
        assert ends(cluster, 1) == (1, 1)
        assert ends(cluster, 2) == (1, 0)
        acknowledged_ms = cluster.runtime.now_ms()
        await until_ends_are(cluster, 2, 1, 1)
        assert 0 < cluster.runtime.now_ms() - acknowledged_ms <= 520

    play(script)


def test_more_records_bring_the_high_watermark_of_those_before() -> None:
    async def script(cluster: Cluster) -> None:
        await begin(cluster, ON_1_AND_2)
        producer = Producer(cluster)
        await producer.send(3, ALL)
        await producer.send(2, ALL)
        assert ends(cluster, 2) == (5, 3)

    play(script)


def test_an_acknowledged_record_outlives_its_leader_though_the_follower_did_not_know_it_was_committed() -> None:
    """13.1, last paragraph: leaders never truncate; alone in the ISR, the new leader commits all records that it has."""

    async def script(cluster: Cluster) -> None:
        await begin(cluster, ON_1_AND_2)
        await Producer(cluster).send(1, ALL)
        assert ends(cluster, 2) == (1, 0)
        await cluster.kill("broker-1")
        await until_led_by(cluster, 2, [2])
        assert ends(cluster, 2) == (1, 1)
        await cluster.start(["broker-1"])
        await until_led_by(cluster, 2, [1, 2])
        await until_ends_are(cluster, 1, 1, 1)

    assert [e for e in play(script).events if e.kind is EventKind.RECORDS_TRUNCATED] == []


@pytest.mark.parametrize("on", TWINS)
def test_what_only_the_leader_had_is_lost_with_it_and_cut_off_when_it_returns(on: str) -> None:
    """9-1: acknowledged by one replica.

    The new leader continues at 5; the old one truncates 3 records, none of them committed.
    """

    async def script(cluster: Cluster) -> None:
        await begin(cluster, ON_1_AND_2)
        producer = Producer(cluster)
        await producer.send(5, ALL)
        await cluster.slow_follower("broker-2", 0)
        assert await producer.send(3, LEADER) == appended_at(5)
        await kill_and_expire(cluster, "broker-1")
        await until_led_by(cluster, 2, [2])
        assert await producer.send(1, ALL) == appended_at(5, epoch=2)
        await cluster.start(["broker-1"])
        await until_led_by(cluster, 2, [1, 2])
        assert [(r.first_sequence, r.count) for r in log(cluster, 1).runs] == [(0, 5), (8, 1)]
        assert divergence(log(cluster, 1), log(cluster, 2)) is None

    (cut,) = [e for e in play(script, on).events if e.kind is EventKind.RECORDS_TRUNCATED]
    assert (cut.node, cut.count, cut.offset, cut.end_offset, cut.leader) == ("broker-1", 3, 5, 8, 2)
    assert cut.detail == "a 5..7 of epoch 0"


def test_an_unclean_election_loses_committed_records_and_says_how_many() -> None:
    """9-2: broker 2 has fallen out of the ISR with 5 records; 4 more were committed by broker 1 alone."""

    async def script(cluster: Cluster) -> None:
        await begin(cluster, ON_1_AND_2)
        producer = Producer(cluster)
        await producer.send(5, ALL)
        await cluster.slow_follower("broker-2", 0)
        assert await producer.send(4, ALL) == appended_at(5)
        await until_led_by(cluster, 1, [1])
        await cluster.runtime.sleep_ms(6_000)  # the high watermark 9 is checkpointed
        await cluster.kill("broker-1")
        await until_led_by(cluster, 2, [2])
        assert ends(cluster, 2) == (5, 5)
        await producer.send(1, ALL)
        await cluster.start(["broker-1"])
        await until_led_by(cluster, 2, [1, 2])
        await until_ends_are(cluster, 1, 6, 6)

    # Before 3.1 the 4 records would wait for others: the leader does not look at them when the ISR has shrunk.
    run = play(
        script, unclean_leader_election_enable=True, replica_lag_time_max_ms=1_000, inter_broker_protocol_version="3.1"
    )
    events = run.events
    (cut,) = [e for e in events if e.kind is EventKind.RECORDS_TRUNCATED]
    assert (cut.node, cut.count, cut.offset, cut.high_watermark) == ("broker-1", 4, 5, 9)
    assert cut.detail == "a 5..8 of epoch 0; 4 of them had been committed"


def test_a_slow_follower_leaves_the_isr_and_comes_back_when_it_has_caught_up() -> None:
    """50 records a second, of 1,000: the follower leaves after the lag, and returns after the 20 s needed for the rest."""

    async def script(cluster: Cluster) -> None:
        await begin(cluster, ON_1_AND_2)
        await cluster.slow_follower("broker-2", 50)
        began_ms = cluster.runtime.now_ms()
        await Producer(cluster).send(1_000, LEADER)
        await until_led_by(cluster, 1, [1])
        assert 1_000 < cluster.runtime.now_ms() - began_ms <= 1_520
        await until_led_by(cluster, 1, [1, 2])
        assert 19_000 <= cluster.runtime.now_ms() - began_ms <= 21_000

    kinds = (EventKind.ISR_SHRUNK, EventKind.ISR_EXPANDED)
    # Before 3.1 it returns too soon: the high watermark is where it was, as nothing is written after the ISR has shrunk.
    events = play(script, replica_lag_time_max_ms=1_000, inter_broker_protocol_version="3.1").events
    changes = [(e.kind, e.isr) for e in events if e.kind in kinds]
    assert changes[-2:] == [(EventKind.ISR_SHRUNK, [1]), (EventKind.ISR_EXPANDED, [1, 2])]


def test_slowing_a_broker_down_is_reported_and_one_that_cannot_be_is_refused() -> None:
    async def script(cluster: Cluster) -> None:
        await begin(cluster, ON_1_AND_2)
        with pytest.raises(ClusterError, match="broker-2 cannot replicate -1 records a second"):
            await cluster.slow_follower("broker-2", -1)
        await cluster.slow_follower("broker-2", 50)
        await cluster.slow_follower("broker-2", None)
        await cluster.kill("broker-2")
        with pytest.raises(ClusterError, match="broker-2 is not running"):
            await cluster.slow_follower("broker-2", 50)

    reported = [e for e in play(script).events if e.fault == "slow-follower" or e.op == "slow-follower"]
    assert [(e.kind, e.target, e.detail) for e in reported] == [
        (EventKind.FAULT, "broker-2", "50 records a second at most"),
        (EventKind.FAULT_CONFIRMED, "broker-2", "holds for what it fetches from 1 leaders, in all"),
        (EventKind.ADMIN_ACT, "broker-2", "as fast as it goes again"),
    ]


def test_too_few_in_sync_replicas_refuse_until_they_are_back() -> None:
    async def script(cluster: Cluster) -> None:
        await begin(cluster, ON_ALL)
        producer = Producer(cluster)
        await cluster.kill("broker-3")
        await until_led_by(cluster, 1, [1, 2])
        assert (await producer.send(1, ALL)).error is NONE
        await cluster.kill("broker-2")
        await until_led_by(cluster, 1, [1])
        assert (await producer.send(1, ALL)).error is ErrorCode.NOT_ENOUGH_REPLICAS
        assert (await producer.send(1, LEADER)).error is NONE
        await cluster.start(["broker-2"])
        await until_led_by(cluster, 1, [1, 2])
        assert (await producer.send(1, ALL)).error is NONE

    play(script, min_insync_replicas=2)


@pytest.mark.parametrize(("end", "known"), [("kill", 0), ("stop", 7)])
def test_a_process_that_ends_knows_later_what_was_checkpointed(end: str, known: int) -> None:
    """6.6: every 5 s, and at an orderly stop. Whatever high watermark it knows, it keeps its records (13.2)."""

    async def script(cluster: Cluster) -> None:
        await begin(cluster, ON_1_AND_2)
        await Producer(cluster).send(7, ALL)
        await until_ends_are(cluster, 2, 7, 7)
        await (cluster.kill("broker-2") if end == "kill" else cluster.stop("broker-2"))
        assert log(cluster, 2).checkpointed_high_watermark == known
        await until_led_by(cluster, 1, [1])
        await cluster.start(["broker-2"])
        await until_led_by(cluster, 1, [1, 2])
        await until_ends_are(cluster, 2, 7, 7)

    assert [e for e in play(script).events if e.kind is EventKind.RECORDS_TRUNCATED] == []


def test_a_leader_that_lost_zookeeper_cannot_shrink_its_isr_so_that_acks_of_all_stall_until_it_learns_better() -> None:
    """8: the leader still gets requests and appends; its follower is gone.

    Producers with acks=1 get false acknowledgements.
    """

    async def script(cluster: Cluster) -> None:
        await begin(cluster, ON_1_AND_2)
        producer = Producer(cluster)
        await producer.send(5, ALL)
        await cluster.slow_follower("broker-2", 0)
        await cluster.disconnect("broker-1", for_ms=60_000)
        assert (await producer.send(1, LEADER)).error is NONE
        assert (await producer.send(1, ALL, timeout_ms=1_000)).error is not NONE
        await until_led_by(cluster, 2, [2])
        assert ends(cluster, 2) == (5, 5)
        assert log(cluster, 1).log_end_offset >= 6

    assert [e.isr for e in play(script).events if e.kind is EventKind.ISR_SHRUNK] == []


def test_all_replicas_agree_once_everybody_is_back() -> None:
    """Three brokers lead in turn, and each is killed with records that only it has."""

    async def script(cluster: Cluster) -> None:
        await begin(cluster, ON_ALL)
        producer = Producer(cluster)
        for leader, others in ((1, (2, 3)), (2, (1, 3)), (1, (2, 3))):
            await until_led_by(cluster, leader, [1, 2, 3])
            await producer.send(10, ALL)
            for other in others:
                await cluster.slow_follower(f"broker-{other}", 0)
            await producer.send(3, LEADER)
            await cluster.kill(f"broker-{leader}")
            await until_led_by(cluster, min(others), others)
            for other in others:
                await cluster.slow_follower(f"broker-{other}", None)
            await producer.send(10, ALL)
            await cluster.start([f"broker-{leader}"])
        await until_led_by(cluster, 2, [1, 2, 3])
        for broker in (1, 2, 3):
            await until_ends_are(cluster, broker, 60, 60)
        assert [divergence(log(cluster, 1), log(cluster, other)) for other in (2, 3)] == [None, None]

    cuts = [e for e in play(script).events if e.kind is EventKind.RECORDS_TRUNCATED]
    assert [(e.node, e.count) for e in cuts] == [("broker-1", 3), ("broker-2", 3), ("broker-1", 3)]


@pytest.mark.slow
def test_an_idle_cluster_logs_nothing_for_hours() -> None:
    async def script(cluster: Cluster) -> None:
        await begin(cluster, ON_ALL)
        await Producer(cluster).send(5, ALL)
        await cluster.runtime.sleep_ms(120_000)
        before = len(cluster.log.events)
        await cluster.runtime.sleep_ms(3_600_000)
        assert len(cluster.log.events) == before

    play(script)
