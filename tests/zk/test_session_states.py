"""The table of session states: every pair of state and input is decided."""

from itertools import product

import pytest

from kcsim.zk.operations import SessionState
from kcsim.zk.session_states import (
    ENDED_STATES,
    SESSION_TRANSITIONS,
    IllegalTransitionError,
    SessionInput,
    next_session_state,
)

CONNECTING, CONNECTED, SUSPENDED, EXPIRED, CLOSED = SessionState
GRANTED, RECONNECTED, LOST, EXPIRY, CLOSE = SessionInput

EXPECTED = {
    CONNECTING: {GRANTED: CONNECTED, LOST: CONNECTING},
    CONNECTED: {LOST: SUSPENDED, CLOSE: CLOSED},
    SUSPENDED: {RECONNECTED: CONNECTED, LOST: SUSPENDED, EXPIRY: EXPIRED, CLOSE: CLOSED},
    EXPIRED: dict.fromkeys(SessionInput, EXPIRED),
    CLOSED: dict.fromkeys(SessionInput, CLOSED),
}


@pytest.mark.parametrize(("state", "given"), [*product(SessionState, SessionInput)])
def test_every_pair_has_a_row_or_is_refused(state: SessionState, given: SessionInput) -> None:
    """A pair that nobody thought of must stop the run instead of leaving a session in some state."""
    expected = EXPECTED[state].get(given)
    if expected is None:
        with pytest.raises(IllegalTransitionError, match=f"{state.value} cannot .*: {given.value}"):
            next_session_state(state, given)
    else:
        assert next_session_state(state, given) is expected


@pytest.mark.parametrize("state", SessionState)
def test_only_the_ended_states_are_never_left(state: SessionState) -> None:
    reached = {target for (source, _), target in SESSION_TRANSITIONS.items() if source is state}
    assert (reached == {state}) == (state in ENDED_STATES)
