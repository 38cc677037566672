"""Computations that an engine runs at a time, and tables that several of them need."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.sql import SparkSession

from kcsim.scenarios.analysis.engines.computed_once import ComputedOnce, computed_once
from kcsim.scenarios.analysis.engines.duckdb.duckdb_engine import duckdb_engine
from kcsim.scenarios.analysis.engines.frames import engine_in_use, using
from kcsim.scenarios.analysis.engines.spark_engine import AT_A_TIME, SparkEngine

ZONE = "spark.sql.session.timeZone"
WITHIN_S = 60.0


class Tables:
    """Counts how often its table is computed."""

    def __init__(self) -> None:
        self.values = ComputedOnce()
        self.times = 0
        self.fails = False

    @computed_once
    def table(self) -> int:
        """Return how many times it has been computed."""
        self.times += 1
        time.sleep(0.05)  # so that others ask meanwhile
        if self.fails:
            raise ValueError("no table")
        return self.times


def test_what_several_threads_ask_for_is_computed_once() -> None:
    tables = Tables()
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: tables.table, range(8)))
    assert (found, tables.times) == ([1] * 8, 1)


def test_what_has_failed_is_computed_again() -> None:
    tables = Tables()
    tables.fails = True
    with pytest.raises(ValueError, match="no table"):
        tables.table  # noqa: B018
    tables.fails = False
    assert tables.table == 2


@pytest.mark.slow
def test_spark_computes_several_at_a_time_and_returns_them_in_order(spark: SparkSession) -> None:
    """Each waits until as many as are started at a time have been started."""
    met = threading.Barrier(AT_A_TIME, timeout=WITHIN_S)

    def computation(number: int) -> Callable[[], int]:
        def compute() -> int:
            met.wait()
            return spark.range(number).count()

        return compute

    assert list(SparkEngine().results([computation(number) for number in range(AT_A_TIME)])) == list(range(AT_A_TIME))


@pytest.mark.slow
def test_computations_have_the_settings_of_the_session_and_the_engine_in_use(spark: SparkSession) -> None:
    def seen() -> tuple[str | None, object]:
        return SparkSession.active().conf.get(ZONE), engine_in_use()

    own = spark.newSession()
    own.conf.set(ZONE, "Asia/Tokyo")
    before, engine = SparkSession.active(), SparkEngine()
    try:
        own.createDataFrame([(1,)], "n long")  # makes it the active one
        with using(engine):
            assert list(engine.results([seen])) == [("Asia/Tokyo", engine)]
    finally:
        before.createDataFrame([(1,)], "n long")


@pytest.mark.slow
def test_the_first_failure_ends_the_other_computations(spark: SparkSession) -> None:
    started = threading.Event()

    def fail() -> int:
        assert started.wait(WITHIN_S)
        raise ValueError("no result")

    def compute_for_long() -> int:
        started.set()
        return spark.range(10**15).where("id % 7 = 8").count()

    began: list[int] = []

    def begin() -> int:
        began.append(1)
        return compute_for_long()

    later = [begin] * AT_A_TIME
    with pytest.raises(ValueError, match="no result"):
        list(SparkEngine().results([fail, *[compute_for_long] * (AT_A_TIME - 1), *later]))
    assert len(began) <= 1, "only what takes the place of the one that failed"


def test_duckdb_computes_one_after_the_other() -> None:
    with duckdb_engine() as engine:
        results = engine.results([lambda: 1, lambda: 1 // 0])
        assert next(results) == 1
        with pytest.raises(ZeroDivisionError):
            next(results)
