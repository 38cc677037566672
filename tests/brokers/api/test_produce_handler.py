"""Appending of producers' records by a leader. Source: docs/kafka/requests.md 8, 13.1."""

import pytest

from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.requests import ProduceBatch, ProduceRequest, ProduceResult
from kcsim.controller.capabilities import Release
from kcsim.controller.config import ControllerConfig
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.events import EventKind
from kcsim.runtime.ports import Promise
from tests.brokers.broker_bench import (
    B1,
    B2,
    B3,
    CAUSE,
    EPOCH_MS,
    ORDERS_0,
    ORDERS_1,
    BrokerBench,
    ZkIsrBench,
    appended_at,
    decided,
    requested_state,
)

NONE = ErrorCode.NONE
ALL, LEADER, NO_ACKS = -1, 1, 0


def with_min_in_sync(replicas: int) -> BrokerBench:
    return BrokerBench(BrokerConfig(min_insync_replicas=replicas))


def of_release(release: str, min_insync_replicas: int) -> BrokerBench:
    """Return a bench whose broker differs by its release only: the protocol version is 2.6."""
    config = ControllerConfig(inter_broker_protocol_version="2.6", release=Release(release))
    return BrokerBench(BrokerConfig(min_insync_replicas=min_insync_replicas, controller=config))


def is_open(answer: "Promise[ProduceResult]") -> bool:
    return not answer.is_settled


# --- what is appended


def test_records_are_appended_in_the_leaders_epoch_and_reported() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(epoch=3)
        assert await bench.produce(5) == appended_at(0, epoch=3)
        assert await bench.produce(2, sequence=5, writer="b") == appended_at(5, epoch=3)

    bench.play(script)
    log = bench.partition().written_log
    assert [(run.writer, run.base_offset, run.count, run.leader_epoch) for run in log.runs] == [
        ("a", 0, 5, 3),
        ("b", 5, 2, 3),
    ]
    first, second = bench.events(EventKind.RECORDS_APPENDED)
    assert (first.offset, first.end_offset, first.count, first.writer, first.sequence) == (0, 5, 5, "a", 0)
    assert (second.offset, second.end_offset, second.leader_epoch, second.cause) == (5, 7, 3, CAUSE)


def test_with_log_append_time_the_records_have_the_leaders_time() -> None:
    bench = BrokerBench(BrokerConfig(log_message_timestamp_type="LogAppendTime"))
    results: list[ProduceResult] = []

    async def script() -> None:
        await bench.lead()
        results.append(await bench.produce(2))

    bench.play(script)
    (run,) = bench.partition().written_log.runs
    (result,) = results
    assert run.timestamp_ms == result.append_time_ms >= EPOCH_MS


@pytest.mark.parametrize("acks", [NO_ACKS, LEADER])
def test_without_acks_of_all_the_leaders_copy_is_enough(acks: int) -> None:
    bench = with_min_in_sync(3)

    async def script() -> None:
        await bench.lead(isr=(B1,))
        assert await bench.produce(1, acks=acks) == appended_at(0)

    bench.play(script)


@pytest.mark.parametrize("acks", [2, -2])
def test_any_other_acks_are_refused(acks: int) -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead()
        assert await bench.produce(1, acks=acks) == ProduceResult(ErrorCode.INVALID_REQUIRED_ACKS)
        assert bench.partition().log_end_offset == 0

    bench.play(script)


def test_who_does_not_lead_refuses() -> None:
    """8, 14: a partition that is not in the metadata cache is unknown, even to its leader."""
    bench = BrokerBench()

    async def script() -> None:
        assert await bench.produce(1) == ProduceResult(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        await bench.update_metadata({ORDERS_0: decided(B2)})
        assert await bench.produce(1) == ProduceResult(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        await bench.lead_or_follow({ORDERS_0: requested_state(B2)})
        assert await bench.produce(1) == ProduceResult(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        bench.replicas.fail_log_dir(bench.disk.log_dirs[0], CAUSE)
        assert await bench.produce(1) == ProduceResult(ErrorCode.KAFKA_STORAGE_ERROR)

    bench.play(script)


def test_each_partition_of_a_request_has_a_result_of_its_own() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead()
        batch = ProduceBatch("a", 0, 1, 100, EPOCH_MS, is_idempotent=False)
        request = ProduceRequest("a", LEADER, 100, {ORDERS_0: batch, ORDERS_1: batch})
        response = await bench.data.produce.handle(request, CAUSE)
        unknown = ProduceResult(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        assert response.results == {ORDERS_0: appended_at(0), ORDERS_1: unknown}

    bench.play(script)


def test_a_batch_that_no_segment_can_hold_is_refused() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead()
        bench.replicas.change_settings("orders", {"segment.bytes": "1000"})
        batch = ProduceBatch("a", 0, 1, 2_000, EPOCH_MS, is_idempotent=False)
        response = await bench.data.produce.handle(ProduceRequest("a", LEADER, 100, {ORDERS_0: batch}), CAUSE)
        assert response.results == {ORDERS_0: ProduceResult(ErrorCode.RECORD_LIST_TOO_LARGE)}

    bench.play(script)


# --- acks=all


def test_the_acknowledgement_of_all_comes_when_the_follower_asks_for_what_comes_next() -> None:
    """13.1, the leader's side: the parked fetch of m0 is answered with the old high watermark; the next fetch commits m0."""
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        parked = bench.begun(bench.fetch(B2, {ORDERS_0: 0}, max_wait_ms=500))
        await bench.runtime.sleep_ms(10)
        acknowledged = bench.begun(bench.produce(1, acks=ALL))
        sent = (await parked.wait(1)).partitions[ORDERS_0]
        assert ([run.count for run in sent.runs], sent.high_watermark) == ([1], 0)
        assert (bench.partition().log_end_offset, bench.partition().high_watermark) == (1, 0)
        await bench.runtime.sleep_ms(10)
        assert is_open(acknowledged)
        next_fetch = bench.begun(bench.fetch(B2, {ORDERS_0: 0}, max_wait_ms=500, offset=1))
        assert await acknowledged.wait(1) == appended_at(0)
        assert bench.partition().high_watermark == 1
        # The fetch finds no data: it is parked, and answered after its 500 ms with the high watermark of that time.
        began_ms = bench.runtime.now_ms()
        later = (await next_fetch.wait(600)).partitions[ORDERS_0]
        assert bench.runtime.now_ms() - began_ms >= 499
        assert (tuple(later.runs), later.high_watermark) == ((), 1)

    bench.play(script)


def test_too_few_in_sync_replicas_refuse_before_anything_is_appended() -> None:
    bench = with_min_in_sync(2)

    async def script() -> None:
        await bench.lead(isr=(B1,))
        assert await bench.produce(1, acks=ALL) == ProduceResult(ErrorCode.NOT_ENOUGH_REPLICAS, log_start_offset=0)
        assert bench.partition().log_end_offset == 0

    bench.play(script)


@pytest.mark.parametrize(("release", "high_watermark"), [("3.6", 1), ("3.7", 0)])
def test_from_3_7_on_nothing_is_committed_while_too_few_replicas_are_in_sync(release: str, high_watermark: int) -> None:
    """KAFKA-15583; recorded in high-watermark-under-min-isr. What was appended is committed once enough are in sync."""
    bench = of_release(release, min_insync_replicas=2)

    async def script() -> None:
        await bench.lead(isr=(B1,))
        assert await bench.produce(1, acks=LEADER) == appended_at(0)
        assert bench.partition().high_watermark == high_watermark
        await bench.fetch(B2, {ORDERS_0: 0}, offset=1)
        await bench.lead_or_follow({ORDERS_0: requested_state(B1, 1, (B1, B2))})
        await bench.fetch(B2, {ORDERS_0: 1}, offset=1)
        assert bench.partition().high_watermark == 1

    bench.play(script)


@pytest.mark.parametrize(("release", "error"), [("3.6", ErrorCode.NOT_ENOUGH_REPLICAS), ("3.7", NONE)])
def test_from_3_7_on_the_minimum_is_at_most_the_number_of_replicas(release: str, error: ErrorCode) -> None:
    """KAFKA-15583, Partition.effectiveMinIsr."""
    bench = of_release(release, min_insync_replicas=2)

    async def script() -> None:
        await bench.lead_or_follow({ORDERS_0: requested_state(B1, 0, (B1,), (B1,))})
        await bench.update_metadata({ORDERS_0: decided(B1, 0, (B1,))})
        assert (await bench.produce(1, acks=ALL)).error is error

    bench.play(script)


def test_a_topic_has_its_own_minimum() -> None:
    bench = with_min_in_sync(2)

    async def script() -> None:
        await bench.by_hand.cluster.create_top_level_paths()
        await bench.by_hand.configs.set_or_create("topics", "orders", {"min.insync.replicas": "3"})
        await bench.lead(isr=(B1, B2))
        assert await bench.produce(1, acks=ALL) == ProduceResult(ErrorCode.NOT_ENOUGH_REPLICAS, log_start_offset=0)
        bench.replicas.change_settings("orders", {})
        await bench.fetch(B2, {ORDERS_0: 0})
        waiting = bench.begun(bench.produce(1, acks=ALL))
        await bench.runtime.sleep_ms(10)
        await bench.fetch(B2, {ORDERS_0: 0}, offset=1)
        assert await waiting.wait(1) == appended_at(0)

    bench.play(script)


def test_an_isr_that_shrinks_below_the_minimum_meanwhile_is_reported_though_the_record_is_there() -> None:
    bench = ZkIsrBench(BrokerConfig(min_insync_replicas=2, replica_lag_time_max_ms=1_000))

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        await bench.fetch(B2, {ORDERS_0: 0})
        result = await bench.produce(1, acks=ALL, timeout_ms=10_000)
        assert result == ProduceResult(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
        assert (bench.partition().isr, bench.partition().high_watermark) == ((B1,), 1)

    bench.play(script)


def test_a_record_that_is_not_committed_in_time_is_reported_and_may_be_committed_later() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        began_ms = bench.runtime.now_ms()
        assert await bench.produce(1, acks=ALL, timeout_ms=700) == ProduceResult(ErrorCode.REQUEST_TIMED_OUT)
        assert bench.runtime.now_ms() - began_ms == 700
        await bench.fetch(B2, {ORDERS_0: 0}, offset=1)
        assert bench.partition().high_watermark == 1

    bench.play(script)


@pytest.mark.parametrize("how", ["follows", "deleted", "log directory"])
def test_a_waiting_producer_is_notified_when_the_leadership_is_lost(how: str) -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        waiting = bench.begun(bench.produce(1, acks=ALL))
        await bench.runtime.sleep_ms(10)
        if how == "follows":
            await bench.lead_or_follow({ORDERS_0: requested_state(B2, 1)})
        elif how == "deleted":
            await bench.stop({ORDERS_0: (-2, True)})
        else:
            bench.replicas.fail_log_dir(bench.disk.log_dirs[0], CAUSE)
        assert await waiting.wait(1) == ProduceResult(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    bench.play(script)


def test_a_leader_that_is_given_a_new_epoch_keeps_those_waiting() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        waiting = bench.begun(bench.produce(1, acks=ALL))
        await bench.runtime.sleep_ms(10)
        await bench.lead_or_follow({ORDERS_0: requested_state(B1, 1, (B1,))})
        assert await waiting.wait(1) == appended_at(0)

    bench.play(script)


def test_nobody_writes_while_the_isr_is_being_written() -> None:
    """6.4-1: the partition's lock is held until ZooKeeper has answered."""
    bench = ZkIsrBench()

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        expansion = bench.begun(bench.fetch(B3, {ORDERS_0: 0}))
        await bench.runtime.sleep_ms(0)
        appended = bench.begun(bench.produce(1))
        await bench.runtime.sleep_ms(0)
        assert is_open(appended)
        await expansion.wait(10)
        assert await appended.wait(1) == appended_at(0)

    bench.play(script)


# --- idempotence


def test_a_batch_that_is_sent_twice_is_in_the_log_once() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead()
        assert await bench.produce(5, is_idempotent=True) == appended_at(0)
        assert await bench.produce(5, is_idempotent=True) == ProduceResult(NONE, 0, 0)
        assert bench.partition().log_end_offset == 5
        gap = await bench.produce(1, sequence=6, is_idempotent=True)
        assert gap == ProduceResult(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, log_start_offset=0)

    bench.play(script)


def test_without_idempotence_it_is_there_twice() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead()
        for offset in (0, 5):
            assert await bench.produce(5) == appended_at(offset)

    bench.play(script)


def test_a_duplicate_waits_for_the_first_to_be_committed() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        await bench.produce(5, acks=ALL, is_idempotent=True, timeout_ms=100)
        again = bench.begun(bench.produce(5, acks=ALL, is_idempotent=True))
        await bench.runtime.sleep_ms(10)
        assert is_open(again)
        await bench.fetch(B2, {ORDERS_0: 0}, offset=5)
        assert await again.wait(1) == ProduceResult(NONE, 0, 0)

    bench.play(script)


def test_a_leader_knows_what_was_written_under_another() -> None:
    """The producer's sequence number is in the log, which the follower had fetched before it became leader."""
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead()
        await bench.produce(5, is_idempotent=True)
        await bench.lead_or_follow({ORDERS_0: requested_state(B2, 1)})
        await bench.lead_or_follow({ORDERS_0: requested_state(B1, 2)})
        assert await bench.produce(5, is_idempotent=True) == ProduceResult(NONE, 0, 0)
        assert await bench.produce(1, sequence=5, is_idempotent=True) == appended_at(5, epoch=2)

    bench.play(script)
