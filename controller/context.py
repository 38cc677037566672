"""What the active controller knows of the cluster: filled at failover, kept up by its handlers, emptied at resignation.

Owned by the controller's event thread; nobody else keeps a copy. Source: Kafka 2.8, ControllerContext.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from kcsim.zk.vocabulary import (
    BrokerEpoch,
    BrokerId,
    BrokerInfo,
    ControllerEpoch,
    ControllerEpochZkVersion,
    PartitionState,
    ReplicaAssignment,
    TopicPartition,
)

NO_EPOCH = ControllerEpoch(0)
NO_EPOCH_ZK_VERSION = ControllerEpochZkVersion(0)


@dataclass
class ControllerContext:
    """`epoch` and `epoch_zk_version` are 0 while not active; everything else is empty then."""

    epoch: ControllerEpoch = NO_EPOCH
    epoch_zk_version: ControllerEpochZkVersion = NO_EPOCH_ZK_VERSION
    live_brokers: dict[BrokerId, BrokerInfo] = field(default_factory=dict)
    broker_epochs: dict[BrokerId, BrokerEpoch] = field(default_factory=dict)
    topics: set[str] = field(default_factory=set)
    assignments: dict[TopicPartition, ReplicaAssignment] = field(default_factory=dict)
    leadership: dict[TopicPartition, PartitionState] = field(default_factory=dict)
    topics_to_be_deleted: set[str] = field(default_factory=set)

    def add_live_brokers(self, brokers: Iterable[tuple[BrokerInfo, BrokerEpoch]]) -> None:
        """Add brokers, or replace what is known of them."""
        for info, epoch in brokers:
            self.live_brokers[info.broker_id] = info
            self.broker_epochs[info.broker_id] = epoch

    def remove_live_brokers(self, broker_ids: Iterable[BrokerId]) -> None:
        """Forget brokers that went away."""
        for broker_id in broker_ids:
            del self.live_brokers[broker_id]
            del self.broker_epochs[broker_id]

    @property
    def live_broker_ids(self) -> list[BrokerId]:
        """Sorted."""
        return sorted(self.broker_epochs)

    def remove_topic(self, topic: str) -> None:
        """Forget a topic whose znode is gone."""
        self.topics.discard(topic)
        self.topics_to_be_deleted.discard(topic)
        self.assignments = {tp: a for tp, a in self.assignments.items() if tp.topic != topic}
        self.leadership = {tp: s for tp, s in self.leadership.items() if tp.topic != topic}

    def reset(self) -> None:
        """Forget everything, the epoch included."""
        self.epoch, self.epoch_zk_version = NO_EPOCH, NO_EPOCH_ZK_VERSION
        for known in (self.live_brokers, self.broker_epochs, self.topics, self.assignments, self.leadership):
            known.clear()
        self.topics_to_be_deleted.clear()
