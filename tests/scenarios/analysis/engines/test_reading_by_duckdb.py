"""What DuckDB reads of traces and datasets: the events that Spark and the event log's own reader find in them."""

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from kcsim.eventlog.events import EVENT_SCHEMA_VERSION, Event
from kcsim.scenarios.analysis.engines.duckdb.duckdb_engine import DuckDbEngine, duckdb_engine
from kcsim.scenarios.analysis.engines.frames import using
from tests.eventlog.schema_samples import current_run, unpacked
from tests.scenarios.analysis.synthetic_traces import event, started, written
from tests.scenarios.analysis.tables.test_batch_upgrade import dataset_of_version_2
from tests.scenarios.analysis.tables.test_reading import history, part, rows_of


@pytest.fixture
def duckdb() -> Iterator[DuckDbEngine]:
    with duckdb_engine() as engine, using(engine):
        yield engine


def events_of(engine: DuckDbEngine, *paths: Path) -> list[Event]:
    rows: list[dict[str, Any]] = [row.asDict() for row in engine.read_events(paths).events.orderBy("run", "seq").collect()]
    names = Event.__struct_fields__
    return [msgspec.convert({name: row[name] for name in names}, Event) for row in rows]


COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}
EVENTS = sorted(history(1), key=lambda event: event.seq)


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz", "run.jsonl.zst", "run.parquet"])
def test_a_trace_of_any_kind_has_its_events(duckdb: DuckDbEngine, name: str, tmp_path: Path) -> None:
    plain = written(tmp_path / name.removesuffix(".gz").removesuffix(".zst"), EVENTS)
    path = tmp_path / name
    if path != plain:
        path.write_bytes(COMPRESSED[path.suffix](plain.read_bytes()))
    assert events_of(duckdb, path) == EVENTS


@pytest.mark.parametrize("name", ["run.jsonl", "run.parquet"])
def test_a_trace_of_version_2_is_upgraded(duckdb: DuckDbEngine, name: str, tmp_path: Path) -> None:
    assert events_of(duckdb, unpacked(name, tmp_path)) == current_run()


def test_a_dataset_of_version_2_is_upgraded(duckdb: DuckDbEngine, tmp_path: Path) -> None:
    dataset_of_version_2(tmp_path)
    assert events_of(duckdb, tmp_path) == current_run()


def test_a_run_of_a_newer_version_is_rejected_and_the_others_are_read(duckdb: DuckDbEngine, tmp_path: Path) -> None:
    newer = msgspec.structs.replace(started(), schema_version=EVENT_SCHEMA_VERSION + 1)
    part(tmp_path, "b", "part-0.parquet", [*rows_of("good", *EVENTS), *rows_of("newer", newer, event(1), event(2))])
    assert events_of(duckdb, tmp_path) == EVENTS
    rejects = duckdb.read_events([tmp_path]).rejects
    assert [row.run for row in rejects.select("run").collect()] == ["newer"] * 3
