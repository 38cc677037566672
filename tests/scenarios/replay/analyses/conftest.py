"""The results of analyses on all the runs of these tests at once: each analysis is computed once, whoever asks for it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kcsim.scenarios.replay.analyses.catalogue import ANALYSES
from kcsim.scenarios.replay.analyses.history import History
from kcsim.scenarios.replay.analyses.scope import Scope
from tests.scenarios.replay.analyses.by_hand import ALL_BY_HAND, flapping
from tests.scenarios.replay.analyses.random_stories import random_story
from tests.scenarios.replay.analyses.stories import Story, events_of, transitions_of

SEEDS = range(25)
BUCKET_MS = 16
Row = dict[str, Any]
Results = Callable[[str, str], list[Row]]
"""(analysis, run) -> its rows, in the order of a listing, without batch and run."""


def quick(spark: SparkSession, partitions: int) -> SparkSession:
    """The same context with settings of its own: for a few rows, planning anew while at work costs more than it saves."""
    session = spark.newSession()
    session.conf.set("spark.sql.adaptive.enabled", "false")
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.shuffle.partitions", str(partitions))
    return session


@pytest.fixture(scope="session")
def random_stories() -> dict[int, Story]:
    return {seed: random_story(seed) for seed in SEEDS}


@pytest.fixture(scope="session")
def history(spark: SparkSession, random_stories: dict[int, Story]) -> Iterator[History]:
    """All of them, in one table; shuffled into 3 parts."""
    with_all = history_of(quick(spark, 3), [*ALL_BY_HAND, *random_stories.values()], Scope(bucket_ms=BUCKET_MS))
    yield with_all
    with_all.release()


@pytest.fixture(scope="session")
def results(history: History) -> Results:
    return results_of(history)


@pytest.fixture(scope="session")
def results_of_hours(spark: SparkSession) -> Iterator[Results]:
    """Of a run that is too long for buckets of a few milliseconds; in 1 part."""
    long = history_of(quick(spark, 1), [flapping()], Scope())
    yield results_of(long)
    long.release()


def history_of(spark: SparkSession, stories: Sequence[Story], scope: Scope) -> History:
    return History(events_of(spark, stories), transitions_of(spark, stories), scope, keep=True)


def results_of(history: History) -> Results:
    known: dict[str, list[Row]] = {}

    def of(analysis: str, run: str) -> list[Row]:
        if analysis not in known:
            known[analysis] = [row.asDict() for row in ANALYSES[analysis].sorted_table(history).collect()]
        rows = [row for row in known[analysis] if row["run"] == run]
        return [{name: value for name, value in row.items() if name not in ("batch", "run")} for row in rows]

    return of
