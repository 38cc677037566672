"""The controller module that every broker has: it stands for election, and the winner controls the cluster.

This module holds election, failover, resignation and the dispatch of events; handlers/ processes the events of each family.
Everything here runs on the controller's event thread. Source: Kafka 2.8, KafkaController; docs/kafka/controller.md 2 to 5.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from typing import assert_never

from kcsim.controller.channels.broker_request_batch import BrokerRequestBatch, KafkaControllerRequestBatch
from kcsim.controller.channels.channel_manager import ControllerChannelManager
from kcsim.controller.config import ControllerConfig
from kcsim.controller.context import NO_EPOCH, ControllerContext
from kcsim.controller.controller_role import ControllerRole
from kcsim.controller.decisions.decision_rules import DecisionRule
from kcsim.controller.errors import IllegalStateError
from kcsim.controller.event_manager import ControllerEventManager, QueuedEvent
from kcsim.controller.events import (
    ActiveControllerEvent,
    AllocateProducerIds,
    AlterIsrReceived,
    ApiPartitionReassignment,
    AutoPreferredReplicaLeaderElection,
    BrokerChange,
    BrokerModifications,
    ControlledShutdown,
    ControllerChange,
    ControllerEpochChange,
    ControllerEvent,
    ElectionResults,
    ElectionTrigger,
    ElectionType,
    Expire,
    IsrChangeNotification,
    LeaderAndIsrResponseReceived,
    ListPartitionReassignments,
    LogDirEventNotification,
    OwnRegistrationDeleted,
    PartitionModifications,
    PartitionReassignmentIsrChange,
    QuarantinedZnodeChange,
    ReassignmentTargets,
    Reelect,
    RegisterBrokerAndReelect,
    ReplicaLeaderElection,
    RequestEvent,
    ShutdownEventThread,
    Startup,
    TopicChange,
    TopicDeletion,
    TopicDeletionStopReplicaResponseReceived,
    TopicUncleanLeaderElectionEnable,
    UncleanLeaderElectionEnable,
    UpdateMetadataResponseReceived,
    ZkPartitionReassignment,
    name_of,
    preempt,
)
from kcsim.controller.failures import EXPECTED_FAILURES, PARTITION_FAILURES, name_of_error, reason_of_error
from kcsim.controller.handlers.broker_availability import BrokerAvailability
from kcsim.controller.handlers.brokers import BrokerHandlers
from kcsim.controller.handlers.controlled_shutdown import ControlledShutdownHandler
from kcsim.controller.handlers.elections import ElectionHandlers
from kcsim.controller.handlers.features import FeatureVersioning
from kcsim.controller.handlers.isr_changes import IsrChangeHandler
from kcsim.controller.handlers.leader_epochs import LeaderEpochs
from kcsim.controller.handlers.log_dirs import LogDirHandlers
from kcsim.controller.handlers.producer_ids import ProducerIdHandler
from kcsim.controller.handlers.quarantined import QuarantineHandler
from kcsim.controller.handlers.reassignment import ReassignedPartitionZnodes, ReassignmentHandlers
from kcsim.controller.handlers.refused_states import RefusedStateHandler
from kcsim.controller.handlers.topics import TopicHandlers
from kcsim.controller.hardened_states import HardenedPartitionStates
from kcsim.controller.metrics import (
    CHANNEL_MANAGER,
    CONTROLLER,
    EVENT_MANAGER,
    ControllerMetrics,
    Reading,
    as_json,
    reading_of,
)
from kcsim.controller.ports import ControllerPorts
from kcsim.controller.quarantine import Quarantine
from kcsim.controller.requests import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    AlterIsrRequest,
    AlterIsrResponse,
    ControlledShutdownResponse,
    ErrorCode,
)
from kcsim.controller.scope import ControllerScope
from kcsim.controller.state_machines.both_machines import StateMachines
from kcsim.controller.state_machines.partition_state_machine import PartitionStateMachine
from kcsim.controller.state_machines.replica_state_machine import ReplicaStateMachine
from kcsim.controller.state_machines.unclean_setting import UNCLEAN_SETTING, UncleanElectionSetting
from kcsim.controller.topic_deletion_manager import DeletedTopicZnodes, TopicDeletionManager
from kcsim.controller.watches import ControllerWatches
from kcsim.eventlog.events import EventFields, EventKind, with_reason
from kcsim.eventlog.sink import Cause
from kcsim.eventlog.step_names import ControllerFailoverStep
from kcsim.runtime.ports import Promise
from kcsim.vocabulary import (
    BrokerEpoch,
    BrokerId,
    ControllerEpochZkVersion,
    FailureReason,
    ReplicaAssignment,
    TopicPartition,
)
from kcsim.zk.errors import ControllerMovedError
from kcsim.zk.kafka.fencing import UNFENCED
from kcsim.zk.kafka.kafka_zk import KafkaZk
from kcsim.zk.kafka.partition_states import PartitionStateZnodes
from kcsim.zk.kafka.zookeeper_client import NodeHandler, SessionHandler, ZooKeeperClient
from kcsim.znodes import paths


class KafkaController:
    """The controller module of one broker.

    Args:
        register_broker: registers the broker again after its session expired, under a new broker epoch; may raise
            ZooKeeperError.
    """

    def __init__(
        self,
        broker_id: BrokerId,
        config: ControllerConfig,
        ports: ControllerPorts,
        client: ZooKeeperClient,
        kafka_zk: KafkaZk,
        register_broker: Callable[[Cause], Awaitable[None]],
    ) -> None:
        self.broker_id = broker_id
        self.active_controller_id: BrokerId | None = None
        self.context = ControllerContext()
        self.metrics = ControllerMetrics()
        self.event_manager = ControllerEventManager(ports.runtime, ports.sink, self._process, self.metrics)
        self.channel_manager = ControllerChannelManager(ports.runtime, ports.transport, ports.sink, config)
        self._runtime = ports.runtime
        self._client = client
        self._kafka_zk = kafka_zk
        self._sink = ports.sink
        self._numbers = ports.numbers
        self._config = config
        self._register_broker = register_broker
        self._quarantine = Quarantine(ports.sink, config.hardening.quarantines_znodes)
        self._scope = ControllerScope(broker_id, config, self.context, ports.sink, self._quarantine)
        self._watches = ControllerWatches(client, self.event_manager, self._scope)
        self._role = ControllerRole(broker_id, config, client, kafka_zk.controller, kafka_zk.brokers, self._quarantine)
        self._unclean = UncleanElectionSetting(kafka_zk.configs, config.unclean_leader_election_enable)
        self._feature_versioning = FeatureVersioning(config.capabilities, kafka_zk.features, ports.features)
        self._states = self._partition_states()
        self._build_machines()
        self._build_handlers()

    def _partition_states(self) -> PartitionStateZnodes:
        zk, hardening = self._kafka_zk, self._config.hardening
        if not hardening.quarantines_znodes:
            return zk.partition_states
        return HardenedPartitionStates(zk.znodes, self.context, self._quarantine)

    def _build_machines(self) -> None:
        """Create the state machines, and the batch for the requests that the controller sends outside them."""
        scope, runtime, states = self._scope, self._runtime, self._states
        own, partitions, replicas = self._batches = tuple(
            BrokerRequestBatch(scope, self.channel_manager, self.event_manager.put) for _ in range(3)
        )
        self._own = KafkaControllerRequestBatch(own, self._trigger_controller_move)
        self._partitions = PartitionStateMachine(scope, runtime, states, self._unclean, partitions, self.metrics)
        self._replicas = ReplicaStateMachine(scope, runtime, states, replicas)

    def _build_handlers(self) -> None:
        """Create the handlers of events; each receives only the gateways that it uses."""
        scope, watches, zk, own = self._scope, self._watches, self._kafka_zk, self._own
        machines = StateMachines(self._partitions, self._replicas)
        deleted = DeletedTopicZnodes(zk.topic_deletions, zk.topics, zk.configs)
        self._deletions = TopicDeletionManager(scope, watches, deleted, machines, own)
        reassigned = ReassignedPartitionZnodes(zk.reassignments, self._states, zk.topics)
        self._reassignments = ReassignmentHandlers(scope, watches, reassigned, machines, self._deletions, own)
        self._topics = TopicHandlers(scope, watches, zk.topics, machines, self._numbers)
        availability = BrokerAvailability(scope, machines, self._deletions, self._reassignments, own)
        self._brokers = BrokerHandlers(scope, watches, zk.brokers, self.channel_manager, availability)
        self._isr_changes = IsrChangeHandler(scope, watches, zk.isr_changes, self._states, self._reassignments, own)
        self._producer_ids = ProducerIdHandler(self.context, zk.producer_ids)
        self._log_dirs = LogDirHandlers(scope, watches, zk.log_dir_events, self._replicas, availability)
        self._elections = ElectionHandlers(scope, self._runtime, watches, zk.preferred_elections, self._partitions)
        self._controlled_shutdown = ControlledShutdownHandler(scope, machines, own)
        self._leader_epochs = LeaderEpochs(scope, self._states, own)
        self._refused_states = RefusedStateHandler(scope, self._leader_epochs)
        self._quarantined = QuarantineHandler(scope, watches, self._states, machines, self._brokers, self._reassignments)

    @property
    def is_active(self) -> bool:
        return self.active_controller_id == self.broker_id

    # --- start and shutdown

    def startup(self, cause: Cause) -> None:
        """Start the event thread; its first event registers for /controller and stands for election."""
        self._client.register_session_handler(
            "controller-state-change-handler",
            SessionHandler(before_new_session=self._before_new_session, after_new_session=self._after_new_session),
        )
        self.event_manager.put(Startup(), cause)
        self.event_manager.start()

    async def shutdown(self, cause: Cause) -> None:
        """End the event thread, then resign. The broker closes its session afterwards."""
        self._client.unregister_session_handler("controller-state-change-handler")
        await self.event_manager.close(cause)
        self._resign(cause)

    def _before_new_session(self, cause: Cause) -> QueuedEvent | None:
        if not self._config.protections.expiry_clears_queue:
            # While the client opened a new session by itself (up to Kafka 1.0), queued events were processed on that
            # session.
            self.event_manager.hold()
            return None
        # The queued events assume a role that this broker may no longer have, so they must not be processed.
        return self.event_manager.clear_and_put(Expire(), cause)

    def _after_new_session(self, cause: Cause) -> None:
        self.event_manager.put(RegisterBrokerAndReelect(), cause)
        self.event_manager.release()

    def read_metrics(self) -> dict[str, Reading]:
        """Return every metric of this controller module, keyed by Kafka's name for it."""
        channels = self.channel_manager
        queues: dict[str, Reading] = {f"{CHANNEL_MANAGER}TotalQueueSize": {"Value": channels.total_queue_size}}
        for broker in self.context.live_or_shutting_down_broker_ids:
            of_broker = f",broker-id={broker}"
            queues[f"{CHANNEL_MANAGER}QueueSize{of_broker}"] = {"Value": channels.queue_size(broker)}
            times = reading_of(channels.request_queue_times_ms(broker))
            queues[f"{CHANNEL_MANAGER}RequestRateAndQueueTimeMs{of_broker}"] = times
        return {
            f"{CONTROLLER}ControllerState": {"Value": self.event_manager.state.gauge},
            f"{EVENT_MANAGER}EventQueueSize": {"Value": len(self.event_manager)},
            **self.metrics.read(),
            **queues,
        }

    # --- requests of brokers and admin clients

    async def controlled_shutdown(
        self, broker_id: BrokerId, broker_epoch: BrokerEpoch, cause: Cause
    ) -> ControlledShutdownResponse:
        """Move the leaderships of a broker that is about to stop.

        STALE_CONTROLLER_EPOCH when this is not the active controller.
        """
        answer: Promise[ControlledShutdownResponse] = self._runtime.promise()
        self.event_manager.put(ControlledShutdown(broker_id, broker_epoch, answer), cause)
        return await answer.wait()

    async def alter_isr(self, request: AlterIsrRequest, cause: Cause) -> AlterIsrResponse:
        """Change ISRs for their leaders; NOT_CONTROLLER when this is not the active controller."""
        if not self.is_active:
            return AlterIsrResponse(ErrorCode.NOT_CONTROLLER)
        answer: Promise[AlterIsrResponse] = self._runtime.promise()
        self.event_manager.put(AlterIsrReceived(request, answer), cause)
        return await answer.wait()

    async def allocate_producer_ids(self, request: AllocateProducerIdsRequest, cause: Cause) -> AllocateProducerIdsResponse:
        """Take a block of producer ids for a broker; NOT_CONTROLLER when this is not the active controller."""
        if not self.is_active:
            return AllocateProducerIdsResponse(ErrorCode.NOT_CONTROLLER)
        answer: Promise[AllocateProducerIdsResponse] = self._runtime.promise()
        self.event_manager.put(AllocateProducerIds(request, answer), cause)
        return await answer.wait()

    async def alter_partition_reassignments(
        self, targets: ReassignmentTargets, cause: Cause
    ) -> dict[TopicPartition, ErrorCode]:
        """Start, replace or (target None) cancel reassignments. Return an error code for each partition.

        Raises: NotControllerError; TimedOutError when there is no answer within request.timeout.ms.
        """
        answer: Promise[dict[TopicPartition, ErrorCode]] = self._runtime.promise()
        self.event_manager.put(ApiPartitionReassignment(targets, answer), cause)
        return await answer.wait(self._config.request_timeout_ms)

    async def list_partition_reassignments(
        self, partitions: Collection[TopicPartition] | None, cause: Cause
    ) -> dict[TopicPartition, ReplicaAssignment]:
        """Return the current reassignments of these partitions, or of all. Raises: NotControllerError, TimedOutError."""
        answer: Promise[dict[TopicPartition, ReplicaAssignment]] = self._runtime.promise()
        self.event_manager.put(ListPartitionReassignments(partitions, answer), cause)
        return await answer.wait(self._config.request_timeout_ms)

    async def elect_leaders(
        self, election_type: ElectionType, partitions: Collection[TopicPartition], cause: Cause
    ) -> ElectionResults:
        """Elect the preferred or any live leader for these partitions. Return a result for each.

        Raises: NotControllerError; TimedOutError, also when the election failed as a whole, because no answer is sent then.
        """
        answer: Promise[ElectionResults] = self._runtime.promise()
        trigger = ElectionTrigger.ADMIN_CLIENT_TRIGGERED
        self.event_manager.put(ReplicaLeaderElection(partitions, election_type, trigger, answer), cause)
        return await answer.wait(self._config.request_timeout_ms)

    def enable_default_unclean_leader_election(self, cause: Cause) -> None:
        """Switch unclean.leader.election.enable on for the cluster: partitions without a leader get one."""
        self._unclean.default = True
        self.event_manager.put(UncleanLeaderElectionEnable(), cause)

    def disable_default_unclean_leader_election(self) -> None:
        """Switch unclean.leader.election.enable off for the cluster; a topic's own setting still takes precedence."""
        self._unclean.default = False

    def enable_topic_unclean_leader_election(self, topic: str, cause: Cause) -> None:
        """Handle that unclean.leader.election.enable was switched on for a topic.

        No effect on a broker that is not the active controller.
        """
        if self.is_active:
            self.event_manager.put(TopicUncleanLeaderElectionEnable(topic), cause)

    # --- the event thread

    async def _process(self, event: ControllerEvent, cause: int) -> None:
        """Process one event; an expected failure never stops the thread."""
        try:
            await self._dispatch(event, cause)
        except ControllerMovedError as moved:
            self._sink.emit(EventKind.CONTROLLER_MOVED, cause, event=name_of(event), detail=str(moved))
            await self._survive(self._resign_or_stand(cause), event, cause)
        except EXPECTED_FAILURES as error:
            self._report_failure(event, error, cause)
        self._quarantined.watch_new(cause)
        changed = self.metrics.refresh(self.context, self.is_active)
        if changed:
            self._sink.emit(EventKind.METRICS, cause, data=as_json(changed))

    async def _survive(self, work: Awaitable[None], event: ControllerEvent, cause: int) -> None:
        try:
            await work
        except EXPECTED_FAILURES as error:
            self._report_failure(event, error, cause)

    def _report_failure(self, event: ControllerEvent, error: Exception, cause: int) -> None:
        fields = EventFields(
            event=name_of(event),
            error=name_of_error(error),
            detail=f"Error processing event {name_of(event)}: {error}",
        )
        self._sink.emit(EventKind.CONTROLLER_EVENT_FAILED, cause, **with_reason(fields, reason_of_error(error)))

    async def _dispatch(self, event: ControllerEvent, cause: int) -> None:
        match event:
            case Startup():
                await self._process_startup(cause)
            case ControllerChange():
                await self._resign_or_stand(cause)
            case ControllerEpochChange():
                await self._process_controller_epoch_change(cause)
            case OwnRegistrationDeleted():
                await self._watch_own_registration(cause)
            case Reelect():
                await self._maybe_resign(cause)
                await self._elect(cause)
                await self._watch_own_registration(cause)
            case RegisterBrokerAndReelect():
                await self._register_broker(cause)
                await self._maybe_resign(cause)
                await self._elect(cause)
                await self._watch_own_registration(cause)
            case Expire():
                self.active_controller_id = None
                self._resign(cause)
            case ShutdownEventThread():
                raise AssertionError("the event thread ends at this event and does not process it")
            case _ if self.is_active:
                await self._dispatch_active(event, cause)
            case _:
                preempt(event)  # a waiting caller gets the error that this is not the controller

    async def _dispatch_active(self, event: ActiveControllerEvent, cause: int) -> None:
        match event:
            case BrokerChange():
                await self._brokers.process_broker_change(cause)
                if self._config.hardening.registers_again and self.broker_id not in self.context.live_brokers:
                    await self._register_broker(cause)
            case BrokerModifications(broker_id):
                await self._brokers.process_broker_modifications(broker_id, cause)
            case TopicChange():
                await self._topics.process_topic_change(cause)
                self._refused_states.forget_deleted()
            case PartitionModifications(topic):
                await self._topics.process_partition_modifications(topic, cause)
            case TopicDeletion():
                await self._deletions.process_topic_deletion(cause)
                await self._reassignments.end_those_of_deleted_topics(cause)
            case TopicDeletionStopReplicaResponseReceived(broker_id, stopped):
                await self._deletions.process_stop_replica_response(broker_id, stopped, cause)
            case LeaderAndIsrResponseReceived(broker_id, response):
                await self._log_dirs.process_leader_and_isr_response(broker_id, response, cause)
                await self._refused_states.process_leader_and_isr_response(broker_id, response, cause)
            case UpdateMetadataResponseReceived():
                pass  # Kafka logs an error response here; the event ResponseReceived records it
            case IsrChangeNotification():
                await self._isr_changes.process_isr_change_notification(cause)
            case LogDirEventNotification():
                await self._log_dirs.process_log_dir_event_notification(cause)
            case ZkPartitionReassignment():
                await self._reassignments.process_zk_partition_reassignment(cause)
            case QuarantinedZnodeChange(path):
                await self._quarantined.process_quarantined_znode_change(path, cause)
            case PartitionReassignmentIsrChange(tp):
                await self._reassignments.process_isr_change(tp, cause)
            case _:
                await self._dispatch_requests(event, cause)

    async def _dispatch_requests(self, event: RequestEvent, cause: int) -> None:
        """Dispatch the events that are requested by a person, a client or a setting."""
        match event:
            case ApiPartitionReassignment(targets, altered):
                altered.resolve(await self._reassignments.process_api_partition_reassignment(targets, cause))
            case ListPartitionReassignments(partitions, listed):
                listed.resolve(self._reassignments.listed_reassignments(partitions))
            case ReplicaLeaderElection(answer=elected):
                results = await self._elections.process_replica_leader_election(event, cause)
                if elected is not None and results is not None:
                    elected.resolve(results)
            case AutoPreferredReplicaLeaderElection():
                await self._elections.process_auto_preferred_replica_leader_election(cause)
            case UncleanLeaderElectionEnable():
                await self._elections.process_unclean_leader_election_enable(cause)
            case TopicUncleanLeaderElectionEnable(topic):
                await self._elections.process_unclean_leader_election_enable(cause, topic)
            case AlterIsrReceived():
                await self._isr_changes.process_alter_isr(event, cause)
            case AllocateProducerIds():
                await self._producer_ids.process_allocate_producer_ids(event, cause)
            case ControlledShutdown():
                await self._controlled_shutdown.process_controlled_shutdown(event, cause)
            case _:
                assert_never(event)

    # --- election

    async def _process_startup(self, cause: int) -> None:
        await self._watch_controller(cause)
        await self._watch_controller_epoch(cause)
        await self._elect(cause)
        await self._watch_own_registration(cause)

    async def _resign_or_stand(self, cause: int) -> None:
        """Resign if this broker is the controller no more. A hardened broker stands for election if there is none."""
        exists = await self._maybe_resign(cause)
        if not exists and self._config.hardening.stands_while_there_is_none:
            self.event_manager.put(Reelect(), cause)
        await self._watch_own_registration(cause)

    async def _watch_controller_epoch(self, cause: int) -> None:
        """Watch /controller_epoch, and remember its content, if this broker is hardened."""
        if self._config.hardening.keeps_controller_epoch:
            changed = partial(self.event_manager.put, ControllerEpochChange())
            handler = NodeHandler(created=changed, data_changed=changed, deleted=changed)
            if await self._client.register_and_check_existence(paths.CONTROLLER_EPOCH, handler, cause):
                await self._role.read_epoch(cause)

    async def _process_controller_epoch_change(self, cause: int) -> None:
        """Read /controller_epoch again, which re-arms the watch.

        If its version is not the one of this controller's election, although this broker is the controller, the znode was
        written by hand, and ZooKeeper refuses every write of this controller: another election is held. A broker that could
        not be elected, because the znode held no number, stands again.
        """
        if await self._client.check_existence(paths.CONTROLLER_EPOCH, cause):
            stored = await self._role.read_epoch(cause)
            if stored is not None and self.is_active and stored[1] != self.context.epoch_zk_version:
                await self._trigger_controller_move(cause, stored[1])
                return
        await self._resign_or_stand(cause)

    async def _watch_own_registration(self, cause: int) -> None:
        """Register this broker again if its registration is gone, and watch it, if the broker is hardened.

        The active controller sees all registrations by another watch.
        """
        if self.is_active or not self._config.hardening.registers_again:
            return
        deleted = NodeHandler(deleted=partial(self.event_manager.put, OwnRegistrationDeleted()))
        if not await self._client.register_and_check_existence(paths.broker_id(self.broker_id), deleted, cause):
            await self._register_broker(cause)
            await self._client.check_existence(paths.broker_id(self.broker_id), cause)

    async def _watch_controller(self, cause: int) -> bool:
        """Register a handler for /controller and return whether it exists, which arms the watch."""
        put = self.event_manager.put
        return await self._client.register_and_check_existence(
            paths.CONTROLLER,
            NodeHandler(
                created=lambda seen: put(ControllerChange(), seen),
                data_changed=lambda seen: put(ControllerChange(), seen),
                deleted=lambda seen: put(Reelect(), seen),
            ),
            cause,
        )

    async def _elect(self, cause: int) -> None:
        """Stand for election, unless there is a controller already; the winner fails over.

        Source: Kafka 2.8, KafkaController.elect; docs/kafka/znodes.md 4.2.
        """
        started = self._sink.emit(EventKind.ELECTION_STARTED, cause, broker_id=self.broker_id)
        try:
            self.active_controller_id = await self._read_controller(started)
            if self.active_controller_id is not None:
                # A broker that finds its own id does not check which session owns the znode: it believes itself elected
                # (KAFKA-13407).
                is_blind = self.is_active and not self.context.epoch
                blind = ", and never took over" if is_blind else ""
                fields = EventFields(
                    controller_id=self.active_controller_id,
                    rule=DecisionRule.CONTROLLER_EXISTS.value,
                    detail=f"Broker {self.active_controller_id} has been elected as the controller already{blind}",
                )
                reason = FailureReason.NEVER_TOOK_OVER if is_blind else None
                self._sink.emit(EventKind.ELECTION_LOST, started, **with_reason(fields, reason))
                return
            if self._config.hardening.owns_role_by_session:
                await self._role.delete_left_over(started)
            epoch, zk_version = await self._role.register_and_increment_epoch(started)
            self.context.epoch = epoch
            self.context.epoch_zk_version = zk_version if self._config.protections.controller_epoch_fence else UNFENCED
            self.active_controller_id = self.broker_id
            won = self._sink.emit(
                EventKind.ELECTION_WON,
                started,
                controller_id=self.broker_id,
                controller_epoch=epoch,
                controller_epoch_zk_version=zk_version,
                rule=DecisionRule.ELECTION_APPLIED.value,
            )
            await self._on_controller_failover(won)
        except ControllerMovedError as moved:
            await self._resign_or_stand(started)
            self._sink.emit(
                EventKind.ELECTION_LOST,
                started,
                controller_id=-1 if self.active_controller_id is None else self.active_controller_id,
                rule=DecisionRule.ELECTION_REFUSED.value,
                detail=str(moved),
            )
        except EXPECTED_FAILURES as error:
            failed = EventFields(
                error=name_of_error(error),
                detail=f"Error while electing or becoming controller on broker {self.broker_id}: {error}",
            )
            self._sink.emit(EventKind.CONTROLLER_EVENT_FAILED, started, **with_reason(failed, reason_of_error(error)))
            await self._trigger_controller_move(started)

    async def _maybe_resign(self, cause: int) -> bool:
        """Read /controller; resign if this broker was the controller and is not now. Re-arms the watch on /controller.

        Return whether /controller exists.
        """
        was_active = self.is_active
        exists = await self._watch_controller(cause)
        self.active_controller_id = await self._read_controller(cause)
        if was_active and not self.is_active:
            self._resign(cause)
        return exists

    async def _read_controller(self, cause: int) -> BrokerId | None:
        return await self._role.read_controller(self.context.epoch != NO_EPOCH, cause)

    async def _trigger_controller_move(self, cause: int, fence: ControllerEpochZkVersion | None = None) -> None:
        """Resign and delete /controller, which starts an election on every broker.

        Args:
            fence: the version of /controller_epoch on which the deletion depends; None: that of this controller's election.
        """
        self.active_controller_id = await self._read_controller(cause)
        if not self.is_active:
            self._sink.emit(EventKind.CONTROLLER_MOVED, cause, detail="the role has moved on already")
            return
        zk_version = self.context.epoch_zk_version if fence is None else fence
        self.active_controller_id = None
        self._resign(cause)
        try:
            await self._kafka_zk.controller.delete(zk_version, cause)
        except ControllerMovedError as moved:
            self._sink.emit(EventKind.CONTROLLER_MOVED, cause, detail=str(moved))

    # --- failover and resignation

    async def _on_controller_failover(self, won: int) -> None:
        """Take over the cluster, in Kafka's order: watches, left-over notifications, then the state of the cluster.

        Source: Kafka 2.8, KafkaController.onControllerFailover; docs/kafka/controller.md 5.1.
        """
        await self._feature_versioning.set_up(won)
        self._sink.emit(
            EventKind.CONTROLLER_FAILOVER,
            won,
            step=ControllerFailoverStep.REGISTERING_HANDLERS.value,
            controller_epoch=self.context.epoch,
            inputs=self._settings_in_force(),
            unclean_leader_election_enable=self._unclean.default,
        )
        self._brokers.register()
        self._topics.register()
        self._deletions.register()
        self._log_dirs.register()
        self._isr_changes.register()
        await self._elections.register_and_check_existence(won)
        await self._reassignments.register_and_check_existence(won)
        deleting = self._step(ControllerFailoverStep.DELETING_NOTIFICATIONS, won)
        await self._log_dirs.delete_all(deleting)
        await self._isr_changes.delete_all(deleting)
        await self._initialize_controller_context(self._step(ControllerFailoverStep.INITIALIZING_CONTEXT, won))
        known = self.context.live_or_shutting_down_broker_ids
        fetching = self._step(ControllerFailoverStep.FETCHING_DELETIONS, won, brokers=known)
        await self._deletions.init(fetching)
        await self._reassignments.end_those_of_deleted_topics(fetching)
        # Brokers must learn which brokers are alive before any LeaderAndIsr names a leader that they do not know.
        await self._own.send_update_metadata(self._step(ControllerFailoverStep.SENDING_UPDATE_METADATA, won))
        await self._replicas.startup(self._step(ControllerFailoverStep.STARTING_REPLICA_STATE_MACHINE, won))
        await self._partitions.startup(self._step(ControllerFailoverStep.STARTING_PARTITION_STATE_MACHINE, won))
        context = self.context
        self._sink.emit(
            EventKind.CONTROLLER_FAILOVER,
            won,
            step=ControllerFailoverStep.READY.value,
            controller_id=self.broker_id,
            controller_epoch=context.epoch,
            brokers=context.live_or_shutting_down_broker_ids,
            count=len(context.assignments),
            detail=f"{len(context.live_brokers)} live brokers, {len(context.topics)} topics, "
            f"{len(context.assignments)} partitions, {len(context.topics_to_be_deleted)} topics to delete",
        )
        for tp in self._states.take_repaired() if isinstance(self._states, HardenedPartitionStates) else ():
            await self._contained(self._leader_epochs.update_leader_epoch_and_send_request(tp, won), won)
        resuming = self._step(ControllerFailoverStep.RESUMING_REASSIGNMENTS, won)
        await self._contained(self._reassignments.resume(resuming), resuming)
        resuming = self._step(ControllerFailoverStep.RESUMING_DELETIONS, won)
        await self._contained(self._deletions.resume_deletions(resuming), resuming)
        starting = self._step(ControllerFailoverStep.STARTING_PREFERRED_ELECTION, won)
        await self._contained(self._elections.resume(starting), starting)
        self._elections.start_scheduler(self._step(ControllerFailoverStep.STARTING_SCHEDULER, won))

    async def _contained(self, work: Awaitable[None], cause: int) -> None:
        """Do a part of the failover without which the cluster can be served.

        A failure that concerns what is known of a partition ends the failover, unless the controller is hardened.
        """
        try:
            await work
        except PARTITION_FAILURES as error:
            if not self._config.hardening.isolates_failures:
                raise
            failed = EventFields(error=name_of_error(error), detail=f"A part of the failover failed: {error}")
            self._sink.emit(EventKind.CONTROLLER_EVENT_FAILED, cause, **with_reason(failed, reason_of_error(error)))

    def _step(self, step: ControllerFailoverStep, won: int, brokers: Sequence[BrokerId] | None = None) -> int:
        fields = EventFields(step=step.value, controller_epoch=self.context.epoch)
        if brokers is not None:
            fields["brokers"] = brokers
        return self._sink.emit(EventKind.CONTROLLER_FAILOVER, won, **fields)

    def _settings_in_force(self) -> str:
        """Describe the settings that elections use where a topic does not override them.

        A broker's settings are in no znode.
        """
        return f"{UNCLEAN_SETTING}={str(self._unclean.default).lower()}"

    async def _initialize_controller_context(self, cause: int) -> None:
        context = self.context
        context.add_live_brokers(await self._brokers.read_live_brokers(cause))
        context.topics = set(await self._kafka_zk.topics.names(register_watch=True, cause=cause))
        partitions = await self._topics.read_topics(context.topics, cause)
        moving = (tp for tp in partitions if context.assignments[tp].is_being_reassigned)
        context.partitions_being_reassigned.update(moving)
        await self._brokers.register_modifications(context.live_or_shutting_down_broker_ids, cause)
        for tp, state in (await self._states.read(partitions, cause)).items():
            context.put_leadership(tp, state)
        self._check_epochs()
        self._refused_states.remember_found()
        self.channel_manager.startup(context.live_brokers.values(), cause)

    def _check_epochs(self) -> None:
        """Check that no state was written in a later epoch, if this broker is hardened. Raises: IllegalStateError.

        Another election follows then, in a higher epoch, once for each such epoch. Only a /controller_epoch that was lowered
        by hand, or a state that was written by hand, leads to this.
        """
        context = self.context
        latest = max((state.controller_epoch for state in context.leadership.values()), default=context.epoch)
        if latest > context.epoch and self._config.hardening.keeps_controller_epoch and self._role.learns_epoch(latest):
            raise IllegalStateError(f"a partition's state was written in controller epoch {latest}, a later one than this")

    def _resign(self, cause: Cause) -> None:
        """Resign, in Kafka's order. Harmless on a broker that was not the controller."""
        was_epoch = self.context.epoch
        resigned = None
        if was_epoch != NO_EPOCH:
            resigned = self._sink.emit(
                EventKind.CONTROLLER_RESIGNED, cause, controller_id=self.broker_id, controller_epoch=was_epoch
            )
        self._quarantined.unregister()
        self._quarantine.clear()
        self._isr_changes.unregister()
        self._client.unregister_node_handler(paths.REASSIGN_PARTITIONS)
        self._client.unregister_node_handler(paths.PREFERRED_REPLICA_ELECTION)
        self._log_dirs.unregister()
        self._brokers.unregister_modifications(self.context.live_or_shutting_down_broker_ids)
        self._elections.stop_scheduler()
        self._reassignments.unregister()
        self._topics.unregister()
        self._deletions.unregister()
        self._brokers.unregister()
        if resigned is not None:
            self.channel_manager.shutdown(resigned)
        if self._config.hardening.isolates_failures:
            for batch in self._batches:
                batch.clear()
        self.context.reset()
