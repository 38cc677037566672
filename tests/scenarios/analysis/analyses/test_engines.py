"""The analyses on Spark and on DuckDB: the same rows, in the same order, to the last digit."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.sql import DataFrame, SparkSession

from kcsim.scenarios.analysis.analyses import intervals
from kcsim.scenarios.analysis.analyses.catalogue import ANALYSES
from kcsim.scenarios.analysis.analyses.history_tables import HistoryTables
from kcsim.scenarios.analysis.analyses.reading import read_history
from kcsim.scenarios.analysis.analyses.scope import Liveness, Scope
from kcsim.scenarios.analysis.engines.duckdb.duckdb_engine import duckdb_engine
from kcsim.scenarios.analysis.engines.frames import using
from kcsim.scenarios.analysis.report.gathering import gather
from kcsim.scenarios.analysis.report.page import page
from tests.scenarios.analysis.analyses.conftest import BUCKET_MS, SECTION_MS, made_of
from tests.scenarios.analysis.analyses.handwritten_runs import ALL_BY_HAND
from tests.scenarios.analysis.analyses.stories import Story, written
from tests.scenarios.analysis.analyses.test_recorded import recorded
from tests.tiers import chosen

Listing = Callable[[str], list[tuple[Any, ...]]]
"""The name of an analysis -> its rows, in the order of a listing."""
LIBRARY = (
    "broker-crash-and-return",
    "unclean-election-loses-counted-records",
    "reassignment-cancelled",
    "zombie-controller",
)
NARROW = Scope(
    ("orders",), since_ms=20, until_ms=60, at_ms=40, bucket_ms=7, min_insync_replicas=2, liveness=Liveness.REGISTERED
)
FEW = ("availability", "recovery-times", "controller-gaps", "skew")
pytestmark = pytest.mark.slow
each_analysis = pytest.mark.parametrize("name", ANALYSES)
some_analyses = pytest.mark.parametrize("name", chosen(ANALYSES, fast=(), slow=FEW))


@contextmanager
def on_duckdb(paths: Sequence[Path], scope: Scope) -> Iterator[HistoryTables]:
    with duckdb_engine() as engine, using(engine):
        yield read_history(paths, scope=scope)[0]


def listing_of(history: HistoryTables) -> Listing:
    return cache(lambda name: [tuple(row) for row in ANALYSES[name].sorted_table(history).collect()])


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory, random_stories: dict[int, Story]) -> Path:
    return written(tmp_path_factory.mktemp("stories") / "history", [*ALL_BY_HAND, *random_stories.values()])


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("traces")
    encode = msgspec.json.Encoder().encode
    for run in LIBRARY:
        (folder / f"{run}.jsonl").write_bytes(b"".join(encode(event) + b"\n" for event in recorded(run)))
    return [folder]


@each_analysis
def test_stories(name: str, dataset: Path, history: HistoryTables, computed: Callable[[str], DataFrame]) -> None:
    """The runs of all other tests of analyses; time is cut into sections of a few milliseconds on both engines."""
    on_spark = [tuple(row) for row in made_of(name, computed(name)).sorted_table(history).collect()]
    with pytest.MonkeyPatch.context() as patch, on_duckdb([dataset], Scope(bucket_ms=BUCKET_MS)) as small:
        patch.setattr(intervals, "SECTION_MS", SECTION_MS)
        assert listing_of(small)(name) == on_spark


@pytest.fixture(scope="module")
def narrow_on_spark(spark: SparkSession, dataset: Path) -> Listing:
    return listing_of(read_history([dataset], scope=NARROW)[0])


@some_analyses
def test_a_narrow_scope(name: str, dataset: Path, narrow_on_spark: Listing) -> None:
    on_spark = narrow_on_spark(name)
    with on_duckdb([dataset], NARROW) as small:
        assert listing_of(small)(name) == on_spark


@pytest.fixture(scope="module")
def library_on_spark(spark: SparkSession, traces: list[Path]) -> Listing:
    return listing_of(read_history(traces)[0])


@some_analyses
def test_recorded_runs(name: str, traces: list[Path], library_on_spark: Listing) -> None:
    """Loose traces have no transitions: both engines read them off the state znodes."""
    on_spark = library_on_spark(name)
    with on_duckdb(traces, Scope()) as small:
        assert listing_of(small)(name) == on_spark


@pytest.mark.nightly
def test_the_page_of_a_report(spark: SparkSession, traces: list[Path]) -> None:
    def contents(history: HistoryTables) -> Any:
        return gather(history, "library", "1", {})

    on_spark = contents(read_history(traces)[0])
    with on_duckdb(traces, Scope()) as small:
        found = contents(small)
    assert replace(found, dataset="") == replace(on_spark, dataset="")
    assert page(found) == page(on_spark)
