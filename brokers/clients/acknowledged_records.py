"""The records that brokers have acknowledged to real clients, and what has become of them.

A client from outside the run keeps no ledger that could be read. A record is therefore known by its offset and the leader
epoch in which it was appended, which no two records of a partition have in common. An acknowledgement counts when it has
been written to the connection; whether the client still read it is not known. A batch that a client has sent again, and that
was appended again, is known by its bytes (batch_copies.py).

Pure. Counts are exact, and computed on ranges, never record by record.
"""

from collections.abc import Mapping, Sequence

from kcsim.brokers.clients.batch_copies import BatchCopy, batch_copies
from kcsim.brokers.clients.ledger import RecordCounts
from kcsim.brokers.log.intervals import IntervalSet, Range
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.vocabulary import BrokerId, LeaderEpoch, TopicPartition

Ranges = dict[TopicPartition, dict[LeaderEpoch, list[Range]]]


class AcknowledgedRecords:
    """The acknowledged records of all clients, by partition."""

    def __init__(self) -> None:
        self._ranges: Ranges = {}
        self._without_answer: Ranges = {}

    @property
    def partitions(self) -> list[TopicPartition]:
        """The partitions with acknowledged records, sorted."""
        return sorted(self._ranges)

    def acknowledge(self, tp: TopicPartition, leader_epoch: LeaderEpoch, first_offset: int, count: int) -> None:
        """Record that the records from an offset on, appended in this epoch, were acknowledged."""
        _add(self._ranges, tp, leader_epoch, (first_offset, first_offset + count))

    def note_without_answer(self, tp: TopicPartition, leader_epoch: LeaderEpoch, first_offset: int, count: int) -> None:
        """Record that records were appended whose producer expects no answer, and so does not send them again."""
        _add(self._without_answer, tp, leader_epoch, (first_offset, first_offset + count))

    def count(
        self,
        tp: TopicPartition,
        logs: Mapping[BrokerId, ReplicaLog],
        leader: BrokerId | None,
        isr: Sequence[BrokerId],
    ) -> RecordCounts:
        """Count the fate of one partition's records. What was sent and not acknowledged is not known.

        Args:
            logs: the logs of all replicas that have one, dead ones included.
        """
        reference = _reference(logs, leader, isr)
        log = logs[reference] if reference is not None else None
        others = [logs[b] for b in sorted(logs) if b != reference]
        total = RecordCounts(duplicated=sum(copy.again.count for copy in self.copies(tp, logs, leader, isr)))
        for epoch, ranges in self._ranges.get(tp, {}).items():
            total += _count(epoch, IntervalSet.of(ranges), log, others)
        return total

    def lost(
        self,
        tp: TopicPartition,
        logs: Mapping[BrokerId, ReplicaLog],
        leader: BrokerId | None,
        isr: Sequence[BrokerId],
    ) -> dict[LeaderEpoch, IntervalSet]:
        """Return the offsets of the lost records of one partition, by the epoch in which they were appended."""
        reference = _reference(logs, leader, isr)
        log = logs[reference] if reference is not None else None
        found = {epoch: _lost(epoch, IntervalSet.of(ranges), log) for epoch, ranges in self._ranges.get(tp, {}).items()}
        return {epoch: offsets for epoch, offsets in found.items() if offsets}

    def copies(
        self,
        tp: TopicPartition,
        logs: Mapping[BrokerId, ReplicaLog],
        leader: BrokerId | None,
        isr: Sequence[BrokerId],
    ) -> list[BatchCopy]:
        """Return the batches that the partition's log has again."""
        reference = _reference(logs, leader, isr)
        return [] if reference is None else batch_copies(logs[reference].runs, self._final(tp))

    def _final(self, tp: TopicPartition) -> dict[LeaderEpoch, IntervalSet]:
        """Return the offsets of what no producer sends again that knows of it."""
        final: dict[LeaderEpoch, list[Range]] = {}
        for ranges in (self._ranges, self._without_answer):
            for epoch, of_epoch in ranges.get(tp, {}).items():
                final.setdefault(epoch, []).extend(of_epoch)
        return {epoch: IntervalSet.of(of_epoch) for epoch, of_epoch in final.items()}


def _add(ranges: Ranges, tp: TopicPartition, leader_epoch: LeaderEpoch, added: Range) -> None:
    of_epoch = ranges.setdefault(tp, {}).setdefault(leader_epoch, [])
    if of_epoch and of_epoch[-1][1] == added[0]:
        of_epoch[-1] = of_epoch[-1][0], added[1]
    else:
        of_epoch.append(added)


def _reference(logs: Mapping[BrokerId, ReplicaLog], leader: BrokerId | None, isr: Sequence[BrokerId]) -> BrokerId | None:
    """Return the broker in whose log records are counted: the leader, or else a member of the ISR."""
    return next((b for b in (leader, *sorted(isr)) if b is not None and b in logs), None)


def _lost(epoch: LeaderEpoch, acknowledged: IntervalSet, log: ReplicaLog | None) -> IntervalSet:
    deleted = IntervalSet.of([(0, log.log_start_offset)]) if log else IntervalSet()
    present = _offsets(log, epoch) if log else IntervalSet()
    return acknowledged.subtract(deleted).subtract(present)


def _count(
    epoch: LeaderEpoch, acknowledged: IntervalSet, log: ReplicaLog | None, others: Sequence[ReplicaLog]
) -> RecordCounts:
    present = _offsets(log, epoch) if log else IntervalSet()
    elsewhere = [_offsets(other, epoch) for other in others]
    lost = _lost(epoch, acknowledged, log)
    kept = everywhere = acknowledged.intersection(present)
    for offsets in elsewhere:
        everywhere = everywhere.intersection(offsets)
    return RecordCounts(
        sent=acknowledged.count,
        acknowledged=acknowledged.count,
        lost=lost.count,
        lost_everywhere=lost.subtract(IntervalSet().union(*elsewhere)).count,
        incomplete=kept.count - everywhere.count,
    )


def _offsets(log: ReplicaLog, epoch: LeaderEpoch) -> IntervalSet:
    """Return the offsets of the records in a log that were appended in this epoch."""
    return IntervalSet.of((run.base_offset, run.end_offset) for run in log.runs if run.leader_epoch == epoch)
