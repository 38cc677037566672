"""The three requests by which the controller tells brokers of its decisions: LeaderAndIsr, UpdateMetadata, StopReplica.

They stand beside the decisions because a decision is what fills them; controller/requests.py adds the answers, and the
request that brokers send. Fields are those of the versions that inter.broker.protocol.version 2.6 speaks. What a request
says of a partition is built of the values that the controller caches anyway, not of copies of their fields: with a hundred
thousand partitions that is what memory and time go by. Nobody leads: leader None, as everywhere in memory; -1 is its
spelling on a wire that a simulated broker does not have.

Source: Kafka 2.8, LeaderAndIsrRequest, UpdateMetadataRequest, StopReplicaRequest; reference requests.md 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from kcsim.zk.vocabulary import (
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    Endpoint,
    LeaderEpoch,
    PartitionState,
    ReplicaAssignment,
    TopicPartition,
)

UNKNOWN_BROKER_EPOCH = BrokerEpoch(-1)
"""A request with this broker epoch is never fenced by it."""
LEADER_DURING_DELETE = BrokerId(-2)
"""Leader of a partition in UpdateMetadata when its topic is about to be deleted: forget it."""
EPOCH_DURING_DELETE = LeaderEpoch(-2)
"""Leader epoch in StopReplica when the topic is about to be deleted: it fences nobody."""
NO_LEADER_EPOCH = LeaderEpoch(-1)
"""Leader epoch in StopReplica when the controller knows none."""


@dataclass(frozen=True, slots=True)
class LeaderAndIsrPartitionState:
    """One partition of a LeaderAndIsr request.

    Attributes:
        state: leader, ISR, leader epoch, version of the state znode, and the epoch of the controller that decided; that
            one may be older than the epoch of the request.
        assignment: replicas, adding and removing ones.
        is_new: whether the recipient has never had this replica, so that it may be made on any of its log directories.
    """

    state: PartitionState
    assignment: ReplicaAssignment
    is_new: bool


@dataclass(frozen=True, slots=True)
class LiveLeader:
    """Where to find a leader that a LeaderAndIsr request names."""

    broker_id: BrokerId
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class LeaderAndIsrRequest:
    """Lead or follow these partitions.

    Attributes:
        controller_epoch: of the sender.
        broker_epoch: of the recipient, as the sender knows it.
        live_leaders: those of the leaders named here that are registered; by id.
    """

    api_key: ClassVar[int] = 4
    version: ClassVar[int] = 4
    controller_id: BrokerId
    controller_epoch: ControllerEpoch
    broker_epoch: BrokerEpoch
    partitions: Mapping[TopicPartition, LeaderAndIsrPartitionState]
    live_leaders: tuple[LiveLeader, ...]


@dataclass(frozen=True, slots=True)
class UpdateMetadataPartitionState:
    """One partition of an UpdateMetadata request.

    Attributes:
        state: as in LeaderAndIsr, except that a partition of a topic to be deleted has LEADER_DURING_DELETE, leader epoch 0
            and version 0 beside its ISR.
        replicas: all, those being added and removed included.
        offline_replicas: those of them that do not serve, in the same order: on a broker that is dead, unknown or shutting
            down, or in a failed log directory.
    """

    state: PartitionState
    replicas: tuple[BrokerId, ...]
    offline_replicas: tuple[BrokerId, ...]

    @property
    def is_being_deleted(self) -> bool:
        """Whether the recipient is to forget the partition."""
        return self.state.leader_and_isr.leader == LEADER_DURING_DELETE


@dataclass(frozen=True, slots=True)
class UpdateMetadataBroker:
    """A broker as clients are told of it."""

    broker_id: BrokerId
    endpoints: tuple[Endpoint, ...]
    rack: str | None


@dataclass(frozen=True, slots=True)
class UpdateMetadataRequest:
    """Know these brokers, and these partitions.

    Attributes:
        partitions: those to learn; of all others the recipient's knowledge stays as it is.
        live_brokers: all that are registered, shutting down or not; by id. They replace what the recipient knew.
    """

    api_key: ClassVar[int] = 6
    version: ClassVar[int] = 6
    controller_id: BrokerId
    controller_epoch: ControllerEpoch
    broker_epoch: BrokerEpoch
    partitions: Mapping[TopicPartition, UpdateMetadataPartitionState]
    live_brokers: tuple[UpdateMetadataBroker, ...]


@dataclass(frozen=True, slots=True)
class StopReplicaPartitionState:
    """One partition of a StopReplica request. `leader_epoch` fences it, unless it is one of the two negative ones above."""

    leader_epoch: LeaderEpoch
    delete_partition: bool


@dataclass(frozen=True, slots=True)
class StopReplicaRequest:
    """Stop these replicas; delete some of them."""

    api_key: ClassVar[int] = 5
    version: ClassVar[int] = 3
    controller_id: BrokerId
    controller_epoch: ControllerEpoch
    broker_epoch: BrokerEpoch
    partitions: Mapping[TopicPartition, StopReplicaPartitionState]

    @property
    def deleted_partitions(self) -> tuple[TopicPartition, ...]:
        """Those whose replica is to be deleted, in the order of the request."""
        return tuple(tp for tp, state in self.partitions.items() if state.delete_partition)


StateChangeRequest = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest
