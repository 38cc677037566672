"""The server's sessions: granted time-outs, passwords, the connection of each session, and its deadline.

Like the real server, the model rounds each deadline up to the next whole tick: a session ends between one time-out and one
time-out plus one tick after the server last received something from its client.

Source: ZooKeeper 3.9 Programmer's Guide, "ZooKeeper Sessions"; Administrator's Guide, minSessionTimeout; observed.
"""

from hashlib import blake2b

import msgspec

from kcsim.vocabulary import SessionId
from kcsim.zk.memory.watches import ConnectionId


class ServerSession(msgspec.Struct):
    """One session; only ServerSessions changes it. `deadline_ms` is a whole number of ticks."""

    session_id: SessionId
    password: bytes
    timeout_ms: int
    deadline_ms: int
    connection: ConnectionId | None


class ServerSessions:
    """The live sessions.

    Args:
        tick_time_ms: tickTime.
        min_timeout_ms, max_timeout_ms: the bounds of granted time-outs; 2 and 20 ticks if not given.
    """

    def __init__(self, tick_time_ms: int, min_timeout_ms: int | None = None, max_timeout_ms: int | None = None) -> None:
        self.tick_time_ms = tick_time_ms
        self._min_timeout_ms = 2 * tick_time_ms if min_timeout_ms is None else min_timeout_ms
        self._max_timeout_ms = 20 * tick_time_ms if max_timeout_ms is None else max_timeout_ms
        self._sessions: dict[SessionId, ServerSession] = {}
        self._by_connection: dict[ConnectionId, ServerSession] = {}
        self._by_deadline: dict[int, dict[SessionId, None]] = {}
        self._opened: dict[int, int] = {}  # member -> number of its last session
        self._first = 0

    def __contains__(self, session_id: SessionId) -> bool:
        return session_id in self._sessions

    def ids(self) -> tuple[SessionId, ...]:
        return tuple(self._sessions)

    def granted_timeout_ms(self, requested_ms: int) -> int:
        return min(max(requested_ms, self._min_timeout_ms), self._max_timeout_ms)

    def begin_at(self, number: int) -> None:
        """Set the number of each member's first session; 0 without this call. At most 56 bits."""
        self._first = number

    def open(self, requested_timeout_ms: int, connection: ConnectionId, now_ms: int, member: int) -> ServerSession:
        """Create a session at a member (1, 2, …), whose number is the first byte of the session id."""
        self._opened[member] = self._opened.get(member, self._first - 1) + 1
        session_id = SessionId((member << 56) + self._opened[member])
        password = blake2b(session_id.to_bytes(8, "big"), digest_size=16).digest()
        session = ServerSession(session_id, password, self.granted_timeout_ms(requested_timeout_ms), 0, None)
        self._sessions[session_id] = session
        self._attach(session, connection)
        self.touch(session, now_ms)
        return session

    def reopen(
        self, session_id: SessionId, password: bytes, requested_timeout_ms: int, connection: ConnectionId, now_ms: int
    ) -> ServerSession | None:
        """Attach a session to another connection; None if there is no such session or the password is wrong."""
        session = self._sessions.get(session_id)
        if session is None or session.password != password:
            return None
        session.timeout_ms = self.granted_timeout_ms(requested_timeout_ms)
        self._attach(session, connection)
        self.touch(session, now_ms)
        return session

    def _attach(self, session: ServerSession, connection: ConnectionId) -> None:
        session.connection = connection
        self._by_connection[connection] = session

    def on(self, connection: ConnectionId) -> ServerSession | None:
        """Return the session of a connection; None if the connection has no session, or no longer."""
        return self._by_connection.get(connection)

    def connection_of(self, session_id: SessionId) -> ConnectionId | None:
        session = self._sessions.get(session_id)
        return session.connection if session else None

    def detach(self, connection: ConnectionId) -> None:
        """Remove a connection that has ended; its session, if it has one, stays alive."""
        session = self._by_connection.pop(connection, None)
        if session is not None:
            session.connection = None

    def close(self, session_id: SessionId) -> None:
        session = self._sessions.pop(session_id)
        self._leave_deadline(session)
        if session.connection is not None:
            del self._by_connection[session.connection]

    # --- time

    def touch(self, session: ServerSession, now_ms: int) -> None:
        """Restart a session's time-out, because its client has sent something."""
        deadline_ms = ((now_ms + session.timeout_ms) // self.tick_time_ms + 1) * self.tick_time_ms
        if deadline_ms != session.deadline_ms:
            self._leave_deadline(session)
            session.deadline_ms = deadline_ms
            self._by_deadline.setdefault(deadline_ms, {})[session.session_id] = None

    def _leave_deadline(self, session: ServerSession) -> None:
        due = self._by_deadline.get(session.deadline_ms)
        if due is not None:
            due.pop(session.session_id, None)
            if not due:
                del self._by_deadline[session.deadline_ms]

    def touch_all(self, now_ms: int) -> None:
        for session in self._sessions.values():
            self.touch(session, now_ms)

    def next_deadline_ms(self) -> int | None:
        return min(self._by_deadline, default=None)

    def due(self, now_ms: int) -> list[SessionId]:
        """Return the sessions whose deadline has passed, the earliest deadline first."""
        deadlines = sorted(d for d in self._by_deadline if d <= now_ms)
        return [session_id for deadline in deadlines for session_id in self._by_deadline[deadline]]
