"""Who would host the replicas of a topic that somebody thinks of creating, or of giving more partitions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from kcsim.controller.decisions.assignment import naive_modulo_assignment
from kcsim.controller.decisions.broker_ring import BrokerMetadata, BrokerRing, RackAwareMode, effective_brokers, ring_of
from kcsim.controller.decisions.partition_growth import partitions_to_create, start_index_of_added
from kcsim.controller.decisions.placement import Assignment, Draw, Replicas, draw
from kcsim.controller.decisions.topic_creation import check_topic_name, new_topic_assignment
from kcsim.scenarios.questions.cluster_reading import ClusterSeen
from kcsim.zk.vocabulary import ReplicaAssignment, TopicState

UNSET = -1
"""As Kafka has it: the broker's default."""
DEFAULT_PARTITIONS = DEFAULT_REPLICATION_FACTOR = 1


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for.

    Attributes:
        partitions: of a topic that grows, how many in the end.
        start_index, shift: None to draw them, from a generator of this seed. A start alone is the shift, too.
        explicit: where partitions 0, 1, … are to go; None to leave it to Kafka. Of a topic that grows, the entries of
            partitions it has are passed over, as Kafka's tool does.
    """

    topic: str
    partitions: int = UNSET
    replication_factor: int = UNSET
    start_index: int | None = None
    shift: int | None = None
    seed: int = 1
    explicit: Sequence[Replicas] | None = None
    mode: RackAwareMode = RackAwareMode.ENFORCED


@dataclass(frozen=True, slots=True)
class Plan:
    """What would come of it.

    Attributes:
        placed: the new partitions.
        whole: the topic with them.
        ring: the list of brokers that was walked; None if none was.
        drawn: the two numbers that decided; None if none did.
    """

    placed: Assignment
    whole: Assignment
    ring: BrokerRing | None = None
    drawn: Draw | None = None


def plan_creation(wish: Wish, cluster: ClusterSeen) -> Plan:
    """Raises: RefusedError."""
    if wish.explicit is not None:
        explicit = dict(enumerate(wish.explicit))
        placed = new_topic_assignment(
            wish.topic, cluster.topics, (), Draw(0, 0), wish.partitions, wish.replication_factor, explicit
        )
        return Plan(placed, placed)
    brokers = effective_brokers(cluster.brokers, wish.mode)
    drawn = _draw(wish, len(brokers))
    placed = new_topic_assignment(wish.topic, cluster.topics, brokers, drawn, wish.partitions, wish.replication_factor)
    return Plan(placed, placed, ring_of(brokers), drawn)


def _draw(wish: Wish, broker_count: int) -> Draw:
    start, shift = draw(Random(wish.seed), broker_count, UNSET if wish.start_index is None else wish.start_index)
    return Draw(start, shift if wish.shift is None else wish.shift)


def plan_naively(wish: Wish, cluster: ClusterSeen) -> Plan:
    """As plan_creation, by the rule that Kafka does not use. Raises: RefusedError."""
    check_topic_name(wish.topic)
    brokers = effective_brokers(cluster.brokers, RackAwareMode.DISABLED)
    placed = naive_modulo_assignment(
        brokers,
        DEFAULT_PARTITIONS if wish.partitions == UNSET else wish.partitions,
        DEFAULT_REPLICATION_FACTOR if wish.replication_factor == UNSET else wish.replication_factor,
    )
    return Plan(placed, placed, ring_of(brokers))


def plan_growth(wish: Wish, cluster: ClusterSeen) -> Plan:
    """Raises: RefusedError."""
    brokers = effective_brokers(cluster.brokers, wish.mode)
    state = cluster.topics.get(wish.topic)
    existing = None if state is None else replicas_of_topic(state)
    placed = partitions_to_create(
        wish.topic,
        existing,
        brokers,
        wish.partitions,
        None if wish.explicit is None else wish.explicit[len(existing or ()) :],
        is_queued_for_deletion=wish.topic in cluster.queued_for_deletion,
        is_being_reassigned=state is not None and any(a.is_being_reassigned for a in state.assignments.values()),
    )
    assert existing is not None, "a topic that does not exist is refused"
    whole = {**existing, **placed}
    if wish.explicit is not None:
        return Plan(placed, whole)
    index = start_index_of_added(existing, brokers)
    return Plan(placed, whole, ring_of(brokers), Draw(index, index))


def with_topic(cluster: ClusterSeen, topic: str, replicas: Sequence[Replicas]) -> ClusterSeen:
    """The cluster as it would be with a topic of these partitions, from 0 on."""
    state = TopicState({partition: ReplicaAssignment(listed) for partition, listed in enumerate(replicas)})
    return replace(cluster, topics={**cluster.topics, topic: state})


def replicas_of_topic(state: TopicState) -> Assignment:
    """Its partitions with their full lists of replicas."""
    return {partition: assignment.replicas for partition, assignment in sorted(state.assignments.items())}


def unknown_brokers(assignment: Assignment, brokers: Sequence[BrokerMetadata]) -> list[int]:
    """Those that are to host a replica without being there."""
    return sorted({broker for replicas in assignment.values() for broker in replicas} - {b.id for b in brokers})
