"""The states of a simulated process, and the table of what changes them."""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType


class ProcessState(Enum):
    RUNNING = "running"
    PAUSED = "paused"
    DEAD = "dead"


class ProcessInput(Enum):
    """What is done to a process from outside."""

    PAUSE = "paused"
    RESUME = "resumed"
    KILL = "killed"
    RETIRE = "retired"  # at the end of the run, whatever its state


PROCESS_TRANSITIONS: Mapping[tuple[ProcessState, ProcessInput], ProcessState] = MappingProxyType(
    {
        (ProcessState.RUNNING, ProcessInput.PAUSE): ProcessState.PAUSED,
        (ProcessState.PAUSED, ProcessInput.RESUME): ProcessState.RUNNING,
        (ProcessState.RUNNING, ProcessInput.KILL): ProcessState.DEAD,
        (ProcessState.PAUSED, ProcessInput.KILL): ProcessState.DEAD,
        (ProcessState.RUNNING, ProcessInput.RETIRE): ProcessState.DEAD,
        (ProcessState.PAUSED, ProcessInput.RETIRE): ProcessState.DEAD,
        (ProcessState.DEAD, ProcessInput.RETIRE): ProcessState.DEAD,
    }
)


class IllegalProcessTransitionError(ValueError):
    """An input for which a process in its present state has no transition."""

    def __init__(self, state: ProcessState, given: ProcessInput) -> None:
        super().__init__(f"a process that is {state.value} cannot be {given.value}")
        self.state, self.given = state, given


def next_process_state(state: ProcessState, given: ProcessInput) -> ProcessState:
    """Return the state after an input. Raises: IllegalProcessTransitionError."""
    try:
        return PROCESS_TRANSITIONS[state, given]
    except KeyError:
        raise IllegalProcessTransitionError(state, given) from None
