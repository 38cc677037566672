"""The layout of a generated cluster: brokers on racks, topics of very different sizes, Kafka's own placement.

Every topic of the whole history has a number, and every partition an index; both decide the seq of its events.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from random import Random

from kcsim.controller.decisions.assignment import assign_replicas
from kcsim.controller.decisions.broker_ring import BrokerMetadata
from kcsim.controller.decisions.placement import Draw, draw
from kcsim.scenarios.analysis.generating.settings import CONSUMER_OFFSETS, CONSUMER_OFFSETS_PARTITIONS, Settings
from kcsim.vocabulary import BrokerId

WORDS = ("orders", "payments", "clicks", "metrics", "shipments", "sessions", "audit", "prices", "mails", "stock")
ZIPF_EXPONENT = 0.9
SHARE_CREATED_LATER = 0.05
Replicas = tuple[BrokerId, ...]


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as it is created.

    Attributes:
        number: its place in the order of names.
        first_index: the index of its partition 0 among all partitions.
        unclean: unclean.leader.election.enable.
        is_late: whether it is created in the course of the history instead of with the cluster.
    """

    number: int
    name: str
    partitions: int
    first_index: int
    drawn: Draw
    unclean: bool
    is_late: bool


@dataclass(frozen=True)
class Layout:
    """Brokers, and topics in the order of their names."""

    brokers: tuple[BrokerMetadata, ...]
    topics: tuple[Topic, ...]
    replication_factor: int
    partitions: int

    @property
    def stride(self) -> int:
        """How many events of one millisecond have distinct seqs: one of the cluster, of each topic and of each partition."""
        return 1 + len(self.topics) + self.partitions

    def seq(self, t_ms: int, place: int = 0) -> int:
        """Return the seq of an event. Args: place: 0 for the cluster, else place_of_topic or place_of_partition."""
        return t_ms * self.stride + place

    def place_of_topic(self, number: int) -> int:
        return 1 + number

    def place_of_partition(self, index: int) -> int:
        return 1 + len(self.topics) + index

    def topic_of(self, index: int) -> Topic:
        """Return the topic of a partition."""
        return self.topics[bisect_right(self._first_indices, index) - 1]

    def assignment(self, topic: Topic) -> dict[int, Replicas]:
        """Return every partition's replicas, as Kafka places them on all brokers."""
        return dict(assign_replicas(self.brokers, topic.partitions, self.replication_factor, topic.drawn))

    def rack_of(self, broker: int) -> str:
        return self.brokers[broker - 1].rack or ""

    def on_rack(self, rack: str) -> list[BrokerId]:
        return [broker.id for broker in self.brokers if broker.rack == rack]

    @cached_property
    def racks(self) -> list[str]:
        return sorted({broker.rack or "" for broker in self.brokers})

    @cached_property
    def _first_indices(self) -> list[int]:
        return [topic.first_index for topic in self.topics]


def layout_of(settings: Settings) -> Layout:
    """Lay out a cluster; the seed and the sizes alone decide the layout."""
    numbers = Random(f"{settings.seed} layout")
    brokers = tuple(
        BrokerMetadata(BrokerId(b), f"rack-{(b - 1) % settings.racks + 1}") for b in range(1, settings.brokers + 1)
    )
    sizes = dict(_named_sizes(settings))
    topics = []
    first = 0
    for number, name in enumerate(sorted(sizes)):
        drawn = draw(numbers, len(brokers))
        is_ours = name != CONSUMER_OFFSETS
        unclean = numbers.random() < settings.unclean and is_ours
        is_late = numbers.random() < SHARE_CREATED_LATER and is_ours
        topics.append(Topic(number, name, sizes[name], first, drawn, unclean, is_late))
        first += sizes[name]
    return Layout(brokers, tuple(topics), settings.replication_factor, first)


def _named_sizes(settings: Settings) -> Iterator[tuple[str, int]]:
    """Yield names and numbers of partitions: few topics are large, most are small, in a Zipf distribution."""
    topics, partitions = settings.topics, settings.partitions
    if topics > 1 and partitions - CONSUMER_OFFSETS_PARTITIONS >= 2 * (topics - 1):
        yield CONSUMER_OFFSETS, CONSUMER_OFFSETS_PARTITIONS
        topics, partitions = topics - 1, partitions - CONSUMER_OFFSETS_PARTITIONS
    digits = len(str(topics))
    for rank, size in enumerate(_zipf_sizes(topics, partitions)):
        yield f"{WORDS[rank % len(WORDS)]}-{rank + 1:0{digits}}", size


def _zipf_sizes(topics: int, partitions: int) -> Sequence[int]:
    """Return sizes of at least 1 that add up to `partitions`, about proportional to their rank to the power of -0.9."""
    weights = [(rank + 1) ** -ZIPF_EXPONENT for rank in range(topics)]
    whole = sum(weights)
    bounds = [round((partitions - topics) * so_far / whole) for so_far in accumulate(weights)]
    return [1 + bound - before for before, bound in zip([0, *bounds], bounds, strict=False)]
