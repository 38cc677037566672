"""The engine Spark: the tables are PySpark's own, in the active session."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Observation, SparkSession, Window, functions

from kcsim.scenarios.analysis.engines.engine import FoldBatches
from kcsim.scenarios.analysis.tables.event_tables import EventTables
from kcsim.scenarios.analysis.tables.events_table import spark_schema
from kcsim.scenarios.analysis.tables.job_errors import SPARK_ERRORS
from kcsim.scenarios.analysis.tables.location import Location
from kcsim.scenarios.analysis.tables.reading import read_events, read_table
from kcsim.scenarios.analysis.tables.spark_session import is_in_this_process
from kcsim.scenarios.analysis.tables.writing import write_counted

T = TypeVar("T")

AT_A_TIME = 8
"""Computations at a time: while Spark plans one in the driver, by a single thread, the tasks of another run."""


class SparkEngine:
    """See engine.Engine."""

    functions = functions
    window = Window

    def read_events(self, paths: Sequence[Location]) -> EventTables:
        return read_events(SparkSession.active(), paths)

    def read_table(self, folder: Location, schema: Any) -> DataFrame:
        return read_table(SparkSession.active(), folder, schema)

    def detached(self, table: DataFrame, together: Sequence[str] = (), in_order: Sequence[str] = ()) -> DataFrame:
        """See engine.Engine. On a cluster two executors have each part of the table, so that one of them may be lost."""
        has_one_executor = is_in_this_process(table.sparkSession.sparkContext.master or "")
        level = StorageLevel.MEMORY_AND_DISK if has_one_executor else StorageLevel.MEMORY_AND_DISK_2
        if together:
            table = table.repartition(*together).sortWithinPartitions(*together, *in_order)
        return table.localCheckpoint(storageLevel=level)

    def small(self, table: DataFrame) -> DataFrame:
        return functions.broadcast(table)

    def fold_runs(self, rows: DataFrame, fold: FoldBatches, schema: Any) -> DataFrame:
        by_run = rows.repartition("batch", "run").sortWithinPartitions("batch", "run", "seq")
        return by_run.mapInArrow(fold, spark_schema(schema))

    def first_rows(self, table: DataFrame, in_order: Callable[[DataFrame], DataFrame], most: int) -> tuple[list[Any], int]:
        counted = Observation()
        observed = table.observe(counted, functions.count(functions.lit(1)).alias("rows"))
        return in_order(observed).limit(most).collect(), int(counted.get["rows"])

    def results(self, computations: Sequence[Callable[[], T]]) -> Iterator[T]:
        """See engine.Engine. Several at a time: to plan a query takes one thread, and often as long as to run it."""
        session, group = SparkSession.active(), f"kcsim-{uuid4()}"
        with ThreadPoolExecutor(AT_A_TIME, "computation", partial(_join_session, session, group)) as threads:
            pending = [threads.submit(copy_context().run, compute) for compute in computations]
            try:
                for one in pending:
                    yield one.result()
            except BaseException:
                for one in pending:
                    one.cancel()
                with suppress(*SPARK_ERRORS):  # the JVM may have ended
                    session.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(group)
                raise

    def write_counted(self, table: DataFrame, folder: Location) -> int:
        return write_counted(table, folder)


def _join_session(session: SparkSession, group: str) -> None:
    """Make a session the active one of this thread, in which Spark's defaults hold otherwise, and its jobs one group."""
    assert session._jvm is not None
    SparkSession._get_j_spark_session_class(session._jvm).setActiveSession(session._jsparkSession)
    session.sparkContext.setJobGroup(group, "computations")
