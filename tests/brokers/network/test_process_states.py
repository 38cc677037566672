"""The table of a simulated process's states is its whole behaviour."""

from itertools import product

import pytest

from kcsim.brokers.network.process_states import (
    PROCESS_TRANSITIONS,
    IllegalProcessTransitionError,
    ProcessInput,
    ProcessState,
    next_process_state,
)


@pytest.mark.parametrize(("state", "given"), [*product(ProcessState, ProcessInput)])
def test_every_pair_has_a_row_or_is_refused(state: ProcessState, given: ProcessInput) -> None:
    if (state, given) in PROCESS_TRANSITIONS:
        assert next_process_state(state, given) is PROCESS_TRANSITIONS[state, given]
        return
    with pytest.raises(IllegalProcessTransitionError) as refused:
        next_process_state(state, given)
    assert (refused.value.state, refused.value.given) == (state, given)


def test_only_a_paused_process_is_resumed() -> None:
    assert [state for state, given in PROCESS_TRANSITIONS if given is ProcessInput.RESUME] == [ProcessState.PAUSED]


def test_a_dead_process_stays_dead() -> None:
    """A broker that is started again gets a new process, so that nothing of the former one has an effect."""
    after = {to for (state, _), to in PROCESS_TRANSITIONS.items() if state is ProcessState.DEAD}
    assert after == {ProcessState.DEAD}


@pytest.mark.parametrize("state", ProcessState)
def test_every_process_can_be_retired(state: ProcessState) -> None:
    """The end of a run ends all processes, whatever the run has done to them."""
    assert next_process_state(state, ProcessInput.RETIRE) is ProcessState.DEAD
