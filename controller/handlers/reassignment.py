"""Moves partitions to other brokers: /admin/reassign_partitions, AlterPartitionReassignments, and what drives them on.

Two phases. While the target has not joined the ISR: the leader epoch is raised, and every replica, those to be added
included, is told. Once it has: the leader moves into the target if it must, what is to go is taken out and deleted, and the
topic's znode is written without it. Source: Kafka 2.8, KafkaController.onPartitionReassignment (KIP-455); reference
controller.md 12.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial

from kcsim.controller.broker_request_batch import ControllersOwnBatch
from kcsim.controller.core import EXPECTED_FAILURES, Core, listed, name_of_error
from kcsim.controller.decisions.hash_order import partition_order
from kcsim.controller.decisions.partition_states import PartitionMachineState
from kcsim.controller.decisions.reassignment import reassigned_to
from kcsim.controller.decisions.replica_states import ReplicaMachineState
from kcsim.controller.errors import IllegalStateError, StateChangeFailedError
from kcsim.controller.events import PartitionReassignmentIsrChange, ReassignmentTargets, ZkPartitionReassignment
from kcsim.controller.partition_state_machine import PartitionStateMachine, Strategy
from kcsim.controller.replica_state_machine import ReplicaStateMachine
from kcsim.controller.requests import ErrorCode
from kcsim.controller.topic_deletion_manager import TopicDeletionManager
from kcsim.zk import paths
from kcsim.zk.errors import BadVersionError, NoNodeError, ZooKeeperError
from kcsim.zk.events import EventFields, EventKind
from kcsim.zk.vocabulary import NO_LEADER, BrokerId, LeaderAndIsr, PartitionState, ReplicaAssignment, TopicPartition, without
from kcsim.zk.zookeeper_client import NodeHandler

Reassignments = dict[TopicPartition, ReplicaAssignment]
Results = dict[TopicPartition, ErrorCode]


class ReassignmentHandlers:
    """ZkPartitionReassignment, ApiPartitionReassignment, PartitionReassignmentIsrChange, and the watches they need."""

    def __init__(
        self,
        core: Core,
        partitions: PartitionStateMachine,
        replicas: ReplicaStateMachine,
        deletions: TopicDeletionManager,
        own: ControllersOwnBatch,
    ) -> None:
        self._core = core
        self._partitions = partitions
        self._replicas = replicas
        self._deletions = deletions
        self._own = own

    def unregister(self) -> None:
        """No longer watch the states of partitions that are being reassigned."""
        for tp in self._core.context.partitions_being_reassigned:
            self._core.client.unregister_node_handler(paths.topic_partition_state(tp))

    async def register_and_check_existence(self, cause: int) -> bool:
        """Watch for the next /admin/reassign_partitions, and say whether there is one now."""
        created = partial(self._core.put, ZkPartitionReassignment())
        return await self._core.client.register_and_check_existence(
            paths.REASSIGN_PARTITIONS, NodeHandler(created=created), cause
        )

    # --- what is asked for

    async def process_zk_partition_reassignment(self, cause: int) -> set[TopicPartition]:
        """Apply what the znode asks for, without checking it; take out of it what failed. Returns: what did not fail."""
        if not await self.register_and_check_existence(cause):
            return set()
        asked = await self._core.kafka_zk.partition_reassignments(cause)
        wanted = {tp: reassigned_to(self._core.context.assignment(tp), target) for tp, target in asked.items()}
        results = await self._trigger(wanted, cause)
        failed = {tp for tp, error in results.items() if error is not ErrorCode.NONE}
        if failed:
            await self._remove_from_znode(lambda tp, target: tp in failed, cause)
        return results.keys() - failed

    async def resume(self, cause: int) -> None:
        """At failover: what the znode asks for, then whatever else the former controller did not finish."""
        applied = await self.process_zk_partition_reassignment(cause)
        for tp in partition_order(self._core.context.partitions_being_reassigned):
            if tp in applied:
                continue
            await self.on_partition_reassignment(tp, self._core.context.assignment(tp), cause)

    async def resume_to(self, brokers: Collection[BrokerId], cause: int) -> None:
        """Brokers have started: go on with what moves to them."""
        context = self._core.context
        for tp in partition_order(context.partitions_being_reassigned):
            assignment = context.assignment(tp)
            if not set(brokers).isdisjoint(assignment.target_replicas):
                await self.on_partition_reassignment(tp, assignment, cause)

    async def process_api_partition_reassignment(self, targets: ReassignmentTargets, cause: int) -> Results:
        """Apply, replace or (target None) cancel reassignments; what the znode asks for these partitions is dropped."""
        results: Results = {}
        wanted: Reassignments = {}
        for tp, target in targets.items():
            current = self._core.context.assignment(tp)
            if target is not None and not self._is_valid(current, target):
                results[tp] = ErrorCode.INVALID_REPLICA_ASSIGNMENT
            elif target is not None:
                wanted[tp] = reassigned_to(current, target)
            elif current.is_being_reassigned:
                wanted[tp] = reassigned_to(current, current.origin_replicas)
            else:
                results[tp] = ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
        await self._remove_from_znode(lambda tp, target: tp in wanted, cause)
        return {**results, **await self._trigger(wanted, cause)}

    def _is_valid(self, current: ReplicaAssignment, target: tuple[BrokerId, ...]) -> bool:
        """Whether the API takes a target: somebody, nobody twice, no negative id, and new replicas on live brokers only."""
        adding = reassigned_to(current, target).adding_replicas
        return (
            bool(target)
            and len(set(target)) == len(target)
            and min(target) >= 0
            and self._core.context.live_broker_ids.issuperset(adding)
        )

    def listed_reassignments(self, partitions: Collection[TopicPartition] | None) -> Reassignments:
        """Those of these partitions (all: None) that have replicas being added or removed."""
        context = self._core.context
        asked = sorted(context.partitions_being_reassigned if partitions is None else partitions)
        return {tp: a for tp in asked if (a := context.assignment(tp)).is_being_reassigned}

    async def _trigger(self, wanted: Mapping[TopicPartition, ReplicaAssignment], cause: int) -> Results:
        context = self._core.context
        results: Results = {}
        for tp in partition_order(wanted):
            reassignment = wanted[tp]
            if context.is_queued_for_deletion(tp.topic) or not context.assignment(tp).replicas:
                self._tell(tp, "refused", reassignment, cause, "there is no such partition, or its topic is to be deleted")
                results[tp] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                continue
            try:
                await self.on_partition_reassignment(tp, reassignment, cause)
                results[tp] = ErrorCode.NONE
            except EXPECTED_FAILURES as error:
                self._tell(tp, "failed", reassignment, cause, str(error), name_of_error(error))
                results[tp] = ErrorCode.UNKNOWN_SERVER_ERROR
        return results

    # --- progress

    async def process_isr_change(self, tp: TopicPartition, cause: int) -> None:
        """The state of a partition changed: if it is being reassigned and its target is in sync now, complete it."""
        if tp in self._core.context.partitions_being_reassigned:
            reassignment = self._core.context.assignment(tp)
            if await self._is_complete(tp, reassignment, cause):
                await self.on_partition_reassignment(tp, reassignment, cause)

    async def on_partition_reassignment(self, tp: TopicPartition, reassignment: ReplicaAssignment, cause: int) -> None:
        """Take a reassignment as far as it goes now."""
        self._deletions.mark_ineligible([tp.topic], "it is being reassigned", cause)
        begun = self._tell(tp, "started", reassignment, cause, "make this the partition's assignment")
        await self._update_current(tp, reassignment, begun)
        if await self._is_complete(tp, reassignment, begun):
            done = self._tell(tp, "completing", reassignment, begun, "every replica of the target is in the ISR")
            await self._complete(tp, reassignment, done)
            return
        waiting = self._tell(tp, "waiting", reassignment, begun, "not every replica of the target is in the ISR")
        await self._update_leader_epoch_and_send_request(tp, waiting)
        for broker in reassignment.adding_replicas:
            await self._replicas.handle_state_changes({broker: [tp]}, ReplicaMachineState.NEW, waiting)

    async def _update_current(self, tp: TopicPartition, reassignment: ReplicaAssignment, cause: int) -> None:
        """Write the new record, then stop replicas that an earlier reassignment had added and this one does not want."""
        context = self._core.context
        current = context.assignment(tp)
        if current != reassignment:
            await self._write_topic(tp, reassignment, cause)
            context.put_assignment(tp, reassignment)
            unneeded = without(current.replicas, reassignment.replicas)
            if unneeded:
                await self._stop_replicas(tp, unneeded, cause)
        changed = partial(self._core.put, PartitionReassignmentIsrChange(tp))
        self._core.client.register_node_handler(paths.topic_partition_state(tp), NodeHandler(data_changed=changed))
        context.partitions_being_reassigned.add(tp)

    async def _is_complete(self, tp: TopicPartition, reassignment: ReplicaAssignment, cause: int) -> bool:
        if not reassignment.is_being_reassigned:
            return True
        # A fresh read, which also arms the watch that tells of the next change.
        read = await self._core.kafka_zk.partition_states([tp], cause)
        return tp in read and set(reassignment.target_replicas) <= set(read[tp].leader_and_isr.isr)

    async def _complete(self, tp: TopicPartition, reassignment: ReplicaAssignment, cause: int) -> None:
        context = self._core.context
        added = {broker: [tp] for broker in reassignment.adding_replicas}
        await self._replicas.handle_state_changes(added, ReplicaMachineState.ONLINE, cause)
        completed = ReplicaAssignment(reassignment.target_replicas)
        context.put_assignment(tp, completed)
        await self._move_leader_if_required(tp, completed, cause)
        await self._stop_replicas(tp, reassignment.removing_replicas, cause)
        await self._write_topic(tp, completed, cause)
        await self._remove_from_reassigning(tp, completed, cause)
        await self._own.send_update_metadata(cause, [tp])
        self._tell(tp, "completed", completed, cause, "nothing is left to add or to remove")
        await self._deletions.resume_deletion_for_topics([tp.topic], cause)

    async def _move_leader_if_required(self, tp: TopicPartition, completed: ReplicaAssignment, cause: int) -> None:
        context = self._core.context
        known = context.leadership.get(tp)
        if known is None:
            raise IllegalStateError(f"nothing is known of who leads {tp}")
        leader = known.leader_and_isr.leader
        if leader in completed.replicas and leader is not None and context.is_replica_online(leader, tp):
            await self._update_leader_epoch_and_send_request(tp, cause)
        else:
            await self._partitions.handle_state_changes([tp], PartitionMachineState.ONLINE, cause, Strategy.REASSIGN)

    async def _stop_replicas(self, tp: TopicPartition, brokers: Iterable[BrokerId], cause: int) -> None:
        """Stop and delete replicas without waiting for the brokers' word: what a dead broker has stays there."""
        stopped = {broker: [tp] for broker in brokers}
        for state in (
            ReplicaMachineState.OFFLINE,
            ReplicaMachineState.DELETION_STARTED,
            ReplicaMachineState.DELETION_SUCCESSFUL,
            ReplicaMachineState.NON_EXISTENT,
        ):
            await self._replicas.handle_state_changes(stopped, state, cause)

    # --- znodes

    async def _write_topic(self, tp: TopicPartition, assignment: ReplicaAssignment, cause: int) -> None:
        """Write the whole topic as it is in memory, with one partition changed. Raises: IllegalStateError if it is gone."""
        context = self._core.context
        state = context.topic_state(tp.topic)
        changed = replace(state, assignments={**state.assignments, tp.partition: assignment})
        try:
            await self._core.kafka_zk.set_topic_assignment(tp.topic, changed, context.epoch_zk_version, cause)
        except NoNodeError as gone:
            raise IllegalStateError(f"{paths.topic(tp.topic)} is gone, so {tp} cannot be reassigned") from gone

    async def _remove_from_reassigning(self, tp: TopicPartition, completed: ReplicaAssignment, cause: int) -> None:
        context = self._core.context
        if tp not in context.partitions_being_reassigned:
            raise IllegalStateError(f"{tp} is not being reassigned")
        self._core.client.unregister_node_handler(paths.topic_partition_state(tp))
        await self._remove_from_znode(lambda asked, target: asked == tp and target == completed.replicas, cause)
        context.partitions_being_reassigned.discard(tp)

    async def _remove_from_znode(self, is_done: Callable[[TopicPartition, tuple[BrokerId, ...]], bool], cause: int) -> None:
        """Take entries out of /admin/reassign_partitions, if there is one; delete it when nothing is left."""
        zk, version = self._core.kafka_zk, self._core.context.epoch_zk_version
        if not await zk.exists(paths.REASSIGN_PARTITIONS, cause):
            return
        asked = await zk.partition_reassignments(cause)
        left = {tp: target for tp, target in asked.items() if not is_done(tp, target)}
        if left:
            await zk.set_or_create_partition_reassignments(left, version, cause)
        else:
            await zk.delete_partition_reassignments(version, cause)
            self._core.put(ZkPartitionReassignment(), cause)  # to watch for the next one

    # --- leader epochs

    async def _update_leader_epoch_and_send_request(self, tp: TopicPartition, cause: int) -> None:
        """Raise the leader epoch, whoever leads, so that every broker takes in the new replica list."""
        bumped = await self._bump_leader_epoch(tp, cause)
        await self._own.send(lambda batch: batch.epoch_bump(tp), bumped)

    async def _bump_leader_epoch(self, tp: TopicPartition, cause: int) -> int:
        """Write the same leader and ISR one epoch later, again if the state changes meanwhile. Returns: its event.

        Raises: IllegalStateError when there is no state; StateChangeFailedError when a later controller wrote it.
        """
        context, zk = self._core.context, self._core.kafka_zk
        while True:
            stored = (await zk.partition_states([tp], cause)).get(tp)
            if stored is None:
                raise IllegalStateError(f"{tp} has no state whose leader epoch could be raised")
            if stored.controller_epoch > context.epoch:
                raise StateChangeFailedError(
                    f"the state of {tp} was written by another controller, of epoch {stored.controller_epoch}"
                )
            raised = stored.leader_and_isr.led_by(stored.leader_and_isr.leader)
            seq = self._tell_bump(tp, stored.leader_and_isr, raised, cause)
            written = await zk.set_partition_states(
                {tp: PartitionState(raised, context.epoch)}, context.epoch_zk_version, seq
            )
            match written[tp]:
                case BadVersionError():
                    continue
                case ZooKeeperError() as error:
                    raise error
                case version:
                    context.put_leadership(tp, PartitionState(replace(raised, zk_version=version), context.epoch))
                    return seq

    # --- the event log

    def _tell(
        self,
        tp: TopicPartition,
        step: str,
        assignment: ReplicaAssignment,
        cause: int,
        detail: str,
        error: str | None = None,
    ) -> int:
        fields = EventFields(
            topic=tp.topic,
            partition=tp.partition,
            step=step,
            replicas=assignment.replicas,
            inputs=f"adding {listed(assignment.adding_replicas)}, removing {listed(assignment.removing_replicas)}",
            detail=f"reassignment of {tp} to {listed(assignment.target_replicas)} {step}: {detail}",
        )
        if error is not None:
            fields["error"] = error
        return self._core.sink.emit(EventKind.PARTITION_REASSIGNMENT, cause, **fields)

    def _tell_bump(self, tp: TopicPartition, before: LeaderAndIsr, after: LeaderAndIsr, cause: int) -> int:
        return self._core.sink.emit(
            EventKind.LEADER_EPOCH_BUMPED,
            cause,
            topic=tp.topic,
            partition=tp.partition,
            leader=NO_LEADER if after.leader is None else after.leader,
            leader_epoch=after.leader_epoch,
            isr=after.isr,
            rule="a changed replica list needs a new leader epoch, or brokers would not take it in",
            inputs=f"leader epoch {before.leader_epoch}",
        )
