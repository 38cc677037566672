"""The controller module that every broker has: it stands for election, and the winner runs the cluster.

Election, failover, resignation and the dispatch of events; the events of each family are processed in handlers/. Everything
here runs on the controller's event thread. Source: Kafka 2.8, KafkaController; reference controller.md 2 to 5.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence

from kcsim.controller.broker_request_batch import ControllersOwnBatch
from kcsim.controller.channel_manager import ControllerChannelManager
from kcsim.controller.config import ControllerConfig
from kcsim.controller.context import NO_EPOCH, ControllerContext
from kcsim.controller.core import EXPECTED_FAILURES, Core, name_of_error
from kcsim.controller.event_manager import ControllerEventManager, QueuedEvent
from kcsim.controller.events import (
    ApiPartitionReassignment,
    AutoPreferredReplicaLeaderElection,
    BrokerChange,
    BrokerModifications,
    ControlledShutdown,
    ControllerChange,
    ControllerEvent,
    ElectionResults,
    ElectionTrigger,
    ElectionType,
    Expire,
    IsrChangeNotification,
    LeaderAndIsrResponseReceived,
    ListPartitionReassignments,
    LogDirEventNotification,
    PartitionModifications,
    PartitionReassignmentIsrChange,
    ReassignmentTargets,
    Reelect,
    RegisterBrokerAndReelect,
    ReplicaLeaderElection,
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
from kcsim.controller.handlers.brokers import BrokerHandlers
from kcsim.controller.handlers.controlled_shutdown import ControlledShutdownHandler
from kcsim.controller.handlers.elections import ElectionHandlers
from kcsim.controller.handlers.notifications import NotificationHandlers
from kcsim.controller.handlers.reassignment import ReassignmentHandlers
from kcsim.controller.handlers.topics import TopicHandlers
from kcsim.controller.metrics import (
    CHANNEL_MANAGER,
    CONTROLLER,
    EVENT_MANAGER,
    ControllerMetrics,
    Reading,
    as_json,
    reading_of,
)
from kcsim.controller.partition_state_machine import UNCLEAN_SETTING, PartitionStateMachine
from kcsim.controller.ports import Transport
from kcsim.controller.replica_state_machine import ReplicaStateMachine
from kcsim.controller.requests import ControlledShutdownResponse, ErrorCode
from kcsim.controller.topic_deletion_manager import TopicDeletionManager
from kcsim.zk import paths
from kcsim.zk.errors import ControllerMovedError
from kcsim.zk.events import EventFields, EventKind
from kcsim.zk.fencing import UNFENCED
from kcsim.zk.kafka_zk import KafkaZk
from kcsim.zk.ports import Cause, EventSink, Promise, Runtime
from kcsim.zk.vocabulary import BrokerEpoch, BrokerId, ReplicaAssignment, TopicPartition
from kcsim.zk.zookeeper_client import NodeHandler, SessionHandler, ZooKeeperClient


class KafkaController:
    """The controller module of one broker.

    Args:
        register_broker: registers the broker anew after its session expired, under a new broker epoch; may raise
            ZooKeeperError.
        transport: the way to other brokers, and to its own.
    """

    def __init__(
        self,
        broker_id: BrokerId,
        runtime: Runtime,
        client: ZooKeeperClient,
        kafka_zk: KafkaZk,
        sink: EventSink,
        register_broker: Callable[[Cause], Awaitable[None]],
        transport: Transport,
        config: ControllerConfig,
    ) -> None:
        self.broker_id = broker_id
        self.active_controller_id: BrokerId | None = None
        self.context = ControllerContext()
        self.metrics = ControllerMetrics()
        self.event_manager = ControllerEventManager(runtime, sink, self._process, self.metrics)
        self.channel_manager = ControllerChannelManager(runtime, transport, sink, config)
        self._runtime = runtime
        self._client = client
        self._kafka_zk = kafka_zk
        self._sink = sink
        self._config = config
        self._register_broker = register_broker
        core = Core(
            broker_id,
            config,
            self.context,
            runtime,
            client,
            kafka_zk,
            self.channel_manager,
            self.metrics,
            sink,
            self.event_manager.put,
            config.unclean_leader_election_enable,
        )
        self._core = core
        self._own = ControllersOwnBatch(core, self._trigger_controller_move)
        self._partitions = PartitionStateMachine(core)
        self._replicas = ReplicaStateMachine(core)
        self._deletions = TopicDeletionManager(core, self._partitions, self._replicas, self._own)
        self._reassignments = ReassignmentHandlers(core, self._partitions, self._replicas, self._deletions, self._own)
        self._topics = TopicHandlers(core, self._partitions, self._replicas)
        self._brokers = BrokerHandlers(
            core, self._partitions, self._replicas, self._deletions, self._reassignments, self._own
        )
        self._notifications = NotificationHandlers(core, self._replicas, self._brokers, self._reassignments, self._own)
        self._elections = ElectionHandlers(core, self._partitions)
        self._controlled_shutdown = ControlledShutdownHandler(core, self._partitions, self._replicas, self._own)

    @property
    def is_active(self) -> bool:
        return self.active_controller_id == self.broker_id

    # --- life of the module

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
            # As long as the client waited for a new session by itself (up to Kafka 1.0), what was queued met that one.
            self.event_manager.hold()
            return None
        # What is queued was meant for a role that this broker may no longer have; it must not be begun.
        return self.event_manager.clear_and_put(Expire(), cause)

    def _after_new_session(self, cause: Cause) -> None:
        self.event_manager.put(RegisterBrokerAndReelect(), cause)
        self.event_manager.release()

    def read_metrics(self) -> dict[str, Reading]:
        """Every metric of this controller module, by the name under which Kafka shows it."""
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

    # --- what brokers and admin clients ask for

    async def controlled_shutdown(
        self, broker_id: BrokerId, broker_epoch: BrokerEpoch, cause: Cause
    ) -> ControlledShutdownResponse:
        """A broker is about to stop: move what it leads. STALE_CONTROLLER_EPOCH when this is not the controller."""
        answer: Promise[ControlledShutdownResponse] = self._runtime.promise()
        self.event_manager.put(ControlledShutdown(broker_id, broker_epoch, answer), cause)
        return await answer.wait()

    async def alter_partition_reassignments(
        self, targets: ReassignmentTargets, cause: Cause
    ) -> dict[TopicPartition, ErrorCode]:
        """Start, replace or (target None) cancel reassignments; an error for each partition.

        Raises: NotControllerError; TimedOutError when there is no answer within request.timeout.ms.
        """
        answer: Promise[dict[TopicPartition, ErrorCode]] = self._runtime.promise()
        self.event_manager.put(ApiPartitionReassignment(targets, answer), cause)
        return await answer.wait(self._config.request_timeout_ms)

    async def list_partition_reassignments(
        self, partitions: Collection[TopicPartition] | None, cause: Cause
    ) -> dict[TopicPartition, ReplicaAssignment]:
        """What is being reassigned, of these partitions or of all. Raises: NotControllerError, TimedOutError."""
        answer: Promise[dict[TopicPartition, ReplicaAssignment]] = self._runtime.promise()
        self.event_manager.put(ListPartitionReassignments(partitions, answer), cause)
        return await answer.wait(self._config.request_timeout_ms)

    async def elect_leaders(
        self, election_type: ElectionType, partitions: Collection[TopicPartition] | None, cause: Cause
    ) -> ElectionResults:
        """Elect preferred leaders, or any that is alive, for these partitions or for all; an error for each.

        Raises: NotControllerError; TimedOutError also when the election failed as a whole: nobody answers then.
        """
        answer: Promise[ElectionResults] = self._runtime.promise()
        trigger = ElectionTrigger.ADMIN_CLIENT_TRIGGERED
        self.event_manager.put(ReplicaLeaderElection(partitions, election_type, trigger, answer), cause)
        return await answer.wait(self._config.request_timeout_ms)

    def enable_default_unclean_leader_election(self, cause: Cause) -> None:
        """unclean.leader.election.enable is on now, for the cluster: partitions without a leader get one."""
        self._core.unclean_leader_election_enable = True
        self.event_manager.put(UncleanLeaderElectionEnable(), cause)

    def disable_default_unclean_leader_election(self) -> None:
        """unclean.leader.election.enable is off now, for the cluster, as far as topics do not say otherwise."""
        self._core.unclean_leader_election_enable = False

    def enable_topic_unclean_leader_election(self, topic: str, cause: Cause) -> None:
        """unclean.leader.election.enable is on now for a topic. Only the active controller takes note."""
        if self.is_active:
            self.event_manager.put(TopicUncleanLeaderElectionEnable(topic), cause)

    # --- the event thread

    async def _process(self, event: ControllerEvent, cause: int) -> None:
        """Process one event, and let no expected failure stop the thread."""
        try:
            await self._dispatch(event, cause)
        except ControllerMovedError as moved:
            self._sink.emit(EventKind.CONTROLLER_MOVED, cause, event=name_of(event), detail=str(moved))
            await self._survive(self._maybe_resign(cause), event, cause)
        except EXPECTED_FAILURES as error:
            self._report_failure(event, error, cause)
        changed = self.metrics.refresh(self.context, self.is_active)
        if changed:
            self._sink.emit(EventKind.METRICS, cause, data=as_json(changed))

    async def _survive(self, work: Awaitable[None], event: ControllerEvent, cause: int) -> None:
        try:
            await work
        except EXPECTED_FAILURES as error:
            self._report_failure(event, error, cause)

    def _report_failure(self, event: ControllerEvent, error: Exception, cause: int) -> None:
        self._sink.emit(
            EventKind.CONTROLLER_EVENT_FAILED,
            cause,
            event=name_of(event),
            error=name_of_error(error),
            detail=f"Error processing event {name_of(event)}: {error}",
        )

    async def _dispatch(self, event: ControllerEvent, cause: int) -> None:
        match event:
            case Startup():
                await self._process_startup(cause)
            case ControllerChange():
                await self._maybe_resign(cause)
            case Reelect():
                await self._maybe_resign(cause)
                await self._elect(cause)
            case RegisterBrokerAndReelect():
                await self._register_broker(cause)
                await self._maybe_resign(cause)
                await self._elect(cause)
            case Expire():
                self.active_controller_id = None
                self._resign(cause)
            case ShutdownEventThread():
                raise AssertionError("the event thread ends at this event and does not process it")
            case _ if self.is_active:
                await self._dispatch_active(event, cause)
            case _:
                preempt(event)  # whoever waits for it hears that this is not the controller

    async def _dispatch_active(self, event: ControllerEvent, cause: int) -> None:
        match event:
            case BrokerChange():
                await self._brokers.process_broker_change(cause)
            case BrokerModifications(broker_id):
                await self._brokers.process_broker_modifications(broker_id, cause)
            case TopicChange():
                await self._topics.process_topic_change(cause)
            case PartitionModifications(topic):
                await self._topics.process_partition_modifications(topic, cause)
            case TopicDeletion():
                await self._deletions.process_topic_deletion(cause)
            case TopicDeletionStopReplicaResponseReceived(broker_id, stopped):
                await self._deletions.process_stop_replica_response(broker_id, stopped, cause)
            case LeaderAndIsrResponseReceived(broker_id, told):
                await self._notifications.process_leader_and_isr_response(broker_id, told, cause)
            case UpdateMetadataResponseReceived():
                pass  # Kafka writes a line to its log if it is an error, and so does ResponseReceived
            case IsrChangeNotification():
                await self._notifications.process_isr_change_notification(cause)
            case LogDirEventNotification():
                await self._notifications.process_log_dir_event_notification(cause)
            case ZkPartitionReassignment():
                await self._reassignments.process_zk_partition_reassignment(cause)
            case PartitionReassignmentIsrChange(tp):
                await self._reassignments.process_isr_change(tp, cause)
            case _:
                await self._dispatch_asked(event, cause)

    async def _dispatch_asked(self, event: ControllerEvent, cause: int) -> None:
        """Events that a person, a client or a setting asks for."""
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
            case ControlledShutdown():
                await self._controlled_shutdown.process_controlled_shutdown(event, cause)
            case _:
                raise AssertionError(f"{name_of(event)} is processed elsewhere")

    # --- election

    async def _process_startup(self, cause: int) -> None:
        await self._watch_controller(cause)
        await self._elect(cause)

    async def _watch_controller(self, cause: int) -> None:
        """Register for /controller and ask whether it exists, which arms the watch."""
        put = self.event_manager.put
        await self._client.register_and_check_existence(
            paths.CONTROLLER,
            NodeHandler(
                created=lambda seen: put(ControllerChange(), seen),
                data_changed=lambda seen: put(ControllerChange(), seen),
                deleted=lambda seen: put(Reelect(), seen),
            ),
            cause,
        )

    async def _elect(self, cause: int) -> None:
        """Stand for election, unless somebody holds the role; the winner fails over.

        Source: reference steps of KafkaController.elect: look, get or create the epoch, one multi of both.
        """
        started = self._sink.emit(EventKind.ELECTION_STARTED, cause, broker_id=self.broker_id)
        try:
            self.active_controller_id = await self._kafka_zk.controller_id(started)
            if self.active_controller_id is not None:
                # A broker that finds its own id does not ask whose znode that is: it believes itself elected (KAFKA-13407).
                blind = ", and never took over" if self.is_active and not self.context.epoch else ""
                self._sink.emit(
                    EventKind.ELECTION_LOST,
                    started,
                    controller_id=self.active_controller_id,
                    rule="/controller exists: stop",
                    detail=f"Broker {self.active_controller_id} has been elected as the controller already{blind}",
                )
                return
            epoch, zk_version = await self._kafka_zk.register_controller_and_increment_epoch(self.broker_id, started)
            self.context.epoch = epoch
            self.context.epoch_zk_version = zk_version if self._config.protections.controller_epoch_fence else UNFENCED
            self.active_controller_id = self.broker_id
            won = self._sink.emit(
                EventKind.ELECTION_WON,
                started,
                controller_id=self.broker_id,
                controller_epoch=epoch,
                controller_epoch_zk_version=zk_version,
                rule="the multi that creates /controller and raises /controller_epoch was applied",
            )
            await self._on_controller_failover(won)
        except ControllerMovedError as moved:
            await self._maybe_resign(started)
            self._sink.emit(
                EventKind.ELECTION_LOST,
                started,
                controller_id=-1 if self.active_controller_id is None else self.active_controller_id,
                rule="/controller or /controller_epoch changed first: the multi was refused",
                detail=str(moved),
            )
        except EXPECTED_FAILURES as error:
            self._sink.emit(
                EventKind.CONTROLLER_EVENT_FAILED,
                started,
                error=name_of_error(error),
                detail=f"Error while electing or becoming controller on broker {self.broker_id}: {error}",
            )
            await self._trigger_controller_move(started)

    async def _maybe_resign(self, cause: int) -> None:
        """Look who holds the role; resign if it was this broker and is no more. Re-arms the watch on /controller."""
        was_active = self.is_active
        await self._watch_controller(cause)
        self.active_controller_id = await self._kafka_zk.controller_id(cause)
        if was_active and not self.is_active:
            self._resign(cause)

    async def _trigger_controller_move(self, cause: int) -> None:
        """Give the role up by deleting /controller, which starts an election everywhere."""
        self.active_controller_id = await self._kafka_zk.controller_id(cause)
        if not self.is_active:
            self._sink.emit(EventKind.CONTROLLER_MOVED, cause, detail="the role has moved on already")
            return
        zk_version = self.context.epoch_zk_version
        self.active_controller_id = None
        self._resign(cause)
        try:
            await self._kafka_zk.delete_controller(zk_version, cause)
        except ControllerMovedError as moved:
            self._sink.emit(EventKind.CONTROLLER_MOVED, cause, detail=str(moved))

    # --- becoming and ceasing to be controller

    async def _on_controller_failover(self, won: int) -> None:
        """Take over the cluster, in Kafka's order: watches, left-over notifications, then everything that is known.

        Source: Kafka 2.8, KafkaController.onControllerFailover; reference controller.md 5.1.
        """
        self._step("Registering handlers", won, inputs=self._settings_in_force())
        self._brokers.register()
        self._topics.register()
        self._deletions.register()
        self._notifications.register()
        await self._elections.register_and_check_existence(won)
        await self._reassignments.register_and_check_existence(won)
        await self._notifications.delete_all(self._step("Deleting log dir event and isr change notifications", won))
        await self._initialize_controller_context(self._step("Initializing controller context", won))
        known = self.context.live_or_shutting_down_broker_ids
        await self._deletions.init(self._step("Fetching topic deletions in progress", won, brokers=known))
        # Brokers must learn who is alive before any LeaderAndIsr names a leader they have never heard of.
        await self._own.send_update_metadata(self._step("Sending update metadata request", won))
        await self._replicas.startup(self._step("Starting replica state machine", won))
        await self._partitions.startup(self._step("Starting partition state machine", won))
        context = self.context
        self._sink.emit(
            EventKind.CONTROLLER_FAILOVER,
            won,
            step="Ready to serve as the new controller",
            controller_id=self.broker_id,
            controller_epoch=context.epoch,
            brokers=context.live_or_shutting_down_broker_ids,
            count=len(context.assignments),
            detail=f"{len(context.live_brokers)} live brokers, {len(context.topics)} topics, "
            f"{len(context.assignments)} partitions, {len(context.topics_to_be_deleted)} topics to delete",
        )
        await self._reassignments.resume(self._step("Resuming reassignments", won))
        await self._deletions.resume_deletions(self._step("Resuming topic deletions", won))
        await self._elections.resume(self._step("Starting preferred replica leader election", won))
        self._elections.start_scheduler(self._step("Starting the controller scheduler", won))

    def _step(self, step: str, won: int, inputs: str | None = None, brokers: Sequence[BrokerId] | None = None) -> int:
        fields = EventFields(step=step, controller_epoch=self.context.epoch)
        if inputs is not None:
            fields["inputs"] = inputs
        if brokers is not None:
            fields["brokers"] = brokers
        return self._sink.emit(EventKind.CONTROLLER_FAILOVER, won, **fields)

    def _settings_in_force(self) -> str:
        """What elections go by where a topic does not say otherwise; a broker's settings are in no znode."""
        return f"{UNCLEAN_SETTING}={str(self._core.unclean_leader_election_enable).lower()}"

    async def _initialize_controller_context(self, cause: int) -> None:
        context = self.context
        context.add_live_brokers(await self._kafka_zk.all_brokers_with_epochs(cause))
        context.topics = set(await self._kafka_zk.all_topics(register_watch=True, cause=cause))
        partitions = await self._topics.read_topics(context.topics, cause)
        moving = (tp for tp in partitions if context.assignments[tp].is_being_reassigned)
        context.partitions_being_reassigned.update(moving)
        await self._brokers.register_modifications(context.live_or_shutting_down_broker_ids, cause)
        for tp, state in (await self._kafka_zk.partition_states(partitions, cause)).items():
            context.put_leadership(tp, state)
        self.channel_manager.startup(context.live_brokers.values(), cause)

    def _resign(self, cause: Cause) -> None:
        """Put the role down, in Kafka's order; harmless on a broker that did not have it."""
        was_epoch = self.context.epoch
        resigned = None
        if was_epoch != NO_EPOCH:
            resigned = self._sink.emit(
                EventKind.CONTROLLER_RESIGNED, cause, controller_id=self.broker_id, controller_epoch=was_epoch
            )
        self._notifications.unregister_isr_changes()
        self._client.unregister_node_handler(paths.REASSIGN_PARTITIONS)
        self._client.unregister_node_handler(paths.PREFERRED_REPLICA_ELECTION)
        self._notifications.unregister_log_dir_events()
        self._brokers.unregister_modifications(self.context.live_or_shutting_down_broker_ids)
        self._elections.stop_scheduler()
        self._reassignments.unregister()
        self._topics.unregister()
        self._deletions.unregister()
        self._brokers.unregister()
        if resigned is not None:
            self.channel_manager.shutdown(resigned)
        self.context.reset()
