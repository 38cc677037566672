"""Legal successions of partition and replica states. Source: docs/kafka/state_machines.md 1, the matrix there.

Rows are the state before, columns the state after, both in the order of the enumeration; x is a legal move.
"""

from kcsim.controller.decisions.partition_states import PartitionMachineState, next_partition_state
from kcsim.controller.decisions.replica_states import ReplicaMachineState, next_replica_state

PARTITIONS = """
NewPartition              . x x .
OnlinePartition           . x x .
OfflinePartition          . x x x
NonExistentPartition      x . . .
"""
REPLICAS = """
NewReplica                . x x . . . .
OnlineReplica             . x x . . . .
OfflineReplica            . x x x . x .
ReplicaDeletionStarted    . . . . x x .
ReplicaDeletionSuccessful . . . . . . x
ReplicaDeletionIneligible . x x . . . .
NonExistentReplica        x . . . . . .
"""


def row(state: str, legal: list[bool]) -> str:
    return f"{state:25} {' '.join('x' if is_legal else '.' for is_legal in legal)}"


def test_the_table_of_partition_states_is_kafkas() -> None:
    states = [*PartitionMachineState]
    table = [row(state, [next_partition_state(state, target) is not None for target in states]) for state in states]
    assert table == PARTITIONS.strip().splitlines()


def test_the_table_of_replica_states_is_kafkas() -> None:
    states = [*ReplicaMachineState]
    table = [row(state, [next_replica_state(state, target) is not None for target in states]) for state in states]
    assert table == REPLICAS.strip().splitlines()


def test_a_legal_move_ends_in_its_target() -> None:
    assert next_partition_state(PartitionMachineState.NEW, PartitionMachineState.ONLINE) is PartitionMachineState.ONLINE
    assert next_replica_state(ReplicaMachineState.NEW, ReplicaMachineState.ONLINE) is ReplicaMachineState.ONLINE
