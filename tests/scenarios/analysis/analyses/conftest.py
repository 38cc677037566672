"""The results of analyses on all the runs of these tests at once: each analysis is computed once for all tests."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from kcsim.scenarios.analysis.analyses import intervals
from kcsim.scenarios.analysis.analyses.analysis import Analysis
from kcsim.scenarios.analysis.analyses.catalogue import ANALYSES
from kcsim.scenarios.analysis.analyses.history_tables import HistoryTables
from kcsim.scenarios.analysis.analyses.scope import Scope
from tests.scenarios.analysis.analyses.handwritten_runs import ALL_BY_HAND, flapping
from tests.scenarios.analysis.analyses.random_stories import random_story
from tests.scenarios.analysis.analyses.stories import Story, events_of, transitions_of

SEEDS = range(25)
BUCKET_MS = 16
SECTION_MS = 7
Row = dict[str, Any]
Results = Callable[[str, str], list[Row]]
"""(analysis, run) -> the rows of the analysis for that run, in the order of a listing, without the columns batch and run."""


def divided(spark: SparkSession, partitions: int) -> SparkSession:
    """Return a session of the same context that shuffles into this number of partitions."""
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", str(partitions))
    return session


@pytest.fixture(scope="session")
def random_stories() -> dict[int, Story]:
    return {seed: random_story(seed) for seed in SEEDS}


@pytest.fixture(scope="session")
def history(spark: SparkSession, random_stories: dict[int, Story]) -> HistoryTables:
    """Return the handwritten and the random runs in one history; it is shuffled into 2 parts."""
    return history_of(divided(spark, 2), [*ALL_BY_HAND, *random_stories.values()], Scope(bucket_ms=BUCKET_MS))


@pytest.fixture(scope="session")
def computed(history: HistoryTables) -> Callable[[str], DataFrame]:
    """Return a function (analysis) -> its table before anything is cast; each table is planned once for all tests.

    The runs are shorter than a day: time is cut into much shorter sections, so that intervals of most lengths cross them.
    """

    def compute(name: str) -> DataFrame:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(intervals, "SECTION_MS", SECTION_MS)
            return ANALYSES[name].compute(history)

    return cache(compute)


@pytest.fixture(scope="session")
def results(history: HistoryTables, computed: Callable[[str], DataFrame]) -> Results:
    return results_of(history, computed)


@pytest.fixture(scope="session")
def results_of_hours(spark: SparkSession) -> Results:
    """Return the results of a run that is too long for buckets of a few milliseconds; its history is in 1 part."""
    return results_of(history_of(divided(spark, 1), [flapping()], Scope()))


def history_of(spark: SparkSession, stories: Sequence[Story], scope: Scope) -> HistoryTables:
    return HistoryTables(events_of(spark, stories), transitions_of(spark, stories), scope)


def computed_of(history: HistoryTables) -> Callable[[str], DataFrame]:
    return cache(lambda name: ANALYSES[name].compute(history))


def made_of(name: str, table: DataFrame) -> Analysis:
    """Return the analysis with this name, answering with a table that was computed before."""
    return replace(ANALYSES[name], compute=lambda _: table)


def results_of(history: HistoryTables, computed: Callable[[str], DataFrame] | None = None) -> Results:
    tables = computed or computed_of(history)
    known: dict[str, list[Row]] = {}

    def of(analysis: str, run: str) -> list[Row]:
        if analysis not in known:
            sorted_table = made_of(analysis, tables(analysis)).sorted_table(history)
            known[analysis] = [row.asDict() for row in sorted_table.collect()]
        rows = [row for row in known[analysis] if row["run"] == run]
        return [{name: value for name, value in row.items() if name not in ("batch", "run")} for row in rows]

    return of
