"""The sessions that were opened through a proxy, as far as it has seen."""

from dataclasses import dataclass, replace

from kcsim.zk.proxy.protocol import Granted
from kcsim.zk.vocabulary import SessionId


@dataclass(frozen=True, slots=True)
class ProxiedSession:
    """A session at the moment of asking.

    Attributes:
        timeout_ms: the one that the server granted.
        is_connected: there is a connection that it was opened or taken up on.
        has_ended: closed by its client, expired by the proxy, or said by the server to be no more. A session that has
            expired while its client was away is not known to have ended until the client has come back.
    """

    session_id: SessionId
    password: bytes
    timeout_ms: int
    is_connected: bool
    has_ended: bool = False


class SessionTable:
    """Sessions in the order in which they were last opened or taken up."""

    def __init__(self) -> None:
        self._sessions: dict[SessionId, ProxiedSession] = {}
        self._connections: dict[SessionId, object] = {}

    def all(self) -> list[ProxiedSession]:
        return list(self._sessions.values())

    def current(self, session_id: SessionId | None = None) -> ProxiedSession | None:
        """The newest session that has not ended; None when there is none, or the one named is not among them."""
        alive = [s for s in self._sessions.values() if not s.has_ended and session_id in (None, s.session_id)]
        return alive[-1] if alive else None

    def establish(self, granted: Granted, connection: object) -> None:
        self._sessions.pop(granted.session_id, None)
        self._sessions[granted.session_id] = ProxiedSession(*granted, is_connected=True)
        self._connections[granted.session_id] = connection

    def lose(self, session_id: SessionId, connection: object) -> None:
        """A connection is gone; the session may have moved on to another one before."""
        if self._connections.get(session_id) is connection:
            del self._connections[session_id]
            self._sessions[session_id] = replace(self._sessions[session_id], is_connected=False)

    def end(self, session_id: SessionId) -> None:
        if session_id in self._sessions:
            self._sessions[session_id] = replace(self._sessions[session_id], has_ended=True)
