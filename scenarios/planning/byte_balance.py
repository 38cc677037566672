"""Exchanges replicas between brokers until their bytes are within bounds, at the least cost that it finds.

Two brokers exchange a replica each; where one has a replica more than the other, it may also give one away. So the counts
stay as even as they are. Which exchanges are the best is a problem of bin packing: a better placement can exist.

1. The broker that is furthest out of bounds makes the exchange that brings the two brokers nearer to the bounds for the
   fewest bytes moved per byte of excess; then the next one, until all are within the bounds, or no exchange helps.
2. Replicas that have moved return in exchanges that move fewer bytes, if no broker gets further out of bounds.
"""

import math

import numpy as np

from kcsim.scenarios.planning.placement_problem import Flags, Ints, PlacementProblem

PARTNERS = 4
"""The brokers whose exchanges are compared; if none of these helps, as many others are."""


def even_bytes_out(problem: PlacementProblem, hosts: Flags, within: int) -> None:
    """Change (P, B) where the replicas are, so that no broker's bytes differ from the average by more than some percent."""
    balance = _ByteBalance(problem, hosts, within)
    balance.approach_bounds()
    balance.save_bytes()
    hosts[:] = balance.rows_of.T


class _ByteBalance:
    """A placement whose bytes are evened out. A row of -1 stands for no replica: nothing is given in return.

    Attributes:
        rows_of: (B, P) where the replicas are; this way round the rows of one broker are read fast.
    """

    def __init__(self, problem: PlacementProblem, hosts: Flags, within: int) -> None:
        self._brokers, self._partitions = problem.brokers, problem.partitions
        self.rows_of: Flags = np.ascontiguousarray(hosts.T)
        racks = problem.brokers.racks
        numbers = range(problem.partitions.most.shape[1])
        self._in_rack = np.stack([hosts[:, racks == rack].sum(axis=1) for rack in numbers], axis=1)
        self._replicas: Ints = problem.brokers.other_replicas + hosts.sum(axis=0)
        self._bytes: Ints = problem.brokers.other_bytes + problem.partitions.sizes @ hosts
        self._average = float(self._bytes.mean())
        self._lowest = math.ceil(self._average * (100 - within) / 100)
        self._highest = math.floor(self._average * (100 + within) / 100)

    def _excess(self, held: Ints) -> Ints:
        """Return by how many bytes brokers are out of bounds."""
        return np.maximum(np.maximum(held - self._highest, self._lowest - held), 0)

    # --- towards the bounds

    def approach_bounds(self) -> None:
        """Make exchanges until all brokers are within the bounds, or no exchange helps.

        A broker for which none helps is tried again only when the others are done: it has tried every partner.
        """
        has_changed = True
        while has_changed:
            has_changed = False
            is_stuck: Flags = np.zeros(len(self._bytes), dtype=np.bool_)
            while (excess := np.where(is_stuck, 0, self._excess(self._bytes))).any():
                broker = int(excess.argmax())
                is_stuck[broker] = not self._exchange_with_best(broker)
                has_changed |= not is_stuck[broker]

    def _exchange_with_best(self, broker: int) -> bool:
        """Make the cheapest exchange of a broker for what it gains. Returns: whether there is one."""
        partners = self._partners(broker)
        for first in range(0, len(partners), PARTNERS):
            found = [self._best_exchange(broker, other) for other in partners[first : first + PARTNERS]]
            possible = [one for one in found if one is not None]
            if possible:
                _, given, taken, other = min(possible)
                self._exchange(broker, other, given, taken)
                return True
        return False

    def _partners(self, broker: int) -> list[int]:
        """Return the brokers with which an exchange can gain enough, those that gain the most from it first."""
        is_over = self._bytes[broker] > self._highest
        room = self._highest - self._bytes if is_over else self._bytes - self._lowest
        most = 2 * np.minimum(room, self._excess(self._bytes[broker]))
        order = np.argsort(-room, kind="stable")
        return [int(other) for other in order[most[order] >= self._least_gain(broker)]]

    def _least_gain(self, broker: int) -> int:
        """Return the gain from which an exchange is worth its bytes: if all replicas gain less, the broker stays out."""
        return math.ceil(int(self._excess(self._bytes[broker])) / max(int(self._replicas[broker]), 1))

    def _best_exchange(self, broker: int, other: int) -> tuple[float, int, int, int] | None:
        """Return the cost per byte of excess, what the broker gives and takes, and the other broker; or None."""
        given, taken = self._movable(broker, other), self._movable(other, broker)
        if self._replicas[broker] == self._replicas[other] + 1:
            taken = np.append(taken, -1)
        elif self._replicas[other] == self._replicas[broker] + 1:
            given = np.append(given, -1)
        if not len(given) or not len(taken):
            return None
        lost = self._sizes(given)[:, None] - self._sizes(taken)[None, :]
        mine, theirs = self._bytes[broker] - lost, self._bytes[other] + lost
        before = self._excess(self._bytes[[broker, other]]).sum()
        gain = before - self._excess(mine) - self._excess(theirs)
        helps = (gain >= self._least_gain(broker)) & (mine <= self._brokers.capacity[broker])
        helps &= theirs <= self._brokers.capacity[other]
        pairs = np.flatnonzero(helps)
        if not len(pairs):
            return None
        rows, columns = np.divmod(pairs, len(taken))
        costs = self._cost(given, broker, other)[rows] + self._cost(taken, other, broker)[columns]
        prices = costs / gain.ravel()[pairs]
        best = int(prices.argmin())
        return float(prices[best]), int(given[rows[best]]), int(taken[columns[best]]), other

    # --- fewer bytes

    def save_bytes(self) -> None:
        """Make exchanges that move fewer bytes, and leave no broker further out of bounds, until there is none."""
        is_cheaper = True
        while is_cheaper:
            is_cheaper = False
            for row, broker in np.argwhere(self.rows_of.T & ~self._partitions.original):
                is_cheaper |= self._save(int(row), int(broker))

    def _save(self, row: int, broker: int) -> bool:
        """Put a replica that has moved back, in the cheapest exchange. Returns: whether one moves fewer bytes."""
        found: list[tuple[int, int, int]] = []
        for other in map(int, np.flatnonzero(self._partitions.original[row] & ~self.rows_of[:, row])):
            if not self.rows_of[broker, row] or row not in self._movable(broker, other):
                continue
            taken = self._movable(other, broker)
            if self._replicas[broker] == self._replicas[other] + 1:
                taken = np.append(taken, -1)
            pair = np.array([broker, other])
            lost = self._partitions.sizes[row] - self._sizes(taken)
            held = self._bytes[pair] + lost[:, None] * np.array([-1, 1])
            may = self._excess(held) <= self._excess(self._bytes[pair])
            may &= held <= self._brokers.capacity[pair]
            costs = np.where(may.all(axis=1), self._cost(taken, other, broker) - self._partitions.sizes[row], 0)
            if len(costs):
                best = int(costs.argmin())
                found.append((int(costs[best]), other, int(taken[best])))
        cost, other, row_in_return = min(found, default=(0, 0, 0))
        if cost < 0:
            self._exchange(broker, other, row, row_in_return)
        return cost < 0

    # --- exchanges

    def _movable(self, source: int, destination: int) -> Ints:
        """Return the rows whose replica on one broker could be on the other, if there is room."""
        partitions, racks = self._partitions, self._brokers.racks
        rows = np.flatnonzero(self.rows_of[source] & ~self.rows_of[destination])
        old, new = racks[source], racks[destination]
        if old != new:
            enters = self._in_rack[rows, new] < partitions.most[rows, new]
            rows = rows[enters & (self._in_rack[rows, old] > partitions.fewest[rows, old])]
        return rows

    def _sizes(self, rows: Ints) -> Ints:
        return np.where(rows < 0, 0, self._partitions.sizes[rows])

    def _cost(self, rows: Ints, source: int, destination: int) -> Ints:
        """Return the bytes that are copied in addition if replicas move."""
        original = self._partitions.original
        costs: Ints = self._sizes(rows) * (original[rows, source].astype(np.int64) - original[rows, destination])
        return costs

    def _exchange(self, broker: int, other: int, given: int, taken: int) -> None:
        for row, source, destination in ((given, broker, other), (taken, other, broker)):
            if row >= 0:
                for where, change in ((source, -1), (destination, 1)):
                    self.rows_of[where, row] = change > 0
                    self._in_rack[row, self._brokers.racks[where]] += change
                    self._replicas[where] += change
                    self._bytes[where] += change * self._partitions.sizes[row]
