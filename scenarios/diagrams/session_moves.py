"""The moves of a session as its client sees it, with what makes each.

No one function applies them: they are what the adapters to ZooKeeper do, the model and the live one. A test holds the table
to what happens in runs, both ways.

Source: ZooKeeper 3.9 Programmer's Guide, "ZooKeeper Sessions"; observed.
"""

from collections.abc import Mapping
from types import MappingProxyType

from kcsim.zk.operations import SessionState

SESSION_MOVES: Mapping[tuple[SessionState, SessionState], str] = MappingProxyType(
    {
        (SessionState.CONNECTING, SessionState.CONNECTED): "a server grants it",
        (SessionState.CONNECTED, SessionState.SUSPENDED): "the connection is lost",
        (SessionState.SUSPENDED, SessionState.CONNECTED): "reconnected in time",
        (SessionState.SUSPENDED, SessionState.EXPIRED): "told that it has expired",
        (SessionState.CONNECTED, SessionState.CLOSED): "closed by its client",
        (SessionState.SUSPENDED, SessionState.CLOSED): "closed by its client",
    }
)
"""(from, to) -> what makes it go from one to the other."""
