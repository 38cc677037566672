"""Drives partitions from state to state: creates their state znodes, elects their leaders, tells the brokers.

Which state may follow which is in decisions/partition_states.py, who is elected in decisions/election.py. Every await is a
read or a write of ZooKeeper, in Kafka's order. Nothing is rolled back: what an exception interrupts stays as far as it got.

Source: Kafka 2.8, ZkPartitionStateMachine; reference state_machines.md 1, 2, 4.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from kcsim.controller.broker_request_batch import BrokerRequestBatch
from kcsim.controller.core import EXPECTED_FAILURES, READ_FAILURES, Core, name_of_error
from kcsim.controller.decisions.election import (
    Election,
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
from kcsim.controller.errors import StateChangeFailedError
from kcsim.controller.recent_moves import RecentMoves
from kcsim.zk.errors import BadVersionError, ZooKeeperError
from kcsim.zk.events import EventFields, EventKind
from kcsim.zk.vocabulary import NO_LEADER, BrokerId, LeaderAndIsr, PartitionState, TopicPartition, ZkVersion
from kcsim.zk.wording import named

UNCLEAN_SETTING = "unclean.leader.election.enable"

Results = dict[TopicPartition, LeaderAndIsr | Exception]
"""What came of each election; of partitions that were created nothing is said."""


class Strategy(StrEnum):
    """How a leader is chosen; Kafka's names."""

    OFFLINE = "OfflinePartitionLeaderElectionStrategy"
    OFFLINE_ALLOW_UNCLEAN = "OfflinePartitionLeaderElectionStrategy(allowUnclean)"
    REASSIGN = "ReassignPartitionLeaderElectionStrategy"
    PREFERRED = "PreferredReplicaPartitionLeaderElectionStrategy"
    CONTROLLED_SHUTDOWN = "ControlledShutdownPartitionLeaderElectionStrategy"


@dataclass(frozen=True, slots=True)
class _Decided:
    """The outcome of one partition's election before it is written; `seq` is its event."""

    election: Election
    elected: LeaderAndIsr
    seq: int


class PartitionStateMachine:
    """The one user of `context.partition_states`."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._batch = BrokerRequestBatch(core)
        self._recent = RecentMoves()

    # --- start

    async def startup(self, cause: int) -> None:
        """Give every partition its first state, then elect wherever nobody leads."""
        context = self._core.context
        alive = context.live_broker_ids
        for tp in context.assignments:
            known = context.leadership.get(tp)
            if known is None:
                state = PartitionMachineState.NEW
            elif known.leader_and_isr.leader in context.online_brokers(tp, alive):
                state = PartitionMachineState.ONLINE
            else:
                state = PartitionMachineState.OFFLINE
            context.put_partition_state(tp, state)
        await self.trigger_online_state_change(cause)

    async def trigger_online_state_change(self, cause: int, topic: str | None = None) -> None:
        """Try to bring every partition online that is not, of one topic or of all; not of topics queued for deletion."""
        context = self._core.context
        waiting = (PartitionMachineState.NEW, PartitionMachineState.OFFLINE)
        wanted = [
            tp
            for tp, state in context.partition_states.items()
            if state in waiting and not context.is_queued_for_deletion(tp.topic) and topic in (None, tp.topic)
        ]
        await self.handle_state_changes(wanted, PartitionMachineState.ONLINE, cause, Strategy.OFFLINE)

    # --- moves

    async def handle_state_changes(
        self,
        partitions: Sequence[TopicPartition],
        target: PartitionMachineState,
        cause: int,
        strategy: Strategy | None = None,
    ) -> Results:
        """Move partitions to a state, as far as the table allows, and tell the brokers concerned.

        Args:
            strategy: how to elect; only for ONLINE, and only needed by partitions that are not new.

        Returns: what came of each election.
        Raises: ControllerMovedError; what was gathered for the brokers stays unsent then, and spoils the next batch.
        """
        if not partitions:
            return {}
        moved = self._tell_move(partitions, target, cause)
        try:
            self._batch.open()
            results = await self._do_state_changes(partitions, target, moved, strategy)
            self._batch.send(moved)
        except EXPECTED_FAILURES as error:
            self._tell_failure(moved, target, error, f"moving {named(partitions)} to {target} failed")
            return dict.fromkeys(partitions, error)
        return results

    async def _do_state_changes(
        self,
        partitions: Sequence[TopicPartition],
        target: PartitionMachineState,
        cause: int,
        strategy: Strategy | None,
    ) -> Results:
        valid = self._allowed(partitions, target, cause)
        context = self._core.context
        if target is not PartitionMachineState.ONLINE:
            for tp in valid:
                context.put_partition_state(tp, target)
            return {}
        new = [tp for tp in valid if context.partition_states[tp] is PartitionMachineState.NEW]
        others = [tp for tp in valid if context.partition_states[tp] is not PartitionMachineState.NEW]
        if new:
            for tp in await self._initialize(new, cause):
                context.put_partition_state(tp, PartitionMachineState.ONLINE)
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
        """Those that may go to `target`; the others are told of and left alone. One not known yet becomes known."""
        states = self._core.context.partition_states
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
        """Create the state znodes of partitions that never had a leader; return those that now have one."""
        context = self._core.context
        alive = context.live_broker_ids
        decided: dict[TopicPartition, _Decided] = {}
        for tp in partitions:
            election = elect_for_new_partition(context.assignment(tp).replicas, context.online_brokers(tp, alive))
            seq = self._tell_election(tp, election, cause)
            if election.elected is None:
                why = "it cannot be created before one of its replicas is alive"
                self._tell_failure(seq, PartitionMachineState.ONLINE, StateChangeFailedError(why), why, tp)
            else:
                decided[tp] = _Decided(election, election.elected, seq)
        proposed = {tp: PartitionState(d.elected, context.epoch) for tp, d in decided.items()}
        if not proposed:
            return []
        writes = _cause_of_write(decided, cause)
        try:
            written = await self._core.kafka_zk.create_partition_states(proposed, context.epoch_zk_version, writes)
        except EXPECTED_FAILURES as error:
            self._tell_failure(cause, PartitionMachineState.ONLINE, error, f"creating {named(proposed)} failed")
            return []
        created = []
        for tp, version in written.items():
            if isinstance(version, ZooKeeperError):
                self._tell_failure(
                    decided[tp].seq, PartitionMachineState.ONLINE, version, f"its state was not created: {version}", tp
                )
            else:
                context.put_leadership(tp, proposed[tp])
                created.append(tp)
        self._batch.leader_and_isr({tp: decided[tp].election.recipients for tp in created}, is_new=True)
        return created

    # --- elections

    async def _elect(self, partitions: Sequence[TopicPartition], strategy: Strategy, cause: int) -> Results:
        """Elect until each partition has a leader or a reason why not.

        A state that changed between read and write is read and decided on again, without limit.
        """
        results: Results = {}
        remaining: Sequence[TopicPartition] = partitions
        while remaining:
            finished = await self._elect_once(remaining, strategy, cause)
            results.update(finished)
            remaining = [tp for tp in remaining if tp not in finished]
        return results

    async def _elect_once(self, partitions: Sequence[TopicPartition], strategy: Strategy, cause: int) -> Results:
        """One round: read, choose, write. Returns: what is settled; those left out are to be tried again."""
        context = self._core.context
        try:
            read = await self._core.kafka_zk.partition_states_or_errors(partitions, cause)
        except READ_FAILURES as error:
            self._tell_failure(
                cause, PartitionMachineState.ONLINE, error, f"the states of {named(partitions)} were not read"
            )
            return dict.fromkeys(partitions, error)
        results: Results = {}
        stored: dict[TopicPartition, LeaderAndIsr] = {}
        for tp, state in read.items():
            if isinstance(state, PartitionState) and state.controller_epoch <= context.epoch:
                stored[tp] = state.leader_and_isr
            else:
                results[tp] = unusable = self._why_unusable(state)
                self._tell_failure(cause, PartitionMachineState.ONLINE, unusable, str(unusable), tp)
        decided = await self._decide(stored, strategy, cause, results)
        if not decided:
            return results
        proposed = {tp: PartitionState(d.elected, context.epoch) for tp, d in decided.items()}
        writes = _cause_of_write(decided, cause)
        try:
            written = await self._core.kafka_zk.set_partition_states(proposed, context.epoch_zk_version, writes)
        except EXPECTED_FAILURES as error:
            self._tell_failure(
                cause, PartitionMachineState.ONLINE, error, f"the states of {named(decided)} were not written"
            )
            return {**results, **dict.fromkeys(decided, error)}
        self._settle(decided, written, results)
        return results

    def _why_unusable(self, state: PartitionState | ZooKeeperError | None) -> Exception:
        """Why a state that was read cannot be gone on from."""
        match state:
            case None:
                return StateChangeFailedError("there is no state znode to elect from")
            case PartitionState():
                epoch = self._core.context.epoch
                return StateChangeFailedError(
                    f"its state was written by another controller, of epoch {state.controller_epoch} and not {epoch}"
                )
            case ZooKeeperError():
                return state

    def _settle(
        self,
        decided: Mapping[TopicPartition, _Decided],
        written: Mapping[TopicPartition, ZkVersion | ZooKeeperError],
        results: Results,
    ) -> None:
        """Take in what was written, and gather what the brokers are to be told of it."""
        context = self._core.context
        recipients: dict[TopicPartition, Iterable[BrokerId]] = {}
        for tp, version in written.items():
            if isinstance(version, BadVersionError):
                continue
            if isinstance(version, ZooKeeperError):
                results[tp] = version
                self._tell_failure(decided[tp].seq, PartitionMachineState.ONLINE, version, str(version), tp)
                continue
            elected = replace(decided[tp].elected, zk_version=version)
            context.put_leadership(tp, PartitionState(elected, context.epoch))
            recipients[tp] = decided[tp].election.recipients
            results[tp] = elected
        self._batch.leader_and_isr(recipients)

    async def _decide(
        self, stored: Mapping[TopicPartition, LeaderAndIsr], strategy: Strategy, cause: int, results: Results
    ) -> dict[TopicPartition, _Decided]:
        """Choose a leader for each; those for whom there is none, and why, go to `results`."""
        elections = await self._elections(stored, strategy, cause)
        decided: dict[TopicPartition, _Decided] = {}
        for tp, election in elections.items():
            seq = self._tell_election(tp, election, cause)
            if election.is_unclean:
                self._core.metrics.unclean_leader_elections += 1
            if election.elected is None:
                results[tp] = error = StateChangeFailedError(f"no leader was elected under {strategy}: {election}")
                self._tell_failure(seq, PartitionMachineState.ONLINE, error, f"no leader under {strategy}", tp)
            else:
                decided[tp] = _Decided(election, election.elected, seq)
        return decided

    async def _elections(
        self, stored: Mapping[TopicPartition, LeaderAndIsr], strategy: Strategy, cause: int
    ) -> dict[TopicPartition, Election]:
        context = self._core.context
        alive = context.live_broker_ids
        online = context.online_brokers
        assigned = context.assignment
        match strategy:
            case Strategy.OFFLINE | Strategy.OFFLINE_ALLOW_UNCLEAN:
                unclean = await self._unclean_allowed(stored, alive, strategy is Strategy.OFFLINE_ALLOW_UNCLEAN, cause)
                return {
                    tp: elect_offline(assigned(tp).replicas, state, online(tp, alive), tp.topic in unclean)
                    for tp, state in stored.items()
                }
            case Strategy.REASSIGN:
                return {
                    tp: elect_for_reassignment(assigned(tp).target_replicas, state, online(tp, alive))
                    for tp, state in stored.items()
                }
            case Strategy.PREFERRED:
                return {tp: elect_preferred(assigned(tp).replicas, state, online(tp, alive)) for tp, state in stored.items()}
            case Strategy.CONTROLLED_SHUTDOWN:
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
        """The topics for which a leader from outside the ISR would do, should it come to that."""
        online = self._core.context.online_brokers
        lost = [tp.topic for tp, state in stored.items() if may_be_unclean(state.isr, online(tp, alive))]
        topics = sorted(set(lost))
        if by_admin or not topics:
            return topics
        configs = await self._core.kafka_zk.topic_configs(topics, cause)
        default = str(self._core.unclean_leader_election_enable).lower()
        return {topic for topic in topics if configs[topic].get(UNCLEAN_SETTING, default).lower() == "true"}

    # --- the event log

    def _tell_move(self, partitions: Sequence[TopicPartition], target: PartitionMachineState, cause: int) -> int:
        fields = EventFields(state=target.value, count=len(partitions), detail=f"{named(partitions)} to {target}")
        if len(partitions) == 1:
            fields["topic"], fields["partition"] = partitions[0]
        seq = self._core.sink.emit(EventKind.PARTITION_STATE_CHANGE, cause, **fields)
        self._recent.remember(self._core.runtime.now_ms(), target.value, partitions, seq)
        return seq

    def _tell_election(self, tp: TopicPartition, election: Election, cause: int) -> int:
        fields = EventFields(
            topic=tp.topic,
            partition=tp.partition,
            replicas=election.candidates,
            rule=election.rule.value,
            inputs=election.inputs,
            detail=str(election),
        )
        if election.elected is not None:
            leader = election.elected.leader
            fields["leader"] = NO_LEADER if leader is None else leader
            fields["leader_epoch"] = election.elected.leader_epoch
            fields["isr"] = election.elected.isr
        return self._core.sink.emit(EventKind.LEADER_ELECTION, cause, **fields)

    def _tell_failure(
        self,
        cause: int,
        target: PartitionMachineState,
        error: Exception,
        detail: str,
        tp: TopicPartition | None = None,
    ) -> None:
        fields = EventFields(state=target.value, error=name_of_error(error), detail=detail)
        if tp is not None:
            fields["topic"], fields["partition"] = tp
        self._core.sink.emit(EventKind.STATE_CHANGE_FAILED, cause, **fields)

    def _refuse(self, tp: TopicPartition, state: PartitionMachineState, target: PartitionMachineState, cause: int) -> None:
        allowed = ", ".join(sorted(PARTITION_PREVIOUS_STATES[target]))
        self._core.sink.emit(
            EventKind.STATE_CHANGE_FAILED,
            cause,
            topic=tp.topic,
            partition=tp.partition,
            state=target.value,
            error="IllegalStateException",
            rule=f"{target} is entered from {allowed} only",
            inputs=f"{tp} is in {state}",
            detail=f"{tp} should be in one of {allowed} before moving to {target}, it is in {state}; "
            + self._recent.story_of(tp),
        )


def _cause_of_write(decided: Mapping[TopicPartition, _Decided], cause: int) -> int:
    """The one decision that is written, or else the move that led to all of them."""
    return next(iter(decided.values())).seq if len(decided) == 1 else cause
