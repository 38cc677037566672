"""The replay on Spark: it equals that of one process, however it is divided; and the command."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from typer.testing import CliRunner, Result

from kcsim.eventlog.event_log import open_trace_writer
from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.analysis.analyses.catalogue import ANALYSES
from kcsim.scenarios.analysis.analyses.history_tables import HistoryTables
from kcsim.scenarios.analysis.analyses.scope import Scope
from kcsim.scenarios.analysis.folding.folding_runs import fold_events, fold_of_many
from kcsim.scenarios.analysis.folding.mismatch import Mismatch, mismatches_arrow_schema
from kcsim.scenarios.analysis.folding.replay_fact import ReplayFact, fact_of
from kcsim.scenarios.analysis.folding.timeline import Timeline
from kcsim.scenarios.analysis.folding.transition import Transition, transitions_arrow_schema
from kcsim.scenarios.analysis.folding.what_if import WhatIf
from kcsim.scenarios.analysis.generate import generate_dataset
from kcsim.scenarios.analysis.generating.durations import DAY_MS
from kcsim.scenarios.analysis.generating.settings import Settings
from kcsim.scenarios.analysis.partitioned_files import are_partitioned
from kcsim.scenarios.analysis.replay import BroadcastTimelines, mismatches_of, replayed, transitions_of
from kcsim.scenarios.analysis.replay_dataset import replay_to
from kcsim.scenarios.analysis.replay_files import replay_files_to, replayed_files
from kcsim.scenarios.analysis.replay_summary import by_partition, counts
from kcsim.scenarios.analysis.tables.dataset import Dataset
from kcsim.scenarios.analysis.tables.events_table import events_arrow_schema
from kcsim.scenarios.analysis.tables.reading import read_table
from kcsim.scenarios.analysis.tables.writing import write_events
from kcsim.scenarios.cli.app import app
from kcsim.scenarios.language.library import library_names
from tests.scenarios.analysis.analyses.random_stories import random_story
from tests.scenarios.analysis.analyses.stories import Story, events_of
from tests.scenarios.analysis.analyses.stories import transitions_of as transitions_of_stories
from tests.scenarios.analysis.folding.simulated_runs import library_run
from tests.scenarios.analysis.one_process import replay_in_one_process, replay_to_in_one_process
from tests.scenarios.analysis.progress_lines import without_progress

A_SHARE = ["partition-expansion", *(name for name in library_names()[::8] if name != "partition-expansion")]
"""Runs to replay. The first has changes of the whole cluster that name a topic: they are still in order of seq."""


def table(runs: dict[str, Sequence[Event]], *, is_laid_out: bool = False) -> pa.Table:
    """Return runs as a table of events; if is_laid_out, changes of state znodes stand under their partition."""
    rows = []
    for run, events in runs.items():
        for event in events:
            row = {"batch": "library", "run": run, **msgspec.structs.asdict(event), "kind": str(event.kind)}
            fact = fact_of(event) if is_laid_out else None
            if fact is not None:
                row |= {"topic": fact.topic, "partition": fact.partition}
            rows.append(row)
    return pa.Table.from_pylist(rows, schema=events_arrow_schema())


def rows_of(frame: DataFrame) -> list[tuple[object, ...]]:
    names = Transition.__struct_fields__
    found = ([row[name] for name in names] for row in frame.select(*names).collect())
    return sorted(tuple(tuple(v) if isinstance(v, list) else v for v in row) for row in found)


def expected(runs: dict[str, Sequence[Event]]) -> list[tuple[object, ...]]:
    """Return the transitions that one process computes."""
    folded = [fold_events("library", run, events).transitions for run, events in runs.items()]
    return sorted(msgspec.structs.astuple(row) for transitions in folded for row in transitions)


@pytest.fixture(scope="session")
def runs() -> dict[str, Sequence[Event]]:
    return {name: library_run(name) for name in A_SHARE}


@pytest.mark.slow
@pytest.mark.parametrize(("by_run", "partitions"), [(True, 3), (False, 1), (False, 8)])
def test_however_it_is_divided_the_result_is_that_of_one_process(
    spark: SparkSession, runs: dict[str, Sequence[Event]], by_run: bool, partitions: int
) -> None:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
    try:
        found = replayed(spark.createDataFrame(table(runs)), by_run=by_run).cache()
        assert rows_of(transitions_of(found)) == expected(runs)
        assert mismatches_of(found).count() == 0
        found.unpersist()
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before or "4")


def test_a_task_receives_the_timelines_of_its_own_runs_only() -> None:
    """Each timeline is broadcast by itself, and fetched when it is looked up."""
    fetched = []

    class Fetched:
        def __init__(self, run: str) -> None:
            self.run = run

        @property
        def value(self) -> Timeline:
            fetched.append(self.run)
            return Timeline()

    timelines = BroadcastTimelines({("batch", run): Fetched(run) for run in ("a", "b", "c")})  # type: ignore[misc]
    assert list(fold_of_many([], timelines)) == []
    fact = ReplayFact(seq=1, t_ms=1, node="broker-1", kind=EventKind.LEADER_ELECTION, topic="orders", partition=0)
    list(fold_of_many([("batch", "b", fact), ("batch", "unknown", fact)], timelines))
    assert fetched == ["b"]


@pytest.mark.slow
def test_files_that_are_laid_out_are_replayed_as_they_lie(
    spark: SparkSession, runs: dict[str, Sequence[Event]], tmp_path: Path
) -> None:
    few = dict(list(runs.items())[:3])
    write_events(spark.createDataFrame(table(few, is_laid_out=True)), tmp_path / "events", 3)
    files = sorted((tmp_path / "events").glob("batch=*/*.parquet"))
    assert len(files) > 1
    assert are_partitioned(files)
    assert rows_of(transitions_of(replayed_files(spark, files))) == expected(few)
    here = [row for transitions, _ in replay_in_one_process(files) for row in transitions]
    assert sorted(map(msgspec.structs.astuple, here)) == expected(few)


@pytest.mark.slow
@pytest.mark.parametrize("what_if", [None, WhatIf(unclean=True)], ids=["as it was", "unclean"])
def test_files_that_are_laid_out_become_files_of_transitions(
    spark: SparkSession, runs: dict[str, Sequence[Event]], tmp_path: Path, what_if: WhatIf | None
) -> None:
    """Each file of events has one file of transitions, with the same bytes from Spark's workers and from one process.

    The counts that are reported are those of the written rows.
    """
    few = dict([(name, run) for name, run in runs.items() if expected({name: run})][:3])  # those with partitions
    write_events(spark.createDataFrame(table(few, is_laid_out=True)), tmp_path / "events", 3)
    files = sorted((tmp_path / "events").glob("batch=*/*.parquet"))
    parallel, alone = Dataset(tmp_path / "parallel"), Dataset(tmp_path / "alone")
    done = replay_files_to(spark, files, parallel, what_if)
    assert done == replay_to_in_one_process(files, alone, what_if)
    written = [path.relative_to(tmp_path / "parallel") for path in tmp_path.glob("parallel/**/*") if path.is_file()]
    assert len(written) >= len(files)
    assert all((tmp_path / "parallel" / p).read_bytes() == (tmp_path / "alone" / p).read_bytes() for p in written)
    results = list(replay_in_one_process(files, what_if))
    transitions = read_table(spark, parallel.transitions(), transitions_arrow_schema())
    assert rows_of(transitions) == sorted(msgspec.structs.astuple(row) for rows, _ in results for row in rows)
    assert done.runs == [("library", run) for run in sorted(few)]
    assert done.partitions == sum(bool(rows) for rows, _ in results)
    assert done.transitions == counts(transitions)
    assert done.mismatches + done.passed_over == sum(len(differing) for _, differing in results)


@pytest.mark.slow
def test_what_differs_in_files_that_are_laid_out_is_written_too(
    spark: SparkSession, runs: dict[str, Sequence[Event]], tmp_path: Path
) -> None:
    (name, events), *_ = runs.items()
    place = [n for n, e in enumerate(events) if e.kind is EventKind.LEADER_ELECTION][-1]
    changed = [*events[:place], msgspec.structs.replace(events[place], leader=9), *events[place + 1 :]]
    write_events(spark.createDataFrame(table({name: changed}, is_laid_out=True)), tmp_path / "dataset" / "events", 2)
    done = replay_to(spark, [tmp_path / "dataset"], tmp_path / "replayed")
    wanted = fold_events("library", name, changed).mismatches
    assert done.mismatches == len(wanted) > 0
    assert set(done.first_mismatches) <= set(wanted)
    written = read_table(spark, Dataset(tmp_path / "replayed").mismatches(), mismatches_arrow_schema())
    assert {Mismatch(**row.asDict()) for row in written.collect()} == set(wanted)


@pytest.mark.slow
def test_a_partition_is_unavailable_as_in_the_analyses(spark: SparkSession) -> None:
    """The time without a live leader, of a what-if too, is that of `availability`: one meaning of the word."""
    stories = [random_story(seed) for seed in range(5)]
    history = HistoryTables(events_of(spark, stories), transitions_of_stories(spark, stories), Scope())
    is_of_partition = F.col("scope") == "partition"
    found = {_key(row): row.unavailable_ms or 0 for row in by_partition(history).collect()}
    analysed = ANALYSES["availability"].table(history).where(is_of_partition).collect()
    assert {_key(row): row.unavailable_ms for row in analysed} == {key: found[key] for key in map(_key, analysed)}
    assert any(found.values())


def _key(row: Row) -> tuple[str, str, int]:
    return row["run"], row["topic"], row["partition"]


@pytest.mark.slow
def test_time_without_a_live_leader_and_with_few_replicas_is_summed_up(spark: SparkSession) -> None:
    """The broker is down from 10 to 20, no broker leads from 30 to 40, and one of two replicas is in sync from 50 on."""
    story = Story("r")
    story.registers(0, 1, 2)
    story.state(0, "orders", 0, leader=1, isr=[1, 2], replicas=[1, 2])
    story.unregisters(10, 1)
    story.registers(20, 1)
    story.state(30, "orders", 0, leader=-1, isr=[1, 2], replicas=[1, 2])
    story.state(40, "orders", 0, leader=2, isr=[1, 2], replicas=[1, 2])
    story.state(50, "orders", 0, leader=2, isr=[2], replicas=[1, 2])
    story.ends(80)
    history = HistoryTables(events_of(spark, [story]), transitions_of_stories(spark, [story]), Scope())
    (row,) = by_partition(history, min_insync_replicas=2).collect()
    assert (row.unavailable_ms, row.under_min_isr_ms) == (20, 30)
    (row,) = by_partition(history).collect()
    assert (row.unavailable_ms, row.under_min_isr_ms) == (20, None)


# --- the command -----------------------------------------------------------------------------------------------------------


def replay(*arguments: Path | str) -> Result:
    return CliRunner().invoke(app, ["spark", "replay", *map(str, arguments)])


def trace(path: Path, events: Sequence[Event]) -> Path:
    writer = open_trace_writer(path)
    for event in events:
        writer.write(event)
    writer.close()
    return path


def test_a_trace_becomes_transitions_and_what_happened_is_counted(spark: SparkSession, tmp_path: Path) -> None:
    events = library_run("broker-crash-and-return")
    run = trace(tmp_path / "run.jsonl", events)
    result = replay(run, "-o", tmp_path / "out", "--output", "json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["runs"], document["mismatches"], document["comparison"]) == (1, 0, None)
    wanted = fold_events("b", "run", events).transitions
    assert sum(row["count"] for row in document["transitions"]) == len(wanted)
    assert Dataset(tmp_path / "out").has("transitions")
    assert not Dataset(tmp_path / "out").has("mismatches")
    again = replay(run, "-o", tmp_path / "out")
    assert (again.exit_code, again.stderr) == (
        64,
        f"{tmp_path / 'out'} exists, and nothing is overwritten; choose another path, or remove it\n",
    )


@pytest.mark.slow
def test_the_jobs_say_in_spark_s_ui_which_way_a_replay_went(spark: SparkSession, tmp_path: Path) -> None:
    """Files that are laid out go another way than a table, and their tasks show no rows that were read or shuffled."""
    made = generate_dataset(spark, Settings(brokers=4, topics=2, partitions=6, length_ms=DAY_MS), tmp_path / "history")
    run = trace(tmp_path / "run.jsonl", library_run("broker-crash-and-return"))
    for source, way in (
        (tmp_path / "history", f"replay: each of {made.files} files by one task, in Python; nothing is shuffled"),
        (run, "replay: rows are shuffled by partition or run: groupBy, applyInArrow"),
    ):
        before = job_descriptions(spark)
        replay_to(spark, [source], tmp_path / f"of-{source.stem}")
        after = job_descriptions(spark)
        assert after[way] > before[way], after
    assert spark.sparkContext.getLocalProperty("spark.job.description") is None


def job_descriptions(spark: SparkSession) -> Counter[str]:
    """Return how many jobs Spark's UI shows with each description."""
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    return Counter(jobs.apply(place).description().toString()[len("Some(") : -1] for place in range(jobs.size()))


@pytest.mark.slow
def test_a_history_that_records_something_else_ends_with_status_1_and_says_where(
    spark: SparkSession, tmp_path: Path
) -> None:
    events = list(library_run("broker-crash-and-return"))
    place = [n for n, e in enumerate(events) if e.kind is EventKind.LEADER_ELECTION][-1]
    events[place] = msgspec.structs.replace(events[place], leader=9)
    result = replay(trace(tmp_path / "run.jsonl", events), "-o", tmp_path / "out")
    assert result.exit_code == 3
    assert f"event {events[place].seq} of {events[place].topic}-{events[place].partition}: election" in result.stderr
    assert Dataset(tmp_path / "out").has("mismatches")


@pytest.mark.slow
def test_a_what_if_says_what_would_have_been_different(spark: SparkSession, tmp_path: Path) -> None:
    run = trace(tmp_path / "run.jsonl", library_run("last-isr-member-lost"))
    result = replay(run, "-o", tmp_path / "out", "--unclean", "on", "--min-insync-replicas", "2")
    assert result.exit_code == 0, result.output
    assert "leaders elected: 6, 2 of them unclean (was 6, 1)" in result.stdout
    assert "an unclean election may lose records that only the in-sync replicas had" in result.stdout
    assert "  ledger-0 of run: without a live leader for " in result.stdout
    assert json.loads((tmp_path / "out" / "replay.json").read_text())["what_if"]["unclean"] is True


@pytest.mark.slow
def test_a_what_if_that_changes_no_decision_makes_no_difference(spark: SparkSession, tmp_path: Path) -> None:
    """Also of a run that a replay cannot derive exactly: what deriving changes is not listed as an effect of the option."""
    run = trace(tmp_path / "run.jsonl", library_run("reassignment-controller-killed"))
    result = replay(run, "-o", tmp_path / "out", "--min-insync-replicas", "1", "--output", "json")
    assert result.exit_code == 0, result.output
    comparison = json.loads(result.stdout)["comparison"]
    assert comparison["before"] == comparison["after"]
    assert (comparison["most_changed"], comparison["newly_unavailable"]) == ([], 0)


@pytest.mark.slow
def test_where_there_is_no_event_nothing_is_written(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_bytes(b"garbage\n")
    result = replay(tmp_path / "run.jsonl", "-o", tmp_path / "out")
    assert (result.exit_code, without_progress(result.stderr)) == (
        2,
        f"kcsim: there are no events in {tmp_path / 'run.jsonl'}\n",
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--catch-up", "soon"), "--catch-up: 'soon' is no duration"),
        (("--placement", "nowhere.json"), "--placement: nowhere.json: No such file or directory"),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_work(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    result = replay(tmp_path / "run.jsonl", "-o", tmp_path / "out", *arguments)
    assert result.exit_code == 64
    assert message in result.stderr
