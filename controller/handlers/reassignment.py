"""Moves partitions to other brokers: /admin/reassign_partitions, AlterPartitionReassignments, and their progress.

A reassignment has two phases. While the target replicas are not all in the ISR, the leader epoch is raised and every
replica, including those to be added, is notified. Once they are, the leader moves into the target if necessary, the replicas
to be removed are stopped and deleted, and the topic's znode is written without them. Source: Kafka 2.8,
KafkaController.onPartitionReassignment (KIP-455); docs/kafka/controller.md 12.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from kcsim.controller.channels.broker_request_batch import BrokerRequestBatch, KafkaControllerRequestBatch
from kcsim.controller.decisions.election import PartitionLeaderElectionStrategy
from kcsim.controller.decisions.faulty_assignments import wrong_replicas
from kcsim.controller.decisions.partition_states import PartitionMachineState
from kcsim.controller.decisions.reassignment import invalid_target, reassigned_to
from kcsim.controller.decisions.replica_states import ReplicaMachineState
from kcsim.controller.errors import IllegalStateError
from kcsim.controller.events import PartitionReassignmentIsrChange, ReassignmentTargets, ZkPartitionReassignment
from kcsim.controller.failures import EXPECTED_FAILURES, PARTITION_FAILURES, name_of_error, reason_of_error
from kcsim.controller.handlers.leader_epochs import LeaderEpochs
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
    BrokerId,
    FailureReason,
    ReplicaAssignment,
    TopicPartition,
    without,
)
from kcsim.zk.errors import NoNodeError
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
        self._hardening = scope.config.hardening
        self._quarantine = scope.quarantine
        self._leader_epochs = LeaderEpochs(scope, znodes.states, own)
        self._left_behind: dict[BrokerId, set[TopicPartition]] = {}
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
        self._left_behind.clear()

    async def register_and_check_existence(self, cause: int) -> bool:
        """Watch for the next /admin/reassign_partitions. Return whether it exists now."""
        return await self._watches.watch_request(paths.REASSIGN_PARTITIONS, ZkPartitionReassignment(), cause)

    # --- requests

    async def process_zk_partition_reassignment(self, cause: int) -> set[TopicPartition]:
        """Apply the znode's reassignments without checking them; remove the failed ones from it. Returns: the others."""
        if not await self.register_and_check_existence(cause):
            return set()
        requested = await self._read_requested(cause)
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
            await self.resume_one(tp, cause)

    async def resume_to(self, brokers: Collection[BrokerId], cause: int) -> None:
        """Resume the reassignments whose target includes one of these brokers, which have started.

        A hardened controller also resumes those whose former replicas have started: only with them there may be a state.
        """
        context = self._context
        for tp in partition_order(context.partitions_being_reassigned):
            assignment = context.assignment(tp)
            waited_for = assignment.replicas if self._hardening.isolates_failures else assignment.target_replicas
            if not set(brokers).isdisjoint(waited_for):
                await self.resume_one(tp, cause)

    async def resume_one(self, tp: TopicPartition, cause: int) -> None:
        """Continue a partition's reassignment. A failure concerns no other partition if the controller is hardened."""
        assignment = self._context.assignment(tp)
        try:
            await self.on_partition_reassignment(tp, assignment, cause)
        except PARTITION_FAILURES as error:
            if not self._hardening.isolates_failures:
                raise
            self._emit_step(tp, ReassignmentStep.FAILED, assignment, cause, str(error), error)

    async def delete_left_behind(self, started: Collection[BrokerId], cause: int) -> None:
        """Have brokers that have started delete the replicas that were taken from them while they were not there."""
        for broker in sorted(started):
            left = sorted(self._left_behind.pop(broker, ()))
            gone = [tp for tp in left if broker not in self._context.assignment(tp).replicas]
            if gone:
                await self._own.send(partial(_delete_replicas, broker, gone), cause)

    async def end_those_of_deleted_topics(self, cause: int) -> None:
        """End the reassignments of topics that are queued for deletion, or deleted, if the controller is hardened.

        All their replicas are deleted, those that were to be added, too. Their entries in /admin/reassign_partitions go.
        """
        context = self._context
        if not self._hardening.deletion_ends_reassignments:
            return
        ended = [
            tp
            for tp in partition_order(context.partitions_being_reassigned)
            if context.is_queued_for_deletion(tp.topic) or tp.topic not in context.topics
        ]
        for tp in ended:
            assignment = ReplicaAssignment(context.assignment(tp).replicas)
            if tp in context.assignments:
                context.put_assignment(tp, assignment)
            context.partitions_being_reassigned.discard(tp)
            self._watches.unwatch_node(paths.topic_partition_state(tp))
            self._emit_step(tp, ReassignmentStep.ENDED, assignment, cause, "its topic is to be deleted")
        if ended:
            await self._remove_from_znode(lambda tp, target: tp in ended, cause)

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
            if (why := await self._why_refused(tp, reassignment, cause)) is not None:
                self._emit_step(tp, ReassignmentStep.REFUSED, reassignment, cause, why)
                results[tp] = ErrorCode.INVALID_REPLICA_ASSIGNMENT
                continue
            try:
                await self.on_partition_reassignment(tp, reassignment, cause)
                results[tp] = ErrorCode.NONE
            except EXPECTED_FAILURES as error:
                self._emit_step(tp, ReassignmentStep.FAILED, reassignment, cause, str(error), error)
                results[tp] = ErrorCode.UNKNOWN_SERVER_ERROR
        return results

    async def _why_refused(self, tp: TopicPartition, wanted: ReplicaAssignment, cause: int) -> str | None:
        """Return why a hardened controller refuses a reassignment that Kafka's would begin; None if it does not."""
        if not self._hardening.checks_reassignments:
            return None
        context = self._context
        if (wrong := wrong_replicas(wanted.target_replicas)) is not None:
            return f"the target cannot be right: {wrong}"
        if paths.topic(tp.topic) in self._quarantine or self._quarantine.has_state_of(tp):
            return "the znode of its topic or of its state is in quarantine"
        if tp not in context.leadership:
            return "it has never had a leader, so there is no replica to copy from"
        dropped = without(context.assignment(tp).replicas, wanted.replicas)
        stored = (await self._znodes.states.read([tp], cause)).get(tp)
        if stored is None or not dropped:
            return None
        isr = stored.leader_and_isr.isr
        is_safe = any(broker in context.live_broker_ids for broker in isr if broker not in dropped)
        if is_safe or set(isr).isdisjoint(dropped):
            return None
        return f"of the ISR {format_ids(isr)} no live member would remain"

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
        await self._leader_epochs.update_leader_epoch_and_send_request(tp, waiting)
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
                await self._elect_if_leaderless(tp, cause)
        if self._leaders_write_isrs:
            self._watches.watch_data(paths.topic_partition_state(tp), PartitionReassignmentIsrChange(tp))
        context.partitions_being_reassigned.add(tp)

    async def _elect_if_leaderless(self, tp: TopicPartition, cause: int) -> None:
        """Elect a leader where the leader was one of the dropped replicas. Kafka's controller waits for another event."""
        known = self._context.leadership.get(tp)
        if self._hardening.checks_reassignments and known is not None and known.leader_and_isr.leader is None:
            await self._partitions.handle_state_changes(
                [tp], PartitionMachineState.ONLINE, cause, PartitionLeaderElectionStrategy.OFFLINE
            )

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
            await self._leader_epochs.update_leader_epoch_and_send_request(tp, cause)
        else:
            await self._partitions.handle_state_changes(
                [tp], PartitionMachineState.ONLINE, cause, PartitionLeaderElectionStrategy.REASSIGN
            )

    async def _stop_replicas(self, tp: TopicPartition, brokers: Iterable[BrokerId], cause: int) -> None:
        """Stop and delete replicas without waiting for the brokers' responses: an offline broker keeps its replica.

        A hardened controller has it deleted when that broker is back.
        """
        stopped = {broker: [tp] for broker in brokers}
        for broker in stopped:
            if self._hardening.deletes_replicas_late and broker not in self._context.live_brokers:
                self._left_behind.setdefault(broker, set()).add(tp)
        for state in (
            ReplicaMachineState.OFFLINE,
            ReplicaMachineState.DELETION_STARTED,
            ReplicaMachineState.DELETION_SUCCESSFUL,
            ReplicaMachineState.NON_EXISTENT,
        ):
            await self._replicas.handle_state_changes(stopped, state, cause)

    # --- znodes

    async def _read_requested(self, cause: int) -> dict[TopicPartition, tuple[BrokerId, ...]]:
        """Return what /admin/reassign_partitions requests; nothing if it is in quarantine."""
        unserved = "none of its reassignments is begun, and it stays until it is repaired"
        read = partial(self._znodes.reassignments.read, cause)
        return await self._quarantine.read_one(paths.REASSIGN_PARTITIONS, unserved, read, cause)

    async def _write_topic(self, tp: TopicPartition, assignment: ReplicaAssignment, cause: int) -> None:
        """Write a topic's znode from the context, with one partition changed.

        Raises: IllegalStateError if the znode is gone.
        """
        context = self._context
        if paths.topic(tp.topic) in self._quarantine:
            raise IllegalStateError(f"{paths.topic(tp.topic)} is in quarantine, so nothing is written there")
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
        requested = await self._read_requested(cause)
        if paths.REASSIGN_PARTITIONS in self._quarantine:
            return
        left = {tp: target for tp, target in requested.items() if not is_done(tp, target)}
        if left:
            await zk.set_or_create(left, version, cause)
        else:
            await zk.delete(version, cause)
            self._watches.put(ZkPartitionReassignment(), cause)  # to watch for the next one

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


def _delete_replicas(broker: BrokerId, partitions: Iterable[TopicPartition], batch: BrokerRequestBatch) -> None:
    batch.stop_replica(broker, partitions, delete=True)
