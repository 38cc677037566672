"""An alarm on any runtime: a task that sleeps until the time has come."""

import math
from collections.abc import Callable
from contextlib import suppress

from kcsim.errors import TimedOutError
from kcsim.runtime.ports import Promise, Runtime

NEVER_MS = math.inf


class TaskAlarm:
    """The Alarm port, implemented with a task that is spawned when the alarm is first set."""

    def __init__(self, runtime: Runtime, name: str, call: Callable[[], None]) -> None:
        self._runtime = runtime
        self._name = name
        self._call = call
        self._at_ms: float = NEVER_MS
        self._is_running = False
        self._is_ringing = False
        self._earlier: Promise[None] = runtime.promise()

    def set(self, at_ms: int) -> None:
        if at_ms >= self._at_ms:
            return
        self._at_ms = at_ms
        if not self._is_running:
            self._is_running = True
            self._runtime.spawn(self._name, self._run())
        elif not self._is_ringing:
            self._earlier.resolve(None)

    async def _run(self) -> None:
        while True:
            if self._at_ms <= self._runtime.now_ms():
                self._at_ms, self._is_ringing = NEVER_MS, True
                self._call()
                self._is_ringing = False
            self._earlier = self._runtime.promise()
            delay_ms = None if self._at_ms == NEVER_MS else int(self._at_ms) - self._runtime.now_ms()
            with suppress(TimedOutError):  # the time-out means that the time has come
                await self._earlier.wait(delay_ms)
