"""The partitions of which acknowledged records may be missing, because Kafka does not guarantee them.

That is so from the moment at which an unclean election comes into effect, the last log of a partition is lost with a disk,
or the partition's topic is deleted.
"""

from collections.abc import Collection

from kcsim.controller.decisions.election import ElectionRule
from kcsim.eventlog.events import Event
from kcsim.vocabulary import BrokerId, LeaderAndIsr, PartitionState, TopicPartition


class AllowedDataLoss:
    """The partitions that may have lost records, updated by the run's history.

    Attributes:
        disks: partition -> replicas that have lost their log of it, and have not been out of the ISR with a log since.
        deleted: topics that were deleted, or whose deletion was requested.
    """

    def __init__(self) -> None:
        self.disks: dict[TopicPartition, set[BrokerId]] = {}
        self.deleted: set[str] = set()
        self._unclean: set[tuple[TopicPartition, int | None, int]] = set()  # with leader epoch and leader
        self._bereft: set[TopicPartition] = set()

    def __contains__(self, tp: TopicPartition) -> bool:
        return tp in self._bereft or tp.topic in self.deleted

    def is_unclean(self, tp: TopicPartition, of: LeaderAndIsr) -> bool:
        """Return True if an unclean election chose this leader in this leader epoch."""
        return of.leader is not None and (tp, of.leader_epoch, of.leader) in self._unclean

    def elected(self, tp: TopicPartition, event: Event) -> None:
        """Take note of a decided election. It comes into effect when the state is written."""
        if event.rule == ElectionRule.UNCLEAN.value and event.leader is not None:
            self._unclean.add((tp, event.leader_epoch, event.leader))

    def created(self, tp: TopicPartition) -> None:
        """Forget the losses of a partition's earlier life: the partition was created, or created again."""
        self._bereft.discard(tp)
        self.disks.pop(tp, None)

    def written(
        self, tp: TopicPartition, before: PartitionState | None, state: PartitionState, without_log: Collection[BrokerId]
    ) -> None:
        """Apply a written state. A broker that lost its log and has a new one must catch up with the leader to join the ISR.

        Args:
            without_log: the brokers that have no log of the partition at this time.
        """
        if self.is_unclean(tp, state.leader_and_isr):
            self._bereft.add(tp)
        if tp in self.disks:
            stayed = set(state.leader_and_isr.isr).intersection(before.leader_and_isr.isr if before else ())
            self.disks[tp] &= stayed.union(without_log)
            self._look_at_disks(tp, state)

    def lost_disk(self, tp: TopicPartition, broker: BrokerId, state: PartitionState) -> None:
        """Apply the loss of a broker's log of a partition that is in this state.

        A broker that is not in the ISR may still join it: by a fetch that it has sent before.
        """
        self.disks.setdefault(tp, set()).add(broker)
        self._look_at_disks(tp, state)

    def _look_at_disks(self, tp: TopicPartition, state: PartitionState) -> None:
        """Allow loss if the leader or the whole ISR lost its log: followers truncate to the leader's log."""
        lost, of = self.disks[tp], state.leader_and_isr
        if of.leader in lost or lost.issuperset(of.isr):
            self._bereft.add(tp)
