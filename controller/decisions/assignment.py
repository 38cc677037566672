"""Who gets which replica of a new topic: Kafka's placement of all its partitions on brokers.

How one partition is placed is placement.py's; very many are placed at once by assignment_table.py, with the same answers.

Source: Kafka 2.8, AdminUtils.assignReplicasToBrokers.
"""

from collections.abc import Sequence

from kcsim.controller.decisions.broker_ring import BrokerMetadata
from kcsim.controller.decisions.placement import Assignment, Draw, replicas_of, ring_for

MANY_PARTITIONS = 20_000
"""From here on tables of whole rounds are faster than one partition after the other, NumPy's import included."""


def assign_replicas(
    brokers: Sequence[BrokerMetadata], partitions: int, replication_factor: int, drawn: Draw, start_partition: int = 0
) -> Assignment:
    """Place partitions start_partition, start_partition + 1, … on brokers.

    Args:
        brokers: all with a rack, or none (see effective_brokers); without racks their order counts.
        partitions: how many to place now.
        start_partition: the first one's id; a negative one counts as 0.

    Returns: read-only. Of very many partitions only the replicas that differ are held.

    Raises: InvalidPartitionsError, InvalidReplicationFactorError, AdminOperationError (only some brokers have a rack),
        AdminCommandFailedError (an id occurs twice).
    """
    ring = ring_for(brokers, partitions, replication_factor)
    first = max(start_partition, 0)
    if partitions >= MANY_PARTITIONS:
        # Small topics are spared the import of NumPy.
        from kcsim.controller.decisions.assignment_table import assignment_from_table

        return assignment_from_table(ring, partitions, replication_factor, drawn, first)
    return {p: replicas_of(ring, p, replication_factor, drawn, first) for p in range(first, first + partitions)}


# --- not Kafka's ----------------------------------------------------------------------------------------------------------


def naive_modulo_assignment(brokers: Sequence[BrokerMetadata], partitions: int, replication_factor: int) -> Assignment:
    """What Kafka does not do, for comparison: replica j of partition i on broker (i + j) mod n, in the order given.

    All followers of what a broker leads sit on the same few neighbours, which take its whole load when it dies.

    Raises: as assign_replicas; racks play no part.
    """
    ring = ring_for([BrokerMetadata(broker.id) for broker in brokers], partitions, replication_factor)
    return {i: tuple(ring.brokers[(i + j) % len(ring)] for j in range(replication_factor)) for i in range(partitions)}
