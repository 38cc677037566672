"""A history to be analysed: its two tables, the scope of the analysis, and the tables that the analyses share."""

from collections.abc import Callable
from functools import cached_property

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kcsim.scenarios.analysis.analyses import facts, state_intervals
from kcsim.scenarios.analysis.analyses.recorded import recorded_transitions
from kcsim.scenarios.analysis.analyses.scope import Scope
from kcsim.scenarios.analysis.analyses.unavailability_windows import windows


class HistoryTables:
    """The tables of a history, and the tables that several analyses share; each is made at its first use.

    Args:
        events: the table of events.
        transitions: the table of transitions, recorded or derived; computed from the events if it is not given.
        scope: the scope of the analyses.
        keep: keep the shared tables (in memory, else on disk) until `release`: worth it for more than one analysis.
    """

    def __init__(
        self, events: DataFrame, transitions: DataFrame | None = None, scope: Scope | None = None, keep: bool = False
    ) -> None:
        self.events = events
        self.scope = scope or Scope()
        self._transitions = transitions
        self._keep = keep
        self._kept: list[DataFrame] = []

    @cached_property
    def all_transitions(self) -> DataFrame:
        """The table of all transitions, inside and outside the scope."""
        if self._transitions is not None:
            return self._transitions
        return self._shared(lambda: recorded_transitions(self.events))

    @cached_property
    def transitions(self) -> DataFrame:
        """The transitions within the scope."""
        return state_intervals.within(self.all_transitions, self.scope)

    @cached_property
    def facts(self) -> DataFrame:
        """The events of the cluster: see facts.facts."""
        return self._shared(lambda: facts.facts(self.events))

    @cached_property
    def ends(self) -> DataFrame:
        """When runs begin and end within the scope: see facts.runs."""
        return self._shared(lambda: facts.runs(self.events, self.scope))

    @cached_property
    def absences(self) -> DataFrame:
        """When brokers were not live: see facts.absences."""
        return self._shared(lambda: facts.absences(self.facts, self.ends, self.scope))

    @cached_property
    def state_intervals(self) -> DataFrame:
        """The intervals in which each partition's state was constant: see state_intervals.state_intervals."""
        return self._shared(lambda: state_intervals.state_intervals(self.all_transitions, self.facts, self.ends, self.scope))

    @cached_property
    def out_of_sync(self) -> DataFrame:
        """When replicas were out of the ISR: see state_intervals.out_of_sync."""
        return self._shared(lambda: state_intervals.out_of_sync(self.state_intervals))

    @cached_property
    def unavailable(self) -> DataFrame:
        """When partitions had no live leader: see unavailability_windows.windows."""
        return self._shared(lambda: windows(self.state_intervals, self.absences))

    @cached_property
    def brokers(self) -> DataFrame:
        """Every broker, whether registered or only named as a replica: batch, run, broker, rack."""
        hosts = self.state_intervals.select("batch", "run", F.explode("replicas").alias("broker")).distinct()
        registered = facts.brokers(self.facts)
        return self._shared(lambda: registered.join(hosts, ["batch", "run", "broker"], "full"))

    def release(self) -> None:
        """Unpersist the shared tables."""
        while self._kept:
            self._kept.pop().unpersist()

    def _shared(self, made: Callable[[], DataFrame]) -> DataFrame:
        table = made()
        if self._keep:
            table = table.persist(StorageLevel.MEMORY_AND_DISK)
            self._kept.append(table)
        return table
