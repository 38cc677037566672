"""A connection between a client and a member, with ordered and delayed messages in both directions; and the messages.

Each direction keeps the order of its messages, whatever their latencies. When the client's end breaks, the messages that are
past half of their latency still arrive at the server, and the others are lost: so some of the requests in flight may be
applied.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import SessionId, Zxid
from kcsim.zk.memory.server import SessionGranted
from kcsim.zk.memory.timetable import Timetable
from kcsim.zk.memory.watches import ConnectionId
from kcsim.zk.operations import ReplyOrError, Request, WatchEvent

# --- messages from a client


class Connect(msgspec.Struct, frozen=True):
    """The request of a client to connect with a new session (id 0) or an existing one."""

    session_id: SessionId
    password: bytes
    timeout_ms: int
    cause: Cause


class RequestMessage(msgspec.Struct, frozen=True):
    request: Request
    cause: Cause


class Ping(msgspec.Struct, frozen=True):
    pass


class SetWatches(msgspec.Struct, frozen=True):
    """The request to arm a reconnecting client's watches again. `seen` is the last zxid that the client has seen."""

    seen: Zxid
    data: tuple[str, ...]
    exist: tuple[str, ...]
    child: tuple[str, ...]


class CloseSession(msgspec.Struct, frozen=True):
    cause: Cause


class ClientDisconnected(msgspec.Struct, frozen=True):
    """The client's end is broken. Not sent by the client, but detected by the server."""


# --- messages from a server


class SessionRefused(msgspec.Struct, frozen=True):
    """The answer to a client whose session does not exist any more."""


class ReplyMessage(msgspec.Struct, frozen=True):
    """The reply to the oldest unanswered request."""

    reply: ReplyOrError
    zxid: Zxid


class Acknowledged(msgspec.Struct, frozen=True):
    """The answer to a Ping, SetWatches or CloseSession."""

    zxid: Zxid


class ServerDisconnected(msgspec.Struct, frozen=True):
    """The server's end is closed, or was never open. Not sent by the server, but detected by the client."""


FromClient = Connect | RequestMessage | Ping | SetWatches | CloseSession | ClientDisconnected
FromServer = SessionGranted | SessionRefused | ReplyMessage | Acknowledged | WatchEvent | ServerDisconnected


class MemoryConnection:
    """One connection, open at both ends until one of them closes or breaks it.

    Args:
        latency_ms: returns the latency of the next message, at least 1.
        at_server, at_client: called with the connection and each message that arrives.
    """

    def __init__(
        self,
        number: ConnectionId,
        member: str,
        timetable: Timetable,
        latency_ms: Callable[[], int],
        at_server: "Callable[[MemoryConnection, FromClient], None]",
        at_client: "Callable[[MemoryConnection, FromServer], None]",
    ) -> None:
        self.number = number
        self.member = member
        self.is_open_at_server = True
        self._is_open_at_client = True
        self._cut_ms: int | None = None
        self._timetable = timetable
        self._latency_ms = latency_ms
        self._at_server = at_server
        self._at_client = at_client
        self._last_to_server_ms = 0
        self._last_to_client_ms = 0

    # --- the client's end

    def send_to_server(self, message: FromClient) -> None:
        """Send a message to the server; it is dropped if the client's end is broken already."""
        if self._is_open_at_client:
            now_ms = self._timetable.now_ms()
            arrives_ms = now_ms + self._latency_ms()
            if arrives_ms < self._last_to_server_ms:
                arrives_ms = self._last_to_server_ms
            self._last_to_server_ms = arrives_ms
            self._timetable.at(arrives_ms, self._reach_server, message, now_ms, arrives_ms)

    def cut(self) -> None:
        """Break the client's end: no message arrives there any more, and the server will detect it."""
        if self._is_open_at_client:
            self.send_to_server(ClientDisconnected())
            self._is_open_at_client = False
            self._cut_ms = self._timetable.now_ms()

    def _reach_server(self, message: FromClient, sent_ms: int, arrives_ms: int) -> None:
        is_lost = self._cut_ms is not None and sent_ms + arrives_ms > 2 * self._cut_ms
        if self.is_open_at_server and (not is_lost or isinstance(message, ClientDisconnected)):
            self._at_server(self, message)

    # --- the server's end

    def send_to_client(self, message: FromServer) -> None:
        """Send a message to the client; it is dropped if the server's end is closed already."""
        if self.is_open_at_server:
            arrives_ms = self._timetable.now_ms() + self._latency_ms()
            if arrives_ms < self._last_to_client_ms:
                arrives_ms = self._last_to_client_ms
            self._last_to_client_ms = arrives_ms
            self._timetable.at(arrives_ms, self._reach_client, message)

    def hang_up(self) -> None:
        """Close the server's end: it accepts no more messages; the client detects this after all messages sent before."""
        self.send_to_client(ServerDisconnected())
        self.is_open_at_server = False

    def _reach_client(self, message: Any) -> None:
        if self._is_open_at_client:
            self._at_client(self, message)
