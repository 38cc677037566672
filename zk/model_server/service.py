"""The model's members on sockets: what each frame does, when sessions expire, and which connections end.

All members answer from one tree, in one event loop, so a request is applied at once and by itself. A member that is paused
reads nothing; without a leader and a majority, no member serves and new connections are closed, as on real servers.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count

from kcsim.vocabulary import SessionId, Zxid
from kcsim.zk.errors import AuthFailedError, NoWatcherError, UnimplementedError, ZooKeeperError
from kcsim.zk.live.wire import (
    CLOSE_SESSION,
    CREATE_2,
    GET_CHILDREN_2,
    INT,
    LONG,
    PING_XID,
    SET_WATCHES,
    SET_WATCHES_XID,
)
from kcsim.zk.memory.acl import digest_identity, user_name
from kcsim.zk.memory.journal import BY_THE_SERVER, Journal
from kcsim.zk.memory.members import Members
from kcsim.zk.memory.server import NO_SESSION, MemoryServer, ServerStep, SessionEnded, SessionOpened
from kcsim.zk.memory.stale_view import ServerView
from kcsim.zk.memory.watches import ConnectionId, ServerWatchTable
from kcsim.zk.model_server import replies, requests
from kcsim.zk.model_server.client_connection import ClientConnection
from kcsim.zk.model_server.four_letter_words import MonitoredMember, answer
from kcsim.zk.model_server.lagging_member import LaggingMember
from kcsim.zk.model_server.requests import BadFrameError, Reader
from kcsim.zk.operations import Create, DataSet, Delete, Multi, Request, SetData, Sync

AUTH_XID = -4
MARSHALLING_ERROR = -5
CONTAINER_INTERVAL_S = 60.0
DATA_AND_CHILDREN = (ServerWatchTable.DATA, ServerWatchTable.CHILD)
WATCHERS = {
    1: ((ServerWatchTable.CHILD,), False),
    2: ((ServerWatchTable.DATA,), False),
    3: (DATA_AND_CHILDREN, True),
    4: ((), True),
    5: ((), True),
}
"""WatcherType -> the tables whose watches it means, and whether it means persistent ones."""


@dataclass(slots=True)
class LostReply:
    """A reply to be lost: its write is applied, and then the connection breaks.

    `session_id` and `path` restrict the write that it applies to; None: any.
    """

    session_id: SessionId | None
    path: str | None


class ModelService:
    """The members of one ZooKeeper. Use it in the event loop that serves the connections.

    Args:
        journal: records every transaction, as a real server writes it to its log.
        longest_frame: bytes; None: as ZooKeeper's default of jute.maxbuffer.
    """

    def __init__(
        self,
        server: MemoryServer,
        members: Members,
        journal: Journal | None = None,
        longest_frame: int | None = None,
    ) -> None:
        self.server = server
        self.members = members
        self.began_s = time.monotonic()
        self.connections: dict[ConnectionId, ClientConnection] = {}
        self._journal = journal
        self._longest_frame = longest_frame
        self._numbers = count(1)
        self._lagging: dict[str, LaggingMember] = {}
        self._lost_replies: deque[LostReply] = deque()
        self._expiry: asyncio.TimerHandle | None = None
        self._expiry_ms: int | None = None

    def now_ms(self) -> int:
        return int((time.monotonic() - self.began_s) * 1000)

    def connection_at(self, member: str) -> Callable[[], ClientConnection]:
        """Return what makes the protocol of a new connection at a member."""

        def make() -> ClientConnection:
            number = ConnectionId(next(self._numbers))
            if self._longest_frame is None:
                return ClientConnection(number, member, self)
            return ClientConnection(number, member, self, self._longest_frame)

        return make

    # --- what connections pass on

    def opened(self, connection: ClientConnection) -> None:
        self.connections[connection.number] = connection
        if self._is_paused(connection.member):
            connection.hold()

    def lost(self, connection: ClientConnection) -> None:
        self.connections.pop(connection.number, None)
        self.server.disconnect(connection.number)

    def word(self, connection: ClientConnection, word: str) -> None:
        name = connection.member
        view, connections = self.view_at(name), self.connections_of(name)
        member = MonitoredMember(name, self.members, self.server, view, connections, len(self.connections))
        connection.send(answer(word, member).encode())
        connection.close()

    def frame(self, connection: ClientConnection, body: bytes) -> None:
        if not self.members.serves(connection.member) or not self.members.can_commit:
            connection.break_off()
            return
        try:
            if connection.is_open:
                self._request(connection, body)
            else:
                self._open(connection, body)
        except BadFrameError:
            if connection.is_open and len(body) >= 4:
                xid = INT.unpack_from(body)[0]
                connection.send(replies.framed(xid, self.server.zxid, MARSHALLING_ERROR))
            connection.close()
        self._watch_deadlines()

    # --- sessions

    def _open(self, connection: ClientConnection, body: bytes) -> None:
        asked = requests.connect_request(body)
        lagging = self._lagging.get(connection.member)
        if asked.seen > self.view_at(connection.member).zxid:
            connection.close()  # the client has seen a later state: another member must serve it
            return
        number = self.members.number(connection.member)
        step = self.server.connect(
            connection.number, asked.timeout_ms, self.now_ms(), asked.session_id, asked.password, number
        )
        connection.names_read_only = asked.names_read_only
        if step.granted is not None:
            connection.is_open = True
            self.server.authenticate(connection.number, frozenset({("ip", connection.address)}))
        if lagging is not None:
            self.server.show(lagging.view, connection.number)
        granted = replies.connected(step.granted, asked.names_read_only)
        self._send(connection, granted, is_transaction=asked.session_id == NO_SESSION)
        self._carry_out(step)

    def _close_session(self, connection: ClientConnection, xid: int) -> None:
        step = self.server.close_session(connection.number, self.now_ms())
        self._record(step, xid)
        self._send_notices(step)  # the client's own watches on its ephemerals fire before the answer
        self._send(connection, replies.framed(xid, step.zxid), is_transaction=True)
        if (lagging := self._lagging.get(connection.member)) is not None:
            lagging.answer_later(connection.number, connection.close)
        else:
            self._hang_up(step)

    def expire(self, session_id: SessionId) -> bool:
        """End a session now, as if its time-out had passed; return whether there was one."""
        is_there = session_id in self.server.sessions
        self._carry_out(self.server.expire(session_id))
        return is_there

    def _watch_deadlines(self) -> None:
        """Set the timer for the earliest deadline. A later one is set by the check that the timer makes."""
        deadline_ms = self.server.next_deadline_ms()
        if deadline_ms is None or (self._expiry_ms is not None and self._expiry_ms <= deadline_ms):
            return
        if self._expiry is not None:
            self._expiry.cancel()
        self._expiry_ms = deadline_ms
        delay_s = max(deadline_ms - self.now_ms(), 0) / 1000 + 0.001
        self._expiry = asyncio.get_running_loop().call_later(delay_s, self._expire_due)

    def _expire_due(self) -> None:
        self._expiry = self._expiry_ms = None
        if self.members.can_commit:  # otherwise no session expires; the next leader restarts their time-outs
            self._carry_out(self.server.tick(self.now_ms()))
            self._watch_deadlines()

    async def delete_unused_forever(self, interval_s: float = CONTAINER_INTERVAL_S) -> None:
        """Delete empty containers and znodes whose time to live is over, again and again."""
        while True:
            await asyncio.sleep(interval_s)
            if self.members.can_commit:
                for request, step in self.server.delete_unused(self.now_ms()):
                    if self._journal is not None:
                        self._journal.requested(NO_SESSION, request, step, self.now_ms(), BY_THE_SERVER)
                    self._carry_out(step)

    # --- requests

    def _request(self, connection: ClientConnection, body: bytes) -> None:
        reader = Reader(body)
        xid, code = reader.unpack(requests.HEAD)
        if code == CLOSE_SESSION:
            self._close_session(connection, xid)
            return
        request = reader.request(code)
        if request is not None:
            self._answer(connection, xid, code, request)
            return
        try:
            reply = self._other(connection, xid, code, reader)
        except ZooKeeperError as error:
            reply = replies.framed(xid, self.server.zxid, error.code)
        self._send(connection, reply, is_transaction=code == requests.SET_ACL)
        if xid == AUTH_XID and reply[16:20] != INT.pack(0):
            connection.close()

    def _answer(self, connection: ClientConnection, xid: int, code: int, request: Request) -> None:
        """Answer a request of operations.py."""
        number, now_ms = connection.number, self.now_ms()
        step = self.server.request(number, request, now_ms)
        if self._journal is not None:
            session = self.server.sessions.on(number)
            if session is not None:
                self._journal.requested(session.session_id, request, step, now_ms, xid)
        self._send_notices(step)
        if step.reply is None:
            connection.break_off()  # the session has ended
            return
        waits = isinstance(request, Create | SetData | Delete | Multi | Sync)
        is_lost = bool(self._lost_replies) and self._takes_reply(connection, request)
        if is_lost:
            connection.break_off()
        elif isinstance(step.reply, ZooKeeperError):
            self._send(connection, replies.framed(xid, step.zxid, step.reply.code), waits)
        else:
            with_stat = code in (CREATE_2, GET_CHILDREN_2, *requests.CREATES[2:])
            self._send(connection, replies.framed(xid, step.zxid, 0, replies.body_of(step.reply, with_stat)), waits)
        self._hang_up(step)

    def _send(self, connection: ClientConnection, frame: bytes, is_transaction: bool) -> None:
        """Send an answer; if the connection's member lags behind, that of a transaction when the member has applied it."""
        lagging = self._lagging.get(connection.member)
        if is_transaction and lagging is not None:
            connection.hold()
            lagging.answer_later(connection.number, partial(connection.send, frame))
        else:
            connection.send(frame)

    def lose_reply(self, lost: LostReply) -> None:
        """Let the connection of the next such write break after the write is applied, before it is answered."""
        self._lost_replies.append(lost)

    def _takes_reply(self, connection: ClientConnection, request: Request) -> bool:
        paths = _written_paths(request)
        session = self.server.sessions.on(connection.number)
        for lost in self._lost_replies:
            is_of_session = lost.session_id is None or (session is not None and session.session_id == lost.session_id)
            if paths and is_of_session and (lost.path is None or lost.path in paths):
                self._lost_replies.remove(lost)
                return True
        return False

    def _other(self, connection: ClientConnection, xid: int, code: int, reader: Reader) -> bytes:
        """Return the answer to a request that the simulator's own clients do not make. Raises: ZooKeeperError."""
        number, server, now_ms = connection.number, self.server, self.now_ms()
        identities, seen = server.identities(number), server.seen_by(number)
        body = b""
        zxid = server.ping(number, now_ms).zxid
        session = server.sessions.on(number)
        session_id = session.session_id if session else NO_SESSION
        match code:
            case requests.PING:
                return replies.framed(PING_XID, zxid)
            case requests.AUTH:
                self._authenticate(connection, reader)
                return replies.framed(AUTH_XID, Zxid(0))
            case _ if code in (SET_WATCHES, requests.SET_WATCHES_2):
                self._set_watches(connection, code, reader)
                return replies.framed(SET_WATCHES_XID, zxid)
            case requests.GET_ACL:
                acl, stat = seen.tree.get_acl(reader.string(), identities)
                body = replies.acl_bytes(acl) + replies.stat_bytes(stat)
            case requests.SET_ACL:
                step = server.set_acl(number, reader.string(), reader.acl(), reader.int32(), now_ms)
                zxid = step.zxid
                if self._journal is not None:
                    self._journal.acl_set(session_id, xid, step, now_ms)
                if isinstance(step.reply, ZooKeeperError):
                    return replies.framed(xid, zxid, step.reply.code)
                assert isinstance(step.reply, DataSet)
                body = replies.stat_bytes(step.reply.stat)
            case requests.GET_EPHEMERALS:
                body = replies.strings(server.ephemerals_of(number, reader.string()))
            case requests.COUNT_DESCENDANTS:
                body = INT.pack(seen.tree.count_descendants(reader.string(), identities))
            case requests.ADD_WATCH:
                path, mode = reader.string(), reader.int32()
                seen.watches.arm_persistent(path, mode == 1, number)
                body = INT.pack(0)
            case _ if code in (requests.CHECK_WATCHES, requests.REMOVE_WATCHES):
                path, (tables, persistent) = reader.string(), WATCHERS.get(reader.int32(), ((), False))
                if not seen.watches.has(number, path, tables, persistent):
                    raise NoWatcherError(path)
                if code == requests.REMOVE_WATCHES:
                    seen.watches.disarm(number, path, tables, persistent)
            case requests.WHO_AM_I:
                known = sorted(identities or ())
                infos = (replies.string(of[0]) + replies.string(user_name(of)) for of in known)
                body = INT.pack(len(known)) + b"".join(infos)
            case _:
                raise UnimplementedError
        return replies.framed(xid, zxid, 0, body)

    def _authenticate(self, connection: ClientConnection, reader: Reader) -> None:
        _, scheme, credentials = reader.int32(), reader.string(), reader.buffer() or b""
        if scheme == "ip":
            return
        if scheme != "digest":
            raise AuthFailedError
        try:
            identity = digest_identity(credentials)
        except UnicodeDecodeError:
            raise AuthFailedError from None
        known = self.server.identities(connection.number) or ()
        self.server.authenticate(connection.number, frozenset({*known, identity}))

    def _set_watches(self, connection: ClientConnection, code: int, reader: Reader) -> None:
        """Arm the watches of a client that has reconnected; events that it missed are sent before the answer."""
        seen = Zxid(reader.unpack(LONG)[0])
        data, exist, child = reader.strings(), reader.strings(), reader.strings()
        step = self.server.set_watches(connection.number, seen, data, exist, child, self.now_ms())
        if code == requests.SET_WATCHES_2:
            for is_recursive in (False, True):
                for path in reader.strings():
                    self.server.seen_by(connection.number).watches.arm_persistent(path, is_recursive, connection.number)
        self._send_notices(step)

    # --- effects

    def _carry_out(self, step: ServerStep) -> None:
        self._record(step)
        self._send_notices(step)
        self._hang_up(step)

    def _record(self, step: ServerStep, xid: int | None = None) -> None:
        """Record the sessions that were opened or ended. `xid` is the number of the request to close one."""
        if self._journal is None:
            return
        for fact in step.facts:
            if isinstance(fact, SessionOpened):
                self._journal.session_opened(fact, self.now_ms())
            elif isinstance(fact, SessionEnded):
                self._journal.session_ended(fact, self.now_ms(), xid)

    def _send_notices(self, step: ServerStep) -> None:
        for lagging in self._lagging.values():
            lagging.note(step.facts)
        for number, event in step.notices:
            if (watching := self.connections.get(number)) is not None:
                watching.send(replies.notification(event))

    def _hang_up(self, step: ServerStep) -> None:
        for number in step.hung_up:
            if (ended := self.connections.get(number)) is not None:
                ended.close()

    def drop_watches(self, path: str) -> int:
        """Remove all one-time watches on a path, without an event; return how many."""
        views: list[ServerView] = [self.server, *(lagging.view for lagging in self._lagging.values())]
        return sum(view.watches.drop(path) for view in views)

    # --- members

    def _is_paused(self, member: str) -> bool:
        return self.members.states[member].value == "paused"

    def connections_of(self, member: str) -> list[ClientConnection]:
        return [c for c in self.connections.values() if c.member == member]

    def resume(self, member: str) -> None:
        """Answer what has arrived at a member during its pause; then end the sessions whose time-out has passed."""
        lagging = self._lagging.get(member)
        for connection in self.connections_of(member):
            if lagging is None or connection.number not in lagging.waiting:
                connection.release()
        self._watch_deadlines()

    def view_at(self, member: str) -> ServerView:
        """Return what a member shows its clients."""
        return self._lagging[member].view if member in self._lagging else self.server

    def is_lagging(self, member: str) -> bool:
        return member in self._lagging

    def lag(self, member: str) -> None:
        """Let a member apply no transaction from now on."""
        connections = [connection.number for connection in self.connections_of(member) if connection.is_open]
        self._lagging[member] = LaggingMember(self.server.begin_stale_view(connections))

    def catch_up(self, member: str) -> None:
        """Let a member apply all transactions: its clients get the events of their watches, and the answers to writes."""
        lagging = self._lagging.pop(member)
        for number, event in lagging.apply_all():
            if (watching := self.connections.get(number)) is not None:
                watching.send(replies.notification(event))
        self.server.end_stale_view(lagging.view)
        if not self._is_paused(member):
            self.resume(member)

    def stop_serving(self, member: str) -> None:
        """Break the connections of a member that has died or was given up; it has all transactions when it serves again."""
        if member in self._lagging:
            self.server.end_stale_view(self._lagging.pop(member).view)
        if not self._is_paused(member):  # nobody answers, or closes, the connections of a stopped process
            for connection in self.connections_of(member):
                connection.break_off()

    def begin_epoch(self) -> None:
        """Begin the term of a new leader, which restarts all time-outs."""
        self.server.begin_epoch(self.now_ms(), self.members.is_ensemble)
        self._watch_deadlines()


def _written_paths(request: Request) -> tuple[str, ...]:
    match request:
        case Create(path) | Delete(path) | SetData(path):
            return (path,)
        case Multi(ops):
            return tuple(op.path for op in ops)
    return ()
