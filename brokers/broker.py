"""One simulated broker: it registers in ZooKeeper, stands for election as controller, and serves the controller's requests.

Start-up and shutdown follow Kafka's order. Source: Kafka 2.8, KafkaServer.startup and shutdown; docs/kafka/znodes.md 5.2,
docs/kafka/requests.md 10.
"""

from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import get_args

from msgspec import structs

from kcsim.brokers.admin.auto_topic_creation import AutoTopicCreation
from kcsim.brokers.admin.cluster_changes import ClusterChanges
from kcsim.brokers.admin.config_changes import ConfigChanges
from kcsim.brokers.admin.config_handler import ConfigHandler
from kcsim.brokers.admin.leader_changes import LeaderChanges
from kcsim.brokers.admin.listed_reassignments import list_reassignments
from kcsim.brokers.admin.log_dirs import describe_log_dirs
from kcsim.brokers.admin.metadata_handler import MetadataHandler
from kcsim.brokers.admin.metadata_waits import MetadataWaits
from kcsim.brokers.admin.record_deletions import RecordDeletions
from kcsim.brokers.admin.requests import (
    DescribeConfigsRequest,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from kcsim.brokers.admin.topic_changes import TopicChanges
from kcsim.brokers.api.data_requests import DataRequest
from kcsim.brokers.api.producer_ids import GivesProducerIds, ProducerIdManager, RpcProducerIdManager
from kcsim.brokers.broker_to_controller_channel import BrokerToControllerChannel
from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.config_change_listener import ConfigChangeListener
from kcsim.brokers.controlled_shutdown import ControlledShutdownClient
from kcsim.brokers.data_path import DataPath, OutsideWrites
from kcsim.brokers.dynamic_config import DynamicConfig
from kcsim.brokers.finalized_features import FinalizedFeatures, UnsupportedFeaturesError
from kcsim.brokers.groups.admin_requests import GroupAdminRequest
from kcsim.brokers.groups.coordinator import GroupCoordinator, GroupStorage
from kcsim.brokers.groups.group_log import ReplicatedGroupLog, follow_roles
from kcsim.brokers.groups.group_requests import GroupRequests
from kcsim.brokers.groups.offsets_topic import OffsetsTopic
from kcsim.brokers.groups.requests import GroupRequest
from kcsim.brokers.log.disk import Disk, StorageError
from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.brokers.ports import AddressInUseError, BrokerPorts, Listening
from kcsim.brokers.replica_manager import ReplicaManager
from kcsim.brokers.replication.alter_isr import AlterIsrManager
from kcsim.brokers.replication.isr_writes import UNAVAILABLE, WritesIsr
from kcsim.brokers.replication.zk_isr import ZkIsrManager
from kcsim.brokers.request_handlers import Answer, RequestHandlers
from kcsim.brokers.requests import ApiVersionsRequest, ApiVersionsResponse, MetadataRequest
from kcsim.controller.decisions.placement import RandomNumbers
from kcsim.controller.decisions.topic_ids import TopicNumbers
from kcsim.controller.kafka_controller import KafkaController
from kcsim.controller.ports import ControllerPorts
from kcsim.controller.requests import (
    UNKNOWN_BROKER_EPOCH,
    AllocateProducerIdsRequest,
    AlterIsrRequest,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
)
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import BrokerEpoch, BrokerId, BrokerInfo, Endpoint
from kcsim.zk.errors import NodeExistsError, ZooKeeperError, ZooKeeperUnavailableError
from kcsim.zk.kafka.kafka_zk import gateways_on
from kcsim.zk.kafka.zookeeper_client import ZooKeeperClient, ZooKeeperClientExpiredError
from kcsim.zk.ports import ZooKeeper
from kcsim.znodes import BadZnodeError, paths

ID_IS_TAKEN = "another broker has this id, or the session of its last life has not expired yet"
EXPECTED_FAILURES = (
    ZooKeeperUnavailableError,
    ZooKeeperError,
    ZooKeeperClientExpiredError,
    BadZnodeError,
    AddressInUseError,
    UnsupportedFeaturesError,
)
"""Failures that can occur at a start, with ids that are taken and hand-edited znodes. Any other error is a defect."""


class BrokerStartError(Exception):
    """The broker refuses to start, as Kafka's does. The message says why, and does not name the broker."""


class Broker:
    """A broker, from start to stop.

    Args:
        info: what the broker registers; broker_info makes it.
        disk: may hold logs of an earlier run of the broker.
        numbers: the source of random numbers for the placement of topics, and for ids of topics and of group members.
    """

    def __init__(
        self,
        info: BrokerInfo,
        config: BrokerConfig,
        ports: BrokerPorts,
        zookeeper: ZooKeeper,
        disk: Disk,
        numbers: RandomNumbers,
    ) -> None:
        self.broker_id = info.broker_id
        self.broker_epoch: BrokerEpoch | None = None
        self.disk = disk
        self._info = info
        self._config = config
        self._ports = ports
        self._sink = ports.sink
        self._numbers = numbers
        self.capabilities = config.controller.capabilities
        self._topic_numbers = TopicNumbers(numbers, self.capabilities.topic_ids)
        self._listening: Listening | None = None
        self._has_started = False
        self.client = ZooKeeperClient(
            ports.runtime, zookeeper, ports.sink, config.zookeeper_session_timeout_ms, config.connect_timeout_ms
        )
        self.kafka_zk = gateways_on(self.client, ports.epoch_ms)
        self._has_features = self.capabilities.finalized_features
        self.features = FinalizedFeatures(
            ports.runtime,
            self.client,
            self.kafka_zk.features,
            ports.sink,
            config.connect_timeout_ms,
            ports.exit_process,
        )
        self.controller = KafkaController(
            self.broker_id,
            config.controller,
            ControllerPorts(ports.runtime, ports.control_plane, ports.sink, numbers, self.features),
            self.client,
            self.kafka_zk,
            self._register,
        )
        self._build()

    def _build(self) -> None:
        """Create the components that serve requests."""
        ports, zk = self._ports, self.kafka_zk
        listener = self._config.controller.inter_broker_listener_name
        self.metadata = MetadataCache()
        self.data = DataPath(self.broker_id, self._config, ports, self.disk, self.metadata, self._outside_writes())
        self.replicas = ReplicaManager(ports, zk.configs, self.disk, self.metadata, self.data, listener)
        self._offsets_topic = OffsetsTopic(
            zk.brokers,
            zk.topics,
            zk.configs,
            self._config.offsets_topic_num_partitions,
            self._config.offsets_topic_replication_factor,
            self._topic_numbers,
        )
        self.groups = self._group_coordinator()
        self.dynamic_config = DynamicConfig(
            self.broker_id,
            self._config.controller.unclean_leader_election_enable,
            zk.configs,
            self.controller,
            self.replicas.change_settings,
        )
        self._handlers = RequestHandlers(ports, self.replicas, self._answers(listener), self._own_epoch)
        self._config_changes = ConfigChangeListener(
            ports.runtime, self.client, zk.config_changes, ports.sink, ports.epoch_ms, self.dynamic_config.apply
        )

    def _outside_writes(self) -> OutsideWrites:
        return OutsideWrites(self._isr_writes(), self._producer_ids())

    def _producer_ids(self) -> GivesProducerIds:
        runtime = self._ports.runtime
        if not self.capabilities.allocated_producer_ids:
            return ProducerIdManager(self.broker_id, runtime, self.kafka_zk.producer_ids)
        channel = BrokerToControllerChannel(self._config, self._ports, self.metadata)
        return RpcProducerIdManager(self.broker_id, runtime, channel, self._epoch_for_controller)

    def _isr_writes(self) -> WritesIsr:
        ports, zk, capabilities = self._ports, self.kafka_zk, self.capabilities
        tries_again = self._config.hardening.ends_pending_isr_changes
        if not capabilities.alter_isr:
            return ZkIsrManager(ports.runtime, zk.partition_states, zk.isr_changes, tries_again)
        channel = BrokerToControllerChannel(self._config, ports, self.metadata)
        retries = capabilities.isr_change_retries or tries_again
        moves = capabilities.high_watermark_after_alter_isr
        return AlterIsrManager(self.broker_id, ports.runtime, channel, self._epoch_for_controller, retries, moves)

    def _group_coordinator(self) -> GroupCoordinator:
        config = self._config
        log = ReplicatedGroupLog(
            self.data.produce,
            self.disk,
            config.offsets_commit_timeout_ms,
            self._ports.wall_clock_ms,
            is_encoded=self._ports.separate_replication is not None,
        )
        storage = GroupStorage(log, self._offsets_topic.create)
        groups = GroupCoordinator(self._ports.runtime, self._sink, config, self.metadata, storage, self._numbers)
        self.replicas.watch_roles(partial(follow_roles, groups, self.data.hosted))
        return groups

    def _answers(self, listener: str) -> dict[type, Answer]:
        """Return what answers requests, by their class; without those of the controller for replicas."""
        creation = AutoTopicCreation(self._config, self.metadata, self.kafka_zk, self._offsets_topic, self._topic_numbers)
        configs = ConfigHandler(self.broker_id, self._config, self.dynamic_config, self.metadata, self.kafka_zk.configs)
        of_groups = GroupRequests(self.groups, self.metadata).handle
        return {
            **dict.fromkeys(get_args(DataRequest), self.data.requests.handle),
            **dict.fromkeys((*get_args(GroupRequest), *get_args(GroupAdminRequest)), of_groups),
            AlterIsrRequest: self.controller.alter_isr,
            AllocateProducerIdsRequest: self.controller.allocate_producer_ids,
            ApiVersionsRequest: self._api_versions,
            ControlledShutdownRequest: self._handle_controlled_shutdown,
            MetadataRequest: MetadataHandler(self.metadata, listener, creation).handle,
            DescribeConfigsRequest: configs.describe,
            DescribeLogDirsRequest: self._describe_log_dirs,
            ListPartitionReassignmentsRequest: self._list_partition_reassignments,
            **self._cluster_changes(configs).answers(),
        }

    def _cluster_changes(self, settings: ConfigHandler) -> ClusterChanges:
        ports, zk, metadata = self._ports, self.kafka_zk, self.metadata
        waits = MetadataWaits(ports.runtime, metadata)
        return ClusterChanges(
            TopicChanges(zk, metadata, waits, self.controller, settings, self._topic_numbers, self._sink),
            ConfigChanges(self.broker_id, zk, metadata, self._sink),
            RecordDeletions(ports.runtime, self.data, metadata, self._sink),
            LeaderChanges(metadata, waits, self.controller, ports.runtime, self._sink),
        )

    async def _api_versions(self, request: ApiVersionsRequest, cause: int) -> ApiVersionsResponse:
        allocates = self.capabilities.allocated_producer_ids
        return structs.replace(await self.features.api_versions(request, cause), names_allocate_producer_ids=allocates)

    async def _describe_log_dirs(self, request: DescribeLogDirsRequest, _: int) -> DescribeLogDirsResponse:
        return describe_log_dirs(request, self.disk)

    async def _list_partition_reassignments(
        self, request: ListPartitionReassignmentsRequest, cause: int
    ) -> ListPartitionReassignmentsResponse:
        return await list_reassignments(request, self.controller, cause)

    # --- start

    async def startup(self, cause: Cause) -> None:
        """Start the broker: session, top-level znodes, cluster id, socket, registration, controller module, handlers.

        Raises: BrokerStartError when ZooKeeper cannot be reached, the id or an address is taken, or a znode, or the
            checkpoint of every log directory, is unreadable.
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
            raise BrokerStartError(why) from error
        self.data.retention.startup(cause)
        # Only now: requests that the controller has sent meanwhile wait in the socket.
        self._handlers.start(listening)
        self._has_started = True

    async def _come_up(self, cause: Cause) -> Listening:
        await self.client.connect(cause)
        await self.kafka_zk.cluster.create_top_level_paths(cause)
        if self._has_features:
            await self.features.startup(cause)
        self.metadata.cluster_id = await self.kafka_zk.cluster.get_or_create_id(cause)
        await self.dynamic_config.read_own(cause)
        try:
            self.disk.join(self.metadata.cluster_id)
        except StorageError as error:
            raise BrokerStartError(str(error)) from error
        self.disk.mount()
        if not self.disk.is_readable:
            dirs = ", ".join(self.disk.log_dirs)
            raise BrokerStartError(f"Shutdown broker because all log dirs in {dirs} have failed: malformed checkpoint files")
        await self.replicas.read_settings(cause)
        host, port = self._config.host_name, self._config.port_of(self.broker_id)
        self._listening = self._ports.network.listen(host, port, self._config.controller.effective_release)
        await self._refuse_taken_endpoints(cause)
        await self._register(cause)
        self.controller.startup(cause)
        await self._config_changes.startup(cause)
        return self._listening

    async def _refuse_taken_endpoints(self, cause: Cause) -> None:
        mine = {(e.host, e.port) for e in self._info.endpoints}
        ignore_bad = (lambda error: None) if self._config.hardening.quarantines_znodes else None
        for other, _ in await self.kafka_zk.brokers.read_all_with_epochs(cause=cause, on_bad=ignore_bad):
            taken = mine & {(e.host, e.port) for e in other.endpoints}
            if other.broker_id != self.broker_id and taken:
                host, port = sorted(taken)[0]
                raise BrokerStartError(
                    f"Configured end points {host}:{port} in advertised listeners are already registered "
                    f"by broker {other.broker_id}"
                )

    async def _register(self, cause: Cause) -> None:
        """Register under a new broker epoch. Raises: ZooKeeperError (NodeExistsError: the id is taken)."""
        info = replace(self._info, timestamp_ms=self._ports.wall_clock_ms())
        self.broker_epoch = await self.kafka_zk.brokers.register(info, cause)
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

    def _epoch_for_controller(self) -> BrokerEpoch:
        """Return the epoch that requests to the controller name."""
        return self._own_epoch() if self._config.protections.broker_epoch else UNKNOWN_BROKER_EPOCH

    async def _handle_controlled_shutdown(
        self, request: ControlledShutdownRequest, cause: int
    ) -> ControlledShutdownResponse:
        return await self.controller.controlled_shutdown(request.broker_id, request.broker_epoch, cause)

    # --- shutdown

    async def shutdown(self, cause: Cause) -> None:
        """Shut down in Kafka's order.

        The broker hands its leaderships over, stops serving, stops fetching, and stops the controller module, which resigns.
        The ZooKeeper session is closed last, which deletes the registration.
        """
        self.replicas.is_shutting_down = True
        if self._has_started and self._config.controlled_shutdown_enable:
            await self._controlled_shutdown().run(cause)
        if self._listening is not None:
            self._listening.close()
        self._handlers.close()
        self.data.close()
        self.disk.close()
        self._config_changes.close()
        await self.controller.shutdown(cause)
        self.features.close()
        await self.client.close(cause)

    def _controlled_shutdown(self) -> ControlledShutdownClient:
        return ControlledShutdownClient(
            self.broker_id,
            self._config,
            self._ports,
            self.kafka_zk.controller,
            self.kafka_zk.brokers,
            self._epoch_for_controller,
        )

    # --- log directories

    async def fail_log_dir(self, log_dir: str, cause: int) -> bool:
        """Fail a log directory and notify the controller. Return False if it was the last one: then the process halts.

        The controller is not notified of the last one: it sees that the broker's registration is deleted.
        """
        self.replicas.fail_log_dir(log_dir, cause)
        if not self.disk.live_dirs:
            return False
        # Without a session there is no notification, as in Kafka; the response to the next LeaderAndIsr reports the failure.
        with suppress(*UNAVAILABLE):
            await self.kafka_zk.log_dir_events.create(self.broker_id, cause)
        return True


def broker_info(broker_id: BrokerId, rack: str | None, config: BrokerConfig) -> BrokerInfo:
    """Return what a broker registers, but for the time: its one endpoint and its rack."""
    listener = config.controller.inter_broker_listener_name
    endpoint = Endpoint(listener, "PLAINTEXT", config.host_name, config.advertised_port_of(broker_id))
    version = 5 if config.controller.capabilities.broker_features else 4
    return BrokerInfo(broker_id, (endpoint,), rack, version=version)
