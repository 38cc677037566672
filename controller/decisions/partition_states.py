"""The states a partition goes through in the controller, and which may follow which."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class PartitionMachineState(StrEnum):
    """Where the partition state machine has a partition. (PartitionState is the content of its state znode.)"""

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
"""State -> those it may be entered from. Source: Kafka 2.8, validPreviousStates; reference state_machines.md 1."""


def next_partition_state(state: PartitionMachineState, target: PartitionMachineState) -> PartitionMachineState | None:
    """The state after a move to `target`; None if the table has no such move: Kafka logs that, and nothing changes."""
    return target if state in PARTITION_PREVIOUS_STATES[target] else None
