"""The placement of one partition's replicas: the ring of brokers, the draw, and one candidate after the other.

First replicas go round the ring of brokers from a random start. Followers go to the brokers after the first one, displaced
by a shift that begins at random and grows with each round, so that the followers of the partitions that one broker leads are
spread over all the others. A candidate on a rack that already has a replica is skipped while some rack has none.

Source: Kafka 2.8, AdminUtils.assignReplicasToBrokers; docs/kafka/assignment.md 2 to 6.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import count, islice
from typing import NamedTuple, Protocol

from kcsim.controller.decisions.broker_ring import BrokerMetadata, BrokerRing, ring_of
from kcsim.controller.decisions.kafka_refusals import InvalidPartitionsError, InvalidReplicationFactorError
from kcsim.vocabulary import BrokerId

Replicas = tuple[BrokerId, ...]
"""The brokers that host a partition, the preferred leader first."""
Assignment = Mapping[int, Replicas]
"""The replicas of each partition, in ascending order of partitions."""


class RandomNumbers(Protocol):
    """A source of random numbers; random.Random is one."""

    def randrange(self, stop: int, /) -> int: ...


class Draw(NamedTuple):
    """The two random numbers that, with the brokers, determine a whole placement."""

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
    """Return the ring of brokers for a placement, or refuse the numbers of partitions and replicas as Kafka does.

    Raises: see assign_replicas.
    """
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
    """Place one partition of a topic, or of an addition that begins with start_partition."""
    first = ring.leading_position(partition, drawn.start_index)
    shift = drawn.next_replica_shift + shift_bumps(len(ring), partition, start_partition)
    chosen = (candidate.position for candidate in candidates(ring, first, shift) if candidate.rule is CandidateRule.CHOSEN)
    return tuple(ring.brokers[position] for position in islice(chosen, replication_factor))


def shift_bumps(broker_count: int, partition: int, start_partition: int = 0) -> int:
    """Return how often the shift has grown: once per positive multiple of broker_count in start_partition..partition."""
    return partition // broker_count - (max(start_partition, 1) - 1) // broker_count


def replica_index(first_position: int, shift: int, replica: int, broker_count: int) -> int:
    """Return the ring position of a candidate for follower.

    Args:
        shift: the displacement of followers; multiplied by the number of racks, if racks count.
        replica: the number of the candidate, from 0; without racks it is the follower of that number.
        broker_count: two or more.
    """
    return (first_position + 1 + (shift + replica) % (broker_count - 1)) % broker_count


# --- one replica after the other -------------------------------------------------------------------------------------------


class CandidateRule(Enum):
    """The reason why a candidate became a replica, or did not."""

    CHOSEN = "chosen"
    SAME_RACK = "its rack has a replica, while another rack has none"
    ALREADY_REPLICA = "it is a replica of this partition already"


class Candidate(NamedTuple):
    """A candidate broker. `number` counts the candidates for followers from 0; it is None for the first replica."""

    position: int
    number: int | None
    rule: CandidateRule


def candidates(ring: BrokerRing, first_position: int, shift: int) -> Iterator[Candidate]:
    """Yield candidates one after the other until all brokers are replicas; the caller stops when it has enough replicas.

    The search for a follower continues where the search for the previous one stopped.
    """
    yield Candidate(first_position, None, CandidateRule.CHOSEN)
    chosen = {first_position}
    used_racks = {ring.rack_numbers[first_position]}
    displacement = ring.displacement(shift)
    for number in count():
        if len(chosen) == len(ring):
            return
        position = replica_index(first_position, displacement, number, len(ring))
        rack = ring.rack_numbers[position]
        if rack in used_racks and len(used_racks) < ring.rack_count:
            yield Candidate(position, number, CandidateRule.SAME_RACK)
        elif position in chosen:
            yield Candidate(position, number, CandidateRule.ALREADY_REPLICA)
        else:
            chosen.add(position)
            used_racks.add(rack)
            yield Candidate(position, number, CandidateRule.CHOSEN)
