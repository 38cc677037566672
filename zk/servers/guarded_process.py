"""One guarded process, which can be started again after its end: its state, and the signals that it is sent.

A method without a time-out returns when it has taken effect. A call that would have no effect raises MemberStateError.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from kcsim.zk.servers.errors import MemberStateError
from kcsim.zk.servers.guarded_processes import GuardedProcesses
from kcsim.zk.servers.ports import PAUSED, UP, State

POLL_S = 0.02


class GuardedProcess:
    """A process under a guard.

    Args:
        guarded: the guard; None creates a guard for this process alone, at the first start.
        what: the kind of process; part of the name of such a guard's directory.
    """

    def __init__(self, name: str, guarded: GuardedProcesses | None = None, what: str = "process") -> None:
        self.name = name
        self._guarded = guarded
        self._has_own_guard = guarded is None
        self._what = what
        self._last_state: State | None = None

    @property
    def state(self) -> State | None:
        """UP, PAUSED, or the exit status of a process that has ended; None before the first start."""
        if self._guarded is not None and self._last_state in (UP, PAUSED):
            self._last_state = self._guarded.states()[self.name]
        return self._last_state

    def require_not_running(self) -> None:
        """Raises: MemberStateError if the process runs or is paused."""
        self._require("start", lambda state: state not in (UP, PAUSED))

    def start(self, argv: Sequence[str], log: Path) -> None:
        """Start the process; its output is appended to a file. Blocks for some milliseconds."""
        self.require_not_running()
        if self._guarded is None:
            self._guarded = GuardedProcesses(what=self._what)
        self._guarded.start(self.name, argv, log)
        self._last_state = UP

    async def terminate(self, timeout_s: float) -> int | None:
        """Send SIGTERM. Return the exit status, negative if a signal ended it; None if the process still runs then."""
        self._require("terminate", lambda state: state == UP)
        self._last_state = await asyncio.to_thread(self._guard().terminate, self.name)
        status = await exit_status(self._guard(), self.name, timeout_s)
        if status is not None:
            self._last_state = status
        return status

    async def kill(self) -> None:
        """Kill the process with SIGKILL, whether it is paused or not. Return when the process is gone."""
        self._require("kill", lambda state: state in (UP, PAUSED))
        self._last_state = await asyncio.to_thread(self._guard().kill, self.name)

    async def pause(self) -> State:
        """Pause the process with SIGSTOP. Return its state: the exit status if it has ended meanwhile."""
        self._require("pause", lambda state: state == UP)
        return await self._change(self._guard().pause)

    async def resume(self) -> State:
        """Resume the process with SIGCONT. Return its state: the exit status if it has ended meanwhile."""
        self._require("resume", lambda state: state == PAUSED)
        return await self._change(self._guard().resume)

    async def close(self) -> None:
        """Kill the process if it runs. Idempotent; the process can be started again later."""
        if self.state in (UP, PAUSED):
            await self.kill()
        if self._has_own_guard and self._guarded is not None:
            guarded, self._guarded = self._guarded, None
            await asyncio.to_thread(guarded.close)

    async def _change(self, act: Callable[[str], State]) -> State:
        self._last_state = await asyncio.to_thread(act, self.name)
        return self._last_state

    def _guard(self) -> GuardedProcesses:
        assert self._guarded is not None, "a process that runs has a guard"
        return self._guarded

    def _require(self, verb: str, holds: Callable[[State | None], bool]) -> None:
        state = self.state
        if not holds(state):
            words = "not started" if state is None else f"down (status {state})" if isinstance(state, int) else state
            raise MemberStateError(verb, self.name, words)


async def exit_status(guarded: GuardedProcesses, name: str, timeout_s: float) -> int | None:
    """Return a process's exit status once it ends, negative if a signal ended it; None if it still runs at the time-out."""
    loop = asyncio.get_running_loop()
    end = loop.time() + timeout_s
    while isinstance(state := guarded.states()[name], str):
        if loop.time() >= end:
            return None
        await asyncio.sleep(POLL_S)
    return state
