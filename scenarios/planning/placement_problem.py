"""What a placement of replicas has to fulfil, as arrays: a row for each partition, a column for each broker or rack.

Only the partitions that a plan may change have a row. P, B and R are the numbers of partitions, brokers and racks.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kcsim.vocabulary import TopicPartition

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
UNLIMITED = 2**60
"""For counts and bytes. All replicas of a cluster together have fewer bytes."""


@dataclass(frozen=True, slots=True)
class BrokerColumns:
    """The brokers that can host replicas afterwards.

    Attributes:
        ids: in ascending order.
        racks: (B,) the number of each broker's rack; all 0 where racks do not matter.
        replica_limit: (B,) replicas up to which a broker is given more for the sake of balance.
        capacity: (B,) the most bytes.
        other_replicas: (B,) replicas of partitions without a row.
        other_bytes: (B,) their bytes.
        takes: (B,) whether the broker may get a replica that need not move.
    """

    ids: tuple[int, ...]
    racks: Ints
    replica_limit: Ints
    capacity: Ints
    other_replicas: Ints
    other_bytes: Ints
    takes: Flags


@dataclass(frozen=True, slots=True)
class PartitionRows:
    """The partitions that may be changed.

    Attributes:
        names: sorted.
        sizes: (P,) bytes that a new replica has to copy.
        original: (P, B) where a replica costs nothing: where one is that may stay, or that a replacement takes over.
        factors: (P,) the replicas afterwards.
        fewest, most: (P, R) bounds of the replicas of a partition in one rack.
        must_move: (P,) whether the partition needs a new replica, which any broker may get.
    """

    names: tuple[TopicPartition, ...]
    sizes: Ints
    original: Flags
    factors: Ints
    fewest: Ints
    most: Ints
    must_move: Flags


@dataclass(frozen=True, slots=True)
class PlacementProblem:
    """A placement to be found.

    Attributes:
        evens_out: the sum of the squares of the brokers' replicas is to be as small as possible, and then the bytes
            moved; else the bytes moved, and then the squares.
        bytes_within: percent by which the bytes of a broker may differ from the average; None: by any number.
    """

    brokers: BrokerColumns
    partitions: PartitionRows
    evens_out: bool
    bytes_within: int | None = None
