"""Paths that even counts out: one unit less at the first node, one more at the last, through arcs that pass a unit on."""

import numpy as np

from kcsim.scenarios.planning.placement_problem import Flags, Ints


def improving_path(arcs: Flags, counts: Ints, limit: Ints) -> list[int] | None:
    """Return the nodes of a path to a node with at least two units fewer, or None: then counts are as even as can be.

    Args:
        arcs: (B, B) whether a unit can be passed on.
        counts: (B,) the units of each node.
        limit: (B,) a node with so many units gets none.
    """
    takes = counts < limit
    lowest = counts[takes].min() if takes.any() else counts.max(initial=0)
    for level in np.unique(counts)[::-1]:
        if level < lowest + 2:
            return None
        path = _path(arcs, np.flatnonzero(counts == level), takes & (counts <= level - 2), counts)
        if path is not None:
            return path
    return None


def _path(arcs: Flags, sources: Ints, targets: Flags, counts: Ints) -> list[int] | None:
    """Return a path with the fewest arcs; of its possible ends, the one with the fewest units."""
    before = np.full(len(arcs), -1, dtype=np.int64)
    reached = np.zeros(len(arcs), dtype=np.bool_)
    reached[sources] = True
    nodes = sources
    while len(nodes):
        new = np.flatnonzero(arcs[nodes].any(axis=0) & ~reached)
        before[new] = nodes[arcs[np.ix_(nodes, new)].argmax(axis=0)]
        reached[new] = True
        ends = new[targets[new]]
        if len(ends):
            path = [int(ends[counts[ends].argmin()])]
            while before[path[-1]] != -1:
                path.append(int(before[path[-1]]))
            return path[::-1]
        nodes = new
    return None
