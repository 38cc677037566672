"""The states a replica goes through in the controller, and which may follow which."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class ReplicaMachineState(StrEnum):
    """Where the replica state machine has a replica."""

    NEW = "NewReplica"
    ONLINE = "OnlineReplica"
    OFFLINE = "OfflineReplica"
    DELETION_STARTED = "ReplicaDeletionStarted"
    DELETION_SUCCESSFUL = "ReplicaDeletionSuccessful"
    DELETION_INELIGIBLE = "ReplicaDeletionIneligible"
    NON_EXISTENT = "NonExistentReplica"


_SERVING_OR_INELIGIBLE = frozenset(
    {
        ReplicaMachineState.NEW,
        ReplicaMachineState.ONLINE,
        ReplicaMachineState.OFFLINE,
        ReplicaMachineState.DELETION_INELIGIBLE,
    }
)

REPLICA_PREVIOUS_STATES: Mapping[ReplicaMachineState, frozenset[ReplicaMachineState]] = MappingProxyType(
    {
        ReplicaMachineState.NEW: frozenset({ReplicaMachineState.NON_EXISTENT}),
        ReplicaMachineState.ONLINE: _SERVING_OR_INELIGIBLE,
        ReplicaMachineState.OFFLINE: _SERVING_OR_INELIGIBLE,
        ReplicaMachineState.DELETION_STARTED: frozenset({ReplicaMachineState.OFFLINE}),
        ReplicaMachineState.DELETION_SUCCESSFUL: frozenset({ReplicaMachineState.DELETION_STARTED}),
        ReplicaMachineState.DELETION_INELIGIBLE: frozenset(
            {ReplicaMachineState.OFFLINE, ReplicaMachineState.DELETION_STARTED}
        ),
        ReplicaMachineState.NON_EXISTENT: frozenset({ReplicaMachineState.DELETION_SUCCESSFUL}),
    }
)
"""State -> those it may be entered from. Source: Kafka 2.8, validPreviousStates; reference state_machines.md 1."""


def next_replica_state(state: ReplicaMachineState, target: ReplicaMachineState) -> ReplicaMachineState | None:
    """The state after a move to `target`; None if the table has no such move: Kafka logs that, and nothing changes."""
    return target if state in REPLICA_PREVIOUS_STATES[target] else None
