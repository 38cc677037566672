"""The records that brokers have acknowledged to real clients, and what has become of them.

A client from outside the run keeps no ledger that could be read. A record is therefore known by its offset and the leader
epoch in which it was appended, which no two records of a partition have in common. An acknowledgement counts when it has
been written to the connection; whether the client still read it is not known.

Pure. Counts are exact, and computed on ranges, never record by record.
"""

from collections.abc import Mapping, Sequence

from kcsim.brokers.clients.ledger import RecordCounts
from kcsim.brokers.log.intervals import IntervalSet, Range
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.vocabulary import BrokerId, LeaderEpoch, TopicPartition


class AcknowledgedRecords:
    """The acknowledged records of all clients, by partition."""

    def __init__(self) -> None:
        self._ranges: dict[TopicPartition, dict[LeaderEpoch, list[Range]]] = {}

    @property
    def partitions(self) -> list[TopicPartition]:
        """The partitions with acknowledged records, sorted."""
        return sorted(self._ranges)

    def acknowledge(self, tp: TopicPartition, leader_epoch: LeaderEpoch, first_offset: int, count: int) -> None:
        """Record that the records from an offset on, appended in this epoch, were acknowledged."""
        ranges = self._ranges.setdefault(tp, {}).setdefault(leader_epoch, [])
        if ranges and ranges[-1][1] == first_offset:
            ranges[-1] = ranges[-1][0], first_offset + count
        else:
            ranges.append((first_offset, first_offset + count))

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
        reference = next((b for b in (leader, *sorted(isr)) if b is not None and b in logs), None)
        log = logs[reference] if reference is not None else None
        others = [logs[b] for b in sorted(logs) if b != reference]
        total = RecordCounts()
        for epoch, ranges in self._ranges.get(tp, {}).items():
            total += _count(epoch, IntervalSet.of(ranges), log, others)
        return total


def _count(
    epoch: LeaderEpoch, acknowledged: IntervalSet, log: ReplicaLog | None, others: Sequence[ReplicaLog]
) -> RecordCounts:
    present = _offsets(log, epoch) if log else IntervalSet()
    deleted = IntervalSet.of([(0, log.log_start_offset)]) if log else IntervalSet()
    elsewhere = [_offsets(other, epoch) for other in others]
    lost = acknowledged.subtract(deleted).subtract(present)
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
