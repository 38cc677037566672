"""Seven analyses, compared with the oracle written from the text of their definitions: whole rows, on both engines."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession

from kcsim.scenarios.analysis.analyses.catalogue import ANALYSES
from kcsim.scenarios.analysis.analyses.history_tables import HistoryTables
from kcsim.scenarios.analysis.analyses.reading import read_history
from kcsim.scenarios.analysis.analyses.scope import Scope
from kcsim.scenarios.analysis.engines.duckdb.duckdb_engine import duckdb_engine
from kcsim.scenarios.analysis.engines.frames import using
from kcsim.scenarios.analysis.generate import generate_dataset
from kcsim.scenarios.analysis.generating.portions import length_for
from kcsim.scenarios.analysis.generating.settings import Settings
from tests.scenarios.analysis.analyses.conftest import divided
from tests.scenarios.analysis.analyses.definitions_oracle import Row, events_of_dataset, events_of_trace, tables_of
from tests.scenarios.analysis.analyses.test_recorded import recorded

DEFINED = (
    *("unavailability", "under-min-isr", "controllers", "recoveries", "loss-of-racks", "affected-brokers"),
    "flapping-replicas",
)
RUNS = (
    # Brokers and racks are lost.
    *("last-isr-member-lost", "rack-loss", "two-racks-lost", "rolling-restart-without-controlled-shutdown"),
    *("unclean-election-loses-counted-records", "fault-unreadable-state", "fault-replica-named-twice"),
    # Controllers change.
    *("controller-and-leader-lost", "controller-lost-with-its-replicas", "fault-controller-overwritten"),
    *("fault-controller-epoch-lowered", "zombie-controller"),
    # Partitions are reassigned.
    *("reassignment-controller-killed", "fault-cancelled-to-dead-replicas", "fault-reassigned-without-state"),
    # Topics are deleted.
    *("deletion-with-dead-broker", "fault-deletion-stuck-in-reassignment", "fault-deletion-without-state"),
    *("fault-empty-replica-list", "zombie-deletes-topic"),
)
SCOPE = Scope(min_insync_replicas=2)
LARGE = Settings(brokers=12, partitions=1_000, topics=100)
each_analysis = pytest.mark.parametrize("name", DEFINED)


def computed(history: HistoryTables, name: str) -> list[Row]:
    rows = (row.asDict() for row in ANALYSES[name].table(history).collect())
    return in_order({column: value for column, value in row.items() if column != "batch"} for row in rows)


def defined(run: str, events: Iterable[Row]) -> dict[str, list[Row]]:
    tables = tables_of(events, SCOPE.min_insync_replicas)
    return {name: [{"run": run, **row} for row in rows] for name, rows in tables.items()}


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Return the rows in an order of their own: all of their columns count, by name."""
    return sorted((dict(sorted(row.items())) for row in rows), key=repr)


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces")
    encode = msgspec.json.Encoder().encode
    for run in RUNS:
        (folder / f"{run}.jsonl").write_bytes(b"".join(encode(event) + b"\n" for event in recorded(run)))
    return folder


@pytest.fixture(scope="module")
def of_library(traces: Path) -> dict[str, list[Row]]:
    runs = [defined(run, events_of_trace(traces / f"{run}.jsonl")) for run in RUNS]
    return {name: in_order(row for tables in runs for row in tables[name]) for name in DEFINED}


@pytest.fixture(scope="module")
def library_on_spark(spark: SparkSession, traces: Path) -> HistoryTables:
    """Return the runs as one history."""
    return read_history([traces], scope=SCOPE)[0]


@pytest.mark.slow
@each_analysis
def test_library_on_duckdb(name: str, traces: Path, of_library: dict[str, list[Row]]) -> None:
    assert of_library[name]
    with duckdb_engine() as engine, using(engine):
        assert computed(read_history([traces], scope=SCOPE)[0], name) == of_library[name]


@pytest.mark.slow
@each_analysis
def test_library_on_spark(name: str, library_on_spark: HistoryTables, of_library: dict[str, list[Row]]) -> None:
    assert computed(library_on_spark, name) == of_library[name]


@pytest.mark.nightly
def test_a_million_events_on_duckdb(spark: SparkSession, tmp_path: Path) -> None:
    settings = replace(LARGE, length_ms=length_for(LARGE, 1_000_000))
    generate_dataset(divided(spark, 4), settings, tmp_path / "history")
    expected = defined(settings.run, events_of_dataset(tmp_path / "history"))
    with duckdb_engine() as engine, using(engine):
        history = read_history([tmp_path / "history"], scope=SCOPE)[0]
        for name in DEFINED:
            assert expected[name]
            assert computed(history, name) == in_order(expected[name]), name
