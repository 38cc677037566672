"""Moves partitions from state to state: creates their state znodes, elects their leaders, notifies the brokers.

decisions/partition_states.py holds the table of valid transitions, decisions/election.py the choice of a leader. Every await
is a read or a write of ZooKeeper, in Kafka's order. Nothing is rolled back: an exception leaves the changes made before it.

Source: Kafka 2.8, ZkPartitionStateMachine; docs/kafka/state_machines.md 1, 2, 4.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kcsim.controller.channels.broker_request_batch import BrokerRequestBatch
from kcsim.controller.decisions.broker_ids import check_broker_ids
from kcsim.controller.decisions.election import (
    Election,
    PartitionLeaderElectionStrategy,
    elect_at_controlled_shutdown,
    elect_for_new_partition,
    elect_for_reassignment,
    elect_offline,
    elect_preferred,
    may_be_unclean,
)
from kcsim.controller.decisions.partition_states import (
    PARTITION_PREVIOUS_STATES,
    PartitionMachineState,
    next_partition_state,
)
from kcsim.controller.errors import UNREADABLE_STATE, StateChangeFailedError
from kcsim.controller.failures import EXPECTED_FAILURES, READ_FAILURES, name_of_error, reason_of_error
from kcsim.controller.metrics import ControllerMetrics
from kcsim.controller.scope import ControllerScope
from kcsim.controller.state_machines.recent_state_changes import RecentStateChanges
from kcsim.controller.state_machines.unclean_setting import UncleanElectionSetting
from kcsim.eventlog.events import EventFields, EventKind, with_reason
from kcsim.runtime.ports import Runtime
from kcsim.text import summarize
from kcsim.vocabulary import NO_LEADER, BrokerId, FailureReason, LeaderAndIsr, PartitionState, TopicPartition, ZkVersion
from kcsim.zk.errors import BadVersionError, ZooKeeperError
from kcsim.zk.kafka.partition_states import PartitionStateZnodes

Results = dict[TopicPartition, LeaderAndIsr | Exception]
"""The result of each election. Partitions whose state znode was created have no entry."""


@dataclass(frozen=True, slots=True)
class _Decided:
    """The outcome of one partition's election before it is written; `seq` is the seq of its event."""

    election: Election
    elected: LeaderAndIsr
    seq: int


class PartitionStateMachine:
    """The state machine of partitions; the only writer of `context.partition_states`."""

    def __init__(
        self,
        scope: ControllerScope,
        runtime: Runtime,
        states: PartitionStateZnodes,
        unclean: UncleanElectionSetting,
        batch: BrokerRequestBatch,
        metrics: ControllerMetrics,
    ) -> None:
        self._broker_id = scope.broker_id
        self._context = scope.context
        self._sink = scope.sink
        self._quarantine = scope.quarantine
        self._takes_over_states = scope.config.hardening.restores_states
        self._marks_recovery = scope.config.capabilities.leader_recovery_state
        self._runtime = runtime
        self._states = states
        self._unclean = unclean
        self._batch = batch
        self._metrics = metrics
        self._recent = RecentStateChanges()

    # --- start

    async def startup(self, cause: int) -> None:
        """Give every partition its first state, then elect a leader for every partition without one."""
        for tp in self._context.assignments:
            self.set_first_state(tp)
        await self.trigger_online_state_change(cause)

    def set_first_state(self, tp: TopicPartition) -> None:
        """Give a partition the state that follows from its leadership: what a controller does that has just read it."""
        context = self._context
        known = context.leadership.get(tp)
        if self._quarantine.has_state_of(tp):
            state = PartitionMachineState.OFFLINE
        elif known is None:
            state = PartitionMachineState.NEW
        elif known.leader_and_isr.leader in context.online_brokers(tp, context.live_broker_ids):
            state = PartitionMachineState.ONLINE
        else:
            state = PartitionMachineState.OFFLINE
        context.put_partition_state(tp, state)

    async def trigger_online_state_change(self, cause: int, topic: str | None = None) -> Results:
        """Try to bring online every new or offline partition, of one topic or of all.

        Partitions of topics queued for deletion are left out.

        Returns: the result of each election.
        """
        context = self._context
        waiting = (PartitionMachineState.NEW, PartitionMachineState.OFFLINE)
        wanted = [
            tp
            for tp, state in context.partition_states.items()
            if state in waiting
            and topic in (None, tp.topic)
            and not context.is_queued_for_deletion(tp.topic)
            and not self._quarantine.has_state_of(tp)
        ]
        offline = PartitionLeaderElectionStrategy.OFFLINE
        return await self.handle_state_changes(wanted, PartitionMachineState.ONLINE, cause, offline)

    # --- state changes

    async def handle_state_changes(
        self,
        partitions: Sequence[TopicPartition],
        target: PartitionMachineState,
        cause: int,
        strategy: PartitionLeaderElectionStrategy | None = None,
    ) -> Results:
        """Move partitions to a state, as far as the table allows, and notify the brokers concerned.

        Args:
            strategy: how to elect; only for ONLINE, and only needed by partitions that are not new.

        Returns: the result of each election.
        Raises: ControllerMovedError; the gathered requests stay unsent then, and the next batch fails to open.
        """
        if not partitions:
            return {}
        moved = self._emit_state_change(partitions, target, cause)
        try:
            self._batch.open()
            results = await self._do_state_changes(partitions, target, moved, strategy)
            self._batch.send(moved)
        except EXPECTED_FAILURES as error:
            self._emit_failure(moved, target, error, f"moving {summarize(partitions)} to {target} failed")
            return dict.fromkeys(partitions, error)
        return results

    async def _do_state_changes(
        self,
        partitions: Sequence[TopicPartition],
        target: PartitionMachineState,
        cause: int,
        strategy: PartitionLeaderElectionStrategy | None,
    ) -> Results:
        valid = self._allowed(partitions, target, cause)
        context = self._context
        if target is not PartitionMachineState.ONLINE:
            for tp in valid:
                context.put_partition_state(tp, target)
            return {}
        new = [tp for tp in valid if context.partition_states[tp] is PartitionMachineState.NEW]
        others = [tp for tp in valid if context.partition_states[tp] is not PartitionMachineState.NEW]
        if new:
            for tp in await self._initialize(new, cause):
                context.put_partition_state(tp, PartitionMachineState.ONLINE)
            others += await self._with_left_over_state(new, cause)
        if not others:
            return {}
        assert strategy is not None, "partitions that are not new need a strategy to go online by"
        results = await self._elect(others, strategy, cause)
        for tp, result in results.items():
            if isinstance(result, LeaderAndIsr):
                context.put_partition_state(tp, PartitionMachineState.ONLINE)
        return results

    def _allowed(
        self, partitions: Sequence[TopicPartition], target: PartitionMachineState, cause: int
    ) -> list[TopicPartition]:
        """Return the partitions that may move to `target`; report the others. Unknown partitions get a state."""
        states = self._context.partition_states
        allowed = []
        for tp in partitions:
            state = states.setdefault(tp, PartitionMachineState.NON_EXISTENT)
            if next_partition_state(state, target) is None:
                self._refuse(tp, state, target, cause)
            else:
                allowed.append(tp)
        return allowed

    # --- new partitions

    async def _initialize(self, partitions: Sequence[TopicPartition], cause: int) -> list[TopicPartition]:
        """Create the state znodes of partitions that never had a leader; return the partitions that now have a leader."""
        context = self._context
        alive = context.live_broker_ids
        decided: dict[TopicPartition, _Decided] = {}
        for tp in partitions:
            election = elect_for_new_partition(context.assignment(tp).replicas, context.online_brokers(tp, alive))
            seq = self._emit_election(tp, election, cause)
            if election.elected is None:
                why = "it cannot be created before one of its replicas is alive"
                self._emit_failure(seq, PartitionMachineState.ONLINE, StateChangeFailedError(why), why, tp)
            else:
                decided[tp] = _Decided(election, election.elected, seq)
        proposed = {tp: PartitionState(d.elected, context.epoch) for tp, d in decided.items()}
        if not proposed:
            return []
        writes = _cause_of_write(decided, cause)
        try:
            written = await self._states.create(proposed, context.epoch_zk_version, writes)
        except EXPECTED_FAILURES as error:
            self._emit_failure(cause, PartitionMachineState.ONLINE, error, f"creating {summarize(proposed)} failed")
            return []
        created = []
        for tp, version in written.items():
            if isinstance(version, ZooKeeperError):
                self._emit_failure(
                    decided[tp].seq, PartitionMachineState.ONLINE, version, f"its state was not created: {version}", tp
                )
            else:
                context.put_leadership(tp, proposed[tp])
                created.append(tp)
        self._batch.leader_and_isr({tp: decided[tp].election.recipients for tp in created}, is_new=True)
        return created

    async def _with_left_over_state(self, partitions: Sequence[TopicPartition], cause: int) -> list[TopicPartition]:
        """Take over the states that a hardened controller finds where it wanted to create them; return those partitions.

        They are offline, and need a leader in a new leader epoch. Kafka's controller takes them over at its next failover.
        """
        context = self._context
        left_over = [tp for tp in partitions if tp not in context.leadership] if self._takes_over_states else []
        if not left_over:
            return []
        found = await self._states.read(left_over, cause)
        for tp, state in found.items():
            context.put_leadership(tp, state)
            context.put_partition_state(tp, PartitionMachineState.OFFLINE)
        return list(found)

    # --- elections

    async def _elect(
        self, partitions: Sequence[TopicPartition], strategy: PartitionLeaderElectionStrategy, cause: int
    ) -> Results:
        """Repeat elections until each partition has a leader or an error.

        If a state changed between read and write, it is read and decided again, without limit.
        """
        results: Results = {}
        remaining: Sequence[TopicPartition] = partitions
        while remaining:
            finished = await self._elect_once(remaining, strategy, cause)
            results.update(finished)
            remaining = [tp for tp in remaining if tp not in finished]
        return results

    async def _elect_once(
        self, partitions: Sequence[TopicPartition], strategy: PartitionLeaderElectionStrategy, cause: int
    ) -> Results:
        """Run one round: read, choose, write. Returns: the final results; the other partitions must be tried again."""
        context = self._context
        try:
            read = await self._states.read_or_errors(partitions, cause)
        except READ_FAILURES as error:
            self._emit_failure(
                cause, PartitionMachineState.ONLINE, error, f"the states of {summarize(partitions)} were not read"
            )
            return dict.fromkeys(partitions, error)
        results: Results = {}
        stored: dict[TopicPartition, LeaderAndIsr] = {}
        for tp in partitions:
            if tp not in read:
                results[tp] = unreadable = StateChangeFailedError(UNREADABLE_STATE, FailureReason.BAD_PARTITION_STATE)
                self._emit_failure(cause, PartitionMachineState.ONLINE, unreadable, str(unreadable), tp)
        for tp, state in read.items():
            if isinstance(state, PartitionState) and state.controller_epoch <= context.epoch:
                stored[tp] = state.leader_and_isr
            else:
                results[tp] = unusable = self._why_unusable(tp, state)
                self._emit_failure(cause, PartitionMachineState.ONLINE, unusable, str(unusable), tp)
        decided = await self._decide(stored, strategy, cause, results)
        if not decided:
            return results
        proposed = {tp: PartitionState(d.elected, context.epoch) for tp, d in decided.items()}
        writes = _cause_of_write(decided, cause)
        try:
            written = await self._states.set(proposed, context.epoch_zk_version, writes)
        except EXPECTED_FAILURES as error:
            self._emit_failure(
                cause, PartitionMachineState.ONLINE, error, f"the states of {summarize(decided)} were not written"
            )
            return {**results, **dict.fromkeys(decided, error)}
        self._settle(decided, written, results)
        return results

    def _why_unusable(self, tp: TopicPartition, state: PartitionState | ZooKeeperError | None) -> Exception:
        """Return why a state that was read cannot be the basis of an election."""
        match state:
            case None:
                return StateChangeFailedError(
                    "there is no state znode to elect from",
                    message_for_clients="LeaderAndIsr information doesn't exist for partition "
                    f"{tp} in {self._context.partition_states[tp]} state",
                )
            case PartitionState():
                epoch = self._context.epoch
                return StateChangeFailedError(
                    f"its state was written by another controller, of epoch {state.controller_epoch} and not {epoch}",
                    message_for_clients=f"Aborted leader election for partition {tp} since the LeaderAndIsr path was already"
                    f" written by another controller. This probably means that the current controller {self._broker_id}"
                    f" went through a soft failure and another controller was elected with epoch {state.controller_epoch}.",
                )
            case ZooKeeperError():
                return state

    def _settle(
        self,
        decided: Mapping[TopicPartition, _Decided],
        written: Mapping[TopicPartition, ZkVersion | ZooKeeperError],
        results: Results,
    ) -> None:
        """Apply the results of the writes to the context, and gather the requests to the brokers."""
        context = self._context
        recipients: dict[TopicPartition, Iterable[BrokerId]] = {}
        for tp, version in written.items():
            if isinstance(version, BadVersionError):
                continue
            if isinstance(version, ZooKeeperError):
                results[tp] = version
                self._emit_failure(decided[tp].seq, PartitionMachineState.ONLINE, version, str(version), tp)
                continue
            elected = replace(decided[tp].elected, zk_version=version)
            context.put_leadership(tp, PartitionState(elected, context.epoch))
            recipients[tp] = decided[tp].election.recipients
            results[tp] = elected
        self._batch.leader_and_isr(recipients)

    async def _decide(
        self,
        stored: Mapping[TopicPartition, LeaderAndIsr],
        strategy: PartitionLeaderElectionStrategy,
        cause: int,
        results: Results,
    ) -> dict[TopicPartition, _Decided]:
        """Choose a leader for each partition; partitions without a leader go to `results`, with the error."""
        elections = await self._elections(stored, strategy, cause)
        decided: dict[TopicPartition, _Decided] = {}
        for tp, election in elections.items():
            seq = self._emit_election(tp, election, cause)
            if election.is_unclean:
                self._metrics.unclean_leader_elections += 1
            if election.elected is None:
                is_within_replicas = set(stored[tp].isr).issubset(self._context.assignment(tp).replicas)
                reason = None if is_within_replicas else FailureReason.NOT_A_REPLICA
                results[tp] = error = StateChangeFailedError(
                    f"no leader was elected under {strategy}: {election}",
                    reason,
                    f"Failed to elect leader for partition {tp} under strategy {_strategy_for_clients(strategy)}",
                )
                self._emit_failure(seq, PartitionMachineState.ONLINE, error, f"no leader under {strategy}", tp, strategy)
            else:
                decided[tp] = _Decided(election, election.elected, seq)
        return decided

    async def _elections(
        self, stored: Mapping[TopicPartition, LeaderAndIsr], strategy: PartitionLeaderElectionStrategy, cause: int
    ) -> dict[TopicPartition, Election]:
        context = self._context
        alive = context.live_broker_ids
        online = context.online_brokers
        assigned = context.assignment
        for tp in stored:
            check_broker_ids(tp, assigned(tp).replicas)
        match strategy:
            case PartitionLeaderElectionStrategy.OFFLINE | PartitionLeaderElectionStrategy.OFFLINE_ALLOW_UNCLEAN:
                unclean = await self._unclean_allowed(
                    stored, alive, strategy is PartitionLeaderElectionStrategy.OFFLINE_ALLOW_UNCLEAN, cause
                )
                return {
                    tp: elect_offline(
                        assigned(tp).replicas, state, online(tp, alive), tp.topic in unclean, self._marks_recovery
                    )
                    for tp, state in stored.items()
                }
            case PartitionLeaderElectionStrategy.REASSIGN:
                return {
                    tp: elect_for_reassignment(assigned(tp).target_replicas, state, online(tp, alive))
                    for tp, state in stored.items()
                }
            case PartitionLeaderElectionStrategy.PREFERRED:
                return {tp: elect_preferred(assigned(tp).replicas, state, online(tp, alive)) for tp, state in stored.items()}
            case PartitionLeaderElectionStrategy.CONTROLLED_SHUTDOWN:
                registered = frozenset(context.broker_epochs)
                return {
                    tp: elect_at_controlled_shutdown(
                        assigned(tp).replicas, state, online(tp, registered), context.shutting_down
                    )
                    for tp, state in stored.items()
                }

    async def _unclean_allowed(
        self, stored: Mapping[TopicPartition, LeaderAndIsr], alive: frozenset[BrokerId], by_admin: bool, cause: int
    ) -> Collection[str]:
        """Return the topics whose partitions may get a leader from outside the ISR.

        Only topics with a partition that has no live ISR member are considered.
        """
        online = self._context.online_brokers
        lost = [tp.topic for tp, state in stored.items() if may_be_unclean(state.isr, online(tp, alive))]
        topics = sorted(set(lost))
        if by_admin or not topics:
            return topics
        return await self._unclean.enabled_topics(topics, cause)

    # --- the event log

    def _emit_state_change(self, partitions: Sequence[TopicPartition], target: PartitionMachineState, cause: int) -> int:
        fields = EventFields(state=target.value, count=len(partitions), detail=f"{summarize(partitions)} to {target}")
        if len(partitions) == 1:
            fields["topic"], fields["partition"] = partitions[0]
        seq = self._sink.emit(EventKind.PARTITION_STATE_CHANGE, cause, **fields)
        self._recent.remember(self._runtime.now_ms(), target.value, partitions, seq)
        return seq

    def _emit_election(self, tp: TopicPartition, election: Election, cause: int) -> int:
        fields = EventFields(
            topic=tp.topic,
            partition=tp.partition,
            replicas=election.candidates,
            rule=election.rule.value,
            previous_isr=election.isr,
            live_replicas=election.alive,
            inputs=election.inputs,
            detail=str(election),
        )
        if election.elected is not None:
            leader = election.elected.leader
            fields["leader"] = NO_LEADER if leader is None else leader
            fields["leader_epoch"] = election.elected.leader_epoch
            fields["isr"] = election.elected.isr
        return self._sink.emit(EventKind.LEADER_ELECTION, cause, **fields)

    def _emit_failure(
        self,
        cause: int,
        target: PartitionMachineState,
        error: Exception,
        detail: str,
        tp: TopicPartition | None = None,
        strategy: PartitionLeaderElectionStrategy | None = None,
    ) -> None:
        fields = EventFields(state=target.value, error=name_of_error(error), detail=detail)
        if strategy is not None:
            fields["strategy"] = strategy.value
        if tp is not None:
            fields["topic"], fields["partition"] = tp
        self._sink.emit(EventKind.STATE_CHANGE_FAILED, cause, **with_reason(fields, reason_of_error(error)))

    def _refuse(self, tp: TopicPartition, state: PartitionMachineState, target: PartitionMachineState, cause: int) -> None:
        allowed = ", ".join(sorted(PARTITION_PREVIOUS_STATES[target]))
        self._sink.emit(
            EventKind.STATE_CHANGE_FAILED,
            cause,
            topic=tp.topic,
            partition=tp.partition,
            state=target.value,
            error="IllegalStateException",
            rule=f"{target} is entered from {allowed} only",
            inputs=f"{tp} is in {state}",
            detail=f"{tp} should be in one of {allowed} before moving to {target}, it is in {state}; "
            + self._recent.describe(tp),
        )


def _strategy_for_clients(strategy: PartitionLeaderElectionStrategy) -> str:
    """Return a strategy as Kafka's message to a client names it."""
    return strategy.replace("(allowUnclean)", "(true)")


def _cause_of_write(decided: Mapping[TopicPartition, _Decided], cause: int) -> int:
    """Return the seq of the only decision in a write; for several decisions, the state change that led to them."""
    return next(iter(decided.values())).seq if len(decided) == 1 else cause
