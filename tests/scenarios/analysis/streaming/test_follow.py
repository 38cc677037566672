"""Following event logs with Spark: the tables are those of the batch replay, also after stops."""

import contextlib
import random
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pyarrow.dataset as ds
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from kcsim.eventlog.events import Event
from kcsim.scenarios.analysis.folding.folding_runs import fold_events
from kcsim.scenarios.analysis.folding.transition import Transition
from kcsim.scenarios.analysis.streaming.follow import follow
from kcsim.scenarios.analysis.streaming.followed import Followed, FollowSettings, MicroBatch, opened
from kcsim.scenarios.analysis.tables.dataset import Dataset
from tests.scenarios.analysis.folding.simulated_runs import library_run
from tests.scenarios.analysis.streaming.killed_follow import micro_batches
from tests.scenarios.analysis.streaming.portions import BATCH, in_order
from tests.scenarios.analysis.synthetic_traces import line

FIRST, SECOND = "leader-crash-acks-one", "partition-expansion"


def written_transitions(out: Path) -> list[Transition]:
    """Return the transitions that were written, partition by partition."""
    if not Dataset(out).has("transitions"):
        return []
    table = ds.dataset(Dataset(out).transitions(), partitioning="hive", exclude_invalid_files=True).to_table()
    rows = [Transition(**{**row, "batch": str(row["batch"])}) for row in table.to_pylist()]
    return in_order(_with_tuples(row) for row in rows)


def _with_tuples(row: Transition) -> Transition:
    lists = {name: tuple(getattr(row, name)) for name in ("isr", "replicas", "adding", "removing")}
    return msgspec.structs.replace(row, **lists)


def expected(**runs: Sequence[Event]) -> list[Transition]:
    return in_order(row for run, events in runs.items() for row in fold_events(BATCH, run, events).transitions)


class Interrupted(Followed):
    """A folder to which some micro-batches are written only in part, or written and then not committed."""

    chosen = random.Random(3)
    failures = 0

    def write(self, micro_batch: MicroBatch) -> None:
        fate = self.chosen.random()
        if fate < 0.3:
            tables = list(micro_batch.rows.items())
            some = dict(tables[: self.chosen.randrange(len(tables) + 1)])
            super().write(MicroBatch(micro_batch.number, some, micro_batch.statuses if fate < 0.15 else []))
            self.failures += 1
            raise OSError("the disk is full")
        super().write(micro_batch)


def text(events: Sequence[Event]) -> bytes:
    return b"".join(map(line, events))


@pytest.mark.slow
def test_a_folder_that_grows_is_followed_over_stops_to_the_tables_of_the_batch_replay(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Between two queries, one file gets more lines, its last line is whole at last, and another file appears.

    Micro-batches are small: each restores and saves the state of the fold.
    """
    first, second = library_run(FIRST), library_run(SECOND)
    traces, out = tmp_path / "traces", tmp_path / "out"
    traces.mkdir()
    whole = text(first)
    cut = len(whole) * 3 // 4
    (traces / "first.jsonl").write_bytes(whole[:cut])
    settings = FollowSettings(str(traces), BATCH, 2, max_bytes=1 + len(whole) // 5)

    with opened(out, settings) as followed:
        follow(spark, followed, until_end=True).awaitTermination()
    before = expected(first=first[: whole[:cut].count(b"\n")])
    assert before
    assert written_transitions(out) == before

    with (traces / "first.jsonl").open("ab") as file:
        file.write(whole[cut:])
    (traces / "second.jsonl").write_bytes(text(second))
    with opened(out, settings) as followed:
        follow(spark, followed, until_end=True).awaitTermination()
    assert written_transitions(out) == expected(first=first, second=second)
    assert not Dataset(out).has("mismatches")
    assert not Dataset(out).has("rejects")


@pytest.mark.nightly
def test_stopped_and_failing_at_random_moments_it_ends_with_the_tables_of_the_batch_replay(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Twenty queries are interrupted wherever they are, and some cannot write; test_follow_command.py kills processes."""
    run, out = library_run(FIRST), tmp_path / "out"
    whole, chosen, stops = text(run), random.Random(5), 0
    (tmp_path / "first.jsonl").write_bytes(whole)
    settings = FollowSettings(str(tmp_path / "first.jsonl"), BATCH, 2, max_bytes=1 + len(whole) // 40)
    with opened(out, settings) as opened_once:
        followed = Interrupted(out, opened_once.settings)
        while stops < 20:
            planned = micro_batches(out)
            query = follow(spark, followed, until_end=True)
            while query.isActive and micro_batches(out) == planned:
                time.sleep(0.05)
            time.sleep(chosen.random() * 3)
            query.stop()
            stops += 1
        before = len(written_transitions(out))
        with contextlib.suppress(StreamingQueryException):
            follow(spark, followed, until_end=True).awaitTermination()
        follow(spark, opened_once, until_end=True).awaitTermination()
    assert (followed.failures > 0, before > 0) == (True, True)
    assert written_transitions(out) == expected(first=run)
