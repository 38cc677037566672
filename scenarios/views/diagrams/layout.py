"""The positions of a diagram's states: rows by distance from the initial state, with as few crossings as possible.

Deterministic. State machines are small, so every order of every row is tried.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product

import networkx as nx

from kcsim.scenarios.views.diagrams.machines import StateMachine

BOX_WIDTH, BOX_HEIGHT = 196, 38
COLUMN, ROW = 236, 96
COLUMN_WITH_WORDS, ROW_WITH_WORDS = 350, 106
"""Distances of columns and rows where transitions have labels, which need room."""
MARGIN = 64
"""Room at the sides for transitions that pass rows, and for those from a state to itself."""
TOP = 20


@dataclass(frozen=True, slots=True)
class DiagramLayout:
    """Positions in units of the picture. `centres`: state -> middle of its box; `rows`: state -> its row, from 0."""

    width: int
    height: int
    centres: Mapping[str, tuple[float, float]]
    rows: Mapping[str, int]


def layout(machine: StateMachine) -> DiagramLayout:
    """Return the positions of the states."""
    graph = machine.graph()
    rows = [sorted(row, key=machine.states.index) for row in nx.bfs_layers(graph, machine.initial)]
    row_of = {state: number for number, row in enumerate(rows) for state in row}
    # `min` returns the first of the best, so the result depends on nothing but the table.
    best = min(product(*(permutations(row) for row in rows)), key=lambda order: _cost(order, graph, row_of))
    widest = max(map(len, rows))
    column, height = (COLUMN_WITH_WORDS, ROW_WITH_WORDS) if any(machine.transitions.values()) else (COLUMN, ROW)
    width = (widest - 1) * column + BOX_WIDTH + 2 * MARGIN
    centres = {
        state: (width / 2 + (place - (len(row) - 1) / 2) * column, TOP + BOX_HEIGHT / 2 + number * height)
        for number, row in enumerate(best)
        for place, state in enumerate(row)
    }
    return DiagramLayout(width, 3 * TOP + BOX_HEIGHT + (len(rows) - 1) * height, centres, row_of)


def _cost(order: Sequence[Sequence[str]], graph: nx.DiGraph, row_of: Mapping[str, int]) -> tuple[int, float]:
    """Return how many transitions between neighbouring rows cross, and the sum of their sideways distances."""
    at = {state: place - (len(row) - 1) / 2 for row in order for place, state in enumerate(row)}
    spans = {
        (min((row_of[a], at[a]), (row_of[b], at[b])), max((row_of[a], at[a]), (row_of[b], at[b])))
        for a, b in graph.edges
        if abs(row_of[a] - row_of[b]) == 1
    }
    crossings = sum(
        upper_1[0] == upper_2[0] and (upper_1[1] - upper_2[1]) * (lower_1[1] - lower_2[1]) < 0
        for (upper_1, lower_1), (upper_2, lower_2) in combinations(sorted(spans), 2)
    )
    return crossings, sum(abs(upper[1] - lower[1]) for upper, lower in spans)
