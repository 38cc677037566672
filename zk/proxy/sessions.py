"""The sessions that were opened through a proxy."""

from dataclasses import dataclass, replace

from kcsim.vocabulary import SessionId
from kcsim.zk.proxy.protocol import ConnectResponse


@dataclass(frozen=True, slots=True)
class ProxiedSession:
    """A snapshot of one session's state.

    Attributes:
        timeout_ms: the time-out that the server granted.
        is_connected: whether the connection on which the session was opened or reconnected exists.
        has_ended: the client closed the session, the proxy expired it, or the server reported that it does not exist. If a
            session expires while its client is disconnected, the proxy learns of the end when the client reconnects.
    """

    session_id: SessionId
    password: bytes
    timeout_ms: int
    is_connected: bool
    has_ended: bool = False


class SessionTable:
    """The sessions, in the order of their last connection."""

    def __init__(self) -> None:
        self._sessions: dict[SessionId, ProxiedSession] = {}
        self._connections: dict[SessionId, object] = {}

    def all(self) -> list[ProxiedSession]:
        return list(self._sessions.values())

    def current(self, session_id: SessionId | None = None) -> ProxiedSession | None:
        """Return the newest session that has not ended, or the named one; None when there is no such session."""
        alive = [s for s in self._sessions.values() if not s.has_ended and session_id in (None, s.session_id)]
        return alive[-1] if alive else None

    def establish(self, granted: ConnectResponse, connection: object) -> None:
        self._sessions.pop(granted.session_id, None)
        self._sessions[granted.session_id] = ProxiedSession(*granted, is_connected=True)
        self._connections[granted.session_id] = connection

    def lose(self, session_id: SessionId, connection: object) -> None:
        """Record that a connection has ended, unless the session has moved to another connection before."""
        if self._connections.get(session_id) is connection:
            del self._connections[session_id]
            self._sessions[session_id] = replace(self._sessions[session_id], is_connected=False)

    def end(self, session_id: SessionId) -> None:
        if session_id in self._sessions:
            self._sessions[session_id] = replace(self._sessions[session_id], has_ended=True)
