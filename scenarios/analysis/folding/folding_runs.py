"""Folding whole runs: facts in the order of a dataset in, transitions and mismatches out, a few thousand at a time."""

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
FACTS_AT_ONCE = 10_000

Row = tuple[str, str, ReplayFact]

Rows = tuple[list[Transition], list[Mismatch]]
FoldPartition = Callable[[PartitionKey, Timeline, Iterable[ReplayFact]], Iterator[Rows]]
"""Folds all facts of one partition, and yields its rows in portions."""


class FoldedRun(NamedTuple):
    """The result of a run, in order of partitions."""

    transitions: list[Transition]
    mismatches: list[Mismatch]


def fold_recorded(key: PartitionKey, timeline: Timeline, facts: Iterable[ReplayFact]) -> Iterator[Rows]:
    """Fold one partition as recorded. However many facts it has, only some thousand of its rows are in memory at a time."""
    fold = VerifyingReplay(key, timeline)
    for place, fact in enumerate(facts, 1):
        fold.take_in(fact)
        if place % FACTS_AT_ONCE == 0:
            yield fold.take(), fold.take_mismatches()
    fold.finish()
    yield fold.take(), fold.take_mismatches()


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
                yield from fold(key, builder.timeline, facts)


def fold_of_many(
    rows: Iterable[Row], timelines: Mapping[tuple[str, str], Timeline], fold: FoldPartition = fold_recorded
) -> Iterator[Rows]:
    """Fold partitions whose timelines exist already: rows of (batch, run, fact), partition after partition."""
    for key, facts in by_partition(rows):
        if key is not None:
            yield from fold(key, timelines.get((key.batch, key.run), NO_TIMELINE), facts)


def by_partition(rows: Iterable[Row]) -> Iterator[tuple[PartitionKey | None, Iterator[ReplayFact]]]:
    """Yield adjacent rows of one partition together; the key is None for rows of a run that are of no partition.

    The facts must be taken before the next partition is.
    """
    for (batch, run, topic, number), of_partition in groupby(rows, key=_place):
        key = None if number is None else PartitionKey(batch, run, topic or "", number)
        yield key, map(_fact, of_partition)


def _place(row: Row) -> tuple[str, str, str | None, int | None]:
    """Return the batch, the run, the topic and the partition; for facts of no partition neither, whatever their topic."""
    batch, run, fact = row
    number = fact.partition
    return batch, run, None if number is None else fact.topic, number


def _fact(row: Row) -> ReplayFact:
    return row[2]
