"""Replica assignment of a new topic: Kafka's placement of all its partitions on brokers.

placement.py places one partition; assignment_table.py places very many at once, with the same results.

Source: Kafka 2.8, AdminUtils.assignReplicasToBrokers.
"""

from collections.abc import Sequence

from kcsim.controller.decisions.broker_ring import BrokerMetadata
from kcsim.controller.decisions.placement import Assignment, Draw, replicas_of, ring_for

MANY_PARTITIONS = 20_000
"""From this number on, tables of whole rounds are faster than one partition after the other, including NumPy's import."""


def assign_replicas(
    brokers: Sequence[BrokerMetadata], partitions: int, replication_factor: int, drawn: Draw, start_partition: int = 0
) -> Assignment:
    """Place partitions start_partition, start_partition + 1, … on brokers.

    Args:
        brokers: all with a rack, or none (see effective_brokers); without racks their order counts.
        partitions: how many to place now.
        start_partition: the first one's id; a negative one counts as 0.

    Returns: read-only. For very many partitions, only the replicas that differ are stored.

    Raises: InvalidPartitionsError, InvalidReplicationFactorError, AdminOperationError (only some brokers have a rack),
    AdminCommandFailedError (an id occurs twice).
    """
    ring = ring_for(brokers, partitions, replication_factor)
    first = max(start_partition, 0)
    if partitions >= MANY_PARTITIONS:
        # Small topics do not pay for the import of NumPy.
        from kcsim.controller.decisions.assignment_table import assignment_from_table

        return assignment_from_table(ring, partitions, replication_factor, drawn, first)
    return {p: replicas_of(ring, p, replication_factor, drawn, first) for p in range(first, first + partitions)}


# --- not Kafka's ----------------------------------------------------------------------------------------------------------


def naive_modulo_assignment(brokers: Sequence[BrokerMetadata], partitions: int, replication_factor: int) -> Assignment:
    """Place replica j of partition i on broker (i + j) mod n, in the order given.

    Kafka does not do this; it is for comparison. All followers of the partitions that a broker leads are on the same few
    neighbours, which take its whole load when it dies.

    Raises: as assign_replicas; racks are ignored.
    """
    ring = ring_for([BrokerMetadata(broker.id) for broker in brokers], partitions, replication_factor)
    return {i: tuple(ring.brokers[(i + j) % len(ring)] for j in range(replication_factor)) for i in range(partitions)}
