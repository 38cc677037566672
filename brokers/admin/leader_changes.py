"""Reassignments and elections for clients, by the broker that is the controller.

Each request becomes an event of the controller module. An election is answered once the broker's own metadata cache shows
the new leaders. The time-out of AlterPartitionReassignments has no effect, as in Kafka.

Source: Kafka 2.8, KafkaApis.handleAlterPartitionReassignmentsRequest, handleElectLeaders, ReplicaManager.electLeaders.
"""

from collections.abc import Mapping

from kcsim.brokers.admin.change_requests import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
)
from kcsim.brokers.admin.metadata_waits import MetadataWaits
from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.controller.decisions.reassignment import invalid_target
from kcsim.controller.errors import NotControllerError
from kcsim.controller.kafka_controller import KafkaController
from kcsim.controller.requests import ApiError, ErrorCode
from kcsim.errors import TimedOutError
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.eventlog.sink import EventSink
from kcsim.runtime.ports import Runtime
from kcsim.vocabulary import BrokerId, TopicPartition

NOT_CONTROLLER = ApiError(ErrorCode.NOT_CONTROLLER, "This is not the correct controller for this cluster.")
MESSAGES: Mapping[ErrorCode, str] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "The partition does not exist.",
    ErrorCode.NO_REASSIGNMENT_IN_PROGRESS: "No partition reassignment is in progress.",
}


class LeaderChanges:
    """The reassignments and elections that one broker is asked for."""

    def __init__(
        self,
        metadata: MetadataCache,
        waits: MetadataWaits,
        controller: KafkaController,
        runtime: Runtime,
        sink: EventSink,
    ) -> None:
        self._metadata = metadata
        self._waits = waits
        self._controller = controller
        self._runtime = runtime
        self._sink = sink

    # --- reassignments

    async def alter_partition_reassignments(
        self, request: AlterPartitionReassignmentsRequest, cause: int
    ) -> AlterPartitionReassignmentsResponse:
        """Start, replace or cancel reassignments; they go on after the answer."""
        if self._controller.is_active and request.targets:
            moves = (f"{tp} to {list(to)}" if to is not None else f"{tp} cancelled" for tp, to in request.targets.items())
            cause = self._log_act("alter-partition-reassignments", tuple(request.targets), ", ".join(moves), cause)
        try:
            results = await self._controller.alter_partition_reassignments(request.targets, cause)
        except NotControllerError:
            return AlterPartitionReassignmentsResponse(NOT_CONTROLLER)
        except TimedOutError:
            return AlterPartitionReassignmentsResponse(ApiError(ErrorCode.REQUEST_TIMED_OUT))
        outcomes = {tp: self._reassignment_outcome(tp, request.targets[tp], error) for tp, error in results.items()}
        return AlterPartitionReassignmentsResponse(partitions=outcomes)

    def _reassignment_outcome(self, tp: TopicPartition, target: tuple[BrokerId, ...] | None, error: ErrorCode) -> ApiError:
        message = MESSAGES.get(error)
        if error is ErrorCode.INVALID_REPLICA_ASSIGNMENT and target is not None:
            context = self._controller.context
            message = invalid_target(context.assignment(tp), target, context.live_broker_ids)
        return ApiError(error, message)

    # --- elections

    async def elect_leaders(self, request: ElectLeadersRequest, cause: int) -> ElectLeadersResponse:
        """Elect leaders, and answer when the metadata show them, or the time is up."""
        deadline_ms = self._runtime.now_ms() + request.timeout_ms
        partitions = tuple(self._metadata.partitions) if request.partitions is None else request.partitions
        if self._controller.is_active and partitions:
            of = "all partitions" if request.partitions is None else ", ".join(map(str, partitions))
            cause = self._log_act("elect-leaders", partitions, f"{request.election_type} for {of}", cause)
        try:
            results = await self._controller.elect_leaders(request.election_type, partitions, cause)
        except NotControllerError:
            return ElectLeadersResponse(dict.fromkeys(partitions, ApiError(ErrorCode.NOT_CONTROLLER)))
        except TimedOutError:
            return ElectLeadersResponse(dict.fromkeys(partitions, ApiError(ErrorCode.REQUEST_TIMED_OUT)))
        elected = {tp: self._leader_by_controller(tp) for tp, result in results.items() if not result.is_failure}
        left_ms = deadline_ms - self._runtime.now_ms()
        await self._waits.until(lambda: all(self._is_shown(tp, leader) for tp, leader in elected.items()), left_ms)
        outcomes = dict(results)
        for tp, leader in elected.items():
            if not self._is_shown(tp, leader):
                outcomes[tp] = ApiError(ErrorCode.REQUEST_TIMED_OUT)
        if request.partitions is None:
            outcomes = {tp: one for tp, one in outcomes.items() if one.error is not ErrorCode.ELECTION_NOT_NEEDED}
        return ElectLeadersResponse(outcomes)

    def _leader_by_controller(self, tp: TopicPartition) -> BrokerId | None:
        known = self._controller.context.leadership.get(tp)
        return None if known is None else known.leader_and_isr.leader

    def _is_shown(self, tp: TopicPartition, leader: BrokerId | None) -> bool:
        """Return whether the metadata show the leader; True if the controller itself knows none any more."""
        shown = self._metadata.partitions.get(tp)
        return leader is None or (shown is not None and shown.state.leader_and_isr.leader == leader)

    # --- the event log

    def _log_act(self, op: str, partitions: tuple[TopicPartition, ...], detail: str, cause: int) -> int:
        fields = EventFields(op=op, count=len(partitions), detail=f"{detail}, requested by a client")
        if len(partitions) == 1:
            ((fields["topic"], fields["partition"]),) = partitions
        return self._sink.emit(EventKind.ADMIN_ACT, cause, **fields)
