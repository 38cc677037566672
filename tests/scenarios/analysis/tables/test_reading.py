"""Reading and writing on Spark: traces and datasets, rejected rows, and the layout of a dataset."""

from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from kcsim.eventlog.events import Event
from kcsim.scenarios.analysis.tables.dataset import Dataset, PathExistsError
from kcsim.scenarios.analysis.tables.events_table import events_arrow_schema
from kcsim.scenarios.analysis.tables.reading import read_events
from kcsim.scenarios.analysis.tables.trace_files import SameBatchError
from kcsim.scenarios.analysis.tables.writing import write_events
from tests.scenarios.analysis.synthetic_traces import event, line, started, written


def rows_of(run: str, *events: Event, **wrong: Any) -> list[dict[str, Any]]:
    return [{"run": run, **msgspec.structs.asdict(e), "kind": str(e.kind), **wrong} for e in events]


def history(run: int) -> list[Event]:
    """Return events of two topics with two partitions each, mixed with events of the cluster."""
    of_partitions = [
        event(10 * n + p, topic=topic, partition=p, t_ms=500 - n) for n in range(1, 4) for topic in "ab" for p in (0, 1)
    ]
    return [started(), *of_partitions, event(99, detail=f"of run {run}")]


def part(dataset: Path, batch: str, name: str, rows: list[dict[str, Any]]) -> Path:
    """Write a file of a dataset's events in which no column is required, and return its path."""
    path = dataset / "events" / f"batch={batch}" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    schema = pa.schema([field.with_nullable(True) for field in events_arrow_schema().remove(0)])
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    return path


def selected_rows(table: DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in table.select(*columns).collect()), key=repr)


@pytest.mark.slow
def test_traces_of_all_kinds_are_read_together_and_what_is_none_is_rejected(spark: SparkSession, tmp_path: Path) -> None:
    written(tmp_path / "a b ü.jsonl", history(1))
    written(tmp_path / "p.parquet", history(2))
    (tmp_path / "broken.jsonl").write_bytes(line(started()) + b"garbage\n" + line(event(1))[:9])
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "foreign.parquet").write_bytes(b"PAR1 it is not")
    read = read_events(spark, tmp_path, "b")
    counted = {row["run"]: row["count"] for row in read.events.groupBy("run").count().collect()}
    assert counted == {"a b ü": 14, "p": 14, "broken": 1}
    assert selected_rows(read.rejects, "run", "line", "reason") == [
        ("broken", 2, "not JSON"),
        ("broken", 3, "broken off"),
        ("empty", None, "empty file"),
        ("foreign", None, "unreadable file"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("partitions", [1, 3, 8])
def test_a_dataset_holds_each_history_whole_and_sorted_in_one_file(
    spark: SparkSession, tmp_path: Path, partitions: int
) -> None:
    for run in (1, 2):
        written(tmp_path / f"run{run}.jsonl", history(run))
    write_events(read_events(spark, tmp_path, "b").events, tmp_path / "data" / "events", partitions)
    place_of: dict[tuple[str, str | None, int | None], str] = {}
    rows = []
    for file in (tmp_path / "data" / "events" / "batch=b").glob("*.parquet"):
        of_file = pq.ParquetFile(file).read().to_pylist()
        keys = [(r["run"], r["topic"] or "", r["partition"] or 0, r["t_ms"], r["seq"]) for r in of_file]
        assert keys == sorted(keys)
        for row in of_file:
            assert place_of.setdefault((row["run"], row["topic"], row["partition"]), file.name) == file.name
        rows += of_file
    assert len(rows) == 28
    expected = [row for run in (1, 2) for row in rows_of(f"run{run}", *history(run))]
    assert sorted(rows, key=repr) == sorted(({n: row[n] for n in rows[0]} for row in expected), key=repr)
    assert len(set(place_of.values())) <= partitions


@pytest.mark.slow
def test_a_dataset_is_read_as_it_was_written(spark: SparkSession, tmp_path: Path) -> None:
    written(tmp_path / "run.jsonl", history(1))
    events = read_events(spark, tmp_path / "run.jsonl", "2026-01-01").events
    write_events(events, tmp_path / "data" / "events")
    again = read_events(spark, tmp_path / "data")
    assert again.events.schema == events.schema
    assert selected_rows(again.events, *events.columns) == selected_rows(events, *events.columns)
    assert again.rejects.count() == 0
    with pytest.raises(PathExistsError):
        write_events(events, tmp_path / "data" / "events")


@pytest.mark.slow
def test_what_is_wrong_in_a_dataset_is_rejected_and_the_rest_is_read(spark: SparkSession, tmp_path: Path) -> None:
    """Another program or a newer version may have written the dataset, or a disk may have failed."""
    good = part(tmp_path, "x", "good.parquet", rows_of("r", started(), event(1)))
    wrong = rows_of("r", event(2), kind="Foult") + rows_of("r", event(3), seq=-3) + rows_of("r", event(4), node=None)
    part(tmp_path, "x", "wrong.parquet", [*wrong, *rows_of("r", event(5))])
    part(tmp_path, "y", "newer.parquet", rows_of("new", started(), schema_version=99) + rows_of("old", started()))
    part(tmp_path, "y", "newer2.parquet", rows_of("new", event(1)))
    broken = part(tmp_path, "x", "broken.parquet", rows_of("r", event(6)))
    broken.write_bytes(good.read_bytes()[:-50])
    pq.write_table(pa.table({"name": ["x"]}), tmp_path / "events" / "batch=x" / "foreign.parquet")
    read = read_events(spark, tmp_path)
    assert selected_rows(read.events, "batch", "run", "seq") == [
        ("x", "r", 0),
        ("x", "r", 1),
        ("x", "r", 5),
        ("y", "old", 0),
    ]
    rejects = [(Path(row[0]).name, *row[1:]) for row in selected_rows(read.rejects, "file", "run", "line", "reason")]
    assert sorted(rejects, key=repr) == [
        ("broken.parquet", None, None, "unreadable file"),
        ("foreign.parquet", None, None, "not a trace"),
        ("newer.parquet", "new", 1, "newer version"),
        ("newer2.parquet", "new", 1, "newer version"),
        ("wrong.parquet", "r", 1, "unknown kind"),
        ("wrong.parquet", "r", 2, "out of range"),
        ("wrong.parquet", "r", 3, "missing column"),
    ]
    details = {row.detail: row.text for row in read.rejects.where("reason = 'missing column'").collect()}
    assert list(details) == ["null in node"]
    assert '"seq":4' in details["null in node"]


@pytest.mark.slow
def test_two_datasets_with_a_batch_of_one_name_are_not_mixed(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("one", "two"):
        part(tmp_path / name, "nightly", "part.parquet", rows_of("r", event(1)))
    with pytest.raises(SameBatchError, match="batch nightly is in"):
        read_events(spark, [tmp_path / "one", tmp_path / "two"])


@pytest.mark.slow
def test_a_dataset_without_a_readable_file_has_no_events(spark: SparkSession, tmp_path: Path) -> None:
    path = part(tmp_path, "x", "broken.parquet", rows_of("r", event(6)))
    path.write_bytes(b"PAR1")
    assert Dataset(tmp_path).has("events")
    read = read_events(spark, tmp_path)
    assert (read.events.count(), selected_rows(read.rejects, "batch", "reason")) == (0, [("x", "unreadable file")])
