"""All that the model does at a later time, kept by one task: messages arriving, heartbeats, sessions running out of time."""

import math
from collections.abc import Callable
from contextlib import suppress
from heapq import heappop, heappush
from itertools import count
from typing import Any

from kcsim.zk.errors import TimedOutError
from kcsim.zk.ports import Promise, Runtime

_AT_WORK = -1


class Timetable:
    """Calls made in order of their time, and at one time in the order in which they were entered.

    The task that makes them sleeps until the earliest is due; nothing is scheduled for what has no entry. What a call raises
    leaves that task, and so stops the run.
    """

    def __init__(self, runtime: Runtime, name: str) -> None:
        self._runtime = runtime
        self._name = name
        self._entries: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._number = count()
        self._is_running = False
        self._wakes_ms: float = _AT_WORK
        self._earlier: Promise[None] = runtime.promise()

    def now_ms(self) -> int:
        return self._runtime.now_ms()

    def at(self, at_ms: int, call: Callable[..., None], *args: Any) -> None:
        """Enter a call, to be made at a time of the run; as soon as possible if that is over."""
        heappush(self._entries, (at_ms, next(self._number), call, args))
        if not self._is_running:
            self._is_running = True
            self._runtime.spawn(self._name, self._run())
        elif at_ms < self._wakes_ms:
            self._earlier.resolve(None)

    async def _run(self) -> None:
        while True:
            self._make_due_calls()
            self._earlier = self._runtime.promise()
            self._wakes_ms = self._entries[0][0] if self._entries else math.inf
            delay_ms = self._entries[0][0] - self._runtime.now_ms() if self._entries else None
            with suppress(TimedOutError):  # that is the alarm
                await self._earlier.wait(delay_ms)
            self._wakes_ms = _AT_WORK

    def _make_due_calls(self) -> None:
        while self._entries and self._entries[0][0] <= self._runtime.now_ms():
            _, _, call, args = heappop(self._entries)
            call(*args)
