"""Cycles that lower a cost: a graph in which there is one has a flow that costs less (Klein)."""

import numpy as np

from kcsim.scenarios.planning.placement_problem import Ints


def negative_cycle(costs: Ints) -> list[int] | None:
    """Return the nodes of a cycle with negative cost in a graph, given as a matrix, or None. Bellman-Ford."""
    size = len(costs)
    distances = np.zeros(size, dtype=np.int64)
    before = np.full(size, -1, dtype=np.int64)
    columns = np.arange(size)
    for _ in range(size + 1):
        through = distances[:, None] + costs
        best = through.argmin(axis=0)
        lower = through[best, columns]
        changed = lower < distances
        if not changed.any():
            return None
        distances[changed], before[changed] = lower[changed], best[changed]
        if (cycle := _cycle_of(before)) is not None:
            return cycle
    return None


def _cycle_of(before: Ints) -> list[int] | None:
    """Return a cycle of the graph in which each node has at most one predecessor, in the direction of its arcs."""
    seen_from: dict[int, int] = {}
    predecessors = before.tolist()
    for start in range(len(predecessors)):
        node = start
        while node != -1 and node not in seen_from:
            seen_from[node] = start
            node = predecessors[node]
        if node != -1 and seen_from[node] == start:
            cycle = [node]
            while (node := predecessors[node]) != cycle[0]:
                cycle.append(node)
            return cycle[::-1]
    return None
