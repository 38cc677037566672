"""The analyses read the tables that a dataset keeps, and find in them what they would compute from its events."""

from pathlib import Path

import msgspec
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kcsim.scenarios.analysis import kept_tables
from kcsim.scenarios.analysis.analyses.catalogue import ANALYSES
from kcsim.scenarios.analysis.analyses.reading import read_history
from kcsim.scenarios.analysis.analyses.scope import Scope
from kcsim.scenarios.analysis.engines.duckdb.duckdb_engine import duckdb_engine
from kcsim.scenarios.analysis.engines.frames import using
from kcsim.scenarios.analysis.generate import generate_dataset
from kcsim.scenarios.analysis.ingest import ingest
from kcsim.scenarios.analysis.replay_dataset import replay_to
from kcsim.scenarios.analysis.tables.dataset import KEPT_TABLES, RUNS, STATE_INTERVALS, TRANSITIONS, Dataset
from tests.scenarios.analysis.analyses.test_engines import listing_of
from tests.scenarios.analysis.analyses.test_recorded import recorded
from tests.scenarios.analysis.generating.histories import DAY_MS, HOUR_MS, ROUGH

KEPT = {RUNS, TRANSITIONS, STATE_INTERVALS, KEPT_TABLES}
SCOPES = {
    "whole": Scope(),
    "narrow": Scope(("orders-01", "payments-02", "clicks-03"), since_ms=7 * HOUR_MS, until_ms=DAY_MS, min_insync_replicas=2),
}
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the same history twice, `kept` and `plain`, and a replay of each beside it."""
    place = tmp_path_factory.mktemp("datasets")
    for name in ("kept", "plain"):
        with pytest.MonkeyPatch.context() as patch:
            if name == "kept":
                patch.setattr(kept_tables, "FEWEST_ROWS", 0)
            generate_dataset(spark, ROUGH, place / name)
            replay_to(spark, [place / name], place / f"{name}-replayed")
    return place


def names(dataset: Path) -> set[str]:
    return {path.name for path in dataset.iterdir()}


def analysed(dataset: Path, transitions: Path | None, scope: Scope) -> dict[str, list[tuple[object, ...]]]:
    with duckdb_engine() as engine, using(engine):
        listing = listing_of(read_history([dataset], transitions, scope)[0])
        return {name: listing(name) for name in ANALYSES}


@pytest.mark.parametrize("scope", SCOPES)
def test_analyses_find_what_they_would_compute(folder: Path, scope: str) -> None:
    assert names(folder / "kept") - names(folder / "plain") == KEPT
    plain = analysed(folder / "plain", None, SCOPES[scope])
    assert analysed(folder / "kept", None, SCOPES[scope]) == plain
    assert {name for name, rows in plain.items() if rows} >= {"availability", "isr-churn", "broker-load", "recoveries"}


def test_analyses_of_a_replay_find_what_they_would_compute(folder: Path) -> None:
    assert names(folder / "kept-replayed") - names(folder / "plain-replayed") == {STATE_INTERVALS, KEPT_TABLES}
    of_plain = analysed(folder / "plain", folder / "plain-replayed", Scope())
    assert analysed(folder / "kept", folder / "kept-replayed", Scope()) == of_plain


def test_spark_reads_them_too(spark: SparkSession, folder: Path) -> None:
    kept, plain = (listing_of(read_history([folder / name])[0]) for name in ("kept", "plain"))
    assert kept("availability") == plain("availability")


def test_they_are_read_only_if_this_version_computed_them(folder: Path, keeping: None, spark: SparkSession) -> None:
    generate_dataset(spark, ROUGH, folder / "changed")
    (file,) = Dataset(folder / "changed").files(RUNS)
    table = pq.read_table(file)
    later = pc.add(table["end_ms"], DAY_MS)
    pq.write_table(table.set_column(table.schema.get_field_index("end_ms"), "end_ms", later), file)
    of_plain = analysed(folder / "plain", None, Scope())["availability"]
    assert analysed(folder / "changed", None, Scope())["availability"] != of_plain
    (folder / "changed" / KEPT_TABLES).write_text('{"version": 0}')
    assert analysed(folder / "changed", None, Scope())["availability"] == of_plain


@pytest.fixture
def keeping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the smallest dataset keep its tables."""
    monkeypatch.setattr(kept_tables, "FEWEST_ROWS", 0)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    encode = msgspec.json.Encoder().encode_lines
    (tmp_path / "run.jsonl").write_bytes(encode(recorded("zombie-controller")))
    return tmp_path / "run.jsonl"


def test_an_ingested_dataset_keeps_them(spark: SparkSession, trace: Path, tmp_path: Path, keeping: None) -> None:
    ingest(spark, [trace], tmp_path / "kept")
    assert names(tmp_path / "kept") >= KEPT


def test_a_small_dataset_keeps_none(spark: SparkSession, trace: Path, tmp_path: Path) -> None:
    ingest(spark, [trace], tmp_path / "plain")
    assert not names(tmp_path / "plain") & KEPT
