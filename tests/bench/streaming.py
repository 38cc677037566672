"""Following a log that grows: how many events per second two cores sustain, and how far behind they are.

A generated history is written as an event log, first as fast as it is read (which warms Spark up, and gives the greatest
rate), then so many events per second. How far behind is measured at the end of each micro-batch, for the oldest event that
was not shown until then: its age, from when it was written. streaming=RATE is the number of events per second.
"""

import os
import tempfile
import threading
import time
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.dataset as ds
from pyspark.sql import SparkSession

from kcsim.eventlog.events import Event
from kcsim.scenarios.analysis.generate import generate_dataset
from kcsim.scenarios.analysis.generating.portions import length_for
from kcsim.scenarios.analysis.generating.settings import Settings
from kcsim.scenarios.analysis.streaming.follow import follow
from kcsim.scenarios.analysis.streaming.followed import Followed, FollowSettings, MicroBatch, opened
from kcsim.scenarios.analysis.streaming.run_status import of_runs
from kcsim.scenarios.analysis.tables.dataset import Dataset
from kcsim.scenarios.analysis.tables.spark_session import spark_session
from tests.scenarios.analysis.streaming.killed_follow import children_of

RATE = 50_000
SECONDS = 20
WARM_UP_EVENTS = 400_000
CORES = 2
SIZE = Settings(brokers=24, topics=200, partitions=5_000)
PORTION_SECONDS = 0.05
ROWS_AT_ONCE = 20_000
LEAST_BATCHES = 3


def main(size: str | None = None) -> None:
    """Print the greatest rate, and how far behind the query is at the wanted rate."""
    rate = int(size or RATE)
    spark = spark_session(f"local[{CORES}]", bytes_read=0)  # as the command does: Python reads the log
    try:
        with tempfile.TemporaryDirectory() as scratch:
            place = Path(scratch)
            settings = replace(SIZE, length_ms=length_for(SIZE, WARM_UP_EVENTS + rate * SECONDS))
            generate_dataset(spark, settings, place / "history")
            _measure(spark, list(_lines(place / "history")), rate, place)
    finally:
        spark.stop()


def _lines(history: Path) -> Iterator[bytes]:
    """Yield the events of a dataset as the lines of an event log: in order, and numbered without gaps."""
    table = ds.dataset(Dataset(history).events(), partitioning="hive").to_table().sort_by("seq")
    numbers = {seq: number for number, seq in enumerate(table.column("seq").to_pylist())}
    encoder = msgspec.json.Encoder()
    for batch in table.to_batches(ROWS_AT_ONCE):
        names = [name for name in batch.schema.names if name in Event.__struct_fields__]
        for row in batch.select([name for name in names if batch.column(name).null_count < len(batch)]).to_pylist():
            row["seq"], row["cause"] = numbers[row["seq"]], numbers.get(row.get("cause"))
            yield encoder.encode({name: value for name, value in row.items() if value is not None}) + b"\n"


@dataclass
class _Watch:
    """When micro-batches were done, and how many events had been folded then."""

    followed: Followed
    times: list[float] = field(default_factory=list)
    events: list[int] = field(default_factory=list)
    processor_s: list[float] = field(default_factory=list)

    def done(self, _: MicroBatch) -> None:
        self.times.append(time.monotonic())
        self.processor_s.append(_processor_seconds())
        self.events.append(sum(run.events for run in of_runs(self.followed.statuses)))

    def wait_for(self, events: int, query: Any) -> None:
        while not self.events or self.events[-1] < events:
            if not query.isActive:
                raise RuntimeError(f"the query has ended: {query.exception()}")
            time.sleep(PORTION_SECONDS)


def _measure(spark: SparkSession, lines: list[bytes], rate: int, place: Path) -> None:
    log = place / "log.jsonl"
    log.write_bytes(b"".join(lines[:WARM_UP_EVENTS]))
    settings = FollowSettings(str(log), "bench", CORES)
    with opened(place / "live", settings) as followed:
        watch = _Watch(followed)
        query = follow(spark, followed, interval_ms=500, done=watch.done)
        try:
            watch.wait_for(WARM_UP_EVENTS, query)
            _print_greatest(watch)
            first = len(watch.times)
            written = _Writer(log, lines[WARM_UP_EVENTS:], rate)
            written.start()
            watch.wait_for(len(lines), query)
            written.join()
        finally:
            query.stop()
    _print_behind(watch, first, written, rate)


def _print_greatest(watch: _Watch) -> None:
    """Print the rate of the micro-batches after the first, in which Spark starts."""
    if len(watch.times) >= LEAST_BATCHES:
        rate = (watch.events[-1] - watch.events[0]) / (watch.times[-1] - watch.times[0])
        each = (watch.processor_s[-1] - watch.processor_s[0]) / (watch.events[-1] - watch.events[0])
        print(f"\nFollowing a log, local[{CORES}]: what is there is read at {rate:,.0f} events/s")
        print(f"  {each * 1e6:.0f} µs of processor time for each event, in all processes")


def _processor_seconds() -> float:
    """Return the processor time that this process and all below it have taken."""
    ticks = 0
    for pid in (os.getpid(), *children_of(os.getpid())):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))  # its own in user and system mode, and those of its children that have ended
    return ticks / os.sysconf("SC_CLK_TCK")


class _Writer(threading.Thread):
    """Appends lines to a log at a constant rate, and remembers when."""

    def __init__(self, log: Path, lines: list[bytes], rate: int) -> None:
        super().__init__(name="writer", daemon=True)
        self._log, self._lines, self._rate = log, lines, rate
        self.times: list[float] = []
        self.counts: list[int] = []

    def run(self) -> None:
        began, at = time.monotonic(), 0
        with self._log.open("ab", buffering=0) as log:
            while at < len(self._lines):
                wanted = min(len(self._lines), int((time.monotonic() - began) * self._rate))
                log.write(b"".join(self._lines[at:wanted]))
                self.times.append(time.monotonic())
                self.counts.append(wanted - at)
                at = wanted
                time.sleep(PORTION_SECONDS)

    def written_at(self, event: int) -> float:
        """Return when the event with this number was written."""
        place = bisect_left(list(accumulate(self.counts)), event + 1)
        return self.times[min(place, len(self.times) - 1)]


def _print_behind(watch: _Watch, first: int, writer: _Writer, rate: int) -> None:
    ages, shown = [], WARM_UP_EVENTS
    for at, events in zip(watch.times[first:], watch.events[first:], strict=True):
        if events > shown:
            ages.append(at - writer.written_at(shown - WARM_UP_EVENTS))
            shown = events
    ages.sort()
    written = writer.times[-1] - writer.times[0]
    print(f"{sum(writer.counts):,} events written in {written:.1f} s, {rate:,} per second were wanted")
    print(f"  behind: median {ages[len(ages) // 2]:.1f} s, most {ages[-1]:.1f} s, over {len(ages)} micro-batches")
    print(f"  all shown {watch.times[-1] - writer.times[-1]:.1f} s after the last was written")
