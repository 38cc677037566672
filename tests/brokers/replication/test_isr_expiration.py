"""Removal of followers from the ISR by a leader. Source: docs/kafka/requests.md 6.1, 6.4, 13.4, 13.6."""

from kcsim import znodes
from kcsim.brokers.config import BrokerConfig
from kcsim.eventlog.events import EventKind
from kcsim.vocabulary import BrokerId
from kcsim.zk.operations import SetData
from kcsim.znodes import paths
from tests.brokers.broker_bench import (
    B1,
    B2,
    B3,
    ORDERS_0,
    ORDERS_1,
    BrokerBench,
    ZkIsrBench,
    appended_at,
    decided,
    requested_state,
)


async def all_caught_up(bench: BrokerBench, *followers: BrokerId, offset: int = 0) -> None:
    for follower in followers:
        await bench.fetch(follower, {ORDERS_0: 0}, offset=offset)


async def until(bench: BrokerBench, at_ms: int) -> None:
    await bench.runtime.sleep_ms(at_ms - bench.runtime.now_ms())


def test_a_follower_that_stops_fetching_is_removed_at_the_first_check_after_the_lag() -> None:
    """13.4: caught up near 0; traffic continues; the checks at 15 and 30 s leave it in, the one at 45 s does not."""
    bench = ZkIsrBench()

    async def script() -> None:
        await bench.lead()
        await all_caught_up(bench, B2, B3)
        await bench.produce(1)
        await until(bench, 20_000)
        await all_caught_up(bench, B2, offset=1)
        await until(bench, 44_999)
        assert bench.partition().isr == (B1, B2, B3)
        await until(bench, 45_010)
        assert await bench.state_znode() == decided(B1, 0, (B1, B2), zk_version=1)

    bench.play(script)
    (shrunk,) = bench.events(EventKind.ISR_SHRUNK)
    (appended,) = bench.events(EventKind.RECORDS_APPENDED)
    assert (shrunk.brokers, shrunk.isr, shrunk.zk_version) == ([3], [1, 2], 1)
    assert (shrunk.rule, shrunk.end_offset, shrunk.high_watermark) == ("replica.lag.time.max.ms", 1, 0)
    assert (shrunk.inputs or "").startswith("3 at 0, caught up 4498")
    assert shrunk.cause == appended.seq
    assert bench.isr.shrinks == 1


def test_without_new_records_nobody_is_ever_removed_and_nothing_is_done() -> None:
    """6.1: a broker that hangs stays in the ISR of an idle partition; and an idle broker has no task that runs."""
    bench = ZkIsrBench()

    async def script() -> None:
        await bench.lead()
        await all_caught_up(bench, B2, B3)
        await until(bench, 3_600_000)

    bench.play(script)
    assert bench.partition().isr == (B1, B2, B3)
    assert bench.events(EventKind.ISR_SHRUNK) == []


def test_a_member_that_is_no_replica_ends_each_look_before_anybody_is_removed() -> None:
    """KAFKA-9672, seen on 2.8.2: `Replica with id 4 is not available on broker 1`, every half lag, and no ISR shrinks."""
    bench = ZkIsrBench()

    async def script() -> None:
        await bench.lead(isr=(B1, B2, B3, BrokerId(4)))
        await all_caught_up(bench, B2)
        await bench.produce(1)
        await until(bench, 120_000)

    bench.play(script)
    assert bench.partition().isr == (B1, B2, B3, 4)
    assert bench.events(EventKind.ISR_SHRUNK) == []
    (failed,) = bench.events(EventKind.ISR_CHANGE_FAILED)
    assert failed.error == "NOT_LEADER_OR_FOLLOWER"
    assert (failed.detail or "").endswith("Replica with id 4 is not available on broker 1")
    assert bench.isr.failed_updates == 0


def test_a_member_that_never_fetches_from_a_new_leader_is_removed() -> None:
    """4.3, makeLeader 3: it counts as caught up when the leader began; its offset is unknown, which is not the log's end."""
    bench = ZkIsrBench()

    async def script() -> None:
        await bench.lead()
        await all_caught_up(bench, B2)
        await until(bench, 45_010)

    bench.play(script)
    assert bench.partition().isr == (B1, B2)


def test_a_steady_follower_that_is_always_one_fetch_behind_stays() -> None:
    """13.4, last line."""
    bench = ZkIsrBench(BrokerConfig(replica_lag_time_max_ms=1_000))

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        for n in range(10):
            await bench.fetch(B2, {ORDERS_0: 0}, offset=max(0, n - 1))
            await bench.produce(1, sequence=n)
            await bench.runtime.sleep_ms(450)

    bench.play(script)
    assert bench.events(EventKind.ISR_SHRUNK) == []


def test_a_follower_that_falls_behind_more_and_more_is_removed() -> None:
    bench = ZkIsrBench(BrokerConfig(replica_lag_time_max_ms=1_000))

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        for n in range(10):
            await bench.fetch(B2, {ORDERS_0: 0}, offset=n)
            await bench.produce(10, sequence=10 * n)
            await bench.runtime.sleep_ms(700)

    bench.play(script)
    assert [event.isr for event in bench.events(EventKind.ISR_SHRUNK)] == [[1]]


def test_a_follower_that_waited_at_the_leaders_end_was_caught_up_until_the_record_came() -> None:
    """Fetches that only wait are not processed one by one, and still count."""
    bench = ZkIsrBench(BrokerConfig(replica_lag_time_max_ms=1_000))

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        for _ in range(40):
            await bench.fetch(B2, {ORDERS_0: 0}, max_wait_ms=100)
        await bench.produce(1)
        caught_up_ms = bench.partition().followers[B2].last_caught_up_ms
        assert bench.runtime.now_ms() - caught_up_ms <= 100
        await bench.runtime.sleep_ms(500)

    bench.play(script)
    assert bench.events(EventKind.ISR_SHRUNK) == []


def test_the_high_watermark_moves_when_the_isr_shrinks_and_the_waiting_producer_is_answered() -> None:
    """6.1, 8: min.insync.replicas is 1, so one copy is enough then."""
    bench = ZkIsrBench(BrokerConfig(replica_lag_time_max_ms=1_000))

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        await all_caught_up(bench, B2)
        waiting = bench.begun(bench.produce(3, acks=-1, timeout_ms=30_000))
        await bench.runtime.sleep_ms(1_000)
        assert bench.partition().high_watermark == 0
        assert await waiting.wait(10_000) == appended_at(0)
        assert (bench.partition().isr, bench.partition().high_watermark) == ((B1,), 3)

    bench.play(script)


def test_a_shrink_that_the_controller_was_faster_than_waits_for_its_word() -> None:
    """13.6, Kafka 2.8: refused once, then pending until the LeaderAndIsr arrives; the old ISR still counts."""
    bench = ZkIsrBench(BrokerConfig(replica_lag_time_max_ms=1_000))

    async def script() -> None:
        await bench.lead()
        await all_caught_up(bench, B2, B3)
        await bench.produce(1)
        removed = decided(B1, 1, (B1, B2), zk_version=1)
        await bench.tree(SetData(paths.topic_partition_state(ORDERS_0), znodes.encode_partition_state(removed)))
        await until(bench, 5_000)
        assert (bench.partition().isr, bench.partition().high_watermark) == ((B1, B2, B3), 0)
        assert len(bench.events(EventKind.ISR_CHANGE_FAILED)) == 1
        await bench.lead_or_follow({ORDERS_0: requested_state(B1, 1, (B1, B2), zk_version=1)})
        await bench.fetch(B2, {ORDERS_0: 1}, offset=1)
        assert (bench.partition().isr, bench.partition().high_watermark) == ((B1, B2), 1)

    bench.play(script)
    assert bench.events(EventKind.ISR_SHRUNK) == []
    assert (bench.isr.failed_updates, bench.isr.shrinks) == (1, 0)


def test_a_write_that_fails_ends_the_round_and_the_rest_has_its_turn_in_the_next() -> None:
    """6.4-3: the exception leaves the change pending, and ends the task's current run as in Kafka, not the task."""
    bench = ZkIsrBench(BrokerConfig(replica_lag_time_max_ms=1_000))

    async def script() -> None:
        for tp in (ORDERS_0, ORDERS_1):
            await bench.lead(tp, isr=(B1, B2))
            await bench.fetch(B2, {tp: 0})
            await bench.produce(1, tp)
        await until(bench, 1_500)
        bench.session.expire()
        await until(bench, 2_100)

    bench.play(script)
    (failed,), (shrunk,) = bench.events(EventKind.ISR_CHANGE_FAILED), bench.events(EventKind.ISR_SHRUNK)
    assert (failed.partition, failed.error) == (0, "SessionExpiredError")
    assert (shrunk.partition, shrunk.t_ms) == (1, 2_001)
    assert bench.partition(ORDERS_0).is_isr_change_pending


def test_a_partition_that_was_deleted_is_left_alone_and_so_is_one_that_was_made_anew_in_its_place() -> None:
    bench = ZkIsrBench(BrokerConfig(replica_lag_time_max_ms=1_000))

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        await bench.produce(1)
        await bench.stop({ORDERS_0: (-2, True)})
        await until(bench, 3_000)
        await bench.lead_or_follow({ORDERS_0: requested_state(B1, 0, (B1, B2), is_new=True)})
        await bench.update_metadata({ORDERS_0: decided(B1, 0, (B1, B2))})
        await all_caught_up(bench, B2)
        await until(bench, 6_000)

    bench.play(script)
    assert bench.events(EventKind.ISR_SHRUNK, EventKind.ISR_CHANGE_FAILED) == []
    assert bench.partition().isr == (B1, B2)
