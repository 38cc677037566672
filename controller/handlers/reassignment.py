"""Moves partitions to other brokers: /admin/reassign_partitions, AlterPartitionReassignments, and their progress.

A reassignment has two phases. While the target replicas are not all in the ISR, the leader epoch is raised and every
replica, including those to be added, is notified. Once they are, the leader moves into the target if necessary, the replicas
to be removed are stopped and deleted, and the topic's znode is written without them. Source: Kafka 2.8,
KafkaController.onPartitionReassignment (KIP-455); docs/kafka/controller.md 12.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from kcsim.controller.channels.broker_request_batch import KafkaControllerRequestBatch
from kcsim.controller.decisions.decision_rules import DecisionRule
from kcsim.controller.decisions.election import PartitionLeaderElectionStrategy
from kcsim.controller.decisions.partition_states import PartitionMachineState
from kcsim.controller.decisions.reassignment import invalid_target, reassigned_to
from kcsim.controller.decisions.replica_states import ReplicaMachineState
from kcsim.controller.errors import IllegalStateError, StateChangeFailedError
from kcsim.controller.events import PartitionReassignmentIsrChange, ReassignmentTargets, ZkPartitionReassignment
from kcsim.controller.failures import EXPECTED_FAILURES, name_of_error, reason_of_error
from kcsim.controller.requests import ErrorCode
from kcsim.controller.scope import ControllerScope
from kcsim.controller.state_machines.both_machines import StateMachines
from kcsim.controller.topic_deletion_manager import TopicDeletionManager
from kcsim.controller.watches import ControllerWatches
from kcsim.eventlog.events import EventFields, EventKind, with_reason
from kcsim.eventlog.step_names import ReassignmentStep
from kcsim.jvm_hash_order import partition_order
from kcsim.text import format_ids
from kcsim.vocabulary import (
    NO_LEADER,
    BrokerId,
    FailureReason,
    LeaderAndIsr,
    PartitionState,
    ReplicaAssignment,
    TopicPartition,
    without,
)
from kcsim.zk.errors import BadVersionError, NoNodeError, ZooKeeperError
from kcsim.zk.kafka.partition_states import PartitionStateZnodes
from kcsim.zk.kafka.reassignments import ReassignmentZnodes
from kcsim.zk.kafka.topics import TopicZnodes
from kcsim.znodes import paths

Reassignments = dict[TopicPartition, ReplicaAssignment]
Results = dict[TopicPartition, ErrorCode]


@dataclass(frozen=True, slots=True)
class ReassignedPartitionZnodes:
    """The gateways to what a reassignment reads and writes: the request, the partition's state and the topic."""

    reassignments: ReassignmentZnodes
    states: PartitionStateZnodes
    topics: TopicZnodes


class ReassignmentHandlers:
    """The handlers of ZkPartitionReassignment, ApiPartitionReassignment and PartitionReassignmentIsrChange.

    They also own the watches that these events need.
    """

    def __init__(
        self,
        scope: ControllerScope,
        watches: ControllerWatches,
        znodes: ReassignedPartitionZnodes,
        machines: StateMachines,
        deletions: TopicDeletionManager,
        own: KafkaControllerRequestBatch,
    ) -> None:
        self._context = scope.context
        self._sink = scope.sink
        # Otherwise the controller writes them, and knows of every change without a watch.
        self._leaders_write_isrs = not scope.config.capabilities.alter_isr
        self._watches = watches
        self._znodes = znodes
        self._partitions = machines.partitions
        self._replicas = machines.replicas
        self._deletions = deletions
        self._own = own

    def unregister(self) -> None:
        """Stop watching the states of partitions that are being reassigned."""
        for tp in self._context.partitions_being_reassigned:
            self._watches.unwatch_node(paths.topic_partition_state(tp))

    async def register_and_check_existence(self, cause: int) -> bool:
        """Watch for the next /admin/reassign_partitions. Return whether it exists now."""
        return await self._watches.watch_creation(paths.REASSIGN_PARTITIONS, ZkPartitionReassignment(), cause)

    # --- requests

    async def process_zk_partition_reassignment(self, cause: int) -> set[TopicPartition]:
        """Apply the znode's reassignments without checking them; remove the failed ones from it. Returns: the others."""
        if not await self.register_and_check_existence(cause):
            return set()
        requested = await self._znodes.reassignments.read(cause)
        wanted = {tp: reassigned_to(self._context.assignment(tp), target) for tp, target in requested.items()}
        results = await self._trigger(wanted, cause)
        failed = {tp for tp, error in results.items() if error is not ErrorCode.NONE}
        if failed:
            await self._remove_from_znode(lambda tp, target: tp in failed, cause)
        return results.keys() - failed

    async def resume(self, cause: int) -> None:
        """Resume, at failover, the reassignments in the znode, then all others that the former controller did not finish."""
        applied = await self.process_zk_partition_reassignment(cause)
        for tp in partition_order(self._context.partitions_being_reassigned):
            if tp in applied:
                continue
            await self.on_partition_reassignment(tp, self._context.assignment(tp), cause)

    async def resume_to(self, brokers: Collection[BrokerId], cause: int) -> None:
        """Resume the reassignments whose target includes one of these brokers, which have started."""
        context = self._context
        for tp in partition_order(context.partitions_being_reassigned):
            assignment = context.assignment(tp)
            if not set(brokers).isdisjoint(assignment.target_replicas):
                await self.on_partition_reassignment(tp, assignment, cause)

    async def process_api_partition_reassignment(self, targets: ReassignmentTargets, cause: int) -> Results:
        """Start, replace or (target None) cancel reassignments. Entries of these partitions in the znode are removed."""
        results: Results = {}
        wanted: Reassignments = {}
        for tp, target in targets.items():
            current = self._context.assignment(tp)
            if target is not None and invalid_target(current, target, self._context.live_broker_ids):
                results[tp] = ErrorCode.INVALID_REPLICA_ASSIGNMENT
            elif target is not None:
                wanted[tp] = reassigned_to(current, target)
            elif current.is_being_reassigned:
                wanted[tp] = reassigned_to(current, current.origin_replicas)
            else:
                results[tp] = ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
        await self._remove_from_znode(lambda tp, target: tp in wanted, cause)
        return {**results, **await self._trigger(wanted, cause)}

    def listed_reassignments(self, partitions: Collection[TopicPartition] | None) -> Reassignments:
        """Return the assignments of these partitions (None: all) that have adding or removing replicas."""
        context = self._context
        requested = sorted(context.partitions_being_reassigned if partitions is None else partitions)
        return {tp: a for tp in requested if (a := context.assignment(tp)).is_being_reassigned}

    async def _trigger(self, wanted: Mapping[TopicPartition, ReplicaAssignment], cause: int) -> Results:
        context = self._context
        results: Results = {}
        for tp in partition_order(wanted):
            reassignment = wanted[tp]
            if context.is_queued_for_deletion(tp.topic) or not context.assignment(tp).replicas:
                self._emit_step(
                    tp,
                    ReassignmentStep.REFUSED,
                    reassignment,
                    cause,
                    "there is no such partition, or its topic is to be deleted",
                )
                results[tp] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                continue
            try:
                await self.on_partition_reassignment(tp, reassignment, cause)
                results[tp] = ErrorCode.NONE
            except EXPECTED_FAILURES as error:
                self._emit_step(tp, ReassignmentStep.FAILED, reassignment, cause, str(error), error)
                results[tp] = ErrorCode.UNKNOWN_SERVER_ERROR
        return results

    # --- progress

    async def process_isr_change(self, tp: TopicPartition, cause: int) -> None:
        """Complete a partition's reassignment if its target replicas are all in the ISR now.

        Called when the partition's state has changed.
        """
        if tp in self._context.partitions_being_reassigned:
            reassignment = self._context.assignment(tp)
            if await self._is_complete(tp, reassignment, cause):
                await self.on_partition_reassignment(tp, reassignment, cause)

    async def on_partition_reassignment(self, tp: TopicPartition, reassignment: ReplicaAssignment, cause: int) -> None:
        """Advance a reassignment as far as possible now."""
        self._deletions.mark_ineligible([tp.topic], "it is being reassigned", cause, FailureReason.BEING_REASSIGNED)
        begun = self._emit_step(tp, ReassignmentStep.STARTED, reassignment, cause, "make this the partition's assignment")
        await self._update_current(tp, reassignment, begun)
        if await self._is_complete(tp, reassignment, begun):
            done = self._emit_step(
                tp, ReassignmentStep.COMPLETING, reassignment, begun, "every replica of the target is in the ISR"
            )
            await self._complete(tp, reassignment, done)
            return
        waiting = self._emit_step(
            tp, ReassignmentStep.WAITING, reassignment, begun, "not every replica of the target is in the ISR"
        )
        await self._update_leader_epoch_and_send_request(tp, waiting)
        for broker in reassignment.adding_replicas:
            await self._replicas.handle_state_changes({broker: [tp]}, ReplicaMachineState.NEW, waiting)

    async def _update_current(self, tp: TopicPartition, reassignment: ReplicaAssignment, cause: int) -> None:
        """Write the new assignment, then stop replicas that only an earlier reassignment had added."""
        context = self._context
        current = context.assignment(tp)
        if current != reassignment:
            await self._write_topic(tp, reassignment, cause)
            context.put_assignment(tp, reassignment)
            unneeded = without(current.replicas, reassignment.replicas)
            if unneeded:
                await self._stop_replicas(tp, unneeded, cause)
        if self._leaders_write_isrs:
            self._watches.watch_data(paths.topic_partition_state(tp), PartitionReassignmentIsrChange(tp))
        context.partitions_being_reassigned.add(tp)

    async def _is_complete(self, tp: TopicPartition, reassignment: ReplicaAssignment, cause: int) -> bool:
        if not reassignment.is_being_reassigned:
            return True
        # A fresh read, which also arms the watch for the next change.
        read = await self._znodes.states.read([tp], cause)
        return tp in read and set(reassignment.target_replicas) <= set(read[tp].leader_and_isr.isr)

    async def _complete(self, tp: TopicPartition, reassignment: ReplicaAssignment, cause: int) -> None:
        context = self._context
        added = {broker: [tp] for broker in reassignment.adding_replicas}
        await self._replicas.handle_state_changes(added, ReplicaMachineState.ONLINE, cause)
        completed = ReplicaAssignment(reassignment.target_replicas)
        context.put_assignment(tp, completed)
        await self._move_leader_if_required(tp, completed, cause)
        await self._stop_replicas(tp, reassignment.removing_replicas, cause)
        await self._write_topic(tp, completed, cause)
        await self._remove_from_reassigning(tp, completed, cause)
        await self._own.send_update_metadata(cause, [tp])
        self._emit_step(tp, ReassignmentStep.COMPLETED, completed, cause, "nothing is left to add or to remove")
        await self._deletions.resume_deletion_for_topics([tp.topic], cause)

    async def _move_leader_if_required(self, tp: TopicPartition, completed: ReplicaAssignment, cause: int) -> None:
        context = self._context
        known = context.leadership.get(tp)
        if known is None:
            raise IllegalStateError(f"nothing is known of who leads {tp}")
        leader = known.leader_and_isr.leader
        if leader in completed.replicas and leader is not None and context.is_replica_online(leader, tp):
            await self._update_leader_epoch_and_send_request(tp, cause)
        else:
            await self._partitions.handle_state_changes(
                [tp], PartitionMachineState.ONLINE, cause, PartitionLeaderElectionStrategy.REASSIGN
            )

    async def _stop_replicas(self, tp: TopicPartition, brokers: Iterable[BrokerId], cause: int) -> None:
        """Stop and delete replicas without waiting for the brokers' responses: an offline broker keeps its replica."""
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
        """Write a topic's znode from the context, with one partition changed.

        Raises: IllegalStateError if the znode is gone.
        """
        context = self._context
        state = context.topic_state(tp.topic)
        changed = replace(state, assignments={**state.assignments, tp.partition: assignment})
        try:
            await self._znodes.topics.set_assignment(tp.topic, changed, context.epoch_zk_version, cause)
        except NoNodeError as gone:
            raise IllegalStateError(f"{paths.topic(tp.topic)} is gone, so {tp} cannot be reassigned") from gone

    async def _remove_from_reassigning(self, tp: TopicPartition, completed: ReplicaAssignment, cause: int) -> None:
        context = self._context
        if tp not in context.partitions_being_reassigned:
            raise IllegalStateError(f"{tp} is not being reassigned")
        self._watches.unwatch_node(paths.topic_partition_state(tp))
        await self._remove_from_znode(lambda requested, target: requested == tp and target == completed.replicas, cause)
        context.partitions_being_reassigned.discard(tp)

    async def _remove_from_znode(self, is_done: Callable[[TopicPartition, tuple[BrokerId, ...]], bool], cause: int) -> None:
        """Remove entries from /admin/reassign_partitions, if it exists; delete it when no entry is left."""
        zk, version = self._znodes.reassignments, self._context.epoch_zk_version
        if not await zk.exists(cause):
            return
        requested = await zk.read(cause)
        left = {tp: target for tp, target in requested.items() if not is_done(tp, target)}
        if left:
            await zk.set_or_create(left, version, cause)
        else:
            await zk.delete(version, cause)
            self._watches.put(ZkPartitionReassignment(), cause)  # to watch for the next one

    # --- leader epochs

    async def _update_leader_epoch_and_send_request(self, tp: TopicPartition, cause: int) -> None:
        """Raise the leader epoch, without a change of leader, so that every broker accepts the new replica list."""
        bumped = await self._bump_leader_epoch(tp, cause)
        await self._own.send(lambda batch: batch.epoch_bump(tp), bumped)

    async def _bump_leader_epoch(self, tp: TopicPartition, cause: int) -> int:
        """Write the same leader and ISR with the next leader epoch; repeat if the state has changed. Returns: seq.

        The seq is that of the event LeaderEpochBumped.

        Raises: IllegalStateError when there is no state; StateChangeFailedError when a later controller wrote it.
        """
        context, states = self._context, self._znodes.states
        while True:
            stored = (await states.read([tp], cause)).get(tp)
            if stored is None:
                raise IllegalStateError(f"{tp} has no state whose leader epoch could be raised", FailureReason.NO_STATE)
            if stored.controller_epoch > context.epoch:
                raise StateChangeFailedError(
                    f"the state of {tp} was written by another controller, of epoch {stored.controller_epoch}"
                )
            raised = stored.leader_and_isr.led_by(stored.leader_and_isr.leader)
            seq = self._emit_epoch_bump(tp, stored.leader_and_isr, raised, cause)
            written = await states.set({tp: PartitionState(raised, context.epoch)}, context.epoch_zk_version, seq)
            match written[tp]:
                case BadVersionError():
                    continue
                case ZooKeeperError() as error:
                    raise error
                case version:
                    context.put_leadership(tp, PartitionState(replace(raised, zk_version=version), context.epoch))
                    return seq

    # --- the event log

    def _emit_step(
        self,
        tp: TopicPartition,
        step: ReassignmentStep,
        assignment: ReplicaAssignment,
        cause: int,
        detail: str,
        error: Exception | None = None,
    ) -> int:
        fields = EventFields(
            topic=tp.topic,
            partition=tp.partition,
            step=step.value,
            replicas=tuple(map(int, assignment.replicas)),
            adding_replicas=tuple(map(int, assignment.adding_replicas)),
            removing_replicas=tuple(map(int, assignment.removing_replicas)),
            target_replicas=tuple(map(int, assignment.target_replicas)),
            inputs=f"adding {format_ids(assignment.adding_replicas)}, removing {format_ids(assignment.removing_replicas)}",
            detail=f"reassignment of {tp} to {format_ids(assignment.target_replicas)} {step}: {detail}",
        )
        if error is not None:
            fields = with_reason({**fields, "error": name_of_error(error)}, reason_of_error(error))
        return self._sink.emit(EventKind.PARTITION_REASSIGNMENT, cause, **fields)

    def _emit_epoch_bump(self, tp: TopicPartition, before: LeaderAndIsr, after: LeaderAndIsr, cause: int) -> int:
        return self._sink.emit(
            EventKind.LEADER_EPOCH_BUMPED,
            cause,
            topic=tp.topic,
            partition=tp.partition,
            leader=NO_LEADER if after.leader is None else after.leader,
            leader_epoch=after.leader_epoch,
            isr=after.isr,
            rule=DecisionRule.NEW_REPLICAS_NEW_EPOCH.value,
            inputs=f"leader epoch {before.leader_epoch}",
        )
