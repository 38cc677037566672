"""A broker in a guarded process of its own, whatever its software: how it is signalled, and what becomes of it."""

from abc import ABC, abstractmethod

from kcsim.errors import TimedOutError
from kcsim.zk.servers.guarded_process import GuardedProcess
from kcsim.zk.servers.ports import State


class GuardedBroker(ABC):
    """A broker's process under a guard.

    Methods without a time-out return when they have taken effect. A call that would have no effect raises MemberStateError.
    """

    def __init__(self, broker_id: int, process: GuardedProcess) -> None:
        self.broker_id = broker_id
        self.name = process.name
        self._process = process

    @property
    def state(self) -> State | None:
        """UP, PAUSED, or the exit status of a process that has ended; None before the first start."""
        return self._process.state

    async def terminate(self, timeout_s: float) -> int:
        """Send SIGTERM, which causes a controlled shutdown, and return the exit status.

        Raises: TimedOutError; the process then still runs.
        """
        status = await self._process.terminate(timeout_s)
        if status is None:
            raise self._timed_out(timeout_s, "end after SIGTERM")
        return status

    async def kill(self) -> None:
        """Kill the process with SIGKILL, whether it is paused or not. Return when the process is gone."""
        await self._process.kill()

    async def pause(self) -> None:
        """Pause the process with SIGSTOP; its connections stay open and silent. Raises: as _exited returns."""
        self._check(await self._process.pause())

    async def resume(self) -> None:
        """Resume the process with SIGCONT. Raises: as _exited returns."""
        self._check(await self._process.resume())

    async def close(self) -> None:
        """Kill the process if it runs, and leave only files behind. Idempotent; the broker can be started again later."""
        await self._process.close()

    def _check(self, state: State) -> None:
        if isinstance(state, int):
            raise self._exited(state)

    @abstractmethod
    def _exited(self, status: int | None) -> Exception:
        """Return the error for a process that has ended although it should run."""

    @abstractmethod
    def _timed_out(self, timeout_s: float, what: str) -> TimedOutError:
        """Return the error for a process that has not done something in time. Args: what: an infinitive."""
