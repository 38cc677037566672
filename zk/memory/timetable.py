"""The scheduled calls of the model: arrivals of messages, heartbeats, expiries of sessions."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any

from kcsim.runtime.ports import Runtime


class Timetable:
    """Scheduled calls, made in the order of their times, and at equal times in the order in which they were entered.

    Without entries nothing is scheduled. An error that a call raises stops the run.
    """

    def __init__(self, runtime: Runtime, name: str) -> None:
        self.runtime = runtime
        self.now_ms = runtime.now_ms
        self._entries: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._number = count()
        self._is_at_work = False
        self._alarm = runtime.alarm(name, self._make_due_calls)

    def at(self, at_ms: int, call: Callable[..., None], *args: Any) -> None:
        """Schedule a call for a time of the run; it is made as soon as possible if that time has passed."""
        heappush(self._entries, (at_ms, next(self._number), call, args))
        if not self._is_at_work:
            self._alarm.set(at_ms)

    def _make_due_calls(self) -> None:
        self._is_at_work = True
        entries, now_ms = self._entries, self.now_ms()
        while entries and entries[0][0] <= now_ms:
            _, _, call, args = heappop(entries)
            call(*args)
        self._is_at_work = False
        if entries:
            self._alarm.set(entries[0][0])
