"""The ring of brokers that placement walks: which brokers take part, in which order, on which racks.

Without racks the order is the given one (by id, everywhere in Kafka). With racks it alternates between them, so that
neighbours on the ring are on different racks until a rack has no more brokers.

Source: Kafka 2.8, AdminUtils.getRackAlternatedBrokerList and AdminZkClient.getBrokerMetadatas; docs/kafka/assignment.md 4,
5.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import chain, zip_longest
from math import gcd
from typing import NamedTuple

from kcsim.controller.decisions.kafka_refusals import AdminCommandFailedError, AdminOperationError
from kcsim.vocabulary import BrokerId


class BrokerMetadata(NamedTuple):
    """The properties of a broker that placement uses."""

    id: BrokerId
    rack: str | None = None


class RackAwareMode(StrEnum):
    """How placement treats racks when not every broker has one."""

    ENFORCED = "enforced"  # refuse the placement
    SAFE = "safe"  # ignore all racks
    DISABLED = "disabled"  # ignore all racks, even if every broker has one


def effective_brokers(brokers: Iterable[BrokerMetadata], mode: RackAwareMode) -> tuple[BrokerMetadata, ...]:
    """Return the brokers that placement uses, sorted by id: each with its rack, or all without.

    Args:
        brokers: those that take part; only their racks are considered.

    Raises: AdminOperationError when the mode is ENFORCED and only some brokers have a rack.
    """
    by_id = tuple(sorted(brokers, key=lambda broker: broker.id))
    with_rack = sum(broker.rack is not None for broker in by_id)
    mixed = 0 < with_rack < len(by_id)
    if mode is RackAwareMode.ENFORCED and mixed:
        raise AdminOperationError(
            "Not all brokers have rack information. Add --disable-rack-aware in command line"
            " to make replica assignment without rack information."
        )
    if mode is RackAwareMode.DISABLED or mixed:
        return tuple(BrokerMetadata(broker.id) for broker in by_id)
    return by_id


def rack_alternated_list(brokers: Iterable[BrokerMetadata]) -> tuple[BrokerId, ...]:
    """Return broker ids with alternating racks.

    The order is: the lowest id of each rack, racks sorted by name, then the second lowest of each, and so on. Every broker
    must have a rack. Racks without further brokers are skipped.
    """
    by_rack: dict[str, list[BrokerId]] = {}
    for broker in sorted(brokers):
        assert broker.rack is not None
        by_rack.setdefault(broker.rack, []).append(broker.id)
    rounds = zip_longest(*(by_rack[rack] for rack in sorted(by_rack)))
    return tuple(broker_id for broker_id in chain.from_iterable(rounds) if broker_id is not None)


def refuse_duplicates(what: str, entries: Iterable[object]) -> None:
    """Refuse entries that occur more than once.

    Raises: AdminCommandFailedError with every such entry, in the words of Kafka's tools.
    """
    repeated = [str(entry) for entry, times in Counter(entries).items() if times > 1]
    if repeated:
        raise AdminCommandFailedError(f"{what} contains duplicate entries: {','.join(repeated)}")


@dataclass(frozen=True)
class BrokerRing:
    """Brokers in ring order, with the number of each broker's rack.

    Without racks all brokers count as being on one rack. No broker is skipped because of its rack then, and Kafka's two
    algorithms are the same.
    """

    brokers: tuple[BrokerId, ...]
    rack_numbers: tuple[int, ...]
    is_rack_aware: bool

    def __len__(self) -> int:
        return len(self.brokers)

    @cached_property
    def rack_count(self) -> int:
        """The number of distinct racks; 1 without racks."""
        return len(set(self.rack_numbers))

    def leading_position(self, partition: int, start_index: int) -> int:
        """Return the ring position of a partition's first replica."""
        return (partition + start_index) % len(self)

    def displacement(self, shift: int) -> int:
        """Return how many brokers after the first replica's right neighbour the search for followers begins, in 0..n-2.

        A shift that is greater by one moves the search by a whole round of racks.
        """
        return shift * self.rack_count % max(len(self) - 1, 1)

    def distinct_shifts(self, replication_factor: int) -> int:
        """Return the modulus of the shift: shifts that agree modulo this number give the same placement.

        It is 1 without followers, because the shift has no effect then.
        """
        steps = max(len(self) - 1, 1)
        return 1 if replication_factor == 1 else steps // gcd(self.rack_count, steps)


def ring_of(brokers: Sequence[BrokerMetadata]) -> BrokerRing:
    """Order brokers for placement: alternating racks if all have one, in the given order if none has.

    Raises: AdminOperationError when only some have a rack; AdminCommandFailedError when an id occurs twice, which cannot
    happen in Kafka itself.
    """
    refuse_duplicates("Broker list", [broker.id for broker in brokers])
    racks = {broker.id: broker.rack for broker in brokers}
    if all(rack is None for rack in racks.values()):
        return BrokerRing(tuple(racks), (0,) * len(racks), is_rack_aware=False)
    if None in racks.values():
        raise AdminOperationError(
            "Not all brokers have rack information for replica rack aware assignment.",
            "Not all brokers have rack information for replica rack aware assignment",
        )
    numbers = {rack: number for number, rack in enumerate(dict.fromkeys(racks.values()))}
    order = rack_alternated_list(brokers)
    return BrokerRing(order, tuple(numbers[racks[broker]] for broker in order), is_rack_aware=True)
