"""A history to be analysed: its two tables, the scope of the analysis, and the tables that the analyses share."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple, Self, TypeVar

from kcsim.scenarios.analysis.analyses import facts, state_intervals
from kcsim.scenarios.analysis.analyses.recorded import recorded_transitions
from kcsim.scenarios.analysis.analyses.scope import Scope
from kcsim.scenarios.analysis.analyses.unavailability_windows import windows
from kcsim.scenarios.analysis.engines.computed_once import ComputedOnce, computed_once
from kcsim.scenarios.analysis.engines.engine import FoldBatches
from kcsim.scenarios.analysis.engines.frames import DataFrame, F, engine_in_use
from kcsim.scenarios.analysis.tables.location import Location

T = TypeVar("T")

FEW_RUNS = 1_000
"""Up to so many runs, what is small in each run is small in all: each executor can have a copy of it."""


class KeptTables(NamedTuple):
    """Tables that datasets keep for the analyses (kept_tables.py). None: they are computed.

    Attributes:
        runs: facts.whole_runs().
        state_intervals: state_intervals.whole_state_intervals(), of the transitions of the history.
    """

    runs: DataFrame | None = None
    state_intervals: DataFrame | None = None


class HistoryTables:
    """The tables of a history, and the tables that several analyses share.

    A shared table is computed at its first use, and then detached from its query plan: the analyses compute the same few
    tables from each other, and Spark would take longer to plan each of them from the files on than to run it.

    They are of the engine that is in use where the history is made. Several threads may ask for them.

    Args:
        events: the table of events.
        transitions: the table of transitions, recorded or derived; computed from the events if it is not given.
        scope: the scope of the analyses.
        kept: the tables that the datasets keep for the analyses.
    """

    def __init__(
        self,
        events: DataFrame,
        transitions: DataFrame | None = None,
        scope: Scope | None = None,
        kept: KeptTables | None = None,
    ) -> None:
        self._engine = engine_in_use()
        self._kept = kept or KeptTables()
        self.events = events
        self.scope = scope or Scope()
        self._transitions = transitions
        self.values = ComputedOnce()
        self._for_analyses = ComputedOnce()

    def of_run(self, batch: str, run: str, bucket_ms: int) -> Self:
        """Return the history of one run, with another width of buckets.

        Where it is the only run, the tables that have been computed so far are those of the run, too.
        """
        scope = replace(self.scope, bucket_ms=bucket_ms)
        if self.ends.limit(2).count() == 1:
            same = copy(self)
            same.scope = scope
            same._for_analyses = ComputedOnce()  # what is computed for an analysis may depend on the width
            return same
        rows = (F.col("batch") == batch) & (F.col("run") == run)
        kept = KeptTables(*(None if table is None else table.where(rows) for table in self._kept))
        return type(self)(self.events.where(rows), self.all_transitions.where(rows), scope, kept)

    @computed_once
    def all_transitions(self) -> DataFrame:
        """The table of all transitions, inside and outside the scope."""
        if self._transitions is not None:
            return self._transitions
        return self._engine.detached(recorded_transitions(self.events))

    @computed_once
    def transitions(self) -> DataFrame:
        """The transitions within the scope."""
        return state_intervals.within(self.all_transitions, self.scope)

    @computed_once
    def facts(self) -> DataFrame:
        """The events of the cluster: see facts.facts."""
        return self._engine.detached(facts.facts(self.events))

    @computed_once
    def ends(self) -> DataFrame:
        """When runs begin and end within the scope: see facts.runs."""
        whole = facts.whole_runs(self.events) if self._kept.runs is None else self._kept.runs
        return self._engine.detached(facts.runs(whole, self.scope))

    @computed_once
    def absences(self) -> DataFrame:
        """When brokers were not live: see facts.absences."""
        return self._engine.detached(facts.absences(self.facts, self.small(self.ends), self.scope))

    @computed_once
    def whole_state_intervals(self) -> DataFrame:
        """The state intervals of the topics in the scope, at all times: see state_intervals.whole_state_intervals."""
        if self._kept.state_intervals is not None:
            return state_intervals.of_topics(self._kept.state_intervals, self.scope)
        settings = state_intervals.of_topics(facts.topic_settings(self.facts), self.scope)
        transitions = state_intervals.of_topics(self.all_transitions, self.scope)
        return state_intervals.whole_state_intervals(transitions, self.small(settings))

    @computed_once
    def state_intervals(self) -> DataFrame:
        """The intervals in which each partition's state was constant: see state_intervals.state_intervals."""
        whole, ends = self.whole_state_intervals, self.small(self.ends)
        within = state_intervals.state_intervals(whole, ends, self.scope)
        return self._engine.detached(within, together=state_intervals.PARTITION, in_order=("from_ms", "to_ms"))

    @computed_once
    def assignments(self) -> DataFrame:
        """The intervals in which each partition's leader and replicas were constant: see state_intervals.assignments."""
        return self._engine.detached(state_intervals.assignments(self.state_intervals))

    @computed_once
    def out_of_sync(self) -> DataFrame:
        """When replicas were out of the ISR: see state_intervals.out_of_sync."""
        return self._engine.detached(state_intervals.out_of_sync(self.state_intervals))

    @computed_once
    def unavailable(self) -> DataFrame:
        """When partitions had no live leader: see unavailability_windows.windows."""
        return self._engine.detached(windows(self.assignments, self.absences, self.small))

    @computed_once
    def brokers(self) -> DataFrame:
        """Every broker, whether registered or only named as a replica: batch, run, broker, rack."""
        hosts = self.state_intervals.select("batch", "run", F.explode("replicas").alias("broker")).distinct()
        registered = facts.brokers(self.facts)
        return self._engine.detached(registered.join(hosts, ["batch", "run", "broker"], "full"))

    def shared(self, compute: Callable[[Self], DataFrame]) -> DataFrame:
        """Return the table that a function makes of this history, for an analysis that is a part of others."""
        return self._for_analyses.value(compute, lambda: self._engine.detached(compute(self)))

    def small(self, table: DataFrame) -> DataFrame:
        """Return a table that has few rows of each run, to be joined with a large one."""
        return self._engine.small(table) if self._has_few_runs else table

    def fold_runs(self, rows: DataFrame, fold: FoldBatches, schema: Any) -> DataFrame:
        """Return what a function makes of the events of each run: see engine.Engine."""
        return self._engine.fold_runs(rows, fold, schema)

    def first_rows(self, table: DataFrame, in_order: Callable[[DataFrame], DataFrame], most: int) -> tuple[list[Any], int]:
        """Return the first rows of a table in an order, and how many rows it has: see engine.Engine."""
        return self._engine.first_rows(table, in_order, most)

    def results(self, computations: Sequence[Callable[[], T]]) -> Iterator[T]:
        """Yield what functions that compute tables return, in their order: see engine.Engine."""
        return self._engine.results(computations)

    def write_counted(self, table: DataFrame, folder: Location) -> int:
        """Write a table as Parquet, and return how many rows it has: see engine.Engine."""
        return self._engine.write_counted(table, folder)

    @computed_once
    def _has_few_runs(self) -> bool:
        return self.ends.limit(FEW_RUNS + 1).count() <= FEW_RUNS
