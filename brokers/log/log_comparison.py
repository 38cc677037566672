"""Comparison of logs, record by record: which records of a writer a log has, and where two replicas of a partition differ.

It is used to evaluate a run afterwards; no broker compares logs. The cost depends on the number of runs, not of records.

A record is identified by its writer and sequence, and by its payload if it has one. The leader epoch of its append is not
compared; Kafka's ReplicaVerificationTool does not compare it either.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kcsim.brokers.log.intervals import IntervalSet, Range
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.brokers.record_batches import placed_at
from kcsim.brokers.records import Run


def records_of(log: ReplicaLog, writer: str) -> IntervalSet:
    """Return the sequences of a writer that the log has, from its log start offset on."""
    return IntervalSet.of(_sequences(log, writer))


def _sequences(log: ReplicaLog, writer: str) -> Iterator[Range]:
    return ((run.first_sequence, run.last_sequence + 1) for run in log.runs if run.writer == writer)


# --- two logs --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Divergence:
    """The difference between two logs of a partition.

    Attributes:
        offset: of the first record in which they differ.
        only_in_a, only_in_b: from `offset` on, the runs in one log that are not at the same offsets in the other, oldest
            first; including the runs beyond the end of the other log.
    """

    offset: int
    only_in_a: tuple[Run, ...]
    only_in_b: tuple[Run, ...]


def divergence(a: ReplicaLog, b: ReplicaLog) -> Divergence | None:
    """Compare two logs of a partition; return None if they agree on all offsets that both have.

    A log that ends earlier, or begins later, does not differ because of that.
    """
    start = max(a.log_start_offset, b.log_start_offset)
    end = max(a.log_end_offset, b.log_end_offset)
    in_a, in_b = _within(a.runs, start), _within(b.runs, start)
    differing = [stretch for stretch, is_same in _compared(in_a, in_b) if not is_same]
    if not differing:
        return None
    shared_end = min(a.log_end_offset, b.log_end_offset)
    stretches = [*differing, (shared_end, end)]
    return Divergence(differing[0][0], _pieces(in_a, stretches), _pieces(in_b, stretches))


def _within(runs: Sequence[Run], start: int) -> tuple[Run, ...]:
    return tuple(run.from_offset(max(start, run.base_offset)) for run in runs if run.end_offset > start)


def _compared(a: Sequence[Run], b: Sequence[Run]) -> Iterator[tuple[Range, bool]]:
    """Yield ranges of offsets that both logs have, with whether their records are the same."""
    i = j = 0
    while i < len(a) and j < len(b):
        start, end = max(a[i].base_offset, b[j].base_offset), min(a[i].end_offset, b[j].end_offset)
        if start < end:
            yield from _compared_runs(a[i].from_offset(start).until(end), b[j].from_offset(start).until(end))
        i, j = i + (a[i].end_offset == end), j + (b[j].end_offset == end)


def _compared_runs(a: Run, b: Run) -> Iterator[tuple[Range, bool]]:
    """Yield the same for two runs of the same offsets."""
    is_same = (a.producer, a.first_sequence) == (b.producer, b.first_sequence) and _have_same_bytes(a, b)
    if not is_same or a.payloads == b.payloads:
        yield (a.base_offset, a.end_offset), is_same
        return
    for index in range(a.count):
        offset, one = a.base_offset + index, slice(index, index + 1)
        yield (offset, offset + 1), a.payloads[one] == b.payloads[one]


def _have_same_bytes(a: Run, b: Run) -> bool:
    """Return whether two runs are of the same batch of bytes, whatever its leader epoch, or have no bytes both."""
    if a.batch is None or b.batch is None or a.batch is b.batch:
        return a.batch is b.batch
    return placed_at(a.batch, 0, 0) == placed_at(b.batch, 0, 0)


def _pieces(runs: Sequence[Run], stretches: Sequence[Range]) -> tuple[Run, ...]:
    """Return the parts of these runs that lie in the ranges; both are in the order of their offsets."""
    found: list[Run] = []
    index = 0
    for start, end in stretches:
        while index < len(runs) and runs[index].end_offset <= start:
            index += 1
        at = index
        while at < len(runs) and runs[at].base_offset < end:
            found.append(runs[at].from_offset(max(start, runs[at].base_offset)).until(min(end, runs[at].end_offset)))
            at += 1
    return _merged(found)


def _merged(runs: Sequence[Run]) -> tuple[Run, ...]:
    merged: list[Run] = []
    for run in runs:
        if merged and merged[-1].can_be_followed_by(run):
            merged[-1] = merged[-1].followed_by(run)
        else:
            merged.append(run)
    return tuple(merged)
