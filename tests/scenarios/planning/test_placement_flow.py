"""Balanced placements against a minimum-cost flow of the whole graph, solved by networkx's network simplex.

The graph has an arc from each partition to each broker: 100 brokers and 2,000 partitions take seconds, 1,000 and 100,000
more memory than there is. So the search contracts it; the bytes moved must be the same.
"""

import random
from collections import Counter

import networkx as nx
import pytest

from kcsim.scenarios.planning.goals import parse_goals
from kcsim.scenarios.planning.reassignment_plan import make_plan
from kcsim.scenarios.snapshots.snapshot_format import (
    ControlPlaneSnapshot,
    SnapshotBroker,
    SnapshotPartition,
    SnapshotTopic,
)
from tests.tiers import tiered

FACTOR = 3


def drawn_snapshot(seed: int) -> ControlPlaneSnapshot:
    """Return a cluster without racks whose later brokers host more."""
    numbers = random.Random(seed)
    count = numbers.randint(5, 20)
    ids = list(range(1, count + 1))
    partitions = []
    for number in range(numbers.randint(count, 10 * count)):
        replicas: set[int] = set()
        while len(replicas) < FACTOR:
            replicas.update(numbers.choices(ids, weights=ids))
        size = numbers.choice([1, numbers.randint(1, 1000)])
        partitions.append(SnapshotPartition(number, tuple(sorted(replicas)), size_bytes=size))
    brokers = tuple(SnapshotBroker(broker, broker) for broker in ids)
    return ControlPlaneSnapshot("drawn", "t", brokers=brokers, topics=(SnapshotTopic("orders", tuple(partitions)),))


def fewest_bytes(snapshot: ControlPlaneSnapshot) -> int:
    """Return the bytes that have to move until no broker has two replicas more than another."""
    graph = nx.DiGraph()
    brokers, partitions = snapshot.registered_ids, list(snapshot.partitions())
    floor, more = divmod(FACTOR * len(partitions), len(brokers))
    for tp, partition in partitions:
        graph.add_node(tp, demand=-FACTOR)
        for broker in brokers:
            graph.add_edge(tp, broker, capacity=1, weight=0 if broker in partition.replicas else partition.size_bytes)
    for broker in brokers:
        graph.add_node(broker, demand=floor)
        graph.add_edge(broker, "one more", capacity=1, weight=0)
    graph.add_node("one more", demand=more)
    return int(nx.network_simplex(graph)[0])


@pytest.mark.parametrize("seed", tiered(range(60), fast=10, slow=5))
def test_no_flow_that_evens_the_brokers_out_costs_less(seed: int) -> None:
    snapshot = drawn_snapshot(seed)
    plan = make_plan(snapshot, parse_goals(["balance"]))
    replicas = Counter(load.replicas for load in plan.after.values())
    assert max(replicas) - min(replicas) <= 1
    assert plan.bytes_moved == fewest_bytes(snapshot)
