"""The table of the states of a real broker's process is its whole behaviour."""

from itertools import product

import pytest

from kcsim.brokers.cluster.processes.broker_process_states import (
    BROKER_PROCESS_TRANSITIONS,
    BrokerProcessInput,
    BrokerProcessState,
    IllegalBrokerProcessTransitionError,
    next_broker_process_state,
)


@pytest.mark.parametrize(("state", "given"), [*product(BrokerProcessState, BrokerProcessInput)])
def test_every_pair_has_a_row_or_is_refused(state: BrokerProcessState, given: BrokerProcessInput) -> None:
    if (state, given) in BROKER_PROCESS_TRANSITIONS:
        assert next_broker_process_state(state, given) is BROKER_PROCESS_TRANSITIONS[state, given]
        return
    with pytest.raises(IllegalBrokerProcessTransitionError) as refused:
        next_broker_process_state(state, given)
    assert (refused.value.state, refused.value.given) == (state, given)


def test_a_broker_that_is_about_to_end_is_not_started() -> None:
    """Its process still holds the port and the log directories."""
    startable = {state for state, given in BROKER_PROCESS_TRANSITIONS if given is BrokerProcessInput.START}
    assert startable == {BrokerProcessState.STOPPED, BrokerProcessState.DEAD}


def test_a_broker_frozen_during_its_shutdown_is_still_frozen_when_the_shutdown_is_given_up() -> None:
    """It can then be resumed: to take it for a running one would leave it frozen for ever."""
    state = BrokerProcessState.RUNNING
    for given in (
        BrokerProcessInput.STOP,
        BrokerProcessInput.PAUSE,
        BrokerProcessInput.STOP_TIMEOUT,
        BrokerProcessInput.RESUME,
    ):
        state = next_broker_process_state(state, given)
    assert state is BrokerProcessState.RUNNING


def test_an_end_is_orderly_only_after_a_request_to_stop() -> None:
    ends = {state: to for (state, given), to in BROKER_PROCESS_TRANSITIONS.items() if given is BrokerProcessInput.EXIT}
    assert {state for state, to in ends.items() if to is BrokerProcessState.STOPPED} == {
        BrokerProcessState.STOPPING,
        BrokerProcessState.STOPPED,
    }


@pytest.mark.parametrize("state", BrokerProcessState)
def test_every_process_can_be_closed(state: BrokerProcessState) -> None:
    assert next_broker_process_state(state, BrokerProcessInput.CLOSE) is BrokerProcessState.STOPPED
