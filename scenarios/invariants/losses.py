"""Of which partitions records may be missing although they were acknowledged: nobody had promised that they would be there.

That is so from the moment at which an unclean election comes into effect, the last log of a partition is lost with a disk,
or its topic is deleted.
"""

from kcsim.controller.decisions.election import ElectionRule
from kcsim.zk.events import Event
from kcsim.zk.vocabulary import BrokerId, LeaderAndIsr, PartitionState, TopicPartition


class Losses:
    """Kept up by the history.

    Attributes:
        disks: partition -> members of its ISR who have lost their log of it while they were that.
        deleted: topics that were deleted, or are to be.
    """

    def __init__(self) -> None:
        self.disks: dict[TopicPartition, set[BrokerId]] = {}
        self.deleted: set[str] = set()
        self._unclean: set[tuple[TopicPartition, int | None, int]] = set()  # with leader epoch and leader
        self._bereft: set[TopicPartition] = set()

    def __contains__(self, tp: TopicPartition) -> bool:
        return tp in self._bereft or tp.topic in self.deleted

    def is_unclean(self, tp: TopicPartition, of: LeaderAndIsr) -> bool:
        """Whether an election was held that calls this leader of this epoch unclean."""
        return of.leader is not None and (tp, of.leader_epoch, of.leader) in self._unclean

    def elected(self, tp: TopicPartition, event: Event) -> None:
        """An election was decided; it comes into effect when the state is written."""
        if event.rule == ElectionRule.UNCLEAN.value and event.leader is not None:
            self._unclean.add((tp, event.leader_epoch, event.leader))

    def created(self, tp: TopicPartition) -> None:
        """The partition begins, or begins anew."""
        self._bereft.discard(tp)
        self.disks.pop(tp, None)

    def written(self, tp: TopicPartition, state: PartitionState) -> None:
        """Whoever left the ISR since it lost its log has to come back with all that the leader has."""
        if self.is_unclean(tp, state.leader_and_isr):
            self._bereft.add(tp)
        if tp in self.disks:
            self.disks[tp] &= set(state.leader_and_isr.isr)
            self._look_at_disks(tp, state)

    def lost_disk(self, tp: TopicPartition, broker: BrokerId, state: PartitionState) -> None:
        """A broker has lost its log of a partition that is in this state."""
        if broker in state.leader_and_isr.isr:
            self.disks.setdefault(tp, set()).add(broker)
            self._look_at_disks(tp, state)

    def _look_at_disks(self, tp: TopicPartition, state: PartitionState) -> None:
        """What a leader has not, its followers cut off."""
        lost, of = self.disks[tp], state.leader_and_isr
        if of.leader in lost or lost.issuperset(of.isr):
            self._bereft.add(tp)
