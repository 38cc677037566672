"""The table of the states of a real broker's process is its whole behaviour."""

from itertools import product

import pytest

from kcsim.brokers.cluster.kafka_process_states import (
    KAFKA_PROCESS_TRANSITIONS,
    IllegalKafkaProcessTransitionError,
    KafkaProcessInput,
    KafkaProcessState,
    next_kafka_process_state,
)


@pytest.mark.parametrize(("state", "given"), [*product(KafkaProcessState, KafkaProcessInput)])
def test_every_pair_has_a_row_or_is_refused(state: KafkaProcessState, given: KafkaProcessInput) -> None:
    if (state, given) in KAFKA_PROCESS_TRANSITIONS:
        assert next_kafka_process_state(state, given) is KAFKA_PROCESS_TRANSITIONS[state, given]
        return
    with pytest.raises(IllegalKafkaProcessTransitionError) as refused:
        next_kafka_process_state(state, given)
    assert (refused.value.state, refused.value.given) == (state, given)


def test_a_broker_that_is_about_to_end_is_not_started() -> None:
    """Its process still holds the port and the log directories."""
    startable = {state for state, given in KAFKA_PROCESS_TRANSITIONS if given is KafkaProcessInput.START}
    assert startable == {KafkaProcessState.STOPPED, KafkaProcessState.DEAD}


def test_a_broker_frozen_during_its_shutdown_is_still_frozen_when_the_shutdown_is_given_up() -> None:
    """It can then be resumed: to take it for a running one would leave it frozen for ever."""
    state = KafkaProcessState.RUNNING
    for given in (KafkaProcessInput.STOP, KafkaProcessInput.PAUSE, KafkaProcessInput.STOP_TIMEOUT, KafkaProcessInput.RESUME):
        state = next_kafka_process_state(state, given)
    assert state is KafkaProcessState.RUNNING


def test_an_end_is_orderly_only_after_a_request_to_stop() -> None:
    ends = {state: to for (state, given), to in KAFKA_PROCESS_TRANSITIONS.items() if given is KafkaProcessInput.EXIT}
    assert {state for state, to in ends.items() if to is KafkaProcessState.STOPPED} == {
        KafkaProcessState.STOPPING,
        KafkaProcessState.STOPPED,
    }


@pytest.mark.parametrize("state", KafkaProcessState)
def test_every_process_can_be_closed(state: KafkaProcessState) -> None:
    assert next_kafka_process_state(state, KafkaProcessInput.CLOSE) is KafkaProcessState.STOPPED
