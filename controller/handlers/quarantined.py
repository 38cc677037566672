"""Changes of quarantined znodes: partition states and registrations that a hardened controller takes up once they are right.

Other quarantined znodes have watches already: topics and requests in /admin, /controller and its epoch.
"""

from kcsim.controller.decisions.replica_states import ReplicaMachineState
from kcsim.controller.events import QuarantinedZnodeChange
from kcsim.controller.handlers.brokers import BrokerHandlers
from kcsim.controller.handlers.reassignment import ReassignmentHandlers
from kcsim.controller.scope import ControllerScope
from kcsim.controller.state_machines.both_machines import StateMachines
from kcsim.controller.watches import ControllerWatches
from kcsim.vocabulary import PartitionState, TopicPartition
from kcsim.zk.kafka.partition_states import PartitionStateZnodes
from kcsim.znodes import paths
from kcsim.znodes.paths import PathKind


class QuarantineHandler:
    """The handler of QuarantinedZnodeChange, and the watches that this event needs."""

    def __init__(
        self,
        scope: ControllerScope,
        watches: ControllerWatches,
        states: PartitionStateZnodes,
        machines: StateMachines,
        brokers: BrokerHandlers,
        reassignments: ReassignmentHandlers,
    ) -> None:
        self._context = scope.context
        self._quarantine = scope.quarantine
        self._watches = watches
        self._states = states
        self._partitions = machines.partitions
        self._replicas = machines.replicas
        self._brokers = brokers
        self._reassignments = reassignments
        self._watched: set[str] = set()

    def watch_new(self, cause: int) -> None:
        """Watch the znodes that were quarantined lately. The events queued here read them again, which arms the watches."""
        for path in self._quarantine.take_unwatched():
            known = paths.parse(path)
            if known is not None and known.kind in (PathKind.TOPIC_PARTITION_STATE, PathKind.BROKER_ID):
                self._watched.add(path)
                self._watches.watch_data_or_deletion(path, QuarantinedZnodeChange(path))
                self._watches.put(QuarantinedZnodeChange(path), cause)

    def unregister(self) -> None:
        for path in self._watched:
            self._watches.unwatch_node(path)
        self._watched.clear()

    async def process_quarantined_znode_change(self, path: str, cause: int) -> None:
        """Read a quarantined znode again, which re-arms the watch; take it up if its content is right now."""
        known = paths.parse(path)
        if path not in self._watched or known is None:
            return  # the event was queued before the znode was taken up
        tp, read = known.topic_partition, {}
        if tp is None:
            await self._brokers.process_broker_change(cause)
        else:
            read = await self._states.read([tp], cause)
        if path in self._quarantine:
            return
        self._watched.discard(path)
        self._watches.unwatch_node(path)
        if tp is not None:
            await self._take_up(tp, read.get(tp), cause)
        elif known.broker_id in self._context.live_brokers:
            await self._brokers.register_modifications([known.broker_id], cause)

    async def _take_up(self, tp: TopicPartition, state: PartitionState | None, cause: int) -> None:
        """Do for one partition what a failover does for all of them."""
        context = self._context
        if tp not in context.assignments or context.is_queued_for_deletion(tp.topic):
            return
        if state is not None:
            context.put_leadership(tp, state)
        self._partitions.set_first_state(tp)
        replicas = context.assignment(tp).replicas
        online = {broker: [tp] for broker in replicas if context.is_replica_online(broker, tp)}
        offline = {broker: [tp] for broker in replicas if broker not in online}
        await self._replicas.handle_state_changes(offline, ReplicaMachineState.OFFLINE, cause)
        await self._replicas.handle_state_changes(online, ReplicaMachineState.ONLINE, cause)
        await self._partitions.trigger_online_state_change(cause, tp.topic)
        if tp in context.partitions_being_reassigned:
            await self._reassignments.resume_one(tp, cause)
