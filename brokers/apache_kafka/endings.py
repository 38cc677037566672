"""Waits for a guarded process to end by itself."""

import asyncio

from kcsim.zk.servers.guarded import Guarded

POLL_S = 0.02


async def exit_status(guarded: Guarded, name: str, timeout_s: float) -> int | None:
    """Return the process's exit status once it has ended, negative if a signal ended it; None if it still runs then."""
    loop = asyncio.get_running_loop()
    end = loop.time() + timeout_s
    while isinstance(state := guarded.states()[name], str):
        if loop.time() >= end:
            return None
        await asyncio.sleep(POLL_S)
    return state
