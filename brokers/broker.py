"""One simulated broker: it registers in ZooKeeper, stands for election as controller, and serves the controller's requests.

Start-up and shutdown in Kafka's order. Source: Kafka 2.8, KafkaServer.startup and shutdown; reference znodes.md 5.2,
requests.md 10.
"""

from contextlib import suppress
from dataclasses import replace
from functools import partial

from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.controlled_shutdown import ControlledShutdown
from kcsim.brokers.data_path import DataPath
from kcsim.brokers.disk import Disk
from kcsim.brokers.dynamic_config import DynamicConfig
from kcsim.brokers.groups.coordinator import GroupCoordinator
from kcsim.brokers.groups.group_log import ReplicatedGroupLog, follow_roles
from kcsim.brokers.groups.offsets_topic import create_offsets_topic
from kcsim.brokers.isr import UNAVAILABLE
from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.brokers.ports import AddressInUseError, Listening, Network
from kcsim.brokers.replica_manager import ReplicaManager
from kcsim.brokers.request_handlers import RequestHandlers
from kcsim.controller.decisions.placement import RandomNumbers
from kcsim.controller.kafka_controller import KafkaController
from kcsim.controller.requests import UNKNOWN_BROKER_EPOCH, ControlledShutdownRequest, ControlledShutdownResponse
from kcsim.zk import paths
from kcsim.zk.errors import NodeExistsError, ZooKeeperError, ZooKeeperUnavailableError
from kcsim.zk.events import EventKind
from kcsim.zk.kafka_zk import KafkaZk
from kcsim.zk.ports import Cause, EventSink, Runtime, ZooKeeper
from kcsim.zk.vocabulary import BrokerEpoch, BrokerId, BrokerInfo, Endpoint
from kcsim.zk.znodes import BadZnodeError
from kcsim.zk.zookeeper_client import ZooKeeperClient, ZooKeeperClientExpiredError

ID_IS_TAKEN = "another broker has this id, or the session of its last life has not expired yet"
EXPECTED_FAILURES = (
    ZooKeeperUnavailableError,
    ZooKeeperError,
    ZooKeeperClientExpiredError,
    BadZnodeError,
    AddressInUseError,
)
"""What can go wrong at a start, in a world of taken ids and hand-edited znodes. Anything else is a defect."""


class BrokerStartError(Exception):
    """The broker refuses to start, as Kafka's does; says why."""


class Broker:
    """A broker, from start to stop.

    Args:
        network: as the broker's process has it.
        disk: what an earlier life of the broker may have left something on.
        epoch_ms: wall-clock time of the run's beginning, in ms since 1970; what the broker writes as `timestamp`.
        numbers: for what it draws: the placement of __consumer_offsets, and ids of group members.
    """

    def __init__(
        self,
        broker_id: BrokerId,
        rack: str | None,
        config: BrokerConfig,
        runtime: Runtime,
        zookeeper: ZooKeeper,
        network: Network,
        disk: Disk,
        sink: EventSink,
        epoch_ms: int,
        numbers: RandomNumbers,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch: BrokerEpoch | None = None
        self.disk = disk
        self._config = config
        self._runtime = runtime
        self._network = network
        self._sink = sink
        self._epoch_ms = epoch_ms
        self._numbers = numbers
        self._listening: Listening | None = None
        self._has_started = False
        self._info = BrokerInfo(broker_id, (_endpoint(broker_id, config),), rack)
        self.client = ZooKeeperClient(
            runtime, zookeeper, sink, config.zookeeper_session_timeout_ms, config.connect_timeout_ms
        )
        self.kafka_zk = KafkaZk(self.client, epoch_ms)
        self.controller = KafkaController(
            broker_id, runtime, self.client, self.kafka_zk, sink, self._register, network, config.controller
        )
        self._build()

    def _build(self) -> None:
        """Put the parts together that serve requests."""
        broker_id, runtime, sink = self.broker_id, self._runtime, self._sink
        listener = self._config.controller.inter_broker_listener_name
        self.metadata = MetadataCache()
        self.data = DataPath(
            broker_id, runtime, self._network, self.kafka_zk, sink, self.disk, self.metadata, self._config, self._epoch_ms
        )
        self.replicas = ReplicaManager(
            broker_id, runtime, self.kafka_zk, sink, self.disk, self.metadata, self.data, listener
        )
        self.groups = self._group_coordinator()
        self._handlers = RequestHandlers(
            runtime, sink, self.replicas, self.data.requests, self.groups, self._own_epoch, self._handle_controlled_shutdown
        )
        self.dynamic_config = DynamicConfig(
            broker_id,
            self._config.controller.unclean_leader_election_enable,
            runtime,
            self.client,
            self.kafka_zk,
            sink,
            self.controller,
            self._epoch_ms,
            self.replicas.change_settings,
        )

    def _group_coordinator(self) -> GroupCoordinator:
        config = self._config
        log = ReplicatedGroupLog(self.data.produce, self.disk, config.offsets_commit_timeout_ms)
        create_topic = partial(
            create_offsets_topic,
            self.kafka_zk,
            config.offsets_topic_num_partitions,
            config.offsets_topic_replication_factor,
            self._numbers,
        )
        groups = GroupCoordinator(self._runtime, self._sink, config, self.metadata, log, create_topic, self._numbers)
        self.replicas.watch_roles(partial(follow_roles, groups, self.data.hosted))
        return groups

    # --- start

    async def startup(self, cause: Cause) -> None:
        """Come up: session, top-level znodes, cluster id, socket, registration, controller module; then serve.

        Raises: BrokerStartError when ZooKeeper cannot be reached, the id or an address is taken, or a znode is unreadable.
        """
        try:
            listening = await self._come_up(cause)
        except (BrokerStartError, *EXPECTED_FAILURES) as error:
            if self._listening is not None:
                self._listening.close()
            await self.client.close(cause)
            if isinstance(error, BrokerStartError):
                raise
            why = f"{error}: {ID_IS_TAKEN}" if isinstance(error, NodeExistsError) else str(error)
            raise BrokerStartError(f"broker {self.broker_id} does not start: {why}") from error
        self.data.retention.startup(cause)
        # Only now: what the controller has sent meanwhile waits in the socket.
        self._handlers.start(listening)
        self._has_started = True

    async def _come_up(self, cause: Cause) -> Listening:
        await self.client.connect(cause)
        await self.kafka_zk.create_top_level_paths(cause)
        await self.kafka_zk.get_or_create_cluster_id(cause)
        await self.dynamic_config.read_own(cause)
        self.disk.mount()
        await self.replicas.read_settings(cause)
        (endpoint,) = self._info.endpoints
        self._listening = self._network.listen(endpoint.host, endpoint.port)
        await self._refuse_taken_endpoints(cause)
        await self._register(cause)
        self.controller.startup(cause)
        await self.dynamic_config.startup(cause)
        return self._listening

    async def _refuse_taken_endpoints(self, cause: Cause) -> None:
        mine = {(e.host, e.port) for e in self._info.endpoints}
        for other, _ in await self.kafka_zk.all_brokers_with_epochs(cause, register_watch=False):
            taken = mine & {(e.host, e.port) for e in other.endpoints}
            if other.broker_id != self.broker_id and taken:
                host, port = sorted(taken)[0]
                raise BrokerStartError(
                    f"Configured end points {host}:{port} in advertised listeners are already registered "
                    f"by broker {other.broker_id}"
                )

    async def _register(self, cause: Cause) -> None:
        """Register, under a new broker epoch. Raises: ZooKeeperError (NodeExistsError: the id is taken)."""
        info = replace(self._info, timestamp_ms=self._epoch_ms + self._runtime.now_ms())
        self.broker_epoch = await self.kafka_zk.register_broker(info, cause)
        self._sink.emit(
            EventKind.BROKER_REGISTERED,
            cause,
            broker_id=self.broker_id,
            broker_epoch=self.broker_epoch,
            path=paths.broker_id(self.broker_id),
        )

    def _own_epoch(self) -> BrokerEpoch:
        assert self.broker_epoch is not None, "asked before the broker has registered"
        return self.broker_epoch

    async def _handle_controlled_shutdown(
        self, request: ControlledShutdownRequest, cause: int
    ) -> ControlledShutdownResponse:
        return await self.controller.controlled_shutdown(request.broker_id, request.broker_epoch, cause)

    # --- end

    async def shutdown(self, cause: Cause) -> None:
        """Go down in order: hand the leaderships over, stop serving, then fetching, then the controller module, which
        resigns; the ZooKeeper session comes last, and the registration goes with it.
        """
        self.replicas.is_shutting_down = True
        if self._has_started and self._config.controlled_shutdown_enable:
            await self._controlled_shutdown().run(cause)
        if self._listening is not None:
            self._listening.close()
        self._handlers.close()
        self.data.close()
        self.dynamic_config.close()
        await self.controller.shutdown(cause)
        await self.client.close(cause)

    def _controlled_shutdown(self) -> ControlledShutdown:
        return ControlledShutdown(
            self.broker_id,
            self._runtime,
            self._network,
            self.kafka_zk,
            self._sink,
            self._config,
            self._own_epoch if self._config.protections.broker_epoch else lambda: UNKNOWN_BROKER_EPOCH,
        )

    # --- log directories

    async def fail_log_dir(self, log_dir: str, cause: int) -> bool:
        """Lose a log directory, and let the controller know; False if it was the last one: then the process halts.

        The controller is not told of the last one: it sees the broker's death.
        """
        self.replicas.fail_log_dir(log_dir, cause)
        if not self.disk.live_dirs:
            return False
        # Without a session nobody is told, as in Kafka; the next LeaderAndIsr finds out.
        with suppress(*UNAVAILABLE):
            await self.kafka_zk.create_log_dir_event_notification(self.broker_id, cause)
        return True


def _endpoint(broker_id: BrokerId, config: BrokerConfig) -> Endpoint:
    listener = config.controller.inter_broker_listener_name
    return Endpoint(listener, "PLAINTEXT", config.host_name, config.port_of(broker_id))
