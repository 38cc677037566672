"""The wall clock: the Runtime port on asyncio. asyncio's CancelledError is raised as Killed where the task stands."""

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from kcsim.errors import Killed
from kcsim.runtime.task_alarm import TaskAlarm
from kcsim.runtime.waiting import WaitedMailbox, WaitedPromise

T = TypeVar("T")


def wall_clock_ms() -> int:
    """Return milliseconds since 1970, the unit of ZooKeeper's own log."""
    return time.time_ns() // 1_000_000


class _WallClockSignal:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._future: asyncio.Future[None] = loop.create_future()
        self._is_fired = False

    @property
    def is_fired(self) -> bool:
        return self._is_fired

    def fire(self) -> None:
        if not self._is_fired:
            self._is_fired = True
            self._wake()

    def _wake(self) -> None:
        if not self._future.done():
            self._future.set_result(None)

    async def wait(self, timeout_ms: int | None = None) -> None:
        timer = None if timeout_ms is None else self._loop.call_later(timeout_ms / 1000, self._wake)
        try:
            await self._future
        except asyncio.CancelledError:
            raise Killed from None
        finally:
            if timer is not None:
                timer.cancel()


class WallClockTask:
    """The Task port, implemented with an asyncio task."""

    def __init__(self, runtime: "WallClockRuntime", name: str, work: Coroutine[Any, Any, Any]) -> None:
        self._runtime = runtime
        self._name = name
        self._ended = runtime.promise()
        self._is_killed = False
        self._work = work
        self._task = runtime.loop.create_task(self._run(), name=name)
        self._task.add_done_callback(self._end)

    @property
    def name(self) -> str:
        return self._name

    @property
    def is_done(self) -> bool:
        return self._ended.is_settled

    async def _run(self) -> None:
        try:
            await self._work
        except Killed:
            pass
        except Exception as error:
            self._runtime.fail(error)

    def _end(self, task: "asyncio.Task[None]") -> None:
        if task.cancelled():
            self._work.close()  # the task was killed before its first step: the coroutine was never started
        self._ended.resolve(None)
        self._runtime.forget(self)

    def kill(self) -> None:
        if self.is_done:
            return
        if asyncio.current_task() is self._task:
            raise Killed
        if not self._is_killed:
            self._is_killed = True
            self._task.cancel()

    async def join(self) -> None:
        await self._ended.wait()


class WallClockRuntime:
    """Runs a main task, and all tasks that it spawns, in real milliseconds."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._began = self.loop.time()
        self._tasks: dict[WallClockTask, None] = {}
        self._failed: WaitedPromise = self.promise()

    def now_ms(self) -> int:
        return int((self.loop.time() - self._began) * 1000)

    def restart_clock(self) -> None:
        """Set the run's time to 0 ms: what happened before (such as a server's start) is not part of the run."""
        self._began = self.loop.time()

    async def sleep_ms(self, delay_ms: int) -> None:
        await _WallClockSignal(self.loop).wait(delay_ms)

    def spawn(self, name: str, work: Coroutine[Any, Any, Any]) -> WallClockTask:
        task = WallClockTask(self, name, work)
        self._tasks[task] = None
        return task

    def promise(self) -> WaitedPromise:
        return WaitedPromise(lambda: _WallClockSignal(self.loop))

    def mailbox(self) -> WaitedMailbox:
        return WaitedMailbox(lambda: _WallClockSignal(self.loop))

    def alarm(self, name: str, call: Callable[[], None]) -> TaskAlarm:
        return TaskAlarm(self, name, call)

    def forget(self, task: WallClockTask) -> None:
        self._tasks.pop(task, None)

    def fail(self, error: Exception) -> None:
        """Stop the run because a task ended with an error; `run` raises the first such error."""
        self._failed.fail(error)

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Run `main` to its end, then kill all tasks that still run, close the loop, and return the result of `main`.

        Raises: the error of `main` or of another task; KeyboardInterrupt on Ctrl-C, after Killed was raised in `main`.
        """
        interrupt = signal.getsignal(signal.SIGINT)
        try:
            with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
                return runner.run(self._supervise(main))
        finally:
            if _is_main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
                signal.signal(signal.SIGINT, interrupt)

    async def _supervise(self, main: Coroutine[Any, Any, T]) -> T:
        results: list[T] = []

        async def keep_result() -> None:
            results.append(await main)
            self._failed.resolve(None)

        task = self.spawn("main", keep_result())
        try:
            await self._failed.wait()
        except Killed:
            # Ctrl-C: asyncio cancelled this coroutine. Main unwinds first, then the runner turns the cancellation into
            # KeyboardInterrupt. A second Ctrl-C would interrupt the unwinding before main has cleaned up: ignore it.
            if _is_main_thread():
                signal.signal(signal.SIGINT, signal.SIG_IGN)
            task.kill()
            await task.join()
            raise asyncio.CancelledError from None
        finally:
            await self._kill_all()
        return results[0]

    async def _kill_all(self) -> None:
        for task in list(self._tasks):
            task.kill()
        for task in list(self._tasks):
            await task.join()


def _is_main_thread() -> bool:
    """Return whether this is the main thread, the only thread that may set signal handlers."""
    return threading.current_thread() is threading.main_thread()
