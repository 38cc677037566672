"""The high watermarks of leaders, as far as they were seen: looked at when something happens that may move them."""

from collections.abc import Collection
from typing import NamedTuple

from kcsim.brokers.partition import Partition
from kcsim.zk.events import EventKind
from kcsim.zk.vocabulary import BrokerId, TopicPartition

MARKS_MOVE = frozenset(
    {
        EventKind.RECORDS_ACKNOWLEDGED,
        EventKind.RECORDS_APPENDED,
        EventKind.ISR_SHRUNK,
        EventKind.ISR_EXPANDED,
        EventKind.BECAME_LEADER,
        EventKind.LEDGER,
    }
)
"""After each of these the high watermark of the leader that the event is about is looked at."""
TOLD_BY_CLIENTS = frozenset({EventKind.RECORDS_ACKNOWLEDGED, EventKind.LEDGER})
"""Of these the leader is in a column; the others are its own."""


class Mark(NamedTuple):
    """The high watermark of a leader in one of its epochs: the highest seen before, and as it is.

    Attributes:
        replicas: whose logs the leader has waited for: the replicas that it was told of, itself included; without members of
            the ISR of whom it was told before that they were none, as long as they have not left the ISR.
    """

    tp: TopicPartition
    broker: BrokerId
    leader_epoch: int
    before: int
    now: int
    replicas: Collection[BrokerId]


class Marks:
    """The highest seen of each leader, in each of its epochs."""

    def __init__(self) -> None:
        self._highest: dict[tuple[TopicPartition, BrokerId, int, tuple[int, int]], int] = {}
        self._not_waited_for: dict[TopicPartition, set[BrokerId]] = {}

    def look(self, partition: Partition, life: tuple[int, int]) -> Mark:
        """Look at a partition of which a broker is the leader.

        Args:
            life: of the partition, and of the broker's process: in another one it may begin anew.
        """
        tp, broker, epoch, now = partition.tp, partition.broker_id, partition.leader_epoch, partition.high_watermark
        key = (tp, broker, int(epoch), life)
        before = self._highest.get(key, now)
        self._highest[key] = max(before, now)
        replicas = set(partition.assignment.replicas)
        not_waited_for = self._not_waited_for.setdefault(tp, set())
        not_waited_for |= set(partition.isr) - replicas
        return Mark(tp, broker, epoch, before, now, replicas - not_waited_for)

    def written(self, tp: TopicPartition, isr: Collection[BrokerId]) -> None:
        """Whoever is not in the ISR any more has to come back with all that the leader has."""
        if tp in self._not_waited_for:
            self._not_waited_for[tp] &= set(isr)
