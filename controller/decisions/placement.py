"""Where one partition's replicas go: the ring of brokers, the draw, and one candidate after the other.

First replicas go round the ring of brokers from a random start. Followers go to the brokers after the first one, displaced
by a shift that begins at random and grows with each round, so that the partitions one broker leads have their followers
spread over all the others; candidates on a rack that has a replica already are passed over while some rack has none.

Source: Kafka 2.8, AdminUtils.assignReplicasToBrokers; reference assignment.md 2 to 6.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import count, islice
from typing import NamedTuple, Protocol

from kcsim.controller.decisions.broker_ring import BrokerMetadata, BrokerRing, ring_of
from kcsim.controller.decisions.kafka_refusals import InvalidPartitionsError, InvalidReplicationFactorError
from kcsim.zk.vocabulary import BrokerId

Replicas = tuple[BrokerId, ...]
"""Who hosts a partition, the preferred leader first."""
Assignment = Mapping[int, Replicas]
"""Partition -> its replicas, in ascending order of partitions."""


class RandomNumbers(Protocol):
    """Where random numbers come from; random.Random is one."""

    def randrange(self, stop: int, /) -> int: ...


class Draw(NamedTuple):
    """The two numbers that, with the brokers, decide a whole placement."""

    start_index: int  # position in the ring of the first replica of partition 0
    next_replica_shift: int  # how far the followers of the first round are displaced


def draw(numbers: RandomNumbers, broker_count: int, fixed_start_index: int = -1) -> Draw:
    """Draw both numbers, the start first, each from 0..broker_count-1.

    Args:
        fixed_start_index: if 0 or more, it is both numbers and nothing is drawn. It may exceed the number of brokers.
    """
    if fixed_start_index >= 0:
        return Draw(fixed_start_index, fixed_start_index)
    stop = max(broker_count, 1)  # without brokers the placement is refused, whatever was drawn
    return Draw(numbers.randrange(stop), numbers.randrange(stop))


def ring_for(brokers: Sequence[BrokerMetadata], partitions: int, replication_factor: int) -> BrokerRing:
    """The ring of brokers for so many partitions and replicas, if Kafka would place them. Raises: see assign_replicas."""
    if partitions <= 0:
        raise InvalidPartitionsError(
            "Number of partitions must be larger than 0.", "number of partitions must be larger than 0"
        )
    if replication_factor <= 0:
        raise InvalidReplicationFactorError(
            "Replication factor must be larger than 0.", "replication factor must be larger than 0"
        )
    if replication_factor > len(brokers):
        raise InvalidReplicationFactorError(
            f"Replication factor: {replication_factor} larger than available brokers: {len(brokers)}.",
            f"replication factor: {replication_factor} larger than available brokers: {len(brokers)}",
        )
    return ring_of(brokers)


def replicas_of(
    ring: BrokerRing, partition: int, replication_factor: int, drawn: Draw, start_partition: int = 0
) -> Replicas:
    """Place one partition, of a topic or of an addition that begins with start_partition."""
    first = ring.leading_position(partition, drawn.start_index)
    shift = drawn.next_replica_shift + shift_bumps(len(ring), partition, start_partition)
    chosen = (candidate.position for candidate in candidates(ring, first, shift) if candidate.rule is Rule.CHOSEN)
    return tuple(ring.brokers[position] for position in islice(chosen, replication_factor))


def shift_bumps(broker_count: int, partition: int, start_partition: int = 0) -> int:
    """How often the shift has grown: once for each positive multiple of broker_count in start_partition..partition."""
    return partition // broker_count - (max(start_partition, 1) - 1) // broker_count


def replica_index(first_position: int, shift: int, replica: int, broker_count: int) -> int:
    """Position of a candidate for follower.

    Args:
        shift: how far followers are displaced; times the number of racks, if these count.
        replica: which candidate, from 0; without racks it is the follower of that number.
        broker_count: two or more.
    """
    return (first_position + 1 + (shift + replica) % (broker_count - 1)) % broker_count


# --- one replica after the other -------------------------------------------------------------------------------------------


class Rule(Enum):
    """Why a candidate became a replica, or did not."""

    CHOSEN = "chosen"
    SAME_RACK = "its rack has a replica, while another rack has none"
    ALREADY_REPLICA = "it is a replica of this partition already"


class Candidate(NamedTuple):
    """A broker looked at. `number` counts the candidates for followers from 0; it is None for the first replica."""

    position: int
    number: int | None
    rule: Rule


def candidates(ring: BrokerRing, first_position: int, shift: int) -> Iterator[Candidate]:
    """Look at brokers one after the other, as long as some is no replica yet; stop asking when there are enough replicas.

    The search for a follower goes on where that for the one before it stopped.
    """
    yield Candidate(first_position, None, Rule.CHOSEN)
    chosen = {first_position}
    used_racks = {ring.rack_numbers[first_position]}
    displacement = ring.displacement(shift)
    for number in count():
        if len(chosen) == len(ring):
            return
        position = replica_index(first_position, displacement, number, len(ring))
        rack = ring.rack_numbers[position]
        if rack in used_racks and len(used_racks) < ring.rack_count:
            yield Candidate(position, number, Rule.SAME_RACK)
        elif position in chosen:
            yield Candidate(position, number, Rule.ALREADY_REPLICA)
        else:
            chosen.add(position)
            used_racks.add(rack)
            yield Candidate(position, number, Rule.CHOSEN)
