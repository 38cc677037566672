"""One connection of the client, and the connection to a server that answers it.

Two pumps, one for each direction, read a chunk, inspect the frames that begin in it, and forward it unchanged; each reads
the next chunk when the other side has accepted the previous one. When one side ends, the other side gets the end after all
bytes.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from inspect import isawaitable

from kcsim.vocabulary import SessionId
from kcsim.zk.proxy.breakpoints import Breakpoint, Breakpoints
from kcsim.zk.proxy.frames import FrameInspection, FrameScanner
from kcsim.zk.proxy.pause_gate import PauseGate
from kcsim.zk.proxy.peer import Peer
from kcsim.zk.proxy.protocol import (
    CLOSE_SESSION,
    REPLY_HEAD,
    REQUEST_HEAD,
    WRITES,
    ConnectResponse,
    ProxiedWrite,
    granted_session,
    requested_session,
    writes_of,
)
from kcsim.zk.proxy.recent_writes import RecentWrites
from kcsim.zk.proxy.sessions import SessionTable

_UNDERSTOOD_BYTES = 16 * 1024 * 1024  # a longer write is forwarded without decoding, which would need it whole in memory
_LINGER_S = 1.0  # time for a client to notice the end of its server, before its connection is broken


@dataclass(frozen=True)
class ProxyContext:
    """The state that the connections of one proxy share.

    Args:
        chroot: "" or "/a/b".
        admit: waits until a client may reconnect to this session.
        recent_writes: where all writes are recorded; None: only breakpoints look at writes.
    """

    chroot: str
    gate: PauseGate
    breakpoints: Breakpoints
    sessions: SessionTable
    admit: Callable[[SessionId], Awaitable[None]]
    recent_writes: RecentWrites | None = None


class ProxiedConnection:
    """A client's connection, from the time when its server connection exists.

    Attributes:
        session_id: the session to which the client reconnects, then the session that it has; None before, and for a
            connection without a session.
    """

    def __init__(self, client: Peer, server: Peer, context: ProxyContext) -> None:
        self.session_id: SessionId | None = None
        self._client = client
        self._server = server
        self._gate = context.gate
        self._breakpoints = context.breakpoints
        self._sessions = context.sessions
        self._admit = context.admit
        self._chroot = context.chroot
        self._recent_writes = context.recent_writes
        self._requests = FrameScanner(REQUEST_HEAD.size, self._inspection_of_request)
        self._replies = FrameScanner(REPLY_HEAD.size, self._inspection_of_reply)
        self._is_first_request = self._is_first_reply = True
        self._unanswered: dict[int, tuple[ProxiedWrite, ...]] = {}  # by xid; kept only while a breakpoint waits for answers

    async def run(self) -> None:
        """Forward bytes until both sides have ended. Raises: the error of a breakpoint; the connection is broken then."""
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
        """Break both sides, whatever is still in flight."""
        self._lose()
        self._client.break_off()
        self._server.break_off()

    def cut_from_server(self) -> None:
        """Break the server's side; the client loses its connection after it has received all bytes sent before."""
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
            await self._gate.wait_until_open()
            await self._pass_requests(chunk)
        await self._gate.wait_until_open()
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

    def _inspection_of_request(self, length: int, head: bytes) -> FrameInspection:
        if len(head) < REQUEST_HEAD.size:
            return FrameInspection.NOTHING
        _, code = REQUEST_HEAD.unpack(head)
        if code == CLOSE_SESSION:
            return FrameInspection.HEAD
        is_wanted = self._recent_writes is not None or self._breakpoints.is_any()
        is_of_interest = code in WRITES and length <= _UNDERSTOOD_BYTES and is_wanted
        return FrameInspection.WHOLE if is_of_interest else FrameInspection.NOTHING

    async def _on_request(self, frame: bytes) -> None:
        """Handle a request that is not forwarded yet. It is forwarded after the return, unless the connection is broken."""
        if self._is_first_request:
            self._is_first_request = False
            self.session_id = requested_session(frame)
            if self.session_id is not None:
                await self._admit(self.session_id)
            return
        xid, code = REQUEST_HEAD.unpack_from(frame)
        if code == CLOSE_SESSION:
            for act in self._breakpoints.before_closing:
                await act()
            if self.session_id is not None:
                self._sessions.end(self.session_id)
        elif writes := writes_of(frame, self._chroot):
            if self._recent_writes is not None and self.session_id is not None:
                self._recent_writes.record(self.session_id, xid, writes)
            await self._run_breakpoints(self._breakpoints.take_due("before", writes))
            if self._breakpoints.is_any("after"):
                self._unanswered[xid] = writes

    # --- what the server sends

    async def _pump_replies(self) -> None:
        while chunk := await self._server.read():
            await self._gate.wait_until_open()
            await self._pass_replies(chunk)
        await self._gate.wait_until_open()
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

    def _inspection_of_reply(self, length: int, head: bytes) -> FrameInspection:
        is_awaited = len(head) == REPLY_HEAD.size and REPLY_HEAD.unpack(head)[0] in self._unanswered
        return FrameInspection.HEAD if is_awaited else FrameInspection.NOTHING

    async def _on_reply(self, frame: bytes) -> None:
        """Handle an answer that is not forwarded yet. It is forwarded after the return, unless the connection is broken."""
        if self._is_first_reply:
            self._is_first_reply = False
            self._on_granted(granted_session(frame))
            return
        (xid,) = REPLY_HEAD.unpack(frame)
        await self._run_breakpoints(self._breakpoints.take_due("after", self._unanswered.pop(xid)))

    def _on_granted(self, granted: ConnectResponse | None) -> None:
        if granted is None:
            return
        if granted.timeout_ms > 0:
            self.session_id = granted.session_id
            self._sessions.establish(granted, self)
        elif self.session_id is not None:
            self._sessions.end(self.session_id)

    # --- both

    async def _send(self, peer: Peer, ready: bytearray) -> None:
        """Send the bytes in `ready` in one write, and clear it."""
        await self._gate.wait_until_open()
        data = bytes(ready)
        ready.clear()
        await peer.send(data)

    async def _run_breakpoints(self, due: Sequence[Breakpoint]) -> None:
        for breakpoint_ in due:
            done = breakpoint_.act()
            if isawaitable(done):
                await done
        if due:
            await self._gate.wait_until_open()
            if self._client.is_gone():
                # The client's process may have been killed, by the act or meanwhile: then the waiting bytes are not sent.
                self.cut_from_server()
