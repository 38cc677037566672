"""Chooses the preferred leader of each partition among its replicas, so that leaders are as even as they can be."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from kcsim.scenarios.planning.count_paths import improving_path
from kcsim.scenarios.planning.placement_problem import UNLIMITED, Flags, Ints


def choose_leaders(hosts: Flags, current: Sequence[int | None], is_free: Flags, other_leaders: Ints) -> Ints:
    """Return (P,) the brokers that lead, with the smallest sum of the squares of the brokers' leaders.

    Leaders stay unless that sum is smaller with another one. A broker's leaders are evened out along paths: a -> b is a
    partition that a leads and that has a replica on b.

    Args:
        hosts: (P, B) where the replicas are.
        current: the present preferred leader of each partition; None if it leaves.
        is_free: (P,) whether another leader may be chosen although the present one stays.
        other_leaders: (B,) leaders of partitions that are not in `hosts`.
    """
    leaders: Ints = np.array([-1 if leader is None else leader for leader in current], dtype=np.int64)
    is_lost = (leaders < 0) | ~hosts[np.arange(len(leaders)), leaders]
    counts = other_leaders + np.bincount(leaders[~is_lost], minlength=hosts.shape[1])
    for row in np.flatnonzero(is_lost):
        replicas = np.flatnonzero(hosts[row])
        leaders[row] = replicas[counts[replicas].argmin()]
        counts[leaders[row]] += 1
    free = np.flatnonzero(is_free | is_lost)
    passes: Ints = np.zeros((hosts.shape[1], hosts.shape[1]), dtype=np.int64)
    for leader in np.unique(leaders[free]):
        passes[leader] = hosts[free[leaders[free] == leader]].sum(axis=0)
    np.fill_diagonal(passes, 0)
    arcs = passes > 0
    no_limit = np.full(len(counts), UNLIMITED, dtype=np.int64)
    while (path := improving_path(arcs, counts, no_limit)) is not None:
        for old, new in pairwise(path):
            row = free[np.flatnonzero((leaders[free] == old) & hosts[free, new])[0]]
            leaders[row] = new
            for leader, change in ((old, -1), (new, 1)):
                passes[leader] += change * hosts[row]
                passes[leader, leader] = 0
                arcs[leader] = passes[leader] > 0
        counts[path[0]] -= 1
        counts[path[-1]] += 1
    return leaders
