"""The controller module that every broker has: it stands for election, and the winner runs the cluster.

Election, failover, resignation and the dispatch of events; the events of each family are processed in handlers/. Everything
here runs on the controller's event thread. Source: Kafka 2.8, KafkaController.
"""

from collections.abc import Awaitable, Callable
from typing import assert_never

from kcsim.controller.context import NO_EPOCH, ControllerContext
from kcsim.controller.errors import IllegalStateError
from kcsim.controller.event_manager import ControllerEventManager, QueuedEvent
from kcsim.controller.events import (
    BrokerChange,
    BrokerModifications,
    ControllerChange,
    ControllerEvent,
    Expire,
    IsrChangeNotification,
    LogDirEventNotification,
    PartitionModifications,
    Reelect,
    RegisterBrokerAndReelect,
    ReplicaLeaderElection,
    ShutdownEventThread,
    Startup,
    TopicChange,
    TopicDeletion,
    ZkPartitionReassignment,
    name_of,
)
from kcsim.controller.handlers.brokers import BrokerHandlers
from kcsim.controller.handlers.core import Core
from kcsim.controller.handlers.notifications import NotificationHandlers
from kcsim.controller.handlers.topics import TopicHandlers
from kcsim.zk import paths
from kcsim.zk.errors import ControllerMovedError, ZooKeeperError
from kcsim.zk.events import EventKind
from kcsim.zk.kafka_zk import KafkaZk
from kcsim.zk.ports import Cause, EventSink, Runtime
from kcsim.zk.vocabulary import BrokerId
from kcsim.zk.znodes import BadZnodeError
from kcsim.zk.zookeeper_client import NodeHandler, SessionHandler, ZooKeeperClient, ZooKeeperClientExpiredError

EXPECTED_FAILURES = (ZooKeeperError, ZooKeeperClientExpiredError, BadZnodeError, IllegalStateError)
"""What can go wrong while an event is processed, in a world of crashes and hand-edited znodes. Anything else is a defect."""


class KafkaController:
    """The controller module of one broker.

    Args:
        register_broker: registers the broker anew after its session expired, under a new broker epoch; may raise
            ZooKeeperError.
    """

    def __init__(
        self,
        broker_id: BrokerId,
        runtime: Runtime,
        client: ZooKeeperClient,
        kafka_zk: KafkaZk,
        sink: EventSink,
        register_broker: Callable[[Cause], Awaitable[None]],
    ) -> None:
        self.broker_id = broker_id
        self.active_controller_id: BrokerId | None = None
        self.context = ControllerContext()
        self.event_manager = ControllerEventManager(runtime, sink, self._process)
        self._client = client
        self._kafka_zk = kafka_zk
        self._sink = sink
        self._register_broker = register_broker
        core = Core(self.context, client, kafka_zk, sink, self.event_manager.put)
        self._brokers = BrokerHandlers(core)
        self._topics = TopicHandlers(core)
        self._notifications = NotificationHandlers(core)

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

    def _before_new_session(self, cause: Cause) -> QueuedEvent:
        # What is queued was meant for a role that this broker may no longer have; it must not be begun.
        return self.event_manager.clear_and_put(Expire(), cause)

    def _after_new_session(self, cause: Cause) -> None:
        self.event_manager.put(RegisterBrokerAndReelect(), cause)

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
            error=_name_of_error(error),
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
                await self._topics.process_topic_deletion(cause)
            case IsrChangeNotification():
                await self._notifications.process_isr_change_notification(cause)
            case LogDirEventNotification():
                await self._notifications.process_log_dir_event_notification(cause)
            case ZkPartitionReassignment():
                await self._client.check_existence(paths.REASSIGN_PARTITIONS, cause)
            case ReplicaLeaderElection():
                await self._client.check_existence(paths.PREFERRED_REPLICA_ELECTION, cause)
            case Startup() | ControllerChange() | Reelect() | RegisterBrokerAndReelect() | Expire() | ShutdownEventThread():
                raise AssertionError("processed whether active or not")
            case _:
                assert_never(event)

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
                self._sink.emit(
                    EventKind.ELECTION_LOST,
                    started,
                    controller_id=self.active_controller_id,
                    rule="/controller exists: stop",
                    detail=f"Broker {self.active_controller_id} has been elected as the controller already",
                )
                return
            epoch, zk_version = await self._kafka_zk.register_controller_and_increment_epoch(self.broker_id, started)
            self.context.epoch, self.context.epoch_zk_version = epoch, zk_version
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
                error=_name_of_error(error),
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

        Source: Kafka 2.8, KafkaController.onControllerFailover.
        """
        self._step("Registering handlers", won)
        self._brokers.register()
        self._topics.register()
        self._notifications.register()
        await self._watch_admin_nodes(won)
        await self._notifications.delete_all(self._step("Deleting log dir event and isr change notifications", won))
        await self._initialize_controller_context(self._step("Initializing controller context", won))
        asked = await self._kafka_zk.topic_deletions(register_watch=True, cause=won)
        self.context.topics_to_be_deleted = set(asked) & self.context.topics
        context = self.context
        self._sink.emit(
            EventKind.CONTROLLER_FAILOVER,
            won,
            step="Ready to serve as the new controller",
            controller_id=self.broker_id,
            controller_epoch=context.epoch,
            brokers=list(context.live_broker_ids),
            count=len(context.assignments),
            detail=f"{len(context.live_brokers)} live brokers, {len(context.topics)} topics, "
            f"{len(context.assignments)} partitions, {len(context.topics_to_be_deleted)} topics to delete",
        )

    def _step(self, step: str, won: int) -> int:
        return self._sink.emit(EventKind.CONTROLLER_FAILOVER, won, step=step, controller_epoch=self.context.epoch)

    async def _watch_admin_nodes(self, cause: int) -> None:
        put = self.event_manager.put
        await self._client.register_and_check_existence(
            paths.PREFERRED_REPLICA_ELECTION,
            NodeHandler(created=lambda seen: put(ReplicaLeaderElection(), seen)),
            cause,
        )
        await self._client.register_and_check_existence(
            paths.REASSIGN_PARTITIONS, NodeHandler(created=lambda seen: put(ZkPartitionReassignment(), seen)), cause
        )

    async def _initialize_controller_context(self, cause: int) -> None:
        context = self.context
        context.add_live_brokers(await self._kafka_zk.all_brokers_with_epochs(cause))
        context.topics = set(await self._kafka_zk.all_topics(register_watch=True, cause=cause))
        partitions = await self._topics.read_topics(context.topics, cause)
        await self._brokers.register_modifications(context.live_broker_ids, cause)
        context.leadership.update(await self._kafka_zk.partition_states(partitions, cause))

    def _resign(self, cause: Cause) -> None:
        """Put the role down, in Kafka's order; harmless on a broker that did not have it."""
        was_epoch = self.context.epoch
        self._notifications.unregister_isr_changes()
        self._client.unregister_node_handler(paths.REASSIGN_PARTITIONS)
        self._client.unregister_node_handler(paths.PREFERRED_REPLICA_ELECTION)
        self._notifications.unregister_log_dir_events()
        self._brokers.unregister_modifications(self.context.live_broker_ids)
        self._topics.unregister()
        self._brokers.unregister()
        self.context.reset()
        if was_epoch != NO_EPOCH:
            self._sink.emit(EventKind.CONTROLLER_RESIGNED, cause, controller_id=self.broker_id, controller_epoch=was_epoch)


def _name_of_error(error: Exception) -> str:
    """ZooKeeper's own name where it has one, else the type."""
    return error.name if isinstance(error, ZooKeeperError) else type(error).__name__
