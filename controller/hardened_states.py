"""The states of partitions as a hardened controller reads them: around those that cannot be read, and restoring lost ones.

Kafka's controller fails as a whole at a state that is JSON of another form, and elects no leader where there is no state.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kcsim.controller.context import ControllerContext
from kcsim.controller.decisions.faulty_assignments import usable_isr
from kcsim.controller.quarantine import Quarantine
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import PartitionState, TopicPartition, ZkVersion
from kcsim.zk.errors import ZooKeeperError
from kcsim.zk.kafka.partition_states import PartitionStateZnodes
from kcsim.zk.kafka.znode_requests import OnBadZnode, ZnodeRequests
from kcsim.znodes import paths

UNSERVED = "its partition keeps the leader that it has, and gets no other"


class HardenedPartitionStates(PartitionStateZnodes):
    """The gateway to the states of partitions, for a hardened controller."""

    def __init__(self, znodes: ZnodeRequests, context: ControllerContext, quarantine: Quarantine) -> None:
        super().__init__(znodes)
        self._context = context
        self._quarantine = quarantine
        self._repaired: set[TopicPartition] = set()

    def take_repaired(self) -> list[TopicPartition]:
        """Return the partitions whose state was read with fewer ISR members than it has, since the last call; sorted."""
        repaired, self._repaired = sorted(self._repaired), set()
        return repaired

    async def read_or_errors(
        self, partitions: Iterable[TopicPartition], cause: Cause = None, on_bad: OnBadZnode | None = None
    ) -> dict[TopicPartition, PartitionState | ZooKeeperError | None]:
        """Return each partition's state, or the error of reading it; leave out those that are in quarantine.

        A state that this controller knows and that does not exist any more is written again, as the controller knows it. A
        member of an ISR that is no replica, or is named a second time, is left out.
        """
        wanted = list(partitions)
        reading = self._quarantine.reading(UNSERVED, cause)
        read = await super().read_or_errors(wanted, cause, on_bad or reading)
        if reading is not None:
            found = {paths.topic_partition_state(tp) for tp, state in read.items() if state is not None}
            self._quarantine.release_read(map(paths.topic_partition_state, wanted), reading, found)
        for tp, state in read.items():
            if isinstance(state, PartitionState):
                read[tp] = self._without_non_replicas(tp, state)
        known = self._context.leadership
        lost = [tp for tp, state in read.items() if state is None and tp in known and not self._is_deleted(tp)]
        if lost:
            read.update(await self._restored(lost, cause))
        return read

    def _without_non_replicas(self, tp: TopicPartition, state: PartitionState) -> PartitionState:
        """Return a state in which leader and ISR are replicas, each named once, unless no member of the ISR is a replica.

        A reassignment may have taken replicas away already that are still in the ISR.
        """
        context, stored = self._context, state.leader_and_isr
        replicas = context.assignment(tp).replicas
        isr = usable_isr(stored.isr, replicas)
        if isr == stored.isr or not isr or tp in context.partitions_being_reassigned:
            return state
        self._repaired.add(tp)
        leader = stored.leader if stored.leader in replicas else None
        return replace(state, leader_and_isr=replace(stored, leader=leader, isr=isr))

    def _is_deleted(self, tp: TopicPartition) -> bool:
        return self._context.is_queued_for_deletion(tp.topic)

    async def _restored(self, lost: Sequence[TopicPartition], cause: Cause) -> dict[TopicPartition, PartitionState]:
        context = self._context
        states = {
            tp: PartitionState(replace(context.leadership[tp].leader_and_isr, zk_version=ZkVersion(0)), context.epoch)
            for tp in lost
        }
        written = await self.create(states, context.epoch_zk_version, cause)
        return {tp: states[tp] for tp, version in written.items() if not isinstance(version, ZooKeeperError)}
