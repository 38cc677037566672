"""Elections that somebody asks for, or that are due: preferred, unclean, automatic.

Source: Kafka 2.8, KafkaController.processReplicaLeaderElection, onReplicaElection, checkAndTriggerAutoLeaderRebalance;
reference controller.md 10.1 and 10.2.
"""

from collections.abc import Collection, Iterable
from functools import partial

from kcsim.controller.core import Core
from kcsim.controller.decisions.election import preferred_choice
from kcsim.controller.decisions.leader_balance import Leadership, imbalance_by_broker
from kcsim.controller.decisions.partition_states import PartitionMachineState
from kcsim.controller.errors import IllegalStateError, StateChangeFailedError
from kcsim.controller.events import (
    AutoPreferredReplicaLeaderElection,
    ElectionResults,
    ElectionTrigger,
    ElectionType,
    ReplicaLeaderElection,
)
from kcsim.controller.partition_state_machine import PartitionStateMachine, Results, Strategy
from kcsim.controller.requests import ErrorCode
from kcsim.zk import paths
from kcsim.zk.events import EventKind
from kcsim.zk.ports import Task
from kcsim.zk.vocabulary import BrokerId, TopicPartition
from kcsim.zk.wording import named
from kcsim.zk.zookeeper_client import NodeHandler

FIRST_REBALANCE_AFTER_MS = 5000


class ElectionHandlers:
    """ReplicaLeaderElection, AutoPreferredReplicaLeaderElection and the two UncleanLeaderElectionEnable."""

    def __init__(self, core: Core, partitions: PartitionStateMachine) -> None:
        self._core = core
        self._partitions = partitions
        self._scheduled: Task | None = None

    async def register_and_check_existence(self, cause: int) -> bool:
        """Watch for the next /admin/preferred_replica_election, and say whether there is one now."""
        created = partial(self._core.put, ReplicaLeaderElection())
        return await self._core.client.register_and_check_existence(
            paths.PREFERRED_REPLICA_ELECTION, NodeHandler(created=created), cause
        )

    # --- asked for

    async def resume(self, cause: int) -> None:
        """At failover: hold what /admin/preferred_replica_election asks for; it is deleted, also when it is not there."""
        context = self._core.context
        asked = await self._core.kafka_zk.preferred_replica_election(cause)
        known = [tp for tp in asked if context.assignment(tp).replicas]
        pending = [tp for tp in known if self._leader(tp) != context.assignment(tp).replicas[0]]
        wanted = [tp for tp in pending if not context.is_queued_for_deletion(tp.topic)]
        await self._on_replica_election(wanted, ElectionType.PREFERRED, ElectionTrigger.ZK_TRIGGERED, cause)

    async def process_replica_leader_election(self, election: ReplicaLeaderElection, cause: int) -> ElectionResults | None:
        """Elect where that is possible and needed. Returns: an error for each partition; None if nothing was asked for."""
        is_asked = election.trigger is ElectionTrigger.ADMIN_CLIENT_TRIGGERED
        if not is_asked and not await self.register_and_check_existence(cause):
            return None
        context = self._core.context
        asked: Iterable[TopicPartition]
        if election.partitions is not None:
            asked = election.partitions
        else:
            asked = context.assignments if is_asked else await self._core.kafka_zk.preferred_replica_election(cause)
        results: ElectionResults = {}
        electable = []
        for tp in sorted(asked):
            if tp not in context.assignments:
                results[tp] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif context.is_queued_for_deletion(tp.topic):
                results[tp] = ErrorCode.INVALID_TOPIC_EXCEPTION
            elif self._is_fine(tp, election.election_type):
                results[tp] = ErrorCode.ELECTION_NOT_NEEDED
            else:
                electable.append(tp)
        elected = await self._on_replica_election(electable, election.election_type, election.trigger, cause)
        results.update({tp: _error_of(result, election.election_type) for tp, result in elected.items()})
        return results

    def _is_fine(self, tp: TopicPartition, election_type: ElectionType) -> bool:
        leader = self._leader(tp)
        if election_type is ElectionType.UNCLEAN:
            return leader is not None and leader in self._core.context.live_broker_ids
        replicas = self._core.context.assignment(tp).replicas
        if not replicas:
            raise IllegalStateError(f"{tp} is assigned to no broker, so it has no preferred leader")
        return leader == replicas[0]

    def _leader(self, tp: TopicPartition) -> BrokerId | None:
        """Who leads, as far as is known. Raises: IllegalStateError for a partition that never had a leader."""
        known = self._core.context.leadership.get(tp)
        if known is None:
            raise IllegalStateError(f"nothing is known of who leads {tp}: it was never online")
        return known.leader_and_isr.leader

    async def _on_replica_election(
        self, partitions: Collection[TopicPartition], election_type: ElectionType, trigger: ElectionTrigger, cause: int
    ) -> Results:
        is_asked = trigger is ElectionTrigger.ADMIN_CLIENT_TRIGGERED
        strategy = Strategy.PREFERRED
        if election_type is ElectionType.UNCLEAN:
            strategy = Strategy.OFFLINE_ALLOW_UNCLEAN if is_asked else Strategy.OFFLINE
        try:
            return await self._partitions.handle_state_changes(
                sorted(partitions), PartitionMachineState.ONLINE, cause, strategy
            )
        finally:
            if trigger is ElectionTrigger.ZK_TRIGGERED:
                # Whatever came of it; and what comes next has to be watched for anew.
                version = self._core.context.epoch_zk_version
                await self._core.kafka_zk.delete_preferred_replica_election(version, cause)
                self._core.put(ReplicaLeaderElection(), cause)

    # --- automatic

    def start_scheduler(self, cause: int) -> None:
        """From now on look whether leadership has drifted, if auto.leader.rebalance.enable."""
        if self._core.config.auto_leader_rebalance_enable:
            self._schedule(FIRST_REBALANCE_AFTER_MS, cause)

    def stop_scheduler(self) -> None:
        if self._scheduled is not None:
            self._scheduled.kill()
            self._scheduled = None

    def _schedule(self, delay_ms: int, cause: int) -> None:
        async def wait() -> None:
            await self._core.runtime.sleep_ms(delay_ms)
            self._core.put(AutoPreferredReplicaLeaderElection(), cause)

        self._scheduled = self._core.runtime.spawn("controller-scheduler", wait())

    async def process_auto_preferred_replica_leader_election(self, cause: int) -> None:
        """Give leadership back to preferred leaders that have lost too much of it; then look again later, come what may."""
        try:
            await self._rebalance(cause)
        finally:
            self._schedule(self._core.config.leader_imbalance_check_interval_seconds * 1000, cause)

    async def _rebalance(self, cause: int) -> None:
        context = self._core.context
        by_preferred: dict[BrokerId, list[TopicPartition]] = {}
        leaderships = []
        for tp, assignment in context.assignments.items():
            if context.is_queued_for_deletion(tp.topic):
                continue
            if not assignment.replicas:
                raise IllegalStateError(f"{tp} is assigned to no broker, so it has no preferred leader")
            known = context.leadership.get(tp)
            leaderships.append(Leadership(assignment, None if known is None else known.leader_and_isr))
            if known is not None and known.leader_and_isr.leader != assignment.replicas[0]:
                by_preferred.setdefault(assignment.replicas[0], []).append(tp)
        percentage = self._core.config.leader_imbalance_per_broker_percentage
        for broker, imbalance in imbalance_by_broker(leaderships).items():
            if not imbalance.exceeds(percentage):
                continue
            candidates = [tp for tp in by_preferred[broker] if self._may_be_rebalanced(tp)]
            told = self._core.sink.emit(
                EventKind.LEADER_REBALANCE,
                cause,
                broker_id=broker,
                count=len(candidates),
                rule=f"more than {percentage} % of the partitions that broker {broker} should lead are led by others",
                inputs=f"{imbalance.imbalanced} of {imbalance.total}; {len(context.partitions_being_reassigned)} reassigned",
                detail=f"elect the preferred leader of {named(candidates)}"
                if candidates
                else "none of them can be led by it",
            )
            await self._on_replica_election(candidates, ElectionType.PREFERRED, ElectionTrigger.AUTO_TRIGGERED, told)

    def _may_be_rebalanced(self, tp: TopicPartition) -> bool:
        """By the cached ISR: one that has grown counts once the controller was notified of it."""
        context = self._core.context
        replicas = context.assignment(tp).replicas
        isr = context.leadership[tp].leader_and_isr.isr
        online = context.online_brokers(tp, context.live_broker_ids)
        return (
            not context.partitions_being_reassigned
            and tp.topic in context.topics
            and preferred_choice(replicas, isr, online) is not None
        )

    # --- unclean elections switched on

    async def process_unclean_leader_election_enable(self, cause: int, topic: str | None = None) -> None:
        """Try again for every partition that has no leader, of one topic or of all."""
        await self._partitions.trigger_online_state_change(cause, topic)


def _error_of(result: object, election_type: ElectionType) -> ErrorCode:
    if isinstance(result, StateChangeFailedError):
        preferred = election_type is ElectionType.PREFERRED
        return ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE if preferred else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    return ErrorCode.UNKNOWN_SERVER_ERROR if isinstance(result, Exception) else ErrorCode.NONE
