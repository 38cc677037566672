"""A connection between a client and a member: two directions, each in order and each late; and what is said on it.

A direction keeps the order of its messages, whatever their latencies. When the client's end breaks, what has passed the
middle of the way still arrives at the server, the rest is lost: so of the requests in flight some may have been applied.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kcsim.zk.memory.server import Granted
from kcsim.zk.memory.timetable import Timetable
from kcsim.zk.memory.watches import ConnectionId
from kcsim.zk.operations import ReplyOrError, Request, WatchEvent
from kcsim.zk.ports import Cause
from kcsim.zk.vocabulary import SessionId, Zxid

# --- what a client says


@dataclass(frozen=True, slots=True)
class Connect:
    """Let me in: with a new session (id 0), or back into this one."""

    session_id: SessionId
    password: bytes
    timeout_ms: int
    cause: Cause


@dataclass(frozen=True, slots=True)
class Ask:
    request: Request
    cause: Cause


@dataclass(frozen=True, slots=True)
class Ping:
    pass


@dataclass(frozen=True, slots=True)
class RearmWatches:
    """`seen` is the last zxid that the client has heard of."""

    seen: Zxid
    data: tuple[str, ...]
    exist: tuple[str, ...]
    child: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CloseSession:
    cause: Cause


@dataclass(frozen=True, slots=True)
class Gone:
    """Not said but noticed by the server: the client's end is broken."""


# --- what a server says


@dataclass(frozen=True, slots=True)
class Refused:
    """The session that was to be taken up again is no more."""


@dataclass(frozen=True, slots=True)
class Answer:
    """To the oldest request not yet answered."""

    reply: ReplyOrError
    zxid: Zxid


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """To a Ping, RearmWatches or CloseSession."""

    zxid: Zxid


@dataclass(frozen=True, slots=True)
class HungUp:
    """Not said but noticed by the client: the server's end is closed, or was never open."""


FromClient = Connect | Ask | Ping | RearmWatches | CloseSession | Gone
FromServer = Granted | Refused | Answer | Acknowledged | WatchEvent | HungUp


class Connection:
    """One connection, open at both ends until one of them ends it.

    Args:
        latency_ms: how long the next message takes, at least 1.
        at_server, at_client: called with the connection and each message that arrives.
    """

    def __init__(
        self,
        number: ConnectionId,
        member: str,
        timetable: Timetable,
        latency_ms: Callable[[], int],
        at_server: "Callable[[Connection, FromClient], None]",
        at_client: "Callable[[Connection, FromServer], None]",
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

    def ask(self, message: FromClient) -> None:
        """Send to the server; into the void if the end is broken already."""
        if self._is_open_at_client:
            now_ms = self._timetable.now_ms()
            self._last_to_server_ms = max(self._last_to_server_ms, now_ms + self._latency_ms())
            self._timetable.at(self._last_to_server_ms, self._reach_server, message, now_ms, self._last_to_server_ms)

    def cut(self) -> None:
        """Break the client's end: nothing arrives there any more, and the server will notice."""
        if self._is_open_at_client:
            self.ask(Gone())
            self._is_open_at_client = False
            self._cut_ms = self._timetable.now_ms()

    def _reach_server(self, message: FromClient, sent_ms: int, arrives_ms: int) -> None:
        is_lost = self._cut_ms is not None and sent_ms + arrives_ms > 2 * self._cut_ms
        if self.is_open_at_server and (not is_lost or isinstance(message, Gone)):
            self._at_server(self, message)

    # --- the server's end

    def tell(self, message: FromServer) -> None:
        """Send to the client; into the void if the end is closed already."""
        if self.is_open_at_server:
            self._last_to_client_ms = max(self._last_to_client_ms, self._timetable.now_ms() + self._latency_ms())
            self._timetable.at(self._last_to_client_ms, self._reach_client, message)

    def hang_up(self) -> None:
        """Close the server's end: nothing is taken there any more, and the client will notice, after all that was sent."""
        self.tell(HungUp())
        self.is_open_at_server = False

    def _reach_client(self, message: Any) -> None:
        if self._is_open_at_client:
            self._at_client(self, message)
