"""Finds the placement of replicas that a plan leads to: a minimum-cost flow from partitions over racks to brokers.

Each partition sends one unit for each replica, each broker takes at most one from each partition. A unit costs nothing where
the partition has a replica already, and the partition's bytes elsewhere. An optimum is recognised by the residual graph: it
has no cycle that lowers the cost. Here that graph is contracted to the brokers. Its arc a -> b is the cheapest replica that
can move from a to b, so that 1,000 brokers have a million arcs, however many partitions they have. A path in it is a
sequence of moves after which its first broker has one replica fewer and its last one more; a cycle leaves all counts.

1. Replicas stay where they may, the others go to the broker with the fewest replicas.
2. Direct moves, the smallest replicas first, even the counts out; this does most of the work.
3. Paths even them out as far as the bounds allow (no path from a broker to one with two replicas fewer: the sum of the
   squares is the smallest).
4. Cycles that lower the bytes moved are followed until there is none (Klein's algorithm).
5. If the bytes are to be balanced, too, brokers exchange replicas (byte_balance.py).

With capacities the problem contains bin packing. Then every step keeps to them, and the result need not be the optimum. Arcs
to a broker that has less room than when they were computed are found out when they are followed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kcsim.scenarios.planning.byte_balance import even_bytes_out
from kcsim.scenarios.planning.count_paths import improving_path
from kcsim.scenarios.planning.goals import PlanError
from kcsim.scenarios.planning.negative_cycle import negative_cycle
from kcsim.scenarios.planning.placement_problem import UNLIMITED, Flags, Ints, PlacementProblem

NO_ROW = -1
"""The arc from a broker to one with one replica more: the first gets the other's place, and nothing moves."""


@dataclass(frozen=True, slots=True)
class _Arc:
    source: int
    destination: int
    row: int


def find_placement(problem: PlacementProblem) -> Flags:
    """Return (P, B) where the replicas are afterwards. Raises: PlanError if none is found within the capacities."""
    search = _PlacementSearch(problem)
    search.place_all()
    search.relieve()
    if problem.evens_out:
        search.even_out_directly()
    if not search.is_decided():
        search.use_paths_and_cycles()
    if problem.bytes_within is not None:
        even_bytes_out(problem, search.hosts, problem.bytes_within)
    return search.hosts


class _PlacementSearch:
    def __init__(self, problem: PlacementProblem) -> None:
        self._problem = problem
        self._brokers = brokers = problem.brokers
        self._partitions = partitions = problem.partitions
        self.hosts: Flags = np.zeros_like(partitions.original)
        self._in_rack: Ints = np.zeros_like(partitions.most)
        self._replicas = brokers.other_replicas.copy()
        self._bytes = brokers.other_bytes.copy()
        self._has_capacities = bool((brokers.capacity < UNLIMITED).any())

    # --- single replicas

    def _put(self, row: int, broker: int) -> None:
        self._count(row, broker, 1)

    def _take(self, row: int, broker: int) -> None:
        self._count(row, broker, -1)

    def _count(self, row: int, broker: int, change: int) -> None:
        self.hosts[row, broker] = change > 0
        self._in_rack[row, self._brokers.racks[broker]] += change
        self._replicas[broker] += change
        self._bytes[broker] += change * self._partitions.sizes[row]

    def _may_enter(self, row: int) -> Flags:
        """Return (B,) the brokers that can take a replica that is not placed yet."""
        partitions, brokers = self._partitions, self._brokers
        placed = self._in_rack[row]
        missing = np.maximum(partitions.fewest[row] - placed, 0)
        unplaced = partitions.factors[row] - placed.sum()
        enters = (placed < partitions.most[row]) & ((missing > 0) | (unplaced > missing.sum()))
        may: Flags = enters[brokers.racks] & ~self.hosts[row]
        return may

    def _has_room(self, row: int) -> Flags:
        room: Flags = self._bytes + self._partitions.sizes[row] <= self._brokers.capacity
        return room

    def _may_move(self, row: int, source: int, any_broker: bool = False) -> Flags:
        """Return (B,) the brokers to which a replica can move."""
        partitions, racks = self._partitions, self._brokers.racks
        rack = racks[source]
        enters = self._in_rack[row] < partitions.most[row]
        enters &= self._in_rack[row, rack] > partitions.fewest[row, rack]
        enters[rack] = True
        may: Flags = enters[racks] & ~self.hosts[row] & self._has_room(row)
        if not (any_broker or partitions.must_move[row]):
            may &= self._brokers.takes | partitions.original[row]
        return may

    def _emptiest(self, among: Flags) -> int | None:
        """Return the broker with the fewest replicas; of several the one with the fewest bytes."""
        columns = np.flatnonzero(among)
        if not len(columns):
            return None
        replicas = self._replicas[columns]
        columns = columns[replicas == replicas.min()]
        return int(columns[self._bytes[columns].argmin()])

    # --- the first placement

    def place_all(self) -> None:
        """Place every replica: where one is already as far as the bounds allow, the largest first among the others.

        Of replicas that are too many, those on the fullest brokers go.
        """
        partitions, racks = self._partitions, self._brokers.racks
        original = partitions.original
        in_rack = np.stack([original[:, racks == rack].sum(axis=1) for rack in range(partitions.most.shape[1])], axis=1)
        fits = (in_rack <= partitions.most).all(axis=1) & (in_rack >= partitions.fewest).all(axis=1)
        stays = fits & (original.sum(axis=1) == partitions.factors)
        self.hosts[stays] = original[stays]
        self._in_rack[stays] = in_rack[stays]
        self._replicas += self.hosts.sum(axis=0)
        self._bytes += np.array([partitions.sizes[self.hosts[:, broker]].sum() for broker in range(len(racks))])
        others = np.flatnonzero(~stays)
        load = self._replicas + original[others].sum(axis=0)
        for row in map(int, others):
            there = np.flatnonzero(original[row])
            for broker in map(int, there[np.argsort(load[there], kind="stable")]):
                if self.hosts[row].sum() < partitions.factors[row] and self._may_enter(row)[broker]:
                    self._put(row, broker)
                else:
                    load[broker] -= 1
        for row in sorted(map(int, others), key=lambda one: (-partitions.sizes[one], one)):
            self._place_missing(row)

    def _place_missing(self, row: int) -> None:
        partitions = self._partitions
        while self.hosts[row].sum() < partitions.factors[row]:
            may = self._may_enter(row) & self._has_room(row)
            broker = self._emptiest(may)
            if broker is None:
                size = partitions.sizes[row]
                raise PlanError(
                    f"capacity: no broker was found with room for a replica of {partitions.names[row]}, {size} bytes"
                )
            self._put(row, broker)

    def relieve(self) -> None:
        """Move replicas away from brokers that host more bytes than they may. Raises: PlanError."""
        over = self._bytes - self._brokers.capacity
        for broker in np.flatnonzero(over > 0):
            while (excess := self._bytes[broker] - self._brokers.capacity[broker]) > 0:
                self._relieve(int(broker), int(excess))

    def _relieve(self, broker: int, excess: int) -> None:
        """Move the smallest replica that is as large as the excess, or else the largest one."""
        partitions = self._partitions
        rows = np.flatnonzero(self.hosts[:, broker])
        sizes, costs = partitions.sizes[rows], self._kept_cost(rows, broker)
        order = np.lexsort((np.where(sizes >= excess, sizes, -sizes), sizes < excess, costs > 0))
        for row in map(int, rows[order]):
            target = self._emptiest(self._may_move(row, broker, any_broker=True))
            if target is not None:
                self._take(row, broker)
                self._put(row, target)
                partitions.must_move[row] = True
                return
        name, limit = self._brokers.ids[broker], self._brokers.capacity[broker]
        raise PlanError(
            f"capacity: broker {name} hosts {limit + excess} bytes of {limit}, and no broker was found for {excess}"
        )

    def _kept_cost(self, rows: Ints, broker: int) -> Ints:
        """Return what it costs more to move replicas away than to leave them: 0 if they are moved anyway."""
        sizes = self._partitions.sizes[rows]
        return np.where(self._partitions.original[rows, broker], sizes, 0)

    # --- direct moves

    def even_out_directly(self) -> None:
        """Move replicas directly, the smallest first: from brokers above the average, then to brokers below it."""
        average = self._replicas.sum() / len(self._replicas)
        floor, ceiling = int(np.floor(average)), int(np.ceil(average))
        for broker in np.argsort(-self._replicas, kind="stable"):
            for row in self._smallest(int(broker)) if self._replicas[broker] > ceiling else ():
                if self._replicas[broker] <= ceiling:
                    break
                self._move_directly(int(row), int(broker), int(self._replicas[broker]) - 2)
        if (self._replicas >= np.minimum(floor, self._brokers.replica_limit)).all():
            return
        givers = np.flatnonzero(self._replicas > floor)
        pairs = [(int(self._partitions.sizes[row]), int(row), int(b)) for b in givers for row in self._smallest(int(b))]
        for _, row, broker in sorted(pairs):
            if self._replicas[broker] > floor and self.hosts[row, broker]:
                self._move_directly(row, broker, floor - 1)

    def _smallest(self, broker: int) -> Ints:
        rows = np.flatnonzero(self.hosts[:, broker])
        return rows[np.argsort(self._kept_cost(rows, broker), kind="stable")]

    def _move_directly(self, row: int, broker: int, at_most: int) -> None:
        """Move a replica to the emptiest broker with at most so many replicas, if there is one that can take it."""
        below = (self._replicas <= at_most) & (self._replicas < self._brokers.replica_limit)
        if not below.any():
            return
        target = self._emptiest(self._may_move(row, broker) & below)
        if target is not None:
            self._take(row, broker)
            self._put(row, target)

    # --- the contracted residual graph

    def is_decided(self) -> bool:
        """Return whether nothing has moved, and nothing has to: no path or cycle can then improve anything."""
        brokers = self._brokers
        unmoved = bool((self.hosts == self._partitions.original).all())
        even = self._replicas.max(initial=0) - self._replicas.min(initial=UNLIMITED) <= 1
        return unmoved and (not self._problem.evens_out or bool(even) or not brokers.takes.any())

    def use_paths_and_cycles(self) -> None:
        """Follow paths and cycles while they improve the placement."""
        size = len(self._brokers.ids)
        self._costs = np.full((size, size), UNLIMITED, dtype=np.int64)
        self._rows = np.full((size, size), NO_ROW, dtype=np.int64)
        self._arcs: Flags = np.zeros((size, size), dtype=np.bool_)
        self._update(range(size))
        self._follow_paths()
        if self._problem.evens_out:
            while self._follow_cycle():
                pass

    def _update(self, brokers: Sequence[int] | range) -> None:
        """Compute the arcs from brokers anew."""
        for broker in brokers:
            rows = np.flatnonzero(self.hosts[:, broker])
            if len(rows):
                costs, may = self._arc_costs(rows, broker)
                costs[~may] = UNLIMITED
                best = costs.argmin(axis=0)
                self._costs[broker] = costs[best, np.arange(len(best))]
                self._rows[broker] = rows[best]
            else:
                self._costs[broker] = UNLIMITED
            self._arcs[broker] = self._costs[broker] < (UNLIMITED if self._problem.evens_out else 1)

    def _arc_costs(self, rows: Ints, source: int) -> tuple[Ints, Flags]:
        """Return (rows, B) the bytes that are copied in addition if a replica moves, and whether it can."""
        partitions, racks = self._partitions, self._brokers.racks
        sizes, original = partitions.sizes[rows], partitions.original[rows]
        rack, in_rack = racks[source], self._in_rack[rows]
        enters = in_rack < partitions.most[rows]
        enters &= (in_rack[:, rack] > partitions.fewest[rows, rack])[:, None]
        enters[:, rack] = True
        may: Flags = enters[:, racks] & ~self.hosts[rows]
        may &= self._brokers.takes | partitions.must_move[rows, None] | original
        if self._has_capacities:
            may &= self._bytes + sizes[:, None] <= self._brokers.capacity
        costs = np.where(original, 0, sizes[:, None]) - np.where(original[:, source], 0, sizes)[:, None]
        return costs, may

    def _follow_paths(self) -> None:
        while (path := improving_path(self._arcs, self._replicas, self._brokers.replica_limit)) is not None:
            moves = [_Arc(a, b, int(self._rows[a, b])) for a, b in pairwise(path)]
            if not self._apply(moves):
                self._arcs[moves[0].source, moves[0].destination] = False

    def _apply(self, moves: Sequence[_Arc]) -> bool:
        """Move replicas, the last first, so that there is room for the others; all of them, or none."""
        done: list[_Arc] = []
        for move in reversed([move for move in moves if move.row != NO_ROW]):
            if not self.hosts[move.row, move.source] or not self._may_move(move.row, move.source)[move.destination]:
                break
            self._take(move.row, move.source)
            self._put(move.row, move.destination)
            done.append(move)
        else:
            changed = {int(b) for move in moves for b in (move.source, move.destination)}
            changed.update(int(b) for move in done for b in np.flatnonzero(self.hosts[move.row]))
            self._update(sorted(changed))
            return True
        for move in reversed(done):
            self._take(move.row, move.destination)
            self._put(move.row, move.source)
        return False

    def _follow_cycle(self) -> bool:
        """Follow a cycle that lowers the bytes moved and leaves the sum of the squares. Returns: whether there was one."""
        replicas = self._replicas
        costs, rows = self._costs.copy(), self._rows.copy()
        levels = replicas[None, :] == replicas[:, None] + 1
        levels &= (costs > 0) & (replicas < self._brokers.replica_limit)[:, None]
        costs[levels], rows[levels] = 0, NO_ROW
        while True:
            cycle = negative_cycle(costs)
            if cycle is None:
                return False
            moves = [_Arc(a, b, int(rows[a, b])) for a, b in zip(cycle, [*cycle[1:], cycle[0]], strict=True)]
            for shorter in self._without_repeated_rows(moves):
                if self._apply(shorter):
                    return True
            # Two arcs that move replicas of one partition can exclude each other.
            repeated = [move for move in moves if move.row != NO_ROW]
            costs[repeated[0].source, repeated[0].destination] = UNLIMITED

    def _without_repeated_rows(self, moves: Sequence[_Arc]) -> list[list[_Arc]]:
        """Return a cycle, and after it the shorter ones that lower the cost in which its repeated partitions are divided.

        Two moves a -> b and c -> d of one partition are also a -> d and c -> b, which are on different cycles.
        """
        found = [list(moves)]
        for first, one in enumerate(moves):
            for second in range(first + 1, len(moves)):
                other = moves[second]
                if one.row == other.row != NO_ROW:
                    outer = [*moves[:first], _Arc(one.source, other.destination, one.row), *moves[second + 1 :]]
                    inner = [*moves[first + 1 : second], _Arc(other.source, one.destination, one.row)]
                    for cycle in (outer, inner):
                        if self._cost(cycle) < 0:
                            found += self._without_repeated_rows(cycle)
                    return found
        return found

    def _cost(self, moves: Sequence[_Arc]) -> int:
        sizes, original = self._partitions.sizes, self._partitions.original
        return sum(
            int(sizes[move.row]) * (int(original[move.row, move.source]) - int(original[move.row, move.destination]))
            for move in moves
            if move.row != NO_ROW and move.source != move.destination
        )
