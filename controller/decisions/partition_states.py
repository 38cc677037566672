"""The states of a partition in the controller, and the valid transitions between them."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class PartitionMachineState(StrEnum):
    """A partition's state in the partition state machine. (PartitionState is the content of its state znode.)"""

    NEW = "NewPartition"
    ONLINE = "OnlinePartition"
    OFFLINE = "OfflinePartition"
    NON_EXISTENT = "NonExistentPartition"


PARTITION_PREVIOUS_STATES: Mapping[PartitionMachineState, frozenset[PartitionMachineState]] = MappingProxyType(
    {
        PartitionMachineState.NEW: frozenset({PartitionMachineState.NON_EXISTENT}),
        PartitionMachineState.ONLINE: frozenset(
            {PartitionMachineState.NEW, PartitionMachineState.ONLINE, PartitionMachineState.OFFLINE}
        ),
        PartitionMachineState.OFFLINE: frozenset(
            {PartitionMachineState.NEW, PartitionMachineState.ONLINE, PartitionMachineState.OFFLINE}
        ),
        PartitionMachineState.NON_EXISTENT: frozenset({PartitionMachineState.OFFLINE}),
    }
)
"""For each state, the states that may precede it. Source: Kafka 2.8, validPreviousStates; docs/kafka/state_machines.md 1."""


def next_partition_state(state: PartitionMachineState, target: PartitionMachineState) -> PartitionMachineState | None:
    """Return the state after a move to `target`; None if the table has no such move.

    Kafka logs an invalid move, and nothing changes.
    """
    return target if state in PARTITION_PREVIOUS_STATES[target] else None
