"""Moves replicas from state to state: removes offline ones from ISRs, tells brokers to serve, to stop, to delete.

decisions/replica_states.py holds the table of valid transitions. The replicas are handled broker by broker, in the order of
hash_order, within one batch of requests. Nothing is rolled back.

Source: Kafka 2.8, ZkReplicaStateMachine; docs/kafka/state_machines.md 1 and 3.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from kcsim.controller.channels.broker_request_batch import BrokerRequestBatch
from kcsim.controller.context import Replicas
from kcsim.controller.decisions.decision_rules import DecisionRule
from kcsim.controller.decisions.isr_removal import without_replica
from kcsim.controller.decisions.replica_states import REPLICA_PREVIOUS_STATES, ReplicaMachineState, next_replica_state
from kcsim.controller.errors import UNREADABLE_STATE, StateChangeFailedError
from kcsim.controller.failures import EXPECTED_FAILURES, READ_FAILURES, name_of_error, reason_of_error
from kcsim.controller.scope import ControllerScope
from kcsim.controller.state_machines.recent_state_changes import RecentStateChanges
from kcsim.eventlog.events import EventFields, EventKind, with_reason
from kcsim.jvm_hash_order import hash_order
from kcsim.runtime.ports import Runtime
from kcsim.text import format_ids, summarize
from kcsim.vocabulary import (
    NO_LEADER,
    BrokerId,
    FailureReason,
    LeaderAndIsr,
    PartitionState,
    ReplicaAssignment,
    TopicPartition,
)
from kcsim.zk.errors import BadVersionError, ZooKeeperError
from kcsim.zk.kafka.partition_states import PartitionStateZnodes


class ReplicaStateMachine:
    """The state machine of replicas; the only writer of `context.replica_states`."""

    def __init__(
        self, scope: ControllerScope, runtime: Runtime, states: PartitionStateZnodes, batch: BrokerRequestBatch
    ) -> None:
        self._config = scope.config
        self._context = scope.context
        self._sink = scope.sink
        self._runtime = runtime
        self._states = states
        self._batch = batch
        self._recent: dict[BrokerId, RecentStateChanges] = {}

    # --- start

    async def startup(self, cause: int) -> None:
        """Give every replica its first state; move live brokers' replicas online, and remove the others from their ISRs."""
        context = self._context
        alive = context.live_broker_ids
        online: dict[BrokerId, list[TopicPartition]] = {}
        offline: dict[BrokerId, list[TopicPartition]] = {}
        for broker, hosted in context.replicas_of(context.assignments).items():
            is_alive = broker in alive
            (online if is_alive else offline)[broker] = hosted
            state = ReplicaMachineState.ONLINE if is_alive else ReplicaMachineState.DELETION_INELIGIBLE
            context.replica_states[broker] = dict.fromkeys(hosted, state)
        await self.handle_state_changes(online, ReplicaMachineState.ONLINE, cause)
        if self._config.protections.isr_shrink_at_failover:
            await self.handle_state_changes(offline, ReplicaMachineState.OFFLINE, cause)

    # --- state changes

    async def handle_state_changes(self, replicas: Replicas, target: ReplicaMachineState, cause: int) -> None:
        """Move replicas to a state, as far as the table allows, and notify the brokers concerned.

        Raises: ControllerMovedError; the gathered requests stay unsent then, and the next batch fails to open.
        """
        given = {broker: replicas[broker] for broker in hash_order(replicas) if replicas[broker]}
        if not given:
            return
        moved = {broker: self._emit_state_change(broker, hosted, target, cause) for broker, hosted in given.items()}
        try:
            self._batch.open()
            await self._do_state_changes(given, target, moved)
            self._batch.send(next(iter(moved.values())) if len(moved) == 1 else cause)
        except EXPECTED_FAILURES as error:
            what = f"moving replicas on {format_ids(given)} to {target} failed: {error}"
            failed = EventFields(state=target.value, error=name_of_error(error), detail=what)
            self._sink.emit(EventKind.STATE_CHANGE_FAILED, cause, **with_reason(failed, reason_of_error(error)))

    async def _do_state_changes(
        self, replicas: Replicas, target: ReplicaMachineState, moved: Mapping[BrokerId, int]
    ) -> None:
        match target:
            case ReplicaMachineState.ONLINE:
                self._to_online(replicas, moved)
            case ReplicaMachineState.OFFLINE:
                for broker, hosted in replicas.items():
                    await self._to_offline(broker, self._allowed(broker, hosted, target, moved[broker]), moved[broker])
            case ReplicaMachineState.NEW:
                for broker, hosted in replicas.items():
                    self._to_new(broker, self._allowed(broker, hosted, target, moved[broker]), moved[broker])
            case ReplicaMachineState.NON_EXISTENT:
                for broker, hosted in replicas.items():
                    self._to_non_existent(broker, self._allowed(broker, hosted, target, moved[broker]))
            case (
                ReplicaMachineState.DELETION_STARTED
                | ReplicaMachineState.DELETION_SUCCESSFUL
                | ReplicaMachineState.DELETION_INELIGIBLE
            ):
                for broker, hosted in replicas.items():
                    allowed = self._allowed(broker, hosted, target, moved[broker])
                    self._context.replica_states[broker].update(dict.fromkeys(allowed, target))
                    if target is ReplicaMachineState.DELETION_STARTED:
                        self._batch.stop_replica(broker, allowed, delete=True)
            case _:
                assert_never(target)

    def _allowed(
        self, broker: BrokerId, hosted: Sequence[TopicPartition], target: ReplicaMachineState, cause: int
    ) -> list[TopicPartition]:
        """Return the replicas that may move to `target`; report the others and leave their state. Adds unknown replicas."""
        states = self._context.replica_states.setdefault(broker, {})
        allowed = []
        for tp in hosted:
            state = states.setdefault(tp, ReplicaMachineState.NON_EXISTENT)
            if next_replica_state(state, target) is None:
                self._refuse(broker, tp, state, target, cause)
            else:
                allowed.append(tp)
        return allowed

    # --- to each state

    def _to_new(self, broker: BrokerId, partitions: Sequence[TopicPartition], cause: int) -> None:
        context = self._context
        states = context.replica_states[broker]
        with_leader = []
        for tp in partitions:
            known = context.leadership.get(tp)
            if known is not None and known.leader_and_isr.leader == broker:
                why = StateChangeFailedError("a new replica cannot be the leader already")
                self._fail(broker, tp, ReplicaMachineState.OFFLINE, why, cause)  # Kafka names this state in its log
                continue
            if known is not None:
                with_leader.append(tp)
            states[tp] = ReplicaMachineState.NEW
        self._batch.replicas_to_serve(dict.fromkeys(with_leader, (broker,)), is_new=True)

    def _to_online(self, replicas: Replicas, moved: Mapping[BrokerId, int]) -> None:
        context = self._context
        to_serve: dict[TopicPartition, list[BrokerId]] = {}
        for broker, hosted in replicas.items():
            states = context.replica_states.setdefault(broker, {})
            for tp in self._allowed(broker, hosted, ReplicaMachineState.ONLINE, moved[broker]):
                if states[tp] is ReplicaMachineState.NEW:
                    self._make_sure_assigned(broker, tp)
                elif tp in to_serve:
                    to_serve[tp].append(broker)
                else:
                    to_serve[tp] = [broker]
                states[tp] = ReplicaMachineState.ONLINE
        self._batch.replicas_to_serve(to_serve, is_new=False)

    def _make_sure_assigned(self, broker: BrokerId, tp: TopicPartition) -> None:
        assignment = self._context.assignment(tp)
        if broker not in assignment.replicas:
            grown = replace(assignment, replicas=(*assignment.replicas, broker))
            self._context.put_assignment(tp, grown)

    async def _to_offline(self, broker: BrokerId, partitions: Sequence[TopicPartition], cause: int) -> None:
        context = self._context
        # Before the ISR changes: the StopReplica carries the leader epoch that the broker may know.
        self._batch.stop_replica(broker, partitions, delete=False)
        with_leader = [tp for tp in partitions if tp in context.leadership]
        settled = await self._remove_from_isr(broker, with_leader, cause)
        gone = [*settled, *(tp for tp in partitions if tp not in context.leadership)]
        self._batch.replicas_gone_offline(broker, gone)
        context.replica_states[broker].update(dict.fromkeys(gone, ReplicaMachineState.OFFLINE))

    def _to_non_existent(self, broker: BrokerId, partitions: Sequence[TopicPartition]) -> None:
        context = self._context
        for tp in partitions:
            known = context.assignment(tp)
            remaining = (
                tuple(b for b in brokers if b != broker)
                for brokers in (known.replicas, known.adding_replicas, known.removing_replicas)
            )
            context.put_assignment(tp, ReplicaAssignment(*remaining))
            del context.replica_states[broker][tp]

    # --- removal from the ISR

    async def _remove_from_isr(
        self, broker: BrokerId, partitions: Sequence[TopicPartition], cause: int
    ) -> list[TopicPartition]:
        """Remove a broker from ISRs; return the partitions that are done, whether or not a write was necessary.

        If a state changed between read and write, it is read and decided again, without limit.
        """
        done: list[TopicPartition] = []
        remaining = partitions
        while remaining:
            done_now, remaining = await self._remove_from_isr_once(broker, remaining, cause)
            done.extend(done_now)
        return done

    async def _remove_from_isr_once(
        self, broker: BrokerId, partitions: Sequence[TopicPartition], cause: int
    ) -> tuple[list[TopicPartition], list[TopicPartition]]:
        """Run one round: read, decide, write. Return the partitions that are done, and those to be tried again."""
        context = self._context
        stored = await self._read_states(broker, partitions, cause)
        adjusted: dict[TopicPartition, PartitionState] = {}
        for tp, state in stored.items():
            left = without_replica(state, broker)
            if left is None:
                # Kafka caches the state under the own epoch, although no write had that epoch, and sends it so to the
                # brokers.
                context.put_leadership(tp, PartitionState(state, context.epoch))
            else:
                adjusted[tp] = PartitionState(left, context.epoch)
        if not adjusted:
            return list(stored), []
        decided = {tp: self._emit_isr_removal(broker, tp, stored[tp], s.leader_and_isr, cause) for tp, s in adjusted.items()}
        writes = next(iter(decided.values())) if len(decided) == 1 else cause
        try:
            written = await self._states.set(adjusted, context.epoch_zk_version, writes)
        except EXPECTED_FAILURES as error:
            for tp in adjusted:
                self._fail(broker, tp, ReplicaMachineState.OFFLINE, error, decided[tp])
            return [tp for tp in stored if tp not in adjusted], []
        again: list[TopicPartition] = []
        for tp, version in written.items():
            if isinstance(version, BadVersionError):
                again.append(tp)
            elif isinstance(version, ZooKeeperError):
                self._fail(broker, tp, ReplicaMachineState.OFFLINE, version, decided[tp])
                del stored[tp]
            else:
                state = replace(adjusted[tp].leader_and_isr, zk_version=version)
                context.put_leadership(tp, PartitionState(state, context.epoch))
        left_over = set(again)
        return [tp for tp in stored if tp not in left_over], again

    async def _read_states(
        self, broker: BrokerId, partitions: Sequence[TopicPartition], cause: int
    ) -> dict[TopicPartition, LeaderAndIsr]:
        """Return the usable states; report the others, except missing states of topics queued for deletion."""
        context = self._context
        try:
            read = await self._states.read_or_errors(partitions, cause)
        except READ_FAILURES as error:
            for tp in partitions:
                self._fail(broker, tp, ReplicaMachineState.OFFLINE, error, cause)
            return {}
        for tp in partitions:
            if tp not in read:
                unreadable = StateChangeFailedError(UNREADABLE_STATE, FailureReason.BAD_PARTITION_STATE)
                self._fail(broker, tp, ReplicaMachineState.OFFLINE, unreadable, cause)
        stored: dict[TopicPartition, LeaderAndIsr] = {}
        for tp, state in read.items():
            match state:
                case PartitionState() if state.controller_epoch <= context.epoch:
                    stored[tp] = state.leader_and_isr
                case PartitionState():
                    why = f"its state was written by another controller, of epoch {state.controller_epoch}"
                    self._fail(broker, tp, ReplicaMachineState.OFFLINE, StateChangeFailedError(why), cause)
                case None if context.is_queued_for_deletion(tp.topic):
                    pass
                case None:
                    gone = StateChangeFailedError("there is no state znode to take it out of")
                    self._fail(broker, tp, ReplicaMachineState.OFFLINE, gone, cause)
                case _:
                    self._fail(broker, tp, ReplicaMachineState.OFFLINE, state, cause)
        return stored

    # --- the event log

    def _emit_state_change(
        self, broker: BrokerId, hosted: Sequence[TopicPartition], target: ReplicaMachineState, cause: int
    ) -> int:
        fields = EventFields(
            broker_id=broker,
            state=target.value,
            count=len(hosted),
            detail=f"replicas of {summarize(hosted)} on {broker} to {target}",
        )
        if len(hosted) == 1:
            fields["topic"], fields["partition"] = hosted[0]
        seq = self._sink.emit(EventKind.REPLICA_STATE_CHANGE, cause, **fields)
        self._recent.setdefault(broker, RecentStateChanges()).remember(self._runtime.now_ms(), target.value, hosted, seq)
        return seq

    def _emit_isr_removal(
        self, broker: BrokerId, tp: TopicPartition, before: LeaderAndIsr, after: LeaderAndIsr, cause: int
    ) -> int:
        is_last = before.isr == after.isr
        return self._sink.emit(
            EventKind.REPLICA_REMOVED_FROM_ISR,
            cause,
            topic=tp.topic,
            partition=tp.partition,
            broker_id=broker,
            leader=NO_LEADER if after.leader is None else after.leader,
            leader_epoch=after.leader_epoch,
            isr=after.isr,
            rule=(DecisionRule.LAST_STAYS_IN_ISR if is_last else DecisionRule.OFFLINE_LEAVES_ISR).value,
            inputs=f"leader {NO_LEADER if before.leader is None else before.leader}, ISR {format_ids(before.isr)}",
        )

    def _fail(self, broker: BrokerId, tp: TopicPartition, target: ReplicaMachineState, error: Exception, cause: int) -> None:
        fields = EventFields(
            topic=tp.topic,
            partition=tp.partition,
            broker_id=broker,
            state=target.value,
            error=name_of_error(error),
            detail=f"the replica of {tp} on {broker} was not moved to {target}: {error}",
        )
        self._sink.emit(EventKind.STATE_CHANGE_FAILED, cause, **with_reason(fields, reason_of_error(error)))

    def _refuse(
        self,
        broker: BrokerId,
        tp: TopicPartition,
        state: ReplicaMachineState,
        target: ReplicaMachineState,
        cause: int,
    ) -> None:
        allowed = ", ".join(sorted(REPLICA_PREVIOUS_STATES[target]))
        story = self._recent[broker].describe(tp)
        self._sink.emit(
            EventKind.STATE_CHANGE_FAILED,
            cause,
            topic=tp.topic,
            partition=tp.partition,
            broker_id=broker,
            state=target.value,
            error="IllegalStateException",
            rule=f"{target} is entered from {allowed} only",
            inputs=f"the replica of {tp} on {broker} is in {state}",
            detail=f"the replica of {tp} on {broker} should be in one of {allowed} before moving to {target}, "
            f"it is in {state}; {story}",
        )


def replicas_by_broker(pairs: Iterable[tuple[BrokerId, TopicPartition]]) -> dict[BrokerId, list[TopicPartition]]:
    """Group replicas by broker, as handle_state_changes takes them."""
    grouped: dict[BrokerId, list[TopicPartition]] = {}
    for broker, tp in pairs:
        grouped.setdefault(broker, []).append(tp)
    return grouped
