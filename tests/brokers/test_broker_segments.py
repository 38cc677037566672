"""A broker rolls and shortens its logs, and logs events about it. Source: docs/kafka/log_segments.md 1, 4 and 5."""

from dataclasses import replace

from kcsim import znodes
from kcsim.brokers.config import BrokerConfig
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.events import EventKind
from kcsim.znodes import paths
from tests.brokers.broker_bench import B1, B2, BrokerBench

FIRST_CHECK_MS, CHECK_MS = 30_000, 300_000
SHORT_LIVED = BrokerConfig.of({"log.segment.bytes": 1_000, "log.retention.ms": 60_000})


def test_a_leader_that_rolls_a_segment_says_why_and_after_which_append() -> None:
    bench = BrokerBench(SHORT_LIVED)

    async def script() -> None:
        await bench.lead(isr=(B1,))
        for sequence in (0, 8):
            await bench.produce(8, sequence=sequence)

    bench.play(script)
    (rolled,) = bench.events(EventKind.SEGMENT_ROLLED)
    assert (rolled.offset, rolled.end_offset, rolled.rule) == (0, 8, "size")
    assert rolled.inputs == "800 bytes and 800 of the batch, segment.bytes 1000"
    assert rolled.cause == bench.events(EventKind.RECORDS_APPENDED)[-1].seq


def test_a_topics_own_settings_win() -> None:
    bench = BrokerBench(SHORT_LIVED)

    async def script() -> None:
        config = znodes.encode_config({"segment.bytes": "1600", "retention.ms": "-1"})
        await bench.by_hand.znodes.create_recursively(paths.topic_config("orders"), config)
        await bench.lead(isr=(B1,))
        for sequence in (0, 8):
            await bench.produce(8, sequence=sequence)
        await bench.runtime.sleep_ms(10 * CHECK_MS)

    bench.play(script)
    assert (bench.events(EventKind.SEGMENT_ROLLED), bench.events(EventKind.SEGMENT_DELETED)) == ([], [])


def test_a_leader_deletes_what_is_old_and_consumers_are_notified_that_it_is_gone() -> None:
    bench = BrokerBench(SHORT_LIVED)

    async def script() -> None:
        await bench.lead(isr=(B1,))
        await bench.produce(8)
        await bench.runtime.sleep_ms(FIRST_CHECK_MS + CHECK_MS + 1)
        assert (await bench.consume(0)).error is ErrorCode.OFFSET_OUT_OF_RANGE
        assert (await bench.consume(8)).error is ErrorCode.NONE

    bench.play(script)
    (deleted,) = bench.events(EventKind.SEGMENT_DELETED)
    assert (deleted.offset, deleted.end_offset, deleted.rule, deleted.t_ms) == (0, 8, "time", FIRST_CHECK_MS + CHECK_MS)
    assert deleted.cause == bench.events(EventKind.RECORDS_APPENDED)[0].seq


def test_what_is_not_committed_is_kept() -> None:
    """5: the high watermark has not reached the end of the segment, because broker 2 does not fetch."""
    bench = BrokerBench(replace(SHORT_LIVED, replica_lag_time_max_ms=10 * CHECK_MS))

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        await bench.produce(8)
        await bench.runtime.sleep_ms(FIRST_CHECK_MS + CHECK_MS + 1)

    bench.play(script)
    assert bench.events(EventKind.SEGMENT_DELETED) == []


def test_a_broker_that_stops_looks_no_more() -> None:
    bench = BrokerBench(SHORT_LIVED)

    async def script() -> None:
        await bench.lead(isr=(B1,))
        await bench.produce(8)
        bench.data.close()
        await bench.runtime.sleep_ms(10 * CHECK_MS)

    bench.play(script)
    assert bench.events(EventKind.SEGMENT_DELETED) == []


def test_other_settings_hold_for_what_is_there() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(isr=(B1,))
        await bench.produce(8)
        await bench.runtime.sleep_ms(10 * CHECK_MS)
        bench.replicas.change_settings("orders", {"retention.ms": "1000"})
        await bench.runtime.sleep_ms(CHECK_MS)

    bench.play(script)
    assert [event.rule for event in bench.events(EventKind.SEGMENT_DELETED)] == ["time"]
