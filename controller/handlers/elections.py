"""Requested and scheduled elections: preferred, unclean, automatic.

Source: Kafka 2.8, KafkaController.processReplicaLeaderElection, onReplicaElection, checkAndTriggerAutoLeaderRebalance;
docs/kafka/controller.md 10.1 and 10.2.
"""

from collections.abc import Collection
from functools import partial

from kcsim.controller.decisions.election import PartitionLeaderElectionStrategy, preferred_choice
from kcsim.controller.decisions.leader_balance import Leadership, imbalance_by_broker
from kcsim.controller.decisions.partition_states import PartitionMachineState
from kcsim.controller.errors import IllegalStateError, StateChangeFailedError, preferred_leader
from kcsim.controller.events import (
    AutoPreferredReplicaLeaderElection,
    ElectionResults,
    ElectionTrigger,
    ElectionType,
    ReplicaLeaderElection,
)
from kcsim.controller.requests import SUCCESS, ApiError, ErrorCode
from kcsim.controller.scope import ControllerScope
from kcsim.controller.state_machines.partition_state_machine import PartitionStateMachine, Results
from kcsim.controller.watches import ControllerWatches
from kcsim.eventlog.events import EventKind
from kcsim.runtime.ports import Runtime, Task
from kcsim.text import summarize
from kcsim.vocabulary import BrokerId, FailureReason, TopicPartition
from kcsim.zk.kafka.preferred_elections import PreferredElectionZnodes
from kcsim.znodes import paths

FIRST_REBALANCE_AFTER_MS = 5000
UNKNOWN_PARTITION = ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
BEING_DELETED = ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic is being deleted")
NOT_NEEDED = ApiError(ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")


class ElectionHandlers:
    """The handlers of ReplicaLeaderElection, AutoPreferredReplicaLeaderElection and the two UncleanLeaderElectionEnable."""

    def __init__(
        self,
        scope: ControllerScope,
        runtime: Runtime,
        watches: ControllerWatches,
        znodes: PreferredElectionZnodes,
        partitions: PartitionStateMachine,
    ) -> None:
        self._config = scope.config
        self._context = scope.context
        self._quarantine = scope.quarantine
        self._sink = scope.sink
        self._runtime = runtime
        self._watches = watches
        self._znodes = znodes
        self._partitions = partitions
        self._scheduled: Task | None = None

    async def register_and_check_existence(self, cause: int) -> bool:
        """Watch for the next /admin/preferred_replica_election. Return whether it exists now."""
        return await self._watches.watch_request(paths.PREFERRED_REPLICA_ELECTION, ReplicaLeaderElection(), cause)

    async def _read_requested(self, cause: int) -> tuple[TopicPartition, ...] | None:
        """Return the partitions that the znode requests elections for; None if it is in quarantine."""
        path, unserved = paths.PREFERRED_REPLICA_ELECTION, "no election is held for it, and it stays until it is repaired"
        requested = await self._quarantine.read_one(path, unserved, partial(self._znodes.read, cause), cause)
        return None if path in self._quarantine else requested

    # --- requested elections

    async def resume(self, cause: int) -> None:
        """Hold, at failover, the elections that /admin/preferred_replica_election requests.

        The znode is deleted afterwards, also when it does not exist.
        """
        context = self._context
        requested = await self._read_requested(cause)
        if requested is None:
            return
        known = [tp for tp in requested if context.assignment(tp).replicas and self._may_have_leader(tp)]
        pending = [tp for tp in known if self._leader(tp) != context.assignment(tp).replicas[0]]
        wanted = [tp for tp in pending if not context.is_queued_for_deletion(tp.topic)]
        await self._on_replica_election(wanted, ElectionType.PREFERRED, ElectionTrigger.ZK_TRIGGERED, cause)

    async def process_replica_leader_election(self, election: ReplicaLeaderElection, cause: int) -> ElectionResults | None:
        """Elect where that is possible and needed. Returns: a result per partition; None without a request."""
        is_admin_request = election.trigger is ElectionTrigger.ADMIN_CLIENT_TRIGGERED
        if not is_admin_request and not await self.register_and_check_existence(cause):
            return None
        context = self._context
        requested = election.partitions if election.partitions is not None else await self._read_requested(cause)
        if requested is None:
            return None
        results: ElectionResults = {}
        electable = []
        for tp in sorted(requested):
            if tp not in context.assignments:
                results[tp] = UNKNOWN_PARTITION
            elif context.is_queued_for_deletion(tp.topic):
                results[tp] = BEING_DELETED
            elif not self._may_have_leader(tp):
                results[tp] = _api_error(StateChangeFailedError("it was never online"), election.election_type)
            elif self._is_fine(tp, election.election_type):
                results[tp] = NOT_NEEDED
            else:
                electable.append(tp)
        elected = await self._on_replica_election(electable, election.election_type, election.trigger, cause)
        results.update({tp: _api_error(result, election.election_type) for tp, result in elected.items()})
        return results

    def _is_fine(self, tp: TopicPartition, election_type: ElectionType) -> bool:
        leader = self._leader(tp)
        if election_type is ElectionType.UNCLEAN:
            return leader is not None and leader in self._context.live_broker_ids
        replicas = self._context.assignment(tp).replicas
        return leader == preferred_leader(tp, replicas)

    def _may_have_leader(self, tp: TopicPartition) -> bool:
        """Return whether the leader of a partition can be looked up. A hardened controller leaves out the others."""
        return tp in self._context.leadership or not self._config.hardening.isolates_failures

    def _leader(self, tp: TopicPartition) -> BrokerId | None:
        """Return the leader in the context. Raises: IllegalStateError for a partition that never had a leader."""
        known = self._context.leadership.get(tp)
        if known is None:
            raise IllegalStateError(f"nothing is known of who leads {tp}: it was never online", FailureReason.NEVER_ONLINE)
        return known.leader_and_isr.leader

    async def _on_replica_election(
        self, partitions: Collection[TopicPartition], election_type: ElectionType, trigger: ElectionTrigger, cause: int
    ) -> Results:
        is_admin_request = trigger is ElectionTrigger.ADMIN_CLIENT_TRIGGERED
        strategy = PartitionLeaderElectionStrategy.PREFERRED
        if election_type is ElectionType.UNCLEAN:
            strategy = (
                PartitionLeaderElectionStrategy.OFFLINE_ALLOW_UNCLEAN
                if is_admin_request
                else PartitionLeaderElectionStrategy.OFFLINE
            )
        try:
            return await self._partitions.handle_state_changes(
                sorted(partitions), PartitionMachineState.ONLINE, cause, strategy
            )
        finally:
            if trigger is ElectionTrigger.ZK_TRIGGERED:
                # Whatever the result was. The next request also needs a new watch.
                version = self._context.epoch_zk_version
                await self._znodes.delete(version, cause)
                self._watches.put(ReplicaLeaderElection(), cause)

    # --- automatic elections

    def start_scheduler(self, cause: int) -> None:
        """Start the periodic check of the leader imbalance, if auto.leader.rebalance.enable."""
        if self._config.auto_leader_rebalance_enable:
            self._schedule(FIRST_REBALANCE_AFTER_MS, cause)

    def stop_scheduler(self) -> None:
        if self._scheduled is not None:
            self._scheduled.kill()
            self._scheduled = None

    def _schedule(self, delay_ms: int, cause: int) -> None:
        async def wait() -> None:
            await self._runtime.sleep_ms(delay_ms)
            self._watches.put(AutoPreferredReplicaLeaderElection(), cause)

        self._scheduled = self._runtime.spawn("controller-scheduler", wait())

    async def process_auto_preferred_replica_leader_election(self, cause: int) -> None:
        """Elect the preferred leaders on brokers with too much leader imbalance.

        The next check is scheduled afterwards, also after an error.
        """
        try:
            await self._rebalance(cause)
        finally:
            self._schedule(self._config.leader_imbalance_check_interval_seconds * 1000, cause)

    async def _rebalance(self, cause: int) -> None:
        context = self._context
        by_preferred: dict[BrokerId, list[TopicPartition]] = {}
        leaderships = []
        for tp, assignment in context.assignments.items():
            if context.is_queued_for_deletion(tp.topic):
                continue
            preferred = preferred_leader(tp, assignment.replicas)
            known = context.leadership.get(tp)
            leaderships.append(Leadership(assignment, None if known is None else known.leader_and_isr))
            if known is not None and known.leader_and_isr.leader != preferred:
                by_preferred.setdefault(preferred, []).append(tp)
        percentage = self._config.leader_imbalance_per_broker_percentage
        for broker, imbalance in imbalance_by_broker(leaderships).items():
            if not imbalance.exceeds(percentage):
                continue
            candidates = [tp for tp in by_preferred[broker] if self._may_be_rebalanced(tp)]
            rebalance_seq = self._sink.emit(
                EventKind.LEADER_REBALANCE,
                cause,
                broker_id=broker,
                count=len(candidates),
                rule=f"more than {percentage} % of the partitions that broker {broker} should lead are led by others",
                inputs=f"{imbalance.imbalanced} of {imbalance.total}; {len(context.partitions_being_reassigned)} reassigned",
                detail=f"elect the preferred leader of {summarize(candidates)}"
                if candidates
                else "none of them can be led by it",
            )
            await self._on_replica_election(
                candidates, ElectionType.PREFERRED, ElectionTrigger.AUTO_TRIGGERED, rebalance_seq
            )

    def _may_be_rebalanced(self, tp: TopicPartition) -> bool:
        """Return whether the preferred leader can be elected, by the cached ISR.

        A replica that joined the ISR counts once the controller was notified of it.
        """
        context = self._context
        replicas = context.assignment(tp).replicas
        isr = context.leadership[tp].leader_and_isr.isr
        online = context.online_brokers(tp, context.live_broker_ids)
        waits = context.partitions_being_reassigned and not self._config.capabilities.rebalance_during_reassignments
        return not waits and tp.topic in context.topics and preferred_choice(replicas, isr, online) is not None

    # --- unclean leader election enabled

    async def process_unclean_leader_election_enable(self, cause: int, topic: str | None = None) -> None:
        """Try to elect a leader for every partition without one, of one topic or of all."""
        await self._partitions.trigger_online_state_change(cause, topic)


def _api_error(result: object, election_type: ElectionType) -> ApiError:
    if isinstance(result, StateChangeFailedError):
        preferred = election_type is ElectionType.PREFERRED
        error = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE if preferred else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
        return ApiError(error, result.message_for_clients)
    return ApiError(ErrorCode.UNKNOWN_SERVER_ERROR) if isinstance(result, Exception) else SUCCESS
