"""The active controller's view of the cluster: filled at failover, updated by its handlers, emptied at resignation.

The controller's event thread owns it; no other object keeps a copy. Source: Kafka 2.8, ControllerContext.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kcsim.controller.decisions.leader_balance import Leadership, counts_as_imbalanced
from kcsim.controller.decisions.partition_states import PartitionMachineState
from kcsim.controller.decisions.replica_states import ReplicaMachineState
from kcsim.controller.decisions.request_batch import UNASSIGNED
from kcsim.controller.errors import preferred_leader
from kcsim.vocabulary import (
    BrokerEpoch,
    BrokerId,
    BrokerInfo,
    ControllerEpoch,
    ControllerEpochZkVersion,
    PartitionState,
    ReplicaAssignment,
    TopicPartition,
    TopicState,
)

NO_EPOCH = ControllerEpoch(0)
NO_EPOCH_ZK_VERSION = ControllerEpochZkVersion(0)

Replicas = Mapping[BrokerId, Sequence[TopicPartition]]
"""Replicas, grouped by their broker."""


@dataclass
class ControllerContext:
    """The controller's view of the cluster.

    While not active, `epoch` and `epoch_zk_version` are 0 and everything else is empty.

    Attributes:
        live_brokers, broker_epochs: registered brokers, including those that are shutting down; both have the same keys.
        shutting_down: brokers whose controlled shutdown was accepted and which are still registered.
        leadership: cache of the state znodes. After a leader has changed an ISR, the cache is stale until the notification
            arrives.
        partitions_being_reassigned: the partitions whose reassignment this controller drives.
        replicas_on_offline_dirs: per broker, the partitions that it refused to serve because their log directory failed.
        topics_to_be_deleted: queued for deletion. `topics_with_deletion_started` and `topics_ineligible_for_deletion` are
            subsets.
    """

    epoch: ControllerEpoch = NO_EPOCH
    epoch_zk_version: ControllerEpochZkVersion = NO_EPOCH_ZK_VERSION
    live_brokers: dict[BrokerId, BrokerInfo] = field(default_factory=dict)
    broker_epochs: dict[BrokerId, BrokerEpoch] = field(default_factory=dict)
    shutting_down: set[BrokerId] = field(default_factory=set)
    topics: set[str] = field(default_factory=set)
    topic_ids: dict[str, str] = field(default_factory=dict)
    assignments: dict[TopicPartition, ReplicaAssignment] = field(default_factory=dict)
    leadership: dict[TopicPartition, PartitionState] = field(default_factory=dict)
    partitions_being_reassigned: set[TopicPartition] = field(default_factory=set)
    partition_states: dict[TopicPartition, PartitionMachineState] = field(default_factory=dict)
    replica_states: dict[BrokerId, dict[TopicPartition, ReplicaMachineState]] = field(default_factory=dict)
    replicas_on_offline_dirs: dict[BrokerId, set[TopicPartition]] = field(default_factory=dict)
    topics_to_be_deleted: set[str] = field(default_factory=set)
    topics_with_deletion_started: set[str] = field(default_factory=set)
    topics_ineligible_for_deletion: set[str] = field(default_factory=set)
    offline_partition_count: int = 0
    _of_topic: dict[str, dict[TopicPartition, None]] = field(default_factory=dict)
    _imbalanced: set[TopicPartition] = field(default_factory=set)
    _touched: set[TopicPartition] = field(default_factory=set)  # changed since their imbalance was last computed

    # --- brokers

    def add_live_brokers(self, brokers: Iterable[tuple[BrokerInfo, BrokerEpoch]]) -> None:
        """Add brokers, or replace their registration and epoch."""
        for info, epoch in brokers:
            self.live_brokers[info.broker_id] = info
            self.broker_epochs[info.broker_id] = epoch

    def remove_live_brokers(self, broker_ids: Iterable[BrokerId]) -> None:
        """Remove brokers that are not registered any more."""
        for broker_id in broker_ids:
            del self.live_brokers[broker_id]
            del self.broker_epochs[broker_id]

    @property
    def live_or_shutting_down_broker_ids(self) -> list[BrokerId]:
        """The ids of all registered brokers, sorted."""
        return sorted(self.broker_epochs)

    @property
    def live_broker_ids(self) -> frozenset[BrokerId]:
        """The registered brokers that are not shutting down."""
        return frozenset(self.broker_epochs).difference(self.shutting_down)

    def online_brokers(self, tp: TopicPartition, alive: frozenset[BrokerId]) -> frozenset[BrokerId]:
        """Return the brokers of `alive` whose replica of the partition is not in a failed log directory.

        A broker counts as online if it has no replica of the partition.
        """
        if not self.replicas_on_offline_dirs:
            return alive
        return alive.difference(b for b, failed in self.replicas_on_offline_dirs.items() if tp in failed)

    def is_replica_online(self, broker: BrokerId, tp: TopicPartition) -> bool:
        return (
            broker in self.broker_epochs
            and broker not in self.shutting_down
            and tp not in self.replicas_on_offline_dirs.get(broker, ())
        )

    # --- assignments

    def put_assignment(self, tp: TopicPartition, assignment: ReplicaAssignment) -> None:
        """Store a partition's assignment.

        Raises: IllegalStateError, after the assignment is stored, when a partition that has had a leader loses all its
        replicas, or gets replicas again after it had none; NoBrokerIdError, when the first replica of either list is no
        broker id. Kafka looks for the preferred leader of both lists then, and fails.
        """
        before = self.assignments.get(tp)
        self.assignments[tp] = assignment
        self._of_topic.setdefault(tp.topic, {})[tp] = None
        self._touched.add(tp)
        had_a_leader = tp in self.leadership and tp.topic not in self.topics_to_be_deleted
        if had_a_leader:
            for each in (before, assignment) if before is not None else (assignment,):
                preferred_leader(tp, each.replicas)

    def assignment(self, tp: TopicPartition) -> ReplicaAssignment:
        """Return a partition's assignment; an empty one if the partition is unknown."""
        return self.assignments.get(tp, UNASSIGNED)

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        return list(self._of_topic.get(topic, ()))

    def topic_state(self, topic: str) -> TopicState:
        """Return a topic's assignments and topic id, as they are to be written."""
        partitions = {tp.partition: self.assignments[tp] for tp in self.partitions_of(topic)}
        return TopicState(partitions, self.topic_ids.get(topic))

    def replicas_of(self, partitions: Iterable[TopicPartition]) -> dict[BrokerId, list[TopicPartition]]:
        """Return all replicas of these partitions. A broker that an assignment names twice counts once."""
        found: dict[BrokerId, list[TopicPartition]] = {}
        for tp in partitions:
            for broker in dict.fromkeys(self.assignment(tp).replicas):
                found.setdefault(broker, []).append(tp)
        return found

    def replicas_on(self, brokers: Collection[BrokerId]) -> dict[BrokerId, list[TopicPartition]]:
        """Return all replicas that these brokers host; a broker without replicas is left out."""
        return {
            broker: hosted
            for broker in brokers
            if (hosted := [tp for tp, assigned in self.assignments.items() if broker in assigned.replicas])
        }

    # --- leadership

    def put_leadership(self, tp: TopicPartition, state: PartitionState) -> None:
        """Store a partition's leadership.

        Raises: IllegalStateError, after the leadership is stored, when the partition has no replicas, and NoBrokerIdError,
        when the first one is no broker id: Kafka looks for its preferred leader then, and fails.
        """
        self.leadership[tp] = state
        self._touched.add(tp)
        if tp.topic not in self.topics_to_be_deleted:
            preferred_leader(tp, self.assignment(tp).replicas)

    def partitions_with_offline_leader(self) -> list[TopicPartition]:
        """Return the partitions without a leader or with an offline leader, except those of topics queued for deletion.

        The leader is the last one that this controller knows. It is offline if it is not live or if its log directory
        failed.
        """
        alive, failed, queued = self.live_broker_ids, self.replicas_on_offline_dirs, self.topics_to_be_deleted
        return [
            tp
            for tp, state in self.leadership.items()
            if ((leader := state.leader_and_isr.leader) not in alive or (leader in failed and tp in failed[leader]))
            and tp.topic not in queued
        ]

    def partitions_led_by(self, broker: BrokerId) -> list[TopicPartition]:
        """Return the partitions that a broker leads and that have more than one replica.

        Partitions of topics queued for deletion are left out.
        """
        return [
            tp
            for tp, state in self.leadership.items()
            if state.leader_and_isr.leader == broker
            and len(self.assignment(tp).replicas) > 1
            and tp.topic not in self.topics_to_be_deleted
        ]

    @property
    def preferred_replica_imbalance_count(self) -> int:
        """The number of partitions whose leader is not their preferred leader."""
        for tp in self._touched:
            known = self.leadership.get(tp)
            leadership = Leadership(self.assignment(tp), None if known is None else known.leader_and_isr)
            if tp.topic not in self.topics_to_be_deleted and counts_as_imbalanced(leadership):
                self._imbalanced.add(tp)
            else:
                self._imbalanced.discard(tp)
        self._touched.clear()
        return len(self._imbalanced)

    # --- states

    def put_partition_state(self, tp: TopicPartition, state: PartitionMachineState) -> None:
        before = self.partition_states.get(tp)
        self.partition_states[tp] = state
        if tp.topic not in self.topics_with_deletion_started:
            offline = PartitionMachineState.OFFLINE
            self.offline_partition_count += (state is offline) - (before is offline)

    def replicas_without_state(self, topic: str) -> list[tuple[BrokerId, TopicPartition]]:
        """Return a topic's assigned replicas that were never moved to any state."""
        hosted = self.replicas_of(self.partitions_of(topic)).items()
        return [(broker, tp) for broker, tps in hosted for tp in tps if tp not in self.replica_states.get(broker, {})]

    def replica_states_of(self, topic: str) -> dict[tuple[BrokerId, TopicPartition], ReplicaMachineState]:
        """Return the states of a topic's assigned replicas; a replica without a state counts as NonExistentReplica."""
        return {
            (broker, tp): self.replica_states.get(broker, {}).get(tp, ReplicaMachineState.NON_EXISTENT)
            for broker, hosted in self.replicas_of(self.partitions_of(topic)).items()
            for tp in hosted
        }

    # --- topics

    def is_queued_for_deletion(self, topic: str) -> bool:
        return topic in self.topics_to_be_deleted

    def queue_for_deletion(self, topics: Iterable[str]) -> None:
        for topic in topics:
            self.topics_to_be_deleted.add(topic)
            self._touched.update(self.partitions_of(topic))

    def forget_states(self, topic: str) -> None:
        """Remove what the state machines and the reassignments know of a topic. Only a hardened controller does."""
        for tp in self.partitions_of(topic):
            if self.partition_states.pop(tp, None) is PartitionMachineState.OFFLINE:
                self.offline_partition_count -= topic not in self.topics_with_deletion_started
            for states in self.replica_states.values():
                states.pop(tp, None)
            self.partitions_being_reassigned.discard(tp)

    def remove_topic(self, topic: str) -> None:
        """Remove a topic whose znode is deleted.

        The state machines, the reassignments and the failed log directories keep their entries for the topic, as in Kafka: a
        topic that is created again under this name finds them.
        """
        self.topics.discard(topic)
        self.topic_ids.pop(topic, None)
        self.topics_to_be_deleted.discard(topic)
        self.topics_with_deletion_started.discard(topic)
        for tp in self._of_topic.pop(topic, {}):
            self.assignments.pop(tp, None)
            self.leadership.pop(tp, None)
            self._touched.add(tp)

    def reset(self) -> None:
        """Clear everything, including the epoch."""
        self.epoch, self.epoch_zk_version, self.offline_partition_count = NO_EPOCH, NO_EPOCH_ZK_VERSION, 0
        for known in (
            self.live_brokers,
            self.broker_epochs,
            self.shutting_down,
            self.topics,
            self.topic_ids,
            self.assignments,
            self.leadership,
            self.partitions_being_reassigned,
            self.partition_states,
            self.replica_states,
            self.replicas_on_offline_dirs,
            self.topics_to_be_deleted,
            self.topics_with_deletion_started,
            self.topics_ineligible_for_deletion,
            self._of_topic,
            self._imbalanced,
            self._touched,
        ):
            known.clear()
