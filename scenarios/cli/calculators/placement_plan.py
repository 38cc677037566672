"""The placement of replicas that Kafka would choose for a topic to be created, or to be given more partitions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from kcsim.controller.decisions.assignment import naive_modulo_assignment
from kcsim.controller.decisions.broker_ring import BrokerMetadata, BrokerRing, RackAwareMode, effective_brokers, ring_of
from kcsim.controller.decisions.partition_growth import partitions_to_create, start_index_of_added
from kcsim.controller.decisions.placement import Assignment, Draw, Replicas, draw
from kcsim.controller.decisions.topic_creation import check_topic_name, new_topic_assignment
from kcsim.scenarios.cli.calculators.cluster_metadata import ClusterMetadata
from kcsim.vocabulary import ReplicaAssignment, TopicState

UNSET = -1
"""Kafka's value for: use the broker's default."""
DEFAULT_PARTITIONS = DEFAULT_REPLICATION_FACTOR = 1


@dataclass(frozen=True, slots=True)
class PlacementRequest:
    """A request for a placement.

    Attributes:
        partitions: for a topic that gets more partitions, the total afterwards.
        start_index, shift: None to draw them from a generator with this seed. A start index alone is used as the shift, too.
        explicit: the replicas of partitions 0, 1, …; None lets Kafka's algorithm choose. For a topic that gets more
            partitions, the entries of existing partitions are ignored, as Kafka's tool does.
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
class PlacementPlan:
    """The placement that a request leads to.

    Attributes:
        placed: the new partitions.
        whole: the topic including the new partitions.
        ring: the list of brokers that was walked; None if none was.
        drawn: the start index and shift that were used; None if none were.
    """

    placed: Assignment
    whole: Assignment
    ring: BrokerRing | None = None
    drawn: Draw | None = None


def plan_creation(request: PlacementRequest, cluster: ClusterMetadata) -> PlacementPlan:
    """Return the placement of a new topic. Raises: RefusedError."""
    if request.explicit is not None:
        explicit = dict(enumerate(request.explicit))
        placed = new_topic_assignment(
            request.topic, cluster.topics, (), Draw(0, 0), request.partitions, request.replication_factor, explicit
        )
        return PlacementPlan(placed, placed)
    brokers = effective_brokers(cluster.brokers, request.mode)
    drawn = _draw(request, len(brokers))
    placed = new_topic_assignment(
        request.topic, cluster.topics, brokers, drawn, request.partitions, request.replication_factor
    )
    return PlacementPlan(placed, placed, ring_of(brokers), drawn)


def _draw(request: PlacementRequest, broker_count: int) -> Draw:
    start, shift = draw(Random(request.seed), broker_count, UNSET if request.start_index is None else request.start_index)
    return Draw(start, shift if request.shift is None else request.shift)


def plan_naively(request: PlacementRequest, cluster: ClusterMetadata) -> PlacementPlan:
    """Return the placement of a new topic by the naive rule that Kafka does not use. Raises: RefusedError."""
    check_topic_name(request.topic)
    brokers = effective_brokers(cluster.brokers, RackAwareMode.DISABLED)
    placed = naive_modulo_assignment(
        brokers,
        DEFAULT_PARTITIONS if request.partitions == UNSET else request.partitions,
        DEFAULT_REPLICATION_FACTOR if request.replication_factor == UNSET else request.replication_factor,
    )
    return PlacementPlan(placed, placed, ring_of(brokers))


def plan_growth(request: PlacementRequest, cluster: ClusterMetadata) -> PlacementPlan:
    """Return the placement of a topic's additional partitions. Raises: RefusedError."""
    brokers = effective_brokers(cluster.brokers, request.mode)
    state = cluster.topics.get(request.topic)
    existing = None if state is None else replicas_of_topic(state)
    placed = partitions_to_create(
        request.topic,
        existing,
        brokers,
        request.partitions,
        None if request.explicit is None else request.explicit[len(existing or ()) :],
        is_queued_for_deletion=request.topic in cluster.queued_for_deletion,
        is_being_reassigned=state is not None and any(a.is_being_reassigned for a in state.assignments.values()),
    )
    assert existing is not None, "a topic that does not exist is refused"
    whole = {**existing, **placed}
    if request.explicit is not None:
        return PlacementPlan(placed, whole)
    index = start_index_of_added(existing, brokers)
    return PlacementPlan(placed, whole, ring_of(brokers), Draw(index, index))


def with_topic(cluster: ClusterMetadata, topic: str, replicas: Sequence[Replicas]) -> ClusterMetadata:
    """Return the cluster with an additional topic that has these partitions, numbered from 0."""
    state = TopicState({partition: ReplicaAssignment(listed) for partition, listed in enumerate(replicas)})
    return replace(cluster, topics={**cluster.topics, topic: state})


def replicas_of_topic(state: TopicState) -> Assignment:
    """Return a topic's partitions with their full lists of replicas."""
    return {partition: assignment.replicas for partition, assignment in sorted(state.assignments.items())}


def unknown_brokers(assignment: Assignment, brokers: Sequence[BrokerMetadata]) -> list[int]:
    """Return the brokers of an assignment that are not among the given brokers."""
    return sorted({broker for replicas in assignment.values() for broker in replicas} - {b.id for b in brokers})
