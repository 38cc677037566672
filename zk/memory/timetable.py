"""The scheduled calls of the model, made by one task: arrivals of messages, heartbeats, expiries of sessions."""

import math
from collections.abc import Callable
from contextlib import suppress
from heapq import heappop, heappush
from itertools import count
from typing import Any

from kcsim.errors import TimedOutError
from kcsim.runtime.ports import Promise, Runtime

_AT_WORK = -1


class Timetable:
    """Scheduled calls, made in the order of their times, and at equal times in the order in which they were entered.

    The task that makes the calls sleeps until the earliest is due; without entries nothing is scheduled. An error that a
    call raises leaves that task, and so stops the run.
    """

    def __init__(self, runtime: Runtime, name: str) -> None:
        self.runtime = runtime
        self._name = name
        self._entries: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._number = count()
        self._is_running = False
        self._wakes_ms: float = _AT_WORK
        self._earlier: Promise[None] = runtime.promise()

    def now_ms(self) -> int:
        return self.runtime.now_ms()

    def at(self, at_ms: int, call: Callable[..., None], *args: Any) -> None:
        """Schedule a call for a time of the run; it is made as soon as possible if that time has passed."""
        heappush(self._entries, (at_ms, next(self._number), call, args))
        if not self._is_running:
            self._is_running = True
            self.runtime.spawn(self._name, self._run())
        elif at_ms < self._wakes_ms:
            self._earlier.resolve(None)

    async def _run(self) -> None:
        while True:
            self._make_due_calls()
            self._earlier = self.runtime.promise()
            self._wakes_ms = self._entries[0][0] if self._entries else math.inf
            delay_ms = self._entries[0][0] - self.runtime.now_ms() if self._entries else None
            with suppress(TimedOutError):  # the time-out means that the earliest entry is due
                await self._earlier.wait(delay_ms)
            self._wakes_ms = _AT_WORK

    def _make_due_calls(self) -> None:
        while self._entries and self._entries[0][0] <= self.runtime.now_ms():
            _, _, call, args = heappop(self._entries)
            call(*args)
