"""The times at which a broker checks for old segments.

Source: docs/kafka/log_segments.md 5; the rules: test_log_retention.py.
"""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kcsim.brokers.config import LogConfig
from kcsim.brokers.log.disk import Disk
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.brokers.log.retention_task import RetentionTask
from kcsim.brokers.records import Run
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import Event, EventKind
from kcsim.runtime.ports import Promise
from kcsim.runtime.simulated import SimulatedRuntime
from kcsim.vocabulary import LeaderEpoch, TopicPartition

ORDERS_0, ORDERS_1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
EPOCH_MS = 1_600_000_000_000
CHECK_MS, MINUTE, DAY = 300_000, 60_000, 86_400_000
FIRST_MS = 30_000


class CountingRuntime(SimulatedRuntime):
    """A runtime that counts promises: the task makes one each time it sleeps."""

    promises = 0

    def promise(self) -> Promise[Any]:  # type: ignore[override]
        self.promises += 1
        return super().promise()


class RetentionBench:
    """A broker's disk and its retention task, without a broker."""

    def __init__(self) -> None:
        self.runtime = CountingRuntime()
        self.log = EventLog(self.runtime.now_ms)
        self.disk = Disk(("/a",))
        self.root = self.log.append("scenario", EventKind.RUN_STARTED, None, {})
        self.task = RetentionTask(self.runtime, self.disk, self.log.sink("broker-1"), EPOCH_MS, CHECK_MS)

    def write(self, log: ReplicaLog, count: int = 5, is_committed: bool = True) -> int:
        """Append a batch with the current time; return the event's seq."""
        now_ms = EPOCH_MS + self.runtime.now_ms()
        log.append_as_leader([Run(0, count, LeaderEpoch(0), "p", log.log_end_offset, now_ms, 10)], LeaderEpoch(0), now_ms)
        if is_committed:
            log.high_watermark = log.log_end_offset
        cause = self.log.append("broker-1", EventKind.RECORDS_APPENDED, self.root, {})
        self.task.changed(log, cause)
        return cause

    def play(self, script: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.runtime.run(script())

    @property
    def deleted(self) -> list[Event]:
        return [event for event in self.log.events if event.kind is EventKind.SEGMENT_DELETED]


@pytest.fixture
def bench() -> RetentionBench:
    return RetentionBench()


def test_records_go_at_the_first_check_after_their_time(bench: RetentionBench) -> None:
    """Checks run half a minute after the start and every five minutes from then on; this is the second check."""

    async def script() -> None:
        cause = bench.write(bench.disk.create(ORDERS_0, LogConfig(retention_ms=MINUTE)))
        await bench.runtime.sleep_ms(FIRST_MS + CHECK_MS - 1)
        assert bench.deleted == []
        await bench.runtime.sleep_ms(2)
        (gone,) = bench.deleted
        assert (gone.t_ms, gone.cause, gone.rule) == (FIRST_MS + CHECK_MS, cause, "time")
        assert (gone.topic, gone.partition, gone.offset, gone.end_offset) == ("orders", 0, 0, 5)

    bench.play(script)


def test_a_broker_whose_records_are_kept_for_a_week_does_nothing_for_a_week(bench: RetentionBench) -> None:
    """After the check that follows the write, the task sleeps until the records may be deleted."""

    async def script() -> None:
        bench.write(bench.disk.create(ORDERS_0))
        await bench.runtime.sleep_ms(FIRST_MS + 1)
        before = bench.runtime.promises
        await bench.runtime.sleep_ms(7 * DAY - MINUTE)
        assert (bench.runtime.promises, bench.deleted) == (before, [])
        await bench.runtime.sleep_ms(MINUTE + CHECK_MS)
        assert [event.rule for event in bench.deleted] == ["time"]

    bench.play(script)


def test_a_broker_without_records_or_limits_does_nothing_at_all(bench: RetentionBench) -> None:
    async def script() -> None:
        bench.disk.create(ORDERS_0)
        bench.task.startup(bench.root)
        bench.write(bench.disk.create(ORDERS_1, LogConfig(retention_ms=-1)))
        await bench.runtime.sleep_ms(FIRST_MS + 1)
        before = bench.runtime.promises
        await bench.runtime.sleep_ms(30 * DAY)
        assert (bench.runtime.promises, bench.deleted) == (before, [])

    bench.play(script)


def test_what_grows_too_large_goes_though_the_task_meant_to_sleep(bench: RetentionBench) -> None:
    async def script() -> None:
        log = bench.disk.create(ORDERS_0, LogConfig(segment_bytes=50, retention_bytes=100))
        bench.write(log)
        await bench.runtime.sleep_ms(DAY)
        for _ in range(3):
            bench.write(log)
        await bench.runtime.sleep_ms(CHECK_MS)
        assert [(event.offset, event.rule) for event in bench.deleted] == [(0, "size"), (5, "size")]

    bench.play(script)


def test_what_is_not_committed_is_looked_at_again_at_every_check(bench: RetentionBench) -> None:
    async def script() -> None:
        log = bench.disk.create(ORDERS_0, LogConfig(retention_ms=0))
        bench.write(log, is_committed=False)
        await bench.runtime.sleep_ms(DAY)
        assert bench.deleted == []
        log.high_watermark = log.log_end_offset
        await bench.runtime.sleep_ms(CHECK_MS)
        assert len(bench.deleted) == 1

    bench.play(script)


def test_other_settings_hold_from_the_next_check_on(bench: RetentionBench) -> None:
    """The next check then follows from the latest append."""

    async def script() -> None:
        log = bench.disk.create(ORDERS_0)
        cause = bench.write(log)
        await bench.runtime.sleep_ms(DAY)
        log.config = LogConfig(retention_ms=MINUTE)
        bench.task.changed(log)
        await bench.runtime.sleep_ms(CHECK_MS)
        assert [event.cause for event in bench.deleted] == [cause]

    bench.play(script)


def test_a_new_process_looks_at_what_it_finds(bench: RetentionBench) -> None:
    async def script() -> None:
        bench.write(bench.disk.create(ORDERS_0, LogConfig(retention_ms=MINUTE)))
        bench.task.close()
        await bench.runtime.sleep_ms(DAY)
        assert bench.deleted == []
        anew = RetentionTask(bench.runtime, bench.disk, bench.log.sink("broker-1"), EPOCH_MS, CHECK_MS)
        anew.startup(bench.root)
        await bench.runtime.sleep_ms(FIRST_MS + 1)
        assert [(event.t_ms, event.cause) for event in bench.deleted] == [(DAY + FIRST_MS, bench.root)]

    bench.play(script)


def test_a_log_that_is_gone_is_not_looked_at(bench: RetentionBench) -> None:
    async def script() -> None:
        bench.write(bench.disk.create(ORDERS_0, LogConfig(retention_ms=0)))
        bench.disk.delete(ORDERS_0)
        await bench.runtime.sleep_ms(DAY)
        assert bench.deleted == []

    bench.play(script)
