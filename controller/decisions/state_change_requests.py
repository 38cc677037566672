"""The three requests by which the controller notifies brokers of its decisions: LeaderAndIsr, UpdateMetadata, StopReplica.

They are in this package because decisions fill them; controller/requests.py adds the responses, and the request that brokers
send. Fields are those of the versions that inter.broker.protocol.version 2.6 speaks, and those of 2.8 with topic ids. A
request's content for a partition consists of the values that the controller caches anyway, not of copies of their fields:
with a hundred thousand partitions, these dominate memory and time. No leader is leader None, as everywhere in memory; -1 is
its encoding on the wire, which simulated brokers do not have.

Source: Kafka 2.8, LeaderAndIsrRequest, UpdateMetadataRequest, StopReplicaRequest; docs/kafka/requests.md 1.
"""

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from kcsim.vocabulary import (
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
"""A request with this broker epoch is never refused because of its broker epoch."""
LEADER_AND_ISR_WITHOUT_IDS, LEADER_AND_ISR_WITH_IDS = 4, 5
UPDATE_METADATA_WITHOUT_IDS, UPDATE_METADATA_WITH_IDS = 6, 7
"""The versions that are sent: from inter.broker.protocol.version 2.8 on with the ids of topics."""
LEADER_DURING_DELETE = BrokerId(-2)
"""Leader of a partition in UpdateMetadata when its topic is about to be deleted: the recipient removes the partition."""
EPOCH_DURING_DELETE = LeaderEpoch(-2)
"""Leader epoch in StopReplica when the topic is about to be deleted: it is never refused as stale."""
NO_LEADER_EPOCH = LeaderEpoch(-1)
"""Leader epoch in StopReplica when the controller does not know the leader epoch."""


class LeaderAndIsrPartitionState(msgspec.Struct, frozen=True):
    """One partition of a LeaderAndIsr request.

    Attributes:
        state: leader, ISR, leader epoch, version of the state znode, and the epoch of the controller that decided; the
            latter may be older than the epoch of the request.
        assignment: replicas, adding and removing ones.
        is_new: whether the recipient has never had this replica, so that it may be created in any of its log directories.
    """

    state: PartitionState
    assignment: ReplicaAssignment
    is_new: bool


class LiveLeader(msgspec.Struct, frozen=True):
    """The address of a leader that a LeaderAndIsr request names."""

    broker_id: BrokerId
    host: str
    port: int


class LeaderAndIsrRequest(msgspec.Struct, frozen=True):
    """A request to lead or follow these partitions.

    Attributes:
        controller_epoch: of the sender.
        broker_epoch: of the recipient, as the sender knows it.
        live_leaders: the leaders named here that are registered; by id.
        topic_ids: by topic, of those in `partitions`; None before inter.broker.protocol.version 2.8.
    """

    api_key: ClassVar[int] = 4
    controller_id: BrokerId
    controller_epoch: ControllerEpoch
    broker_epoch: BrokerEpoch
    partitions: Mapping[TopicPartition, LeaderAndIsrPartitionState]
    live_leaders: tuple[LiveLeader, ...]
    topic_ids: Mapping[str, str] | None = None

    @property
    def version(self) -> int:
        return LEADER_AND_ISR_WITHOUT_IDS if self.topic_ids is None else LEADER_AND_ISR_WITH_IDS


class UpdateMetadataPartitionState(msgspec.Struct, frozen=True):
    """One partition of an UpdateMetadata request.

    Attributes:
        state: as in LeaderAndIsr, except that a partition of a topic to be deleted has LEADER_DURING_DELETE, leader epoch 0
            and version 0 beside its ISR.
        replicas: all, including those being added and removed.
        offline_replicas: those of them that do not serve, in the same order: on a broker that is dead, unknown or shutting
            down, or in a failed log directory.
    """

    state: PartitionState
    replicas: tuple[BrokerId, ...]
    offline_replicas: tuple[BrokerId, ...]

    @property
    def is_being_deleted(self) -> bool:
        """Whether the recipient is to remove the partition."""
        return self.state.leader_and_isr.leader == LEADER_DURING_DELETE


class UpdateMetadataBroker(msgspec.Struct, frozen=True):
    """A broker in the form in which clients learn of it."""

    broker_id: BrokerId
    endpoints: tuple[Endpoint, ...]
    rack: str | None


class UpdateMetadataRequest(msgspec.Struct, frozen=True):
    """A request to update the recipient's metadata with these brokers and partitions.

    Attributes:
        partitions: the partitions to update; the recipient's metadata of all others does not change.
        live_brokers: all that are registered, shutting down or not; by id. They replace the recipient's list.
        topic_ids: by topic, of those in `partitions`; None before inter.broker.protocol.version 2.8.
    """

    api_key: ClassVar[int] = 6
    controller_id: BrokerId
    controller_epoch: ControllerEpoch
    broker_epoch: BrokerEpoch
    partitions: Mapping[TopicPartition, UpdateMetadataPartitionState]
    live_brokers: tuple[UpdateMetadataBroker, ...]
    topic_ids: Mapping[str, str] | None = None

    @property
    def version(self) -> int:
        return UPDATE_METADATA_WITHOUT_IDS if self.topic_ids is None else UPDATE_METADATA_WITH_IDS


class StopReplicaPartitionState(msgspec.Struct, frozen=True):
    """One partition of a StopReplica request. `leader_epoch` fences it, unless it is one of the two negative ones above."""

    leader_epoch: LeaderEpoch
    delete_partition: bool


class StopReplicaRequest(msgspec.Struct, frozen=True):
    """A request to stop these replicas, and to delete some of them."""

    api_key: ClassVar[int] = 5
    version: ClassVar[int] = 3
    controller_id: BrokerId
    controller_epoch: ControllerEpoch
    broker_epoch: BrokerEpoch
    partitions: Mapping[TopicPartition, StopReplicaPartitionState]

    @property
    def deleted_partitions(self) -> tuple[TopicPartition, ...]:
        """The partitions whose replica is to be deleted, in the order of the request."""
        return tuple(tp for tp, state in self.partitions.items() if state.delete_partition)


StateChangeRequest = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest
