"""Ending somebody else's session: the server is made to believe that its owner came back and closed it.

A session belongs to whoever knows its id and password. We take it up on a connection of our own, close it there, and try to
take it up again until the server answers that there is no such session: then it has really ended, on every member that
was asked, and its ephemeral znodes with it.
"""

import asyncio
from collections.abc import Sequence

from kcsim.zk.errors import TimedOutError
from kcsim.zk.live import wire
from kcsim.zk.vocabulary import SessionId

_RETRY_S = 0.01
_ATTEMPT_S = 1.0  # a member that hangs must not use up the time for the others


async def end_session(
    hosts: Sequence[tuple[str, int]], session_id: SessionId, password: bytes, timeout_ms: int, bound_s: float
) -> None:
    """End a session at the server. Its owner must be kept from reconnecting meanwhile, or the two would fight for it.

    Args:
        timeout_ms: the session's own time-out.

    Raises: TimedOutError when the server has not confirmed it within bound_s.
    """
    last_seen = "nothing was tried"
    try:
        async with asyncio.timeout(bound_s):
            while True:
                for host, port in hosts:
                    try:
                        async with asyncio.timeout(_ATTEMPT_S):
                            if await _take_up_and_close(host, port, session_id, password, timeout_ms):
                                return
                        last_seen = f"{host}:{port} was told to close it"
                    except (OSError, asyncio.IncompleteReadError) as error:  # a time-out is an OSError, too
                        last_seen = f"{host}:{port}: {error!r}"
                await asyncio.sleep(_RETRY_S)
    except TimeoutError:
        raise TimedOutError(
            f"session {session_id:#018x} was not seen to end within {bound_s} s; last seen: {last_seen}"
        ) from None


async def _take_up_and_close(host: str, port: int, session_id: SessionId, password: bytes, timeout_ms: int) -> bool:
    """Say whether the session was found to have ended already; close it if not."""
    reader, writer = await asyncio.open_connection(host, port)
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
