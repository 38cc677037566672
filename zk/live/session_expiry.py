"""Ends another client's session: connects to it with its id and password, and closes it.

The server lets every client use a session that knows its id and password. This module connects to the session, closes it,
and connects again until the server answers that there is no such session: then the session has ended, on every member that
was asked, and its ephemeral znodes are deleted.
"""

import asyncio
import ssl
from collections.abc import Sequence

from kcsim.errors import TimedOutError
from kcsim.vocabulary import SessionId
from kcsim.zk.live import wire

_RETRY_S = 0.01
_ATTEMPT_S = 1.0  # a member that hangs must not use up the time for the others


async def end_session(
    hosts: Sequence[tuple[str, int]],
    session_id: SessionId,
    password: bytes,
    timeout_ms: int,
    bound_s: float,
    tls: ssl.SSLContext | None = None,
) -> None:
    """End a session at the server. The caller must keep its owner from reconnecting, which would take the session back.

    Args:
        timeout_ms: the session's own time-out.

    Raises: TimedOutError when the server has not confirmed the end within bound_s.
    """
    last_seen = "nothing was tried"
    try:
        async with asyncio.timeout(bound_s):
            while True:
                for host, port in hosts:
                    try:
                        async with asyncio.timeout(_ATTEMPT_S):
                            if await _take_up_and_close(host, port, session_id, password, timeout_ms, tls):
                                return
                        last_seen = f"{host}:{port} was asked to close it"
                    except (OSError, asyncio.IncompleteReadError) as error:  # a time-out is an OSError, too
                        last_seen = f"{host}:{port}: {error!r}"
                await asyncio.sleep(_RETRY_S)
    except TimeoutError:
        raise TimedOutError(
            f"session {session_id:#018x} was not seen to end within {bound_s} s; last seen: {last_seen}"
        ) from None


async def _take_up_and_close(
    host: str, port: int, session_id: SessionId, password: bytes, timeout_ms: int, tls: ssl.SSLContext | None
) -> bool:
    """Return whether the session has ended already; close it if not."""
    reader, writer = await asyncio.open_connection(host, port, ssl=tls)
    try:
        writer.write(wire.encode_connect(session_id, password, timeout_ms))
        granted_ms, _ = wire.decode_connected(await _read_frame(reader))
        if granted_ms <= 0:
            return True
        writer.write(wire.frame(1, wire.CLOSE_SESSION, b""))
        await _read_frame(reader)
        return False
    finally:
        writer.close()


async def _read_frame(reader: asyncio.StreamReader) -> bytes:
    (length,) = wire.INT.unpack(await reader.readexactly(wire.INT.size))
    return await reader.readexactly(length)
