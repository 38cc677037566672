"""Topics and partitions in ZooKeeper at one point of the event log: a pure fold over the events.

A znode whose content cannot be read counts as absent, as it does for most of Kafka's readers.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from kcsim import znodes
from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.state_changes import PartitionChanged, StateChange, TopicChanged, TopicDeletionChanged
from kcsim.vocabulary import BrokerId, PartitionState, ReplicaAssignment, TopicPartition, TopicState, ZkVersion
from kcsim.znodes import BadZnodeError, paths

BELOW_TOPICS = f"{paths.BROKER_TOPICS}/"
BELOW_DELETIONS = f"{paths.DELETE_TOPICS}/"


def _ignore(path: str, reason: str) -> None:
    """Ignore a malformed znode: the broker that reads it logs a BadZnode event; the fold only skips the content."""


@dataclass
class TopicsState:
    """Topics and partitions at one point of the event log. `apply` folds znode changes into them, in order.

    Attributes:
        topics: each topic with its assignment.
        states: each partition that has a readable state znode.
        deleting: topics whose deletion has been requested.
    """

    topics: dict[str, TopicState] = field(default_factory=dict)
    states: dict[TopicPartition, PartitionState] = field(default_factory=dict)
    deleting: set[str] = field(default_factory=set)

    def apply(self, event: Event) -> list[StateChange]:
        """Apply a ZnodeCreated, ZnodeChanged or ZnodeDeleted event, and return what it changes."""
        path = event.path or ""
        if path.startswith(BELOW_TOPICS):
            return self._apply_to_topic(path, event)
        if path.startswith(BELOW_DELETIONS):
            topic, is_requested = path.removeprefix(BELOW_DELETIONS), event.kind is not EventKind.ZNODE_DELETED
            (self.deleting.add if is_requested else self.deleting.discard)(topic)
            return [TopicDeletionChanged(topic, is_requested)]
        return []

    def _apply_to_topic(self, path: str, event: Event) -> list[StateChange]:
        is_deleted = event.kind is EventKind.ZNODE_DELETED
        match path.removeprefix(BELOW_TOPICS).split("/"):
            case [topic]:
                before, after = self.topics.pop(topic, None), None if is_deleted else _topic(path, event.data)
                if after is not None:
                    self.topics[topic] = after
                return [TopicChanged(topic, before, after)]
            case [topic, "partitions", number, "state"] if number.isdecimal():
                partition = TopicPartition(topic, int(number))
                former, state = self.states.pop(partition, None), None if is_deleted else _state(path, event)
                if state is not None:
                    self.states[partition] = state
                return [PartitionChanged(partition, former, state, event.kind is EventKind.ZNODE_CREATED)]
            case _:
                return []

    # --- queries

    def partitions(self) -> Iterator[TopicPartition]:
        """Yield every partition of every topic whose deletion has not been requested, in order."""
        for topic in sorted(self.topics.keys() - self.deleting):
            yield from (TopicPartition(topic, number) for number in sorted(self.topics[topic].assignments))

    def assignment(self, partition: TopicPartition) -> ReplicaAssignment | None:
        """Return a partition's assignment; None if the partition does not exist."""
        topic = self.topics.get(partition.topic)
        return topic.assignments.get(partition.partition) if topic else None

    def leader(self, partition: TopicPartition) -> BrokerId | None:
        """Return a partition's leader; None if the partition has no leader or no state."""
        state = self.states.get(partition)
        return state.leader_and_isr.leader if state else None

    def isr(self, partition: TopicPartition) -> tuple[BrokerId, ...]:
        """Return the in-sync replicas in the order stored; empty if the partition has no state."""
        state = self.states.get(partition)
        return state.leader_and_isr.isr if state else ()

    def broker_in_role(self, role: str, partition: TopicPartition) -> BrokerId | None:
        """Return a partition's `leader`, `preferred` leader or first `follower`; None if there is no such broker."""
        leader, assignment = self.leader(partition), self.assignment(partition)
        replicas = assignment.replicas if assignment else ()
        match role:
            case "leader":
                return leader
            case "preferred":
                return next(iter(replicas), None)
            case _:
                return next((replica for replica in replicas if replica != leader), None)

    def reassigning(self) -> list[TopicPartition]:
        """Return the partitions to which replicas are being added or from which replicas are being removed."""
        return [
            TopicPartition(topic, number)
            for topic, state in sorted(self.topics.items())
            for number, assignment in sorted(state.assignments.items())
            if assignment.is_being_reassigned
        ]

    def offline(self, registered: Collection[int]) -> list[TopicPartition]:
        """Return the partitions that have no leader or whose leader is not registered."""
        return [partition for partition in self.partitions() if self.leader(partition) not in registered]

    def under_replicated(self) -> list[TopicPartition]:
        """Return the partitions whose ISR is smaller than their assignment without the replicas that are being added.

        Source: Kafka 2.8, Partition.isUnderReplicated, which each leader evaluates for its partitions.
        """
        return [
            partition
            for partition in self.partitions()
            if len(self.isr(partition)) < len(self.topics[partition.topic].assignments[partition.partition].origin_replicas)
        ]


def _topic(path: str, data: str | None) -> TopicState | None:
    try:
        return znodes.decode_topic(path, _bytes(data), _ignore)
    except BadZnodeError:
        return None


def _state(path: str, event: Event) -> PartitionState | None:
    try:
        return znodes.decode_partition_state(path, _bytes(event.data), ZkVersion(event.zk_version or 0), _ignore)
    except BadZnodeError:
        return None


def _bytes(data: str | None) -> bytes | None:
    return None if data is None else data.encode()
