"""The states of a session as its client sees it: one table of transitions, which the adapters to ZooKeeper apply.

The model (memory/) and the live client (live/) find out in different ways what happens to a session, and give it to
next_session_state as an input. No session changes its state anywhere else.

Source: ZooKeeper 3.9 Programmer's Guide, "ZooKeeper Sessions"; observed.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

from kcsim.zk.operations import SessionState


class SessionInput(Enum):
    """What happens to a session. The value says so in a few words, for diagrams."""

    GRANTED = "a server grants it"
    """A server answered the first connection attempt: it has created the session."""
    RECONNECTED = "reconnected in time"
    """A server answered a later connection attempt: the session still exists."""
    CONNECTION_LOST = "the connection is lost"
    """The connection broke, the server was silent for too long, or an attempt to connect failed."""
    EXPIRY_REPORTED = "notified of its expiry"
    """A server answered a later connection attempt: there is no such session any more."""
    CLOSED = "closed by its client"
    """The server confirmed that it closed the session, or the client gave up waiting for that."""


ENDED_STATES = frozenset({SessionState.EXPIRED, SessionState.CLOSED})
"""The final states."""

SESSION_TRANSITIONS: Mapping[tuple[SessionState, SessionInput], SessionState] = MappingProxyType(
    {
        (SessionState.CONNECTING, SessionInput.GRANTED): SessionState.CONNECTED,
        (SessionState.CONNECTED, SessionInput.CONNECTION_LOST): SessionState.SUSPENDED,
        (SessionState.SUSPENDED, SessionInput.RECONNECTED): SessionState.CONNECTED,
        (SessionState.SUSPENDED, SessionInput.EXPIRY_REPORTED): SessionState.EXPIRED,
        (SessionState.CONNECTED, SessionInput.CLOSED): SessionState.CLOSED,
        (SessionState.SUSPENDED, SessionInput.CLOSED): SessionState.CLOSED,
        # A failed attempt to connect changes nothing: the next one may succeed.
        (SessionState.CONNECTING, SessionInput.CONNECTION_LOST): SessionState.CONNECTING,
        (SessionState.SUSPENDED, SessionInput.CONNECTION_LOST): SessionState.SUSPENDED,
        # Nothing revives a session that has ended: what is delivered later happened before its end.
        **{(ended, late): ended for ended in (SessionState.EXPIRED, SessionState.CLOSED) for late in SessionInput},
    }
)
"""(state, input) -> next state. An input that has no row cannot happen in that state."""


class IllegalTransitionError(Exception):
    """An input came that cannot happen in the session's state: a defect of the adapter."""

    def __init__(self, state: SessionState, given: SessionInput) -> None:
        super().__init__(f"a session that is {state.value} cannot have this happen to it: {given.value}")
        self.state, self.given = state, given


def next_session_state(state: SessionState, given: SessionInput) -> SessionState:
    """Return the state of a session after an input, which may be the same. Raises: IllegalTransitionError."""
    try:
        return SESSION_TRANSITIONS[state, given]
    except KeyError:
        raise IllegalTransitionError(state, given) from None
