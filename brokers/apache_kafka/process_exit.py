"""Wait for a guarded process to end by itself."""

import asyncio

from kcsim.zk.servers.guarded_processes import GuardedProcesses

POLL_S = 0.02


async def exit_status(guarded: GuardedProcesses, name: str, timeout_s: float) -> int | None:
    """Return a process's exit status once it ends, negative if a signal ended it; None if it still runs at the time-out."""
    loop = asyncio.get_running_loop()
    end = loop.time() + timeout_s
    while isinstance(state := guarded.states()[name], str):
        if loop.time() >= end:
            return None
        await asyncio.sleep(POLL_S)
    return state
