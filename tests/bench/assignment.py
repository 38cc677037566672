"""Placement of a million partitions on 300 brokers and 3 racks, compared with a direct loop over Kafka's formulae.

Kafka 2.8.2's own Java takes 0.9 to 1.4 s for the same placement, warm, on a machine like the one this was written on.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from kcsim.controller.decisions.assignment import assign_replicas
from kcsim.controller.decisions.broker_ring import BrokerMetadata, rack_alternated_list
from kcsim.controller.decisions.placement import Assignment, Draw, Replicas
from kcsim.vocabulary import BrokerId
from tests.bench.report import Measured, measure, print_table

PARTITIONS, BROKERS, RACKS, REPLICATION_FACTOR = 1_000_000, 300, 3, 3
JAVA_S = (0.9, 1.4)
DRAWN = Draw(17, 23)
SIZES = (10_000, 100_000, 1_000_000)

Place = Callable[[Sequence[BrokerMetadata], int], object]


def main() -> None:
    """Print the ratio to the loop, and how the time grows with the number of partitions."""
    brokers = [BrokerMetadata(BrokerId(i), f"rack{i % RACKS}") for i in range(BROKERS)]
    loop = measure("a direct loop over Kafka's formulae", PARTITIONS, lambda: place_directly(brokers, PARTITIONS))
    ours = measure("ours, as a mapping", PARTITIONS, lambda: place(brokers, PARTITIONS))
    whole = measure("ours, as a dict with every entry", PARTITIONS, lambda: dict(place(brokers, PARTITIONS)))
    expected = place_directly(brokers, PARTITIONS)
    assert place(brokers, PARTITIONS) == expected, "the mapping is not the same"
    print_table(
        f"Placing {PARTITIONS:,} partitions, rf {REPLICATION_FACTOR}, {BROKERS} brokers, {RACKS} racks",
        loop,
        ours,
        whole,
    )
    print(f"  All the same result. Kafka's own Java, warm: {JAVA_S[0]} to {JAVA_S[1]} s.")
    print_growth("as a mapping", [_measure_growth(place, brokers, size) for size in SIZES])


def _measure_growth(work: Place, brokers: Sequence[BrokerMetadata], size: int) -> Measured:
    return measure(f"{size:,} partitions", size, lambda: work(brokers, size))


def print_growth(how: str, measured: Sequence[Measured]) -> None:
    """Print one line for each size: its time, and the ratio of that time to the time of the previous size."""
    print(f"\nGrowth, {how}")
    print(f"  {measured[0].name:<58} {measured[0].seconds:8.4f} s")
    for smaller, larger in pairwise(measured):
        times = f"{larger.seconds / smaller.seconds:.1f} times for {larger.count // smaller.count} times as many"
        print(f"  {larger.name:<58} {larger.seconds:8.4f} s, {times}")


def place_directly(brokers: Sequence[BrokerMetadata], partitions: int) -> dict[int, Replicas]:
    return direct_loop(brokers, partitions, REPLICATION_FACTOR, DRAWN)


def place(brokers: Sequence[BrokerMetadata], partitions: int) -> Assignment:
    return assign_replicas(brokers, partitions, REPLICATION_FACTOR, DRAWN)


def direct_loop(
    brokers: Sequence[BrokerMetadata], partitions: int, replication_factor: int, drawn: Draw, start_partition: int = 0
) -> dict[int, Replicas]:
    """Place replicas one partition and candidate at a time, unchecked.

    Source: docs/kafka/assignment.md 3 and 4.
    """
    rack_of = {broker.id: broker.rack for broker in brokers}
    if None in rack_of.values():
        return _direct_loop_without_racks(list(rack_of), partitions, replication_factor, drawn, start_partition)
    order = rack_alternated_list(brokers)
    n, racks, shift = len(order), len(set(rack_of.values())), drawn.next_replica_shift
    placed: dict[int, Replicas] = {}
    for partition in range(start_partition, start_partition + partitions):
        if partition > 0 and partition % n == 0:
            shift += 1
        first = (partition + drawn.start_index) % n
        replicas = [order[first]]
        used_racks = {rack_of[order[first]]}
        k = 0
        while len(replicas) < replication_factor:
            broker = order[(first + 1 + (shift * racks + k) % (n - 1)) % n]
            k += 1
            same_rack = rack_of[broker] in used_racks and len(used_racks) < racks
            if same_rack or (broker in replicas and len(replicas) < n):
                continue
            replicas.append(broker)
            used_racks.add(rack_of[broker])
        placed[partition] = tuple(replicas)
    return placed


def _direct_loop_without_racks(
    order: Sequence[BrokerId], partitions: int, replication_factor: int, drawn: Draw, start_partition: int
) -> dict[int, Replicas]:
    n, shift = len(order), drawn.next_replica_shift
    placed: dict[int, Replicas] = {}
    for partition in range(start_partition, start_partition + partitions):
        if partition > 0 and partition % n == 0:
            shift += 1
        first = (partition + drawn.start_index) % n
        replicas = [order[first]]
        for j in range(replication_factor - 1):
            replicas.append(order[(first + 1 + (shift + j) % (n - 1)) % n])
        placed[partition] = tuple(replicas)
    return placed
