"""One broker's request-serving parts on a scripted ZooKeeper and the in-memory network; the test acts as the controller."""

import random
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar, get_args

from kcsim import znodes
from kcsim.brokers.admin.auto_topic_creation import AutoTopicCreation
from kcsim.brokers.admin.cluster_changes import ClusterChanges
from kcsim.brokers.admin.config_changes import ConfigChanges
from kcsim.brokers.admin.config_handler import ConfigHandler
from kcsim.brokers.admin.leader_changes import LeaderChanges
from kcsim.brokers.admin.metadata_handler import MetadataHandler
from kcsim.brokers.admin.metadata_waits import MetadataWaits
from kcsim.brokers.admin.record_deletions import RecordDeletions
from kcsim.brokers.admin.topic_changes import TopicChanges
from kcsim.brokers.api.data_requests import DataRequest
from kcsim.brokers.api.producer_ids import GivesProducerIds, ProducerIdManager, RpcProducerIdManager
from kcsim.brokers.broker_to_controller_channel import BrokerToControllerChannel
from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.data_path import DataPath, OutsideWrites
from kcsim.brokers.dynamic_config import DynamicConfig
from kcsim.brokers.groups.admin_requests import GroupAdminRequest
from kcsim.brokers.groups.coordinator import GroupCoordinator, GroupStorage
from kcsim.brokers.groups.group_log import ReplicatedGroupLog
from kcsim.brokers.groups.group_requests import GroupRequests
from kcsim.brokers.groups.offsets_topic import OffsetsTopic
from kcsim.brokers.groups.requests import GroupRequest
from kcsim.brokers.log.disk import Disk
from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.brokers.network.network import SIMULATED_DELAY_MS, MemoryNetwork
from kcsim.brokers.ports import BrokerPorts
from kcsim.brokers.replica_manager import ReplicaManager
from kcsim.brokers.replication.alter_isr import AlterIsrManager
from kcsim.brokers.replication.isr_writes import WritesIsr
from kcsim.brokers.replication.partition import Partition
from kcsim.brokers.replication.zk_isr import ZkIsrManager
from kcsim.brokers.request_handlers import Answer, RequestHandlers
from kcsim.brokers.requests import (
    ANY_LEADER_EPOCH,
    CONSUMER,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    MetadataRequest,
    ProduceBatch,
    ProduceRequest,
    ProduceResult,
)
from kcsim.controller.config import ControllerConfig
from kcsim.controller.decisions.topic_ids import TopicNumbers
from kcsim.controller.kafka_controller import KafkaController
from kcsim.controller.ports import ControllerPorts
from kcsim.controller.requests import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    ErrorCode,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.sink import Cause
from kcsim.runtime.ports import Promise
from kcsim.vocabulary import (
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    Endpoint,
    LeaderAndIsr,
    LeaderEpoch,
    PartitionState,
    ReplicaAssignment,
    TopicPartition,
    ZkVersion,
)
from kcsim.zk.operations import Create
from kcsim.znodes import paths
from tests.zk.kafka.scripted import Bench

T = TypeVar("T")
B1, B2, B3, B4, B5 = (BrokerId(n) for n in range(1, 6))
CONTROLLER = BrokerId(9)
ORDERS_0, ORDERS_1, ORDERS_2 = (TopicPartition("orders", p) for p in range(3))
OWN_EPOCH = BrokerEpoch(50)
CAUSE = 0
EPOCH_MS = 1_600_000_000_000


def decided(
    leader: BrokerId | None,
    epoch: int = 0,
    isr: Iterable[BrokerId] = (B1, B2, B3),
    zk_version: int = 0,
    controller_epoch: int = 1,
) -> PartitionState:
    leadership = LeaderAndIsr(leader, LeaderEpoch(epoch), tuple(isr), ZkVersion(zk_version))
    return PartitionState(leadership, ControllerEpoch(controller_epoch))


def requested_state(
    leader: BrokerId | None,
    epoch: int = 0,
    isr: Iterable[BrokerId] = (B1, B2, B3),
    replicas: Iterable[BrokerId] = (B1, B2, B3),
    is_new: bool = False,
    zk_version: int = 0,
    controller_epoch: int = 1,
) -> LeaderAndIsrPartitionState:
    """Return one partition of a LeaderAndIsr request."""
    state = decided(leader, epoch, isr, zk_version, controller_epoch)
    return LeaderAndIsrPartitionState(state, ReplicaAssignment(tuple(replicas)), is_new)


def known(state: PartitionState) -> UpdateMetadataPartitionState:
    """Return one partition of an UpdateMetadata request."""
    return UpdateMetadataPartitionState(state, (B1, B2, B3), ())


def registered(broker: BrokerId) -> UpdateMetadataBroker:
    return UpdateMetadataBroker(broker, (Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 9092 + broker),), None)


def refused(errors: Mapping[TopicPartition, ErrorCode]) -> FetchResponse:
    """Return an answer to a fetch that contains only these errors."""
    return FetchResponse({tp: FetchedPartition(error) for tp, error in errors.items()})


def appended_at(offset: int, epoch: int = 0) -> ProduceResult:
    """Return the result of a batch that was appended to a log that begins at 0."""
    return ProduceResult(ErrorCode.NONE, offset, 0, leader_epoch=LeaderEpoch(epoch))


class BrokerBench(Bench):
    """A bench with broker 1. Times are in virtual ms; ZooKeeper answers after 1 ms."""

    def __init__(self, config: BrokerConfig | None = None) -> None:
        super().__init__()
        self.log.append("scenario", EventKind.RUN_STARTED, None, {})
        config = config or BrokerConfig()
        sink = self.log.sink("broker-1")
        self.network = MemoryNetwork(self.runtime, SIMULATED_DELAY_MS)
        self.interface = self.network.interface()
        self.disk = Disk(config.log_dir_names)
        self.metadata = MetadataCache()
        ports = BrokerPorts(self.runtime, self.interface, sink, EPOCH_MS)
        zk = self.kafka_zk
        outside = OutsideWrites(self._isr_writes(config, ports), self._producer_ids(config, ports))
        self.data = DataPath(B1, config, ports, self.disk, self.metadata, outside)
        self.hosted, self.isr, self.fetchers = self.data.hosted, self.data.isr, self.data.fetchers
        self.replicas = ReplicaManager(ports, zk.configs, self.disk, self.metadata, self.data, "PLAINTEXT")
        stored = ReplicatedGroupLog(self.data.produce, self.disk, config.offsets_commit_timeout_ms, ports.wall_clock_ms)
        storage = GroupStorage(stored, self._make_offsets_topic)
        groups = GroupCoordinator(self.runtime, sink, config, self.metadata, storage, random.Random(1))
        of_groups = GroupRequests(groups, self.metadata).handle
        answers: dict[type, Answer] = {
            **dict.fromkeys(get_args(DataRequest), self.data.requests.handle),
            **dict.fromkeys((*get_args(GroupRequest), *get_args(GroupAdminRequest)), of_groups),
            ApiVersionsRequest: self._answer_api_versions,
            ControlledShutdownRequest: self._answer_controlled_shutdown,
            MetadataRequest: MetadataHandler(self.metadata, "PLAINTEXT", self._creation(config)).handle,
            **self._cluster_changes(config, ports).answers(),
        }
        self.handlers = RequestHandlers(ports, self.replicas, answers, lambda: OWN_EPOCH)

    def _isr_writes(self, config: BrokerConfig, ports: BrokerPorts) -> WritesIsr:
        capabilities = config.controller.capabilities
        if not capabilities.alter_isr:
            return ZkIsrManager(self.runtime, self.kafka_zk.partition_states, self.kafka_zk.isr_changes)
        channel = BrokerToControllerChannel(config, ports, self.metadata)
        retries = capabilities.isr_change_retries
        return AlterIsrManager(B1, self.runtime, channel, lambda: OWN_EPOCH, retries, moves_high_watermark=True)

    def _producer_ids(self, config: BrokerConfig, ports: BrokerPorts) -> GivesProducerIds:
        if not config.controller.capabilities.allocated_producer_ids:
            return ProducerIdManager(B1, self.runtime, self.kafka_zk.producer_ids)
        channel = BrokerToControllerChannel(config, ports, self.metadata)
        return RpcProducerIdManager(B1, self.runtime, channel, lambda: OWN_EPOCH)

    def _cluster_changes(self, config: BrokerConfig, ports: BrokerPorts) -> ClusterChanges:
        """Return the components for requests of admin clients, with a controller module that never takes over."""
        controller_ports = ControllerPorts(self.runtime, self.interface, ports.sink, random.Random(1))
        controller = KafkaController(
            B1, config.controller, controller_ports, self.client, self.kafka_zk, self._register_broker
        )
        configs = self.kafka_zk.configs
        dynamic = DynamicConfig(B1, False, configs, controller, self.replicas.change_settings)
        settings = ConfigHandler(B1, config, dynamic, self.metadata, configs)
        waits, metadata = MetadataWaits(self.runtime, self.metadata), self.metadata
        return ClusterChanges(
            TopicChanges(
                self.kafka_zk,
                metadata,
                waits,
                controller,
                settings,
                TopicNumbers(random.Random(1), has_ids=False),
                ports.sink,
            ),
            ConfigChanges(B1, self.kafka_zk, metadata, ports.sink),
            RecordDeletions(self.runtime, self.data, metadata, ports.sink),
            LeaderChanges(metadata, waits, controller, self.runtime, ports.sink),
        )

    async def _register_broker(self, cause: Cause) -> None:
        raise AssertionError("the controller module is not started")

    async def _make_offsets_topic(self, cause: int) -> bool:
        return False

    def _creation(self, config: BrokerConfig) -> AutoTopicCreation:
        zk, numbers = self.kafka_zk, TopicNumbers(random.Random(1), has_ids=False)
        partitions, replication_factor = config.offsets_topic_num_partitions, config.offsets_topic_replication_factor
        offsets_topic = OffsetsTopic(zk.brokers, zk.topics, zk.configs, partitions, replication_factor, numbers)
        return AutoTopicCreation(config, self.metadata, zk, offsets_topic, numbers)

    async def _answer_api_versions(self, request: ApiVersionsRequest, cause: int) -> ApiVersionsResponse:
        return ApiVersionsResponse()

    async def _answer_controlled_shutdown(
        self, request: ControlledShutdownRequest, cause: int
    ) -> ControlledShutdownResponse:
        return ControlledShutdownResponse(ErrorCode.STALE_CONTROLLER_EPOCH)

    def play(self, script: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a script once the ZooKeeper client is connected."""

        async def main() -> None:
            await self.connect()
            await script()

        self.runtime.run(main())

    # --- requests of the controller

    async def lead_or_follow(
        self,
        partitions: Mapping[TopicPartition, LeaderAndIsrPartitionState],
        controller_epoch: int = 1,
        broker_epoch: int = OWN_EPOCH,
        cause: int = CAUSE,
    ) -> LeaderAndIsrResponse:
        request = LeaderAndIsrRequest(
            CONTROLLER, ControllerEpoch(controller_epoch), BrokerEpoch(broker_epoch), partitions, ()
        )
        response = await self.handlers.handle(request, cause)
        assert isinstance(response, LeaderAndIsrResponse)
        return response

    async def stop(
        self,
        partitions: Mapping[TopicPartition, tuple[int, bool]],
        controller_epoch: int = 1,
        broker_epoch: int = OWN_EPOCH,
    ) -> StopReplicaResponse:
        """Send StopReplica: partition -> (leader epoch, whether to delete)."""
        states = {tp: StopReplicaPartitionState(LeaderEpoch(epoch), delete) for tp, (epoch, delete) in partitions.items()}
        request = StopReplicaRequest(CONTROLLER, ControllerEpoch(controller_epoch), BrokerEpoch(broker_epoch), states)
        response = await self.handlers.handle(request, CAUSE)
        assert isinstance(response, StopReplicaResponse)
        return response

    async def update_metadata(
        self,
        partitions: Mapping[TopicPartition, PartitionState] | None = None,
        alive: Iterable[BrokerId] = (B1, B2, B3),
        controller_epoch: int = 1,
        broker_epoch: int = OWN_EPOCH,
    ) -> UpdateMetadataResponse:
        request = UpdateMetadataRequest(
            CONTROLLER,
            ControllerEpoch(controller_epoch),
            BrokerEpoch(broker_epoch),
            {tp: known(state) for tp, state in (partitions or {}).items()},
            tuple(registered(broker) for broker in alive),
        )
        response = await self.handlers.handle(request, CAUSE)
        assert isinstance(response, UpdateMetadataResponse)
        return response

    async def lead(self, tp: TopicPartition = ORDERS_0, isr: Iterable[BrokerId] = (B1, B2, B3), epoch: int = 0) -> None:
        """Make the broker lead a partition of brokers 1, 2 and 3, with complete metadata and a matching state znode."""
        isr = tuple(isr)
        state = decided(B1, epoch, isr)
        await self.by_hand.znodes.create_recursively(paths.topic_partition_state(tp), znodes.encode_partition_state(state))
        response = await self.lead_or_follow({tp: requested_state(B1, epoch, isr, is_new=True)})
        assert response.partition_errors == {tp: ErrorCode.NONE}
        await self.update_metadata({tp: state})

    # --- requests of a follower

    async def fetch(
        self,
        follower: BrokerId,
        partitions: Mapping[TopicPartition, int],
        max_wait_ms: int = 0,
        offset: int = 0,
        cause: int = CAUSE,
    ) -> FetchResponse:
        """Fetch as a follower does: partition -> the leader epoch that the follower knows."""
        wanted = {tp: FetchPartition(LeaderEpoch(epoch), offset, cause) for tp, epoch in partitions.items()}
        return await self.data.requests.followers.handle(FetchRequest(follower, max_wait_ms, wanted))

    # --- requests of clients

    async def produce(
        self,
        count: int,
        tp: TopicPartition = ORDERS_0,
        acks: int = 1,
        sequence: int = 0,
        timeout_ms: int = 1_000,
        is_idempotent: bool = False,
        writer: str = "a",
    ) -> ProduceResult:
        """Produce records of 100 bytes."""
        batch = ProduceBatch(writer, sequence, count, 100, EPOCH_MS, is_idempotent)
        response = await self.data.produce.handle(ProduceRequest(writer, acks, timeout_ms, {tp: batch}), CAUSE)
        return response.results[tp]

    async def consume(self, offset: int, tp: TopicPartition = ORDERS_0, max_wait_ms: int = 0) -> FetchedPartition:
        """Fetch as a consumer does."""
        request = FetchRequest(CONSUMER, max_wait_ms, {tp: FetchPartition(ANY_LEADER_EPOCH, offset, CAUSE)})
        return (await self.data.requests.consumers.handle(request)).partitions[tp]

    def begun(self, work: Coroutine[Any, Any, T]) -> "Promise[T]":
        """Return a promise of the result of work that begins now."""
        answer: Promise[T] = self.runtime.promise()

        async def run() -> None:
            answer.resolve(await work)

        self.runtime.spawn("begun", run())
        return answer

    # --- results

    def partition(self, tp: TopicPartition = ORDERS_0) -> Partition:
        partition = self.hosted.get(tp)
        assert partition is not None, f"{tp} is not here"
        return partition

    def fetched(self) -> dict[TopicPartition, tuple[BrokerId, int]]:
        """Return partition -> (broker that it is fetched from, leader epoch of the fetcher)."""
        return {
            tp: (leader.broker_id, fetch.leader_epoch)
            for leader, fetcher in self.fetchers.fetchers.items()
            for tp, fetch in fetcher.partitions.items()
        }

    def events(self, *kinds: EventKind) -> list[Event]:
        return [event for event in self.log.events if event.kind in kinds]

    async def state_znode(self, tp: TopicPartition = ORDERS_0) -> PartitionState:
        return (await self.by_hand.partition_states.read([tp]))[tp]

    async def make_paths(self) -> None:
        """Create the paths that every starting broker ensures."""
        await self.by_hand.cluster.create_top_level_paths()

    async def write_znode(self, path: str, data: bytes | None) -> None:
        await self.tree(Create(path, data))


class ZkIsrBench(BrokerBench):
    """A bench at protocol version 2.6, at which leaders write ISRs to ZooKeeper themselves."""

    def __init__(self, config: BrokerConfig | None = None) -> None:
        super().__init__(replace(config or BrokerConfig(), controller=ControllerConfig(inter_broker_protocol_version="2.6")))
