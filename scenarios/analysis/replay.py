"""Replaying histories on Spark: the controller's own decisions for every partition, many partitions at a time.

Given what the cluster did, partitions do not depend on each other. A run's cluster-wide events become its timeline. Its
partitions are the groups that are folded, each whole and in order, with the timeline of the run. Where there are very many
small runs, the runs are the groups, and each makes its own timeline.

A partition's result depends only on its own events and on its run's, so that the number of tasks changes nothing.
"""

from collections.abc import Iterator, Mapping
from functools import reduce
from operator import or_
from typing import Any

from pyspark import Broadcast
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kcsim.eventlog.events import ZNODE_CHANGES
from kcsim.scenarios.analysis.folding.arrow_rows import (
    COLUMNS,
    MISMATCH,
    OF_MISMATCH,
    batches_of,
    facts_in,
    replayed_arrow_schema,
)
from kcsim.scenarios.analysis.folding.folding_runs import FoldPartition, fold_facts, fold_of_many
from kcsim.scenarios.analysis.folding.folds import fold_for
from kcsim.scenarios.analysis.folding.mismatch import mismatches_arrow_schema
from kcsim.scenarios.analysis.folding.replay_fact import (
    CLUSTER_FACTS,
    FACT_COLUMNS,
    PARTITION_FACTS,
    STATE_PATH,
    FactRule,
)
from kcsim.scenarios.analysis.folding.timeline import Run, Timeline
from kcsim.scenarios.analysis.folding.timeline_builder import timelines_of
from kcsim.scenarios.analysis.folding.what_if import WhatIf
from kcsim.scenarios.analysis.gc_pause import gc_paused
from kcsim.scenarios.analysis.tables.events_table import BATCH, RUN, spark_schema

MANY_RUNS = 64
"""With at least this many runs, whole runs are spread over the tasks instead of the partitions of each run."""


def replay(events: DataFrame, what_if: WhatIf | None = None) -> DataFrame:
    """Return the transitions of every partition (folding/transition.py).

    Args:
        events: a table of events (tables/events_table.py); columns that a fold does not read are allowed and cost nothing.
        what_if: None: the controller decides exactly when the history says that it decided. Otherwise the replay itself
            finds out what the controller does, with these changes.
    """
    return transitions_of(replayed(events, what_if))


def replayed(
    events: DataFrame,
    what_if: WhatIf | None = None,
    *,
    by_run: bool | None = None,
) -> DataFrame:
    """Return transitions and mismatches as one table, which transitions_of and mismatches_of split.

    Args:
        by_run: spread whole runs over the tasks; None: if there are many runs (which takes one more pass over the data).
    """
    fold = fold_for(what_if)
    facts = facts_of(events)
    schema = spark_schema(replayed_arrow_schema())
    if by_run is None:
        by_run = has_many_runs(facts.where(F.col("partition").isNull()))
    if by_run:
        of_partition = F.col("partition").isNotNull()
        topic = F.when(of_partition, F.col("topic"))  # cluster-wide facts are in order of seq, also those that name a topic
        order = [F.col(BATCH), F.col(RUN), of_partition, topic, F.col("partition"), F.col("seq")]
        in_order = facts.repartition(BATCH, RUN).sortWithinPartitions(*order)
        return in_order.groupBy(BATCH, RUN).applyInArrow(_whole_run(fold), schema)
    timelines = broadcast_timelines(facts.where(F.col("partition").isNull()))
    key = [BATCH, RUN, "topic", "partition"]
    # Rows that are distributed and sorted by the key are not sorted again for the groups: those of each stay in order.
    in_order = facts.where(F.col("partition").isNotNull()).repartition(*key).sortWithinPartitions(*key, "seq")
    return in_order.groupBy(*key).applyInArrow(_partition(fold, timelines), schema)


def has_many_runs(rows: DataFrame) -> bool:
    """Return whether a table has rows of at least MANY_RUNS runs."""
    return rows.select(BATCH, RUN).distinct().limit(MANY_RUNS).count() == MANY_RUNS


def transitions_of(rows: DataFrame) -> DataFrame:
    """Return the transitions in a table that `replayed` returned."""
    return rows.where(F.col("kind") != MISMATCH).drop(*OF_MISMATCH)


def mismatches_of(rows: DataFrame) -> DataFrame:
    """Return the mismatches (folding/mismatch.py) in a table that `replayed` returned."""
    return rows.where(F.col("kind") == MISMATCH).select(*mismatches_arrow_schema().names)


# --- what is read ----------------------------------------------------------------------------------------------------------


def facts_of(events: DataFrame) -> DataFrame:
    """Return the rows and columns of a table of events that a fold reads (folding/replay_fact.py)."""
    path, is_znode = F.col("path"), F.col("kind").isin(*sorted(ZNODE_CHANGES))
    is_of_state = is_znode & path.rlike(STATE_PATH)
    named = {
        "topic": F.when(is_of_state, F.regexp_extract(path, STATE_PATH, 1)).otherwise(F.col("topic")),
        "partition": F.when(is_of_state, F.regexp_extract(path, STATE_PATH, 2).cast("bigint")).otherwise(
            F.when(~is_znode, F.col("partition"))
        ),
    }
    wanted = events.where(reduce(or_, map(_covered, (*PARTITION_FACTS, *CLUSTER_FACTS))))
    return wanted.select(BATCH, RUN, *(named[c].alias(c) if c in named else F.col(c) for c in FACT_COLUMNS))


def _covered(rule: FactRule) -> Column:
    path, event, partition = F.col("path"), F.col("event"), F.col("partition")
    covered = F.col("kind").isin(*sorted(rule.kinds))
    if rule.path is not None:
        covered &= path.rlike(rule.path)
    if rule.event is not None:
        covered &= event.isNull() | event.rlike(rule.event)
    if rule.names_partition is not None:
        covered &= partition.isNotNull() if rule.names_partition else partition.isNull()
    return covered


class BroadcastTimelines(Mapping[Run, Timeline]):
    """The timelines of runs, each broadcast by itself: a process receives those that it looks up, and no others."""

    def __init__(self, of_runs: Mapping[Run, Broadcast[Timeline]]) -> None:
        self._of_runs = of_runs

    def __getitem__(self, run: Run) -> Timeline:
        return self._of_runs[run].value

    def __iter__(self) -> Iterator[Run]:
        return iter(self._of_runs)

    def __len__(self) -> int:
        return len(self._of_runs)


def broadcast_timelines(facts: DataFrame) -> BroadcastTimelines:
    """Broadcast the timelines of fewer than MANY_RUNS runs, which the driver makes of the facts that are of no partition."""
    rows = facts.select(*COLUMNS).toArrow().to_batches()
    context = facts.sparkSession.sparkContext
    with gc_paused():
        return BroadcastTimelines({run: context.broadcast(found) for run, found in timelines_of(facts_in(rows)).items()})


# --- in the executors ------------------------------------------------------------------------------------------------------


def _whole_run(fold: FoldPartition) -> Any:
    import pyarrow as pa

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with gc_paused():
            yield from batches_of(fold_facts(facts_in(batches), fold))

    return work


def _partition(fold: FoldPartition, timelines: Mapping[Run, Timeline]) -> Any:
    import pyarrow as pa

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with gc_paused():
            yield from batches_of(fold_of_many(facts_in(batches), timelines, fold))

    return work
