"""The inverse of assignment.py: finds the start index and shift by which an existing topic was placed.

The first replica of any partition determines the start. Its followers determine the shift, but only modulo the ring's number
of distinct shifts, and not always that: several pairs may give the same topic, and its replicas cannot distinguish them. If
no pair fits, partitions were moved, or the topic grew, or the brokers or their racks were different at the time.

Derived, not taken from Kafka; docs/kafka/assignment.md 8.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kcsim.controller.decisions.broker_ring import BrokerMetadata, BrokerRing, ring_of
from kcsim.controller.decisions.partition_growth import start_index_of_added
from kcsim.controller.decisions.placement import Draw, Replicas, replicas_of, shift_bumps


@dataclass(frozen=True, slots=True)
class DrawInference:
    """The pairs of start index and shift that may have placed a topic.

    Attributes:
        fitting: the pairs that explain most partitions, sorted; each number in 0..n-1.
        deviating: partitions that the first of these pairs does not explain, sorted. Empty: every pair of `fitting` explains
            all.
    """

    fitting: tuple[Draw, ...]
    deviating: tuple[int, ...]

    @property
    def solutions(self) -> tuple[Draw, ...]:
        """Every pair that explains all partitions."""
        return () if self.deviating else self.fitting

    @property
    def is_unique(self) -> bool:
        return len(self.solutions) == 1


@dataclass(frozen=True, slots=True)
class InferredGrowth:
    """A possible growth history of a topic.

    Attributes:
        created: the inferred draw of the partitions before the first addition; it has solutions.
        additions: the first partition of each addition.
        drawn: start index and shift of the additions.
    """

    created: DrawInference
    additions: tuple[int, ...]
    drawn: Draw


def infer_draw(
    described: Mapping[int, Replicas], brokers: Sequence[BrokerMetadata], start_partition: int = 0
) -> DrawInference:
    """Find every start index and shift by which one placement gives these partitions, or else the best-fitting pairs.

    Args:
        described: some or all partitions of a topic.
        brokers: those that took part, as assign_replicas would be given them.
        start_partition: the first partition of that placement; those below it deviate.

    Raises: AdminOperationError when only some brokers have a rack; AdminCommandFailedError when an id occurs twice.
    """
    ring = ring_of(brokers)
    replication_factor = _usual_length(described)
    votes: Counter[Draw] = Counter()
    for _, fitting in _fitting_draws(ring, described, replication_factor, start_partition):
        votes.update(fitting)
    most = max(votes.values(), default=0)
    nearest = sorted(pair for pair, partitions in votes.items() if partitions == most)
    return DrawInference(
        tuple(sorted(alike for pair in nearest for alike in _indistinguishable(ring, pair, replication_factor))),
        tuple(
            sorted(
                p
                for p, replicas in described.items()
                if p < start_partition
                or not nearest
                or replicas != replicas_of(ring, p, replication_factor, nearest[0], start_partition)
            )
        ),
    )


def infer_growth(described: Mapping[int, Replicas], brokers: Sequence[BrokerMetadata]) -> InferredGrowth | None:
    """Infer by which additions of partitions a topic may have grown, if no single placement explains it.

    Each addition but the first is assumed to begin as late as possible.

    Args:
        described: all partitions of a topic, 0 to P-1.
        brokers: those that took part in all of it, as assign_replicas would be given them.

    Returns: None if additions do not explain the topic, or if a single placement does.
    """
    if not brokers or sorted(described) != list(range(len(described))):
        return None
    replication_factor = _usual_length(described)
    unexplained = _first_unexplained(ring_of(brokers), described, replication_factor)
    if not unexplained:
        return None
    index = start_index_of_added(described, brokers)
    drawn = Draw(index, index)
    ring = ring_of(sorted(brokers, key=lambda broker: broker.id))
    # The first added partitions may also fit the original placement: then the addition began earlier.
    for begin in range(unexplained, 0, -1):
        additions = _additions(ring, described, replication_factor, drawn, begin)
        if additions:
            created = {p: described[p] for p in range(begin)}
            return InferredGrowth(infer_draw(created, brokers), additions, drawn)
    return None


def _usual_length(described: Mapping[int, Replicas]) -> int:
    """Return the most frequent replication factor: a list of another length was changed by hand."""
    lengths = Counter(map(len, described.values()))
    return max(lengths, key=lambda length: (lengths[length], -length), default=0)


def _fitting_draws(
    ring: BrokerRing, described: Mapping[int, Replicas], replication_factor: int, start_partition: int
) -> Iterator[tuple[int, list[Draw]]]:
    """Yield each partition, in ascending order, with the pairs that explain it; of equivalent shifts only the smallest."""
    positions = {broker: position for position, broker in enumerate(ring.brokers)}
    placed: dict[int, dict[Replicas, list[int]]] = {}  # position of the first replica -> replicas -> shifts
    for partition, replicas in sorted(described.items()):
        if partition < start_partition:
            continue
        if len(replicas) != replication_factor or replicas[:1] == () or replicas[0] not in positions:
            yield partition, []
            continue
        first = positions[replicas[0]]
        if first not in placed:
            placed[first] = _shifts_by_replicas(ring, first, replication_factor)
        start, bumps = (first - partition) % len(ring), shift_bumps(len(ring), partition, start_partition)
        distinct = ring.distinct_shifts(replication_factor)
        yield partition, [Draw(start, (shift - bumps) % distinct) for shift in placed[first].get(replicas, ())]


def _shifts_by_replicas(ring: BrokerRing, first: int, replication_factor: int) -> dict[Replicas, list[int]]:
    """Return all lists of replicas that begin at this position, each with the distinct shifts that give it."""
    found: dict[Replicas, list[int]] = {}
    for shift in range(ring.distinct_shifts(replication_factor)):
        # Partition 0 with this start and shift has the same placement.
        found.setdefault(replicas_of(ring, 0, replication_factor, Draw(first, shift)), []).append(shift)
    return found


def _indistinguishable(ring: BrokerRing, pair: Draw, replication_factor: int) -> list[Draw]:
    shifts = range(pair.next_replica_shift, len(ring), ring.distinct_shifts(replication_factor))
    return [Draw(pair.start_index, shift) for shift in shifts]


def _first_unexplained(ring: BrokerRing, described: Mapping[int, Replicas], replication_factor: int) -> int | None:
    """Return the first partition that no pair explains together with all partitions before it."""
    viable: set[Draw] | None = None
    for partition, fitting in _fitting_draws(ring, described, replication_factor, 0):
        viable = set(fitting) if viable is None else viable & set(fitting)
        if not viable:
            return partition
    return None


def _additions(
    ring: BrokerRing, described: Mapping[int, Replicas], replication_factor: int, drawn: Draw, begin: int
) -> tuple[int, ...]:
    """Return the first partitions of additions that explain everything from `begin` on; empty if no additions do."""
    additions = [begin]
    for partition in range(begin, len(described)):
        if replicas_of(ring, partition, replication_factor, drawn, additions[-1]) == described[partition]:
            continue
        if replicas_of(ring, partition, replication_factor, drawn, partition) != described[partition]:
            return ()
        additions.append(partition)
    return tuple(additions)
