"""The states of a replica in the controller, and the valid transitions between them."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class ReplicaMachineState(StrEnum):
    """A replica's state in the replica state machine."""

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
"""For each state, the states that may precede it. Source: Kafka 2.8, validPreviousStates; docs/kafka/state_machines.md 1."""


def next_replica_state(state: ReplicaMachineState, target: ReplicaMachineState) -> ReplicaMachineState | None:
    """Return the state after a move to `target`; None if the table has no such move.

    Kafka logs an invalid move, and nothing changes.
    """
    return target if state in REPLICA_PREVIOUS_STATES[target] else None
