"""One connection of the client, and the connection to a server that answers it.

Two pumps, one for each direction, take in a chunk, look at the frames that begin in it, and send it on as it came; each
reads on when the other side has taken what it was sent. Where one side ends, the other is told when it has everything.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from inspect import isawaitable

from kcsim.zk.proxy.breakpoints import Breakpoint, Breakpoints
from kcsim.zk.proxy.door import Door
from kcsim.zk.proxy.frames import FrameScanner, Look
from kcsim.zk.proxy.peer import Peer
from kcsim.zk.proxy.protocol import (
    CLOSE_SESSION,
    REPLY_HEAD,
    REQUEST_HEAD,
    WRITES,
    Granted,
    ProxiedWrite,
    asked_session,
    granted_session,
    writes_of,
)
from kcsim.zk.proxy.sessions import SessionTable
from kcsim.zk.vocabulary import SessionId

_UNDERSTOOD_BYTES = 16 * 1024 * 1024  # a longer write is passed on unread: it would have to be kept back whole
_LINGER_S = 1.0  # for a client to take note that its server is gone, before its connection is broken


@dataclass(frozen=True)
class Surroundings:
    """What the connections of one proxy share.

    Args:
        chroot: "" or "/a/b".
        admit: waits until a client may take up this session.
    """

    chroot: str
    door: Door
    breakpoints: Breakpoints
    sessions: SessionTable
    admit: Callable[[SessionId], Awaitable[None]]


class ProxiedConnection:
    """A client's connection, from the moment there is a server for it.

    Attributes:
        session_id: the session that the client wants to take up, then the one it has; None before, and for what is no
            session's connection.
    """

    def __init__(self, client: Peer, server: Peer, surroundings: Surroundings) -> None:
        self.session_id: SessionId | None = None
        self._client = client
        self._server = server
        self._door = surroundings.door
        self._breakpoints = surroundings.breakpoints
        self._sessions = surroundings.sessions
        self._admit = surroundings.admit
        self._chroot = surroundings.chroot
        self._requests = FrameScanner(REQUEST_HEAD.size, self._look_at_request)
        self._replies = FrameScanner(REPLY_HEAD.size, self._look_at_reply)
        self._is_first_request = self._is_first_reply = True
        self._unanswered: dict[int, tuple[ProxiedWrite, ...]] = {}  # by xid; kept only while a breakpoint waits for answers

    async def run(self) -> None:
        """Carry bytes until both sides have ended. Raises: what a breakpoint raised; the connection is broken then."""
        requests = asyncio.ensure_future(self._pump_requests())
        replies = asyncio.ensure_future(self._pump_replies())
        try:
            await asyncio.wait((requests, replies), return_when=asyncio.FIRST_COMPLETED)
            if replies.done() and replies.exception() is None:
                await asyncio.wait((requests,), timeout=_LINGER_S)
                self._client.close()
            await asyncio.gather(requests, replies)
        finally:
            requests.cancel()
            replies.cancel()
            self.cut()
            await asyncio.gather(requests, replies, return_exceptions=True)
            await self.closed()

    def cut(self) -> None:
        """Break both sides off, whatever was still under way."""
        self._lose()
        self._client.break_off()
        self._server.break_off()

    def cut_from_server(self) -> None:
        """Break the server's side off; the client loses its connection when it has got what was sent to it before."""
        self._lose()
        self._server.break_off()

    async def closed(self) -> None:
        """Wait until the sockets of a connection that was cut are closed."""
        await self._client.closed()
        await self._server.closed()

    def _lose(self) -> None:
        if self.session_id is not None:
            self._sessions.lose(self.session_id, self)

    # --- what the client sends

    async def _pump_requests(self) -> None:
        while chunk := await self._client.read():
            await self._door.passage()
            await self._pass_requests(chunk)
        await self._door.passage()
        self._lose()
        await self._server.send(self._requests.rest())
        self._server.send_end()

    async def _pass_requests(self, chunk: bytes) -> None:
        ready = bytearray()
        for raw, seen in self._requests.feed(chunk):
            if seen is not None:
                await self._send(self._server, ready)
                await self._on_request(seen)
            ready += raw
        if self._requests.is_raw:
            self._replies.give_up()
        await self._send(self._server, ready)

    def _look_at_request(self, length: int, head: bytes) -> Look:
        if len(head) < REQUEST_HEAD.size:
            return Look.NOTHING
        _, code = REQUEST_HEAD.unpack(head)
        if code == CLOSE_SESSION:
            return Look.HEAD
        is_of_interest = code in WRITES and length <= _UNDERSTOOD_BYTES and self._breakpoints.is_any()
        return Look.WHOLE if is_of_interest else Look.NOTHING

    async def _on_request(self, frame: bytes) -> None:
        """A request has arrived and not been sent on; it is when this returns, unless the connection is broken by then."""
        if self._is_first_request:
            self._is_first_request = False
            self.session_id = asked_session(frame)
            if self.session_id is not None:
                await self._admit(self.session_id)
            return
        xid, code = REQUEST_HEAD.unpack_from(frame)
        if code == CLOSE_SESSION:
            if self.session_id is not None:
                self._sessions.end(self.session_id)
        elif writes := writes_of(frame, self._chroot):
            await self._strike(self._breakpoints.take_due("before", writes))
            if self._breakpoints.is_any("after"):
                self._unanswered[xid] = writes

    # --- what the server sends

    async def _pump_replies(self) -> None:
        while chunk := await self._server.read():
            await self._door.passage()
            await self._pass_replies(chunk)
        await self._door.passage()
        self._lose()
        await self._client.send(self._replies.rest())
        self._client.send_end()

    async def _pass_replies(self, chunk: bytes) -> None:
        ready = bytearray()
        for raw, seen in self._replies.feed(chunk):
            if seen is not None:
                await self._send(self._client, ready)
                await self._on_reply(seen)
            ready += raw
        await self._send(self._client, ready)

    def _look_at_reply(self, length: int, head: bytes) -> Look:
        is_awaited = len(head) == REPLY_HEAD.size and REPLY_HEAD.unpack(head)[0] in self._unanswered
        return Look.HEAD if is_awaited else Look.NOTHING

    async def _on_reply(self, frame: bytes) -> None:
        """An answer has arrived and not been delivered; it is when this returns, unless the connection is broken by then."""
        if self._is_first_reply:
            self._is_first_reply = False
            self._on_granted(granted_session(frame))
            return
        (xid,) = REPLY_HEAD.unpack(frame)
        await self._strike(self._breakpoints.take_due("after", self._unanswered.pop(xid)))

    def _on_granted(self, granted: Granted | None) -> None:
        if granted is None:
            return
        if granted.timeout_ms > 0:
            self.session_id = granted.session_id
            self._sessions.establish(granted, self)
        elif self.session_id is not None:
            self._sessions.end(self.session_id)

    # --- both

    async def _send(self, peer: Peer, ready: bytearray) -> None:
        """Send what is ready, in one piece, and clear it."""
        await self._door.passage()
        data = bytes(ready)
        ready.clear()
        await peer.send(data)

    async def _strike(self, due: Sequence[Breakpoint]) -> None:
        for breakpoint_ in due:
            done = breakpoint_.act()
            if isawaitable(done):
                await done
        if due:
            await self._door.passage()
            if self._client.is_gone():
                # Its process may have been killed, by the act or meanwhile: then what has waited here was never sent.
                self.cut_from_server()
