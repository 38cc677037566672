"""The observed high watermarks of leaders. A leader is observed after each event that may move its high watermark."""

from collections.abc import Collection
from typing import NamedTuple

from kcsim.brokers.replication.partition import Partition
from kcsim.eventlog.events import EventKind
from kcsim.vocabulary import BrokerId, TopicPartition

HIGH_WATERMARK_CHANGES = frozenset(
    {
        EventKind.RECORDS_ACKNOWLEDGED,
        EventKind.RECORDS_APPENDED,
        EventKind.ISR_SHRUNK,
        EventKind.ISR_EXPANDED,
        EventKind.BECAME_LEADER,
        EventKind.LEDGER,
    }
)
"""After each of these events, the high watermark of the leader that the event is about is observed."""
REPORTED_BY_CLIENTS = frozenset({EventKind.RECORDS_ACKNOWLEDGED, EventKind.LEDGER})
"""In these events the leader is in a column; the other events happen on the leader itself."""


class HighWatermarkObservation(NamedTuple):
    """The high watermark of a leader in one of its epochs: the highest value observed before, and the present one.

    Attributes:
        replicas: the replicas whose logs the leader has waited for: all replicas that it knows of, itself included, except
            members of the ISR that an earlier assignment did not name as replicas, as long as they have not left the ISR.
    """

    tp: TopicPartition
    broker: BrokerId
    leader_epoch: int
    before: int
    now: int
    replicas: Collection[BrokerId]


class HighWatermarkTracker:
    """The highest high watermark observed of each leader, in each of its epochs."""

    def __init__(self) -> None:
        self._highest: dict[tuple[TopicPartition, BrokerId, int, tuple[int, int]], int] = {}
        self._not_waited_for: dict[TopicPartition, set[BrokerId]] = {}

    def observe(self, partition: Partition, life: tuple[int, int]) -> HighWatermarkObservation:
        """Observe the high watermark of a partition at its leader.

        Args:
            life: which creation of the partition, and which life of the broker's process, this is. Each new one may start
                at a lower high watermark.
        """
        tp, broker, epoch, now = partition.tp, partition.broker_id, partition.leader_epoch, partition.high_watermark
        key = (tp, broker, int(epoch), life)
        before = self._highest.get(key, now)
        self._highest[key] = max(before, now)
        replicas = set(partition.assignment.replicas)
        not_waited_for = self._not_waited_for.setdefault(tp, set())
        not_waited_for |= set(partition.isr) - replicas
        return HighWatermarkObservation(tp, broker, epoch, before, now, replicas - not_waited_for)

    def written(self, tp: TopicPartition, isr: Collection[BrokerId]) -> None:
        """Forget the members that have left the ISR: to rejoin it, they must first have all of the leader's records."""
        if tp in self._not_waited_for:
            self._not_waited_for[tp] &= set(isr)
