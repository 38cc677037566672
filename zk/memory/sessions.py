"""Sessions as the server keeps them: granted time-outs, passwords, the connection each is on, and when its time is up.

Like the real server, it does not keep one deadline per session but rounds up to the next whole tick: a session ends between
one time-out and one time-out plus one tick after it was last heard of.

Source: ZooKeeper 3.9 Programmer's Guide, "ZooKeeper Sessions"; Administrator's Guide, minSessionTimeout; observed.
"""

from dataclasses import dataclass
from hashlib import blake2b

from kcsim.zk.memory.watches import ConnectionId
from kcsim.zk.vocabulary import SessionId


@dataclass(slots=True)
class ServerSession:
    """One session; owned and changed by Sessions alone. `deadline_ms` is a whole number of ticks."""

    session_id: SessionId
    password: bytes
    timeout_ms: int
    deadline_ms: int
    connection: ConnectionId | None


class Sessions:
    """The sessions that live.

    Args:
        tick_time_ms: tickTime.
        min_timeout_ms, max_timeout_ms: what a time-out is kept between; 2 and 20 ticks if not given.
    """

    def __init__(self, tick_time_ms: int, min_timeout_ms: int | None = None, max_timeout_ms: int | None = None) -> None:
        self.tick_time_ms = tick_time_ms
        self._min_timeout_ms = 2 * tick_time_ms if min_timeout_ms is None else min_timeout_ms
        self._max_timeout_ms = 20 * tick_time_ms if max_timeout_ms is None else max_timeout_ms
        self._sessions: dict[SessionId, ServerSession] = {}
        self._by_connection: dict[ConnectionId, ServerSession] = {}
        self._by_deadline: dict[int, dict[SessionId, None]] = {}
        self._opened: dict[int, int] = {}  # per member, how many

    def __contains__(self, session_id: SessionId) -> bool:
        return session_id in self._sessions

    def ids(self) -> tuple[SessionId, ...]:
        return tuple(self._sessions)

    def granted_timeout_ms(self, asked_ms: int) -> int:
        return min(max(asked_ms, self._min_timeout_ms), self._max_timeout_ms)

    def open(self, asked_timeout_ms: int, connection: ConnectionId, now_ms: int, member: int) -> ServerSession:
        """Begin a session at a member (1, 2, …), whose number is the first byte of the id."""
        self._opened[member] = self._opened.get(member, -1) + 1
        session_id = SessionId((member << 56) + self._opened[member])
        password = blake2b(session_id.to_bytes(8, "big"), digest_size=16).digest()
        session = ServerSession(session_id, password, self.granted_timeout_ms(asked_timeout_ms), 0, None)
        self._sessions[session_id] = session
        self._attach(session, connection)
        self.touch(session, now_ms)
        return session

    def reopen(
        self, session_id: SessionId, password: bytes, asked_timeout_ms: int, connection: ConnectionId, now_ms: int
    ) -> ServerSession | None:
        """Take a session up on another connection; None if there is no such session or the password is wrong."""
        session = self._sessions.get(session_id)
        if session is None or session.password != password:
            return None
        session.timeout_ms = self.granted_timeout_ms(asked_timeout_ms)
        self._attach(session, connection)
        self.touch(session, now_ms)
        return session

    def _attach(self, session: ServerSession, connection: ConnectionId) -> None:
        session.connection = connection
        self._by_connection[connection] = session

    def on(self, connection: ConnectionId) -> ServerSession | None:
        """Return the session of a connection; None if it has none, or no longer."""
        return self._by_connection.get(connection)

    def connection_of(self, session_id: SessionId) -> ConnectionId | None:
        session = self._sessions.get(session_id)
        return session.connection if session else None

    def detach(self, connection: ConnectionId) -> None:
        """The connection is gone; its session, if it has one, lives on."""
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
        """The session was heard of: it has its whole time-out again."""
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
        """Return the sessions whose time is up, those first whose time was up first."""
        deadlines = sorted(d for d in self._by_deadline if d <= now_ms)
        return [session_id for deadline in deadlines for session_id in self._by_deadline[deadline]]
