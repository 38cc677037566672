"""Folding whole runs: facts in the order of a dataset in, transitions and mismatches out, with one partition in memory."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from kcsim.eventlog.events import Event
from kcsim.scenarios.analysis.folding.mismatch import Mismatch
from kcsim.scenarios.analysis.folding.partition_state import PartitionKey
from kcsim.scenarios.analysis.folding.replay_fact import ReplayFact, fact_of, facts_in_order
from kcsim.scenarios.analysis.folding.timeline import Timeline
from kcsim.scenarios.analysis.folding.timeline_builder import TimelineBuilder
from kcsim.scenarios.analysis.folding.transition import Transition
from kcsim.scenarios.analysis.folding.verifying_replay import VerifyingReplay

NO_TIMELINE = Timeline()

Row = tuple[str, str, ReplayFact]

Rows = tuple[list[Transition], list[Mismatch]]
FoldPartition = Callable[[PartitionKey, Timeline, Iterable[ReplayFact]], Rows]
"""Folds all facts of one partition."""


class FoldedRun(NamedTuple):
    """The result of a run, in order of partitions."""

    transitions: list[Transition]
    mismatches: list[Mismatch]


def fold_recorded(key: PartitionKey, timeline: Timeline, facts: Iterable[ReplayFact]) -> Rows:
    """Fold one partition as recorded."""
    fold = VerifyingReplay(key, timeline)
    for fact in facts:
        fold.take_in(fact)
    fold.finish()
    return fold.take(), fold.mismatches


def fold_events(batch: str, run: str, events: Iterable[Event], fold: FoldPartition = fold_recorded) -> FoldedRun:
    """Fold one run's event log, in any order."""
    facts = [fact for event in events if (fact := fact_of(event)) is not None]
    folded = FoldedRun([], [])
    for transitions, mismatches in fold_facts(((batch, run, fact) for fact in facts_in_order(facts)), fold):
        folded.transitions.extend(transitions)
        folded.mismatches.extend(mismatches)
    return folded


def fold_facts(rows: Iterable[Row], fold: FoldPartition = fold_recorded) -> Iterator[Rows]:
    """Fold many runs.

    Args:
        rows: (batch, run, fact), run after run; within each run the cluster-wide facts first, then partition by partition.
    """
    for _, of_run in groupby(rows, key=itemgetter(0, 1)):
        builder = TimelineBuilder()
        for key, facts in by_partition(of_run):
            if key is None:
                for fact in facts:
                    builder.take(fact)
            else:
                yield fold(key, builder.timeline, facts)


def fold_of_many(
    rows: Iterable[Row], timelines: Mapping[tuple[str, str], Timeline], fold: FoldPartition = fold_recorded
) -> Iterator[Rows]:
    """Fold partitions whose timelines exist already: rows of (batch, run, fact), partition after partition."""
    for key, facts in by_partition(rows):
        if key is not None:
            yield fold(key, timelines.get((key.batch, key.run), NO_TIMELINE), facts)


def by_partition(rows: Iterable[Row]) -> Iterator[tuple[PartitionKey | None, list[ReplayFact]]]:
    """Yield adjacent rows of one partition together; the key is None for rows that are of no partition."""
    run: tuple[str, str] | None = None
    topic: str | None = None
    number: int | None = None
    key: PartitionKey | None = None
    facts: list[ReplayFact] = []
    for batch, name, fact in rows:
        if number != fact.partition or topic != fact.topic or run != (batch, name):
            if number is None and fact.partition is None and run == (batch, name):
                facts.append(fact)  # of no partition, whatever its topic
                continue
            if facts:
                yield key, facts
            run, topic, number, facts = (batch, name), fact.topic, fact.partition, []
            key = None if fact.partition is None else PartitionKey(batch, name, fact.topic or "", fact.partition)
        facts.append(fact)
    if facts:
        yield key, facts
