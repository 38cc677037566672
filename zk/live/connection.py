"""One session's connection: kazoo's thread with this project's requests.

Only this file and freezable_handler.py import kazoo. kazoo provides the thread, the choice of a host, the handshake,
heartbeats and reconnecting. Its handling of requests and answers is replaced, for three reasons:

- Order. kazoo gives watch events to one thread and answers to another; here both leave the connection thread in the order in
  which they arrived.
- Watches outlive the connection (see watches.py); kazoo drops them.
- Faults. Everything that the thread does goes through a `FreezableHandler`, which can freeze the thread like a stopped
  process, or kill it. And an expired session stays expired: kazoo would open a new one.

The reply header of a watch event carries the zxid of the transaction that fired it (ZooKeeper 3.9; -1 before).
"""

import logging
import socket
import ssl
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from kazoo.client import KazooClient
from kazoo.exceptions import AuthFailedError, ConnectionDropped, NoNodeError, SessionClosedRequireSaslError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.hosts import collect_hosts
from kazoo.protocol.connection import CLOSE_RESPONSE, ConnectionHandler
from kazoo.protocol.states import KeeperState
from kazoo.retry import KazooRetry

from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import SessionId, Zxid
from kcsim.zk.errors import ConnectionLossError
from kcsim.zk.live import wire
from kcsim.zk.live.connect_settings import ConnectSettings
from kcsim.zk.live.freezable_handler import FreezableHandler
from kcsim.zk.live.ledger import WriteLedger
from kcsim.zk.live.watches import WatchTable
from kcsim.zk.operations import Create, Delete, Multi, ReplyOrError, Request, SetData, WatchEvent, WatchKind

_SEND_BYTES = 256 * 1024  # maximum to send before answers are read again
_READ_BYTES = 256 * 1024
_WRITES = (Create, Delete, SetData, Multi)


def parse_hosts(connect_string: str) -> tuple[list[tuple[str, int]], str]:
    """Split "h:p,h:p/chroot" into the servers and the chroot ("" for none). Raises: ValueError."""
    hosts, chroot = collect_hosts(connect_string)
    return hosts, (chroot or "").rstrip("/")


class CallBatch:
    """The requests of one call, and the replies that have come so far, in the same order."""

    __slots__ = ("cause", "on_done", "replies", "requests")

    def __init__(self, requests: list[Request], cause: Cause, on_done: Callable[[list[ReplyOrError]], None]) -> None:
        self.requests = requests
        self.cause = cause
        self.on_done = on_done
        self.replies: list[ReplyOrError] = []

    def add(self, reply: ReplyOrError) -> bool:
        """Append the next reply and return whether it was the last."""
        self.replies.append(reply)
        return len(self.replies) == len(self.requests)

    def lose(self) -> None:
        """Answer all unanswered requests with ConnectionLossError."""
        self.replies += [ConnectionLossError(wire.path_of(r)) for r in self.requests[len(self.replies) :]]


class ConnectionListener(Protocol):
    """Receives the connection's events, in the connection thread and in the order of the wire. Must not block."""

    def on_connected(self, session_id: SessionId, password: bytes, timeout_ms: int) -> None: ...
    def on_suspended(self) -> None: ...
    def on_expired(self) -> None: ...
    def on_watch(self, event: WatchEvent) -> None: ...
    def on_answered(self, batch: CallBatch) -> None: ...
    def on_ended(self, error: Exception | None) -> None:
        """Take the end of the thread, the last event: after expiry, after a close, or after a defect.

        Args:
            error: the defect; None for the other ends.
        """
        ...

    def is_listening(self) -> bool: ...


class _Outgoing:
    """A request of a batch, encoded; the request that closes the session has no batch."""

    __slots__ = ("batch", "body", "code", "request", "xid")

    def __init__(self, code: int, body: bytes, request: Request | None, batch: CallBatch | None) -> None:
        self.code, self.body, self.request, self.batch = code, body, request, batch
        self.xid = 0


class _Client(KazooClient):  # type: ignore[misc]
    """kazoo's client with its own reaction to a change of state replaced."""

    _state: str

    def __init__(self, settings: ConnectSettings, timeout_ms: int, handler: FreezableHandler) -> None:
        silent = logging.Logger("kcsim.zk.live")
        silent.disabled = True  # kazoo formats each request for its log
        retry = KazooRetry(max_tries=-1, delay=0.01, max_delay=0.2, sleep_func=handler.sleep_func)
        super().__init__(
            settings.connect_string,
            timeout=timeout_ms / 1000,
            handler=handler,
            connection_retry=retry,
            command_retry=retry,
            logger=silent,
            read_only=settings.accepts_read_only,
        )
        self._session_timeout = timeout_ms
        self.silent = silent

    def _session_callback(self, state: str) -> None:
        if state == self._state:
            return
        self._state = state
        if state == KeeperState.EXPIRED_SESSION:
            self._stopped.set()  # or kazoo would open a new session at once
        if state not in (KeeperState.CONNECTED, KeeperState.CONNECTED_RO):
            self._connection.on_disconnected(is_expired=state == KeeperState.EXPIRED_SESSION)

    def halt(self) -> None:
        """Stop reconnecting: the thread ends when its connection does."""
        self._stopped.set()


class LiveConnection(ConnectionHandler):  # type: ignore[misc]
    """A session's connection, which reconnects to one server after another.

    Args:
        connect_timeout_ms: time limit of one attempt to connect to one host.
        tls: made of the settings; None: the connection is not encrypted.
    """

    def __init__(
        self,
        settings: ConnectSettings,
        timeout_ms: int,
        connect_timeout_ms: int,
        listener: ConnectionListener,
        ledger: WriteLedger | None,
        tls: ssl.SSLContext | None,
    ) -> None:
        self.hosts, self._chroot = parse_hosts(settings.connect_string)
        self.last_error = "no attempt was made"
        self._freezable_handler = FreezableHandler(
            listener.is_listening, min(timeout_ms / len(self.hosts), connect_timeout_ms) / 1000, tls
        )
        client = _Client(settings, timeout_ms, self._freezable_handler)
        sasl = dict(settings.security.sasl) or None
        super().__init__(client, client._conn_retry.copy(), logger=client.silent, sasl_options=sasl)
        client._connection = self
        self._listener = listener
        self._ledger = ledger
        self._is_encrypted = tls is not None
        self._watches = WatchTable()
        self._lock = threading.Lock()
        self._is_connected = False
        self._last_xid = 0
        self._inbox = bytearray()
        self._outgoing: deque[_Outgoing] = deque()
        self._in_flight: deque[_Outgoing] = deque()

    # --- from the event loop

    @property
    def is_read_only(self) -> bool:
        return bool(self.client._state == KeeperState.CONNECTED_RO)

    def open(self) -> None:
        """Start the connection thread."""
        self.client.start_async()

    def submit(self, batch: CallBatch) -> bool:
        """Queue the requests of a batch for sending, in order. False, and nothing is sent, when there is no connection."""
        encoded = [(*wire.encode(request, self._chroot), request) for request in batch.requests]
        return self._submit_all([_Outgoing(code, body, request, batch) for code, body, request in encoded])

    def request_close(self) -> bool:
        """Queue the request to end the session after all submitted requests. False when there is no connection."""
        self.client.halt()
        return self._submit_all([_Outgoing(wire.CLOSE_SESSION, b"", None, None)])

    def _submit_all(self, outgoing: list[_Outgoing]) -> bool:
        with self._lock:
            if not self._is_connected:
                return False
            self._outgoing.extend(outgoing)
            self._wake()
            return True

    def _wake(self) -> None:
        with suppress(BlockingIOError):
            self._write_sock.send(b"\0")

    def break_connection(self) -> None:
        """Shut the connection's socket, if there is one."""
        sock = self._socket
        with suppress(OSError, AttributeError):
            sock.shutdown(socket.SHUT_RDWR)

    def kill(self) -> None:
        """Break the connection; the thread ends without a further message to the server or the listener."""
        self.client.halt()
        self._freezable_handler.kill()
        self.break_connection()

    def freeze(self) -> None:
        self._freezable_handler.freeze()

    def thaw(self) -> None:
        self._freezable_handler.thaw()

    def refuse(self, reason: str) -> None:
        """Let no connection attempt succeed until `allow` is called with the same reason."""
        self._freezable_handler.refusals |= {reason}

    def allow(self, reason: str) -> None:
        self._freezable_handler.refusals -= {reason}

    # --- in the connection thread: what kazoo's loop calls

    def zk_loop(self) -> None:
        error: Exception | None = None
        try:
            self._freezable_handler.enter()
            super().zk_loop()
        except ConnectionDropped:
            pass  # the thread was killed before it began
        except Exception as defect:
            error = defect
        finally:
            self._freezable_handler.leave()
            with self._lock:
                self._is_connected = False
                self.connection_stopped.set()
                self.close()
            self._listener.on_ended(error)

    def _expand_client_hosts(self) -> Any:
        addresses = super()._expand_client_hosts()
        if not addresses:
            self.last_error = "none of the host names can be resolved"
        return addresses

    def _connect_attempt(self, host: str, hostip: str, port: int, retry: KazooRetry) -> Any:
        has_quorum: tuple[str, int] | None = self._rw_server  # a member that was found while a read-only one served
        if has_quorum is not None:
            # kazoo would connect to its port, but at the address of another member.
            self._rw_server: tuple[str, int] | None = None
            (host, port), hostip = has_quorum, has_quorum[0]
        return super()._connect_attempt(host, hostip, port, retry)

    def _connect(self, host: str, hostip: str, port: int) -> tuple[float, float]:
        self._inbox.clear()
        try:
            read_timeout_ms, connect_timeout_ms = super()._connect(host, hostip, port)
            if self._freezable_handler.refusals:
                raise ConnectionDropped("refused during the handshake")
            for body in self._watches.set_watches(self.client.last_zxid):
                self._write(wire.frame(wire.SET_WATCHES_XID, wire.SET_WATCHES, body), connect_timeout_ms / 1000)
        except (ConnectionDropped, KazooTimeoutError) as error:
            self.last_error = f"{host}:{port}: {error}"
            raise
        except (AuthFailedError, SessionClosedRequireSaslError) as error:
            self.last_error = f"{host}:{port}: the server rejects the name or the password (SASL)"
            raise AuthFailedError from error  # the only one of them that ends kazoo's attempts in order
        # kazoo's jitter is designed for long time-outs: without this bound a session with a short time-out would expire
        # between two heartbeats.
        self._freezable_handler.longest_wait_s = read_timeout_ms / 2000
        with self._lock:
            self._is_connected = True
        client = self.client
        self._listener.on_connected(client._session_id, client._session_passwd, round(connect_timeout_ms * len(self.hosts)))
        return read_timeout_ms, connect_timeout_ms

    def on_disconnected(self, is_expired: bool) -> None:
        """Report the loss of the connection to the listener, then answer all unanswered requests."""
        with self._lock:
            was_connected, self._is_connected = self._is_connected, False
            lost = [*self._in_flight, *self._outgoing]
            self._in_flight.clear()
            self._outgoing.clear()
        if is_expired:
            self._listener.on_expired()
        elif was_connected and not self.client._stopped.is_set():
            self._listener.on_suspended()
        for batch in dict.fromkeys(out.batch for out in lost if out.batch is not None):
            batch.lose()
            self._listener.on_answered(batch)

    def _send_request(self, read_timeout: float, connect_timeout: float) -> None:
        """Send the queued requests, up to a bound, in one write."""
        with suppress(BlockingIOError):
            self._read_sock.recv(4096)
        pieces = bytearray()
        while self._outgoing and len(pieces) < _SEND_BYTES:
            out = self._outgoing.popleft()
            # Unlike in kazoo, an xid is never used twice in a session: the transaction log identifies the request by it.
            self._last_xid = out.xid = self._last_xid % 0x7FFFFFFF + 1
            self._in_flight.append(out)
            pieces += wire.frame(out.xid, out.code, out.body)
            if self._ledger and out.batch and out.batch.cause is not None and isinstance(out.request, _WRITES):
                self._ledger.record_write(self.client._session_id, out.xid, out.batch.cause)
        if self._outgoing:
            self._wake()
        if pieces:
            self._write(pieces, connect_timeout)

    def _read_socket(self, read_timeout: float) -> object:
        """Read all received bytes and process every complete frame."""
        try:
            chunk = self._socket.recv(_READ_BYTES)
            while chunk and self._is_encrypted and self._socket.pending():  # decrypted already: no select reports it
                self._inbox += chunk
                chunk = self._socket.recv(_READ_BYTES)
        except (BlockingIOError, ssl.SSLWantReadError):
            return None
        if not chunk:
            raise ConnectionDropped("the server closed the connection")
        self._inbox += chunk
        at, result = 0, None
        while len(self._inbox) - at >= 4:
            end = at + 4 + wire.INT.unpack_from(self._inbox, at)[0]
            if len(self._inbox) < end:
                break
            result = self._read_frame(bytes(memoryview(self._inbox)[at + 4 : end])) or result
            at = end
        del self._inbox[:at]
        return result

    def _read_frame(self, body: bytes) -> object:
        xid, zxid, error = wire.REPLY_HEAD.unpack_from(body)
        at = wire.REPLY_HEAD.size
        if xid == wire.PING_XID:
            self.ping_outstanding.clear()
        elif xid == wire.WATCH_EVENT_XID:
            self._read_event(Zxid(max(zxid, 0)), wire.decode_event(body, at))
        elif xid != wire.SET_WATCHES_XID:
            return self._read_reply(xid, Zxid(zxid), error, body, at)
        return None

    def _read_event(self, zxid: Zxid, event: wire.WireWatchEvent) -> None:
        # The event's zxid does not count as seen: when the connection breaks between two events of one transaction,
        # SetWatches must still request the second.
        if self._watches.fire(event):
            path = wire.without_chroot(self._chroot, event.path)
            self._listener.on_watch(WatchEvent(WatchKind(event.kind), path, zxid))

    def _read_reply(self, xid: int, zxid: Zxid, error: int, body: bytes, at: int) -> object:
        out = self._in_flight.popleft()
        assert out.xid == xid, f"the server answered request {xid}, but {out.xid} was next"
        if zxid > 0:
            self.client.last_zxid = zxid
        if out.request is None or out.batch is None:
            return CLOSE_RESPONSE
        if error in (0, NoNodeError.code):
            self._watches.arm(out.request, self._full_path(out.request), found=not error)
        if out.batch.add(wire.decode(out.request, self._chroot, zxid, error, body, at)):
            self._listener.on_answered(out.batch)
        return None

    def _full_path(self, request: Request) -> str:
        return wire.below_chroot(self._chroot, wire.path_of(request) or "/")
