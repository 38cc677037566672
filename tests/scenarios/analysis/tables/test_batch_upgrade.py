"""Traces and datasets of version 2 of the schema are read, ingested and replayed as those of today are."""

from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kcsim.eventlog.event_log import arrow_schema
from kcsim.eventlog.events import Event
from kcsim.scenarios.analysis.folding.folding_runs import fold_events
from kcsim.scenarios.analysis.partitioned_files import rows_of_files
from kcsim.scenarios.analysis.replay import replay
from kcsim.scenarios.analysis.tables.reading import read_events
from kcsim.scenarios.analysis.tables.trace_files import Split, Trace
from kcsim.scenarios.analysis.tables.trace_lines import read_lines
from kcsim.scenarios.analysis.tables.trace_rows import read_rows
from tests.eventlog.schema_samples import SAMPLES, current_run, unpacked


def events_of(rows: list[dict[str, Any]]) -> list[Event]:
    names = Event.__struct_fields__
    events = [msgspec.convert({name: row[name] for name in names}, Event) for row in rows]
    return sorted(events, key=lambda event: event.seq)


def dataset_of_version_2(folder: Path) -> Path:
    """Write a dataset whose only file has the columns of version 2. Returns: the file."""
    table = pq.read_table(SAMPLES / "run.parquet")
    assert set(arrow_schema().names) > set(table.schema.names)
    path = folder / "events" / "batch=b" / "part-00000.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(table.add_column(0, "run", pa.repeat("r", len(table))), path)
    return path


@pytest.mark.parametrize("name", ["run.jsonl", "run.parquet"])
def test_a_trace_of_version_2_is_upgraded_where_it_is_read(name: str, tmp_path: Path) -> None:
    path = unpacked(name, tmp_path)
    split = Split(Trace(str(path), "b", "r", path.stat().st_size))
    portions = list(read_lines(split) if name.endswith(".jsonl") else read_rows(split))
    assert [reject for portion in portions for reject in portion.rejects] == []
    assert events_of([row for portion in portions for row in portion.events.to_pylist()]) == current_run()


@pytest.mark.parametrize("start", [1, 20_000])
def test_a_part_of_a_trace_of_version_2_is_upgraded_too(start: int, tmp_path: Path) -> None:
    """The part does not contain the first event, which names the version."""
    path = unpacked("run.jsonl", tmp_path)
    split = Split(Trace(str(path), "b", "r", path.stat().st_size), start)
    found = events_of([row for portion in read_lines(split) for row in portion.events.to_pylist()])
    assert found
    assert found == current_run()[-len(found) :]


@pytest.mark.parametrize("of_partitions", [True, False])
def test_the_files_of_a_dataset_of_version_2_are_upgraded_for_the_replay(of_partitions: bool, tmp_path: Path) -> None:
    file = dataset_of_version_2(tmp_path)
    current = tmp_path / "today" / "batch=b" / "part-00000.parquet"
    current.parent.mkdir(parents=True)
    rows = [{**msgspec.structs.asdict(event), "kind": str(event.kind)} for event in current_run()]
    table = pa.Table.from_pylist(rows, schema=arrow_schema())
    pq.write_table(table.add_column(0, "run", pa.repeat("r", len(table))), current)
    wanted = list(rows_of_files([current], of_partitions))
    assert wanted
    assert list(rows_of_files([file], of_partitions)) == wanted


@pytest.mark.slow
def test_a_dataset_of_version_2_is_read_and_replayed(spark: SparkSession, tmp_path: Path) -> None:
    dataset_of_version_2(tmp_path)
    read = read_events(spark, tmp_path)
    assert read.rejects.count() == 0
    assert events_of([row.asDict() for row in read.events.collect()]) == current_run()
    replayed = replay(read.events)
    wanted = fold_events("b", "r", current_run()).transitions
    assert replayed.count() == len(wanted) > 0


@pytest.mark.slow
def test_traces_of_version_2_are_read_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("run.jsonl", "run.parquet"):
        folder = tmp_path / name.replace(".", "-")
        folder.mkdir()
        read = read_events(spark, unpacked(name, folder), "b")
        assert events_of([row.asDict() for row in read.events.collect()]) == current_run()
