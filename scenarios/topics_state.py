"""Topics and partitions as of a moment, as ZooKeeper has them: a pure fold over the event log.

What cannot be read counts as absent, as it does for most of Kafka's readers.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from kcsim.zk import paths, znodes
from kcsim.zk.events import Event, EventKind
from kcsim.zk.vocabulary import BrokerId, PartitionState, ReplicaAssignment, TopicPartition, TopicState, ZkVersion
from kcsim.zk.znodes import BadZnodeError

BELOW_TOPICS = f"{paths.BROKER_TOPICS}/"
BELOW_DELETIONS = f"{paths.DELETE_TOPICS}/"


def _ignore(path: str, reason: str) -> None:
    """A malformed znode is told by those who meet it; the fold only passes over it."""


@dataclass
class TopicsState:
    """Fold the changes of znodes into it with `apply`, in order.

    Attributes:
        topics: each topic with its assignment.
        states: each partition that has a state znode.
        deleting: topics whose deletion has been asked for.
    """

    topics: dict[str, TopicState] = field(default_factory=dict)
    states: dict[TopicPartition, PartitionState] = field(default_factory=dict)
    deleting: set[str] = field(default_factory=set)

    def apply(self, event: Event) -> None:
        """Take a ZnodeCreated, ZnodeChanged or ZnodeDeleted in."""
        path = event.path or ""
        if path.startswith(BELOW_TOPICS):
            self._apply_to_topic(path, event)
        elif path.startswith(BELOW_DELETIONS):
            change = self.deleting.discard if event.kind is EventKind.ZNODE_DELETED else self.deleting.add
            change(path.removeprefix(BELOW_DELETIONS))

    def _apply_to_topic(self, path: str, event: Event) -> None:
        match path.removeprefix(BELOW_TOPICS).split("/"):
            case [topic]:
                self.topics.pop(topic, None)
                if event.kind is not EventKind.ZNODE_DELETED and (found := _topic(path, event.data)) is not None:
                    self.topics[topic] = found
            case [topic, "partitions", number, "state"] if number.isdecimal():
                partition = TopicPartition(topic, int(number))
                self.states.pop(partition, None)
                if event.kind is not EventKind.ZNODE_DELETED and (state := _state(path, event)) is not None:
                    self.states[partition] = state
            case _:
                pass

    # --- looks

    def partitions(self) -> Iterator[TopicPartition]:
        """Every partition of every topic whose deletion has not been asked for, in order."""
        for topic in sorted(self.topics.keys() - self.deleting):
            yield from (TopicPartition(topic, number) for number in sorted(self.topics[topic].assignments))

    def assignment(self, partition: TopicPartition) -> ReplicaAssignment | None:
        """Who hosts a partition; None if there is no such partition."""
        topic = self.topics.get(partition.topic)
        return topic.assignments.get(partition.partition) if topic else None

    def leader(self, partition: TopicPartition) -> BrokerId | None:
        """Who leads a partition; None if nobody does, or it has no state."""
        state = self.states.get(partition)
        return state.leader_and_isr.leader if state else None

    def isr(self, partition: TopicPartition) -> tuple[BrokerId, ...]:
        """The in-sync replicas, as stored; none if it has no state."""
        state = self.states.get(partition)
        return state.leader_and_isr.isr if state else ()

    def broker_in_role(self, role: str, partition: TopicPartition) -> BrokerId | None:
        """Who is the `leader`, the `preferred` leader or the first `follower` of a partition; None if nobody is."""
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
        """Partitions with replicas being added or removed."""
        return [
            TopicPartition(topic, number)
            for topic, state in sorted(self.topics.items())
            for number, assignment in sorted(state.assignments.items())
            if assignment.is_being_reassigned
        ]

    def offline(self, registered: Collection[int]) -> list[TopicPartition]:
        """Partitions whose leader is nobody, or not registered."""
        return [partition for partition in self.partitions() if self.leader(partition) not in registered]

    def under_replicated(self) -> list[TopicPartition]:
        """Partitions with fewer replicas in the ISR than they had before any being added now.

        Source: Kafka 2.8, Partition.isUnderReplicated, as each leader judges it.
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
