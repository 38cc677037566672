"""A client that sends any operation code and keeps what arrives: for operations that no client library here has."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from struct import pack, unpack_from

from kcsim.zk.live.wire import INT, REPLY_HEAD, WATCH_EVENT_XID, decode_event

BOUND_S = 60.0
TIMEOUT_MS = 20_000


def text(value: str) -> bytes:
    """Return a string as a request has it."""
    return INT.pack(len(value.encode())) + value.encode()


class RawClient:
    """One session on one connection.

    Attributes:
        events: the watch events that have arrived, as (type, path).
    """

    def __init__(self, connect_string: str, timeout_ms: int) -> None:
        host, port = connect_string.split(",")[0].split(":")
        self._socket = socket.create_connection((host, int(port)), timeout=BOUND_S)
        self._xid = 0
        self.events: list[tuple[int, str]] = []
        self._send(pack("!iqiqi", 0, 0, timeout_ms, 0, 16) + bytes(17))
        self.session_id: int = unpack_from("!q", self._frame(), 8)[0]

    def call(self, code: int, body: bytes = b"", xid: int | None = None) -> tuple[int, bytes]:
        """Send a request; return the error and the body of its reply. Events that come before it are kept."""
        self._xid += 1
        xid = self._xid if xid is None else xid
        self._send(pack("!ii", xid, code) + body)
        while True:
            frame = self._frame()
            answered, _, error = REPLY_HEAD.unpack_from(frame)
            if answered == xid:
                return error, frame[REPLY_HEAD.size :]
            assert answered == WATCH_EVENT_XID
            event = decode_event(frame, REPLY_HEAD.size)
            self.events.append((event.kind, event.path))

    def close(self) -> None:
        self._socket.close()

    def _send(self, body: bytes) -> None:
        self._socket.sendall(INT.pack(len(body)) + body)

    def _frame(self) -> bytes:
        return self._exactly(INT.unpack(self._exactly(4))[0])

    def _exactly(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            received = self._socket.recv(length - len(data))
            assert received, "the connection has ended"
            data += received
        return data


@contextmanager
def raw_client_of(connect_string: str, timeout_ms: int = TIMEOUT_MS) -> Iterator[RawClient]:
    client = RawClient(connect_string, timeout_ms)
    try:
        yield client
    finally:
        client.close()
