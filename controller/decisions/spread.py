"""How evenly replicas, leaders and followers are spread over brokers and racks.

For the partitions that one broker leads, the spread of their followers over the other brokers is counted too. Leaders here
are preferred leaders, the first of each list. Derived, not taken from Kafka; docs/kafka/assignment.md 1.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Generic, TypeVar

from kcsim.controller.decisions.broker_ring import BrokerMetadata
from kcsim.controller.decisions.placement import Replicas
from kcsim.vocabulary import BrokerId

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Load:
    """The load of a broker or a rack."""

    replicas: int
    leaders: int


@dataclass(frozen=True, slots=True)
class Evenness:
    """Statistics of counts, one for each broker or rack. The standard deviation is that of the whole population."""

    smallest: int
    largest: int
    mean: float
    standard_deviation: float


@dataclass(frozen=True, slots=True)
class ReplicaSpread(Generic[K]):
    """The spread of a topic (K is a partition's number) or of a cluster (K is a TopicPartition).

    Attributes:
        brokers: every broker that takes part, and every one that hosts a replica; by id.
        racks: by name; empty without racks.
        follower_sets: per broker, how many different sets of followers the partitions that it leads have.
        sharing_a_rack: partitions with two replicas or more on one rack, in the order given.
        fewest_racks, most_racks: of one partition; 0 without racks or partitions.
    """

    brokers: Mapping[BrokerId, Load]
    racks: Mapping[str, Load]
    follower_sets: Mapping[BrokerId, int]
    sharing_a_rack: tuple[K, ...]
    fewest_racks: int
    most_racks: int

    @property
    def replicas_per_broker(self) -> Evenness:
        return evenness([load.replicas for load in self.brokers.values()])

    @property
    def leaders_per_broker(self) -> Evenness:
        return evenness([load.leaders for load in self.brokers.values()])

    @property
    def replicas_per_rack(self) -> Evenness:
        return evenness([load.replicas for load in self.racks.values()])

    @property
    def leaders_per_rack(self) -> Evenness:
        return evenness([load.leaders for load in self.racks.values()])


def spread(assignment: Mapping[K, Replicas], brokers: Iterable[BrokerMetadata]) -> ReplicaSpread[K]:
    """Count the spread of an assignment.

    Args:
        brokers: those that take part, for their racks, and so that a broker without a replica counts as well.
    """
    racks = {broker.id: broker.rack for broker in brokers}
    # Placements repeat: each distinct list of replicas is processed once.
    times = Counter(assignment.values())
    replicas: Counter[BrokerId] = Counter()
    leaders: Counter[BrokerId] = Counter()
    followers: dict[BrokerId, set[frozenset[BrokerId]]] = defaultdict(set)
    for row, count in times.items():
        for broker in row:
            replicas[broker] += count
        for leader in row[:1]:
            leaders[leader] += count
            followers[leader].add(frozenset(row[1:]))
    racks_of = {row: [rack for broker in row if (rack := racks.get(broker)) is not None] for row in times}
    sharing = {row for row, on in racks_of.items() if len(set(on)) < len(on)}
    distinct = [len(set(on)) for on in racks_of.values()]
    ids = sorted(racks.keys() | replicas.keys())
    return ReplicaSpread(
        {broker: Load(replicas[broker], leaders[broker]) for broker in ids},
        {rack: _load(replicas, leaders, on) for rack, on in _brokers_by_rack(racks).items()},
        {broker: len(followers[broker]) for broker in ids},
        tuple(key for key, row in assignment.items() if row in sharing),
        min(distinct, default=0),
        max(distinct, default=0),
    )


def _load(replicas: Counter[BrokerId], leaders: Counter[BrokerId], brokers: Collection[BrokerId]) -> Load:
    return Load(sum(replicas[broker] for broker in brokers), sum(leaders[broker] for broker in brokers))


def _brokers_by_rack(racks: Mapping[BrokerId, str | None]) -> dict[str, list[BrokerId]]:
    by_rack: dict[str, list[BrokerId]] = {}
    for broker, rack in racks.items():
        if rack is not None:
            by_rack.setdefault(rack, []).append(broker)
    return dict(sorted(by_rack.items()))


def evenness(counts: Collection[int]) -> Evenness:
    """Return the statistics of counts; without counts, everything is 0."""
    if not counts:
        return Evenness(0, 0, 0.0, 0.0)
    mean = sum(counts) / len(counts)
    variance = sum((count - mean) ** 2 for count in counts) / len(counts)
    return Evenness(min(counts), max(counts), mean, sqrt(variance))
