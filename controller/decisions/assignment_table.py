"""Placement of very many partitions at once, by whole rounds of the ring.

The placement of a partition depends only on its first replica's position and on the displacement of its followers, so
placements repeat after n * (number of distinct shifts) partitions. This module computes that many, all of them together, and
repeats the result. The results are those of assignment.py, which describes Kafka's procedure.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kcsim.controller.decisions.broker_ring import BrokerRing
from kcsim.controller.decisions.placement import Draw, Replicas, shift_bumps


class RepeatingAssignment(Mapping[int, Replicas]):
    """A mapping from partition to replicas that stores only one period. Read-only; `dict(…)` creates every entry.

    Args:
        rows: replicas of the first partitions; later partitions repeat them.
    """

    def __init__(self, rows: Sequence[Replicas], partitions: range) -> None:
        self._rows = rows
        self._partitions = partitions

    def __getitem__(self, partition: int) -> Replicas:
        if partition not in self._partitions:
            raise KeyError(partition)
        return self._rows[(partition - self._partitions.start) % len(self._rows)]

    def __iter__(self) -> Iterator[int]:
        return iter(self._partitions)

    def __len__(self) -> int:
        return len(self._partitions)


def assignment_from_table(
    ring: BrokerRing, partitions: int, replication_factor: int, drawn: Draw, start_partition: int
) -> RepeatingAssignment:
    """Return the assignment as a mapping.

    Args:
        ring: the result of ring_for, which has checked the other arguments.
        start_partition: 0 or more.
    """
    rows = _first_period(ring, partitions, replication_factor, drawn, start_partition)
    replicas = list(zip(*rows.T.tolist(), strict=True))
    return RepeatingAssignment(replicas, range(start_partition, start_partition + partitions))


def _first_period(
    ring: BrokerRing, partitions: int, replication_factor: int, drawn: Draw, start_partition: int
) -> NDArray[np.int32]:
    """Return the replicas of all partitions, or of the first period if there are more."""
    period = len(ring) * ring.distinct_shifts(replication_factor)
    positions = _positions(ring, min(partitions, period), replication_factor, drawn, start_partition)
    return np.array(ring.brokers, dtype=np.int32)[positions]


def _positions(
    ring: BrokerRing, partitions: int, replication_factor: int, drawn: Draw, start_partition: int
) -> NDArray[np.int64]:
    """Return positions in the ring, shape (partitions, replication_factor)."""
    n, racks = len(ring), ring.rack_count
    every = np.arange(partitions)
    ids = start_partition + every
    bumped = ids // n + shift_bumps(n, 0, start_partition)
    first = (ids + drawn.start_index % n) % n
    displaced = ring.displacement(drawn.next_replica_shift) + bumped * racks
    rack_at = np.array(ring.rack_numbers)
    chosen = np.empty((partitions, replication_factor), dtype=np.int64)
    chosen[:, 0] = first
    racks_used = np.ones(partitions, dtype=np.int64)
    looked_at = np.zeros(partitions, dtype=np.int64)
    for column in range(1, replication_factor):
        searching = every
        while searching.size:
            position = (first[searching] + 1 + (displaced[searching] + looked_at[searching]) % (n - 1)) % n
            looked_at[searching] += 1
            so_far = chosen[searching, :column]
            same_rack = (rack_at[so_far] == rack_at[position][:, None]).any(axis=1)
            same_broker = (so_far == position[:, None]).any(axis=1)
            passed_over = (same_rack & (racks_used[searching] < racks)) | same_broker
            found = searching[~passed_over]
            chosen[found, column] = position[~passed_over]
            racks_used[found] += ~same_rack[~passed_over]
            searching = searching[passed_over]
    return chosen
