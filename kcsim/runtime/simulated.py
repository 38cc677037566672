"""Virtual time: the Runtime port on SimPy. The only file that imports simpy.

A run is deterministic: everything happens in the order of virtual time, and at equal times in the order in which it was
caused. SimPy keeps the time and the queue of events. Its processes are not used: most events of a run resume a task, and a
task needs no more for that than an event that makes one call.
"""

import signal
import types
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, TypeVar

import simpy
from simpy.core import EmptySchedule
from simpy.events import NORMAL

from kcsim.errors import Killed
from kcsim.runtime.task_alarm import NEVER_MS
from kcsim.runtime.waiting import WaitedMailbox, WaitedPromise

T = TypeVar("T")


class DeadlockError(Exception):
    """The run cannot continue: its main task waits, and no scheduled event is left that could wake the task."""


class _Call(simpy.Event):
    """A later event that makes one call, to which it passes itself. It has only what SimPy reads of an event."""

    _ok = True

    def __init__(self, call: Callable[[simpy.Event], None]) -> None:
        self.callbacks = [call]


class _Environment(simpy.Environment):
    """SimPy's time and queue, for calls instead of events.

    Two of three calls are to be made at the present time. They need no event, and no place in SimPy's queue: it holds only
    those for which time has to pass. The order is SimPy's. Those in its queue for the present time come first, because they
    were scheduled before this time.
    """

    def __init__(self) -> None:
        super().__init__()
        self._urgent: deque[Callable[[], None]] = deque()
        self._present: deque[Callable[[], None]] = deque()

    def now_ms(self) -> int:
        return self._now  # type: ignore[return-value]  # all delays are whole

    def call_first(self, call: Callable[[], None]) -> None:
        """Make a call before all others of the present time, but after those that were scheduled with this method."""
        self._urgent.append(call)

    def call(self, call: Callable[[], None]) -> None:
        """Make a call after all others of the present time."""
        self._present.append(call)

    def call_later(self, call: Callable[[simpy.Event], None], delay_ms: int) -> simpy.Event:
        """Make a call after a time. Return its event, which the call gets, too."""
        event = _Call(call)
        if delay_ms > 0:
            self.schedule(event, NORMAL, delay_ms)
        else:
            assert delay_ms == 0, f"time does not go back: {delay_ms} ms"
            self.call(partial(call, event))
        return event

    def step(self) -> None:
        """Make the next call. Raises: EmptySchedule."""
        if self._urgent:
            self._urgent.popleft()()
        elif self._present and not (self._queue and self._queue[0][0] <= self._now):
            self._present.popleft()()
        else:
            super().step()

    def has_present_calls(self) -> bool:
        """Return whether there are calls to make before time passes."""
        return bool(self._urgent or self._present or self.peek() <= self._now)


class _SimulatedSignal:
    """The signal of the task that creates it; the task awaits it at once."""

    __slots__ = ("_env", "_is_due", "_task", "is_fired")

    def __init__(self, runtime: "SimulatedRuntime") -> None:
        task = runtime.running_task
        assert task is not None, "only a task can wait"
        self._env = runtime.env
        self._task = task
        self._is_due = False  # the call that resumes the task is scheduled
        self.is_fired = False

    def fire(self) -> None:
        self.is_fired = True
        self._wake()

    def _wake(self, timer: simpy.Event | None = None) -> None:
        if not self._is_due:
            self._is_due = True
            self._env.call(self._resume)

    def _resume(self, timer: simpy.Event | None = None) -> None:
        self._task.resume(self)

    @types.coroutine
    def wait(self, timeout_ms: int | None = None) -> Generator[None, None, None]:
        if timeout_ms is not None:
            self._env.call_later(self._wake, timeout_ms)
        self._task.awaited = self
        yield

    @types.coroutine
    def sleep(self, delay_ms: int) -> Generator[None, None, None]:
        """Wait for a signal that is not fired, but resumes its task after a time."""
        self._env.call_later(self._resume, delay_ms)
        self._task.awaited = self
        yield


class SimulatedAlarm:
    """The Alarm port without a task: the model of ZooKeeper and the network set theirs for every message.

    Everything happens in the same order as with a TaskAlarm: one call begins it, and one follows each time that has come.
    """

    __slots__ = ("_at_ms", "_call", "_env", "_has_begun", "_is_due", "_is_ringing", "_runtime", "_timer")

    def __init__(self, runtime: "SimulatedRuntime", call: Callable[[], None]) -> None:
        self._runtime = runtime
        self._env = runtime.env
        self._call = call
        self._at_ms: float = NEVER_MS
        self._has_begun = False
        self._is_due = False  # a call is scheduled that rings, or sets the timer anew
        self._is_ringing = False
        self._timer: simpy.Event | None = None

    def set(self, at_ms: int) -> None:
        if at_ms >= self._at_ms:
            return
        self._at_ms = at_ms
        if not self._has_begun and not self._is_due:
            self._is_due = True
            self._env.call_first(self._go_on)
        elif not self._is_ringing:
            self._due()

    def _due(self, timer: simpy.Event | None = None) -> None:
        if not self._is_due and (timer is None or timer is self._timer):
            self._is_due = True
            self._env.call(self._go_on)

    def _go_on(self) -> None:
        self._has_begun, self._is_due = True, False
        if self._at_ms <= self._env.now_ms():
            self._at_ms, self._is_ringing = NEVER_MS, True
            try:
                self._call()
            except BaseException as error:
                self._runtime.fail(error)
                return
            self._is_ringing = False
        self._timer = None
        if self._at_ms != NEVER_MS:
            self._timer = self._env.call_later(self._due, int(self._at_ms) - self._env.now_ms())


class SimulatedTask:
    """The Task port over a coroutine.

    Attributes:
        awaited: the signal for which the task waits; None while it runs.
    """

    __slots__ = ("_ended", "_is_killed", "_runtime", "_work", "awaited", "is_done", "name")

    def __init__(self, runtime: "SimulatedRuntime", name: str, work: Coroutine[Any, Any, Any]) -> None:
        self.name = name
        self.is_done = False
        self.awaited: _SimulatedSignal | None = None
        self._runtime = runtime
        self._work = work
        self._ended: WaitedPromise | None = None  # what those who join wait for
        self._is_killed = False
        runtime.env.call_first(self._begin)

    def _begin(self) -> None:
        if self._is_killed:
            self._work.close()
            self._end()
        else:
            self.resume(None)

    def resume(self, by: _SimulatedSignal | None, killed: Killed | None = None) -> None:
        """Let the coroutine run until it waits or ends, unless it no longer waits for the signal that calls this.

        Args:
            killed: what is raised in the coroutine at the await where it stands.
        """
        if by is not self.awaited:
            return
        self.awaited = None
        self._runtime.running_task = self
        try:
            if killed is None:
                self._work.send(None)
            else:
                self._work.throw(killed)
        except (StopIteration, Killed):
            self._end()
        except BaseException as error:  # with a KeyboardInterrupt, too: else it would end the clean-up
            self._runtime.fail(error)
            self._end()
        self._runtime.running_task = None

    def _end(self) -> None:
        self.is_done = True
        if self._ended is not None:
            self._ended.resolve(None)
        self._runtime.forget(self)

    def kill(self) -> None:
        is_running = self._runtime.running_task is self
        if self.is_done or (self._is_killed and not is_running):
            return
        self._is_killed = True
        if is_running:
            raise Killed
        self._runtime.env.call_first(self._interrupt)

    def _interrupt(self) -> None:
        if not self.is_done:
            self.resume(self.awaited, Killed())

    async def join(self) -> None:
        if not self.is_done:
            if self._ended is None:
                self._ended = self._runtime.promise()
            await self._ended.wait()


class SimulatedRuntime:
    """Runs a main task, and all tasks that it spawns, in virtual milliseconds that pass only while all tasks wait."""

    def __init__(self) -> None:
        self.env = _Environment()
        self.running_task: SimulatedTask | None = None
        self._tasks: dict[SimulatedTask, None] = {}  # insertion-ordered: killed in the order they were spawned
        self._failure: BaseException | None = None
        self._is_over = False
        self._signal = partial(_SimulatedSignal, self)
        self.now_ms: Callable[[], int] = self.env.now_ms  # without one more call: no other method is called as often

    async def sleep_ms(self, delay_ms: int) -> None:
        await self._signal().sleep(delay_ms)

    def spawn(self, name: str, work: Coroutine[Any, Any, Any]) -> SimulatedTask:
        task = SimulatedTask(self, name, work)
        self._tasks[task] = None
        return task

    def promise(self) -> WaitedPromise:
        return WaitedPromise(self._signal)

    def mailbox(self) -> WaitedMailbox:
        return WaitedMailbox(self._signal)

    def alarm(self, name: str, call: Callable[[], None]) -> SimulatedAlarm:
        return SimulatedAlarm(self, call)

    def forget(self, task: SimulatedTask) -> None:
        self._tasks.pop(task, None)

    def fail(self, error: BaseException) -> None:
        """Stop the run because a task ended with an error; `run` raises the first such error."""
        self._failure = self._failure or error
        self._is_over = True

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Run `main` to its end, then kill all tasks that still run, and return the result of `main`.

        Raises: the error of `main` or of another task; DeadlockError; KeyboardInterrupt on Ctrl-C, when all tasks are dead.
        """
        results: list[T] = []

        async def keep_result() -> None:
            try:
                results.append(await main)
            finally:
                self._is_over = True

        self._is_over = False
        self.spawn("main", keep_result())
        step = self.env.step
        try:
            with self._ctrl_c_between_steps():
                while not self._is_over:
                    step()
        except EmptySchedule:
            waiting = ", ".join(t.name for t in self._tasks)
            raise DeadlockError(
                f"at {self.now_ms()} ms nothing is left to happen, and these still wait: {waiting}"
            ) from None
        finally:
            self._kill_all()
        if self._failure is not None:
            raise self._failure
        return results[0]

    @contextmanager
    def _ctrl_c_between_steps(self) -> Iterator[None]:
        """Let Ctrl-C end the run after the present step, or at once if it comes again; else SimPy's state may be broken.

        A handler of the caller stays in place, and so does Ctrl-C being ignored.
        """

        def end_run(number: int, frame: FrameType | None) -> None:
            if self._failure is not None:
                raise KeyboardInterrupt
            self.fail(KeyboardInterrupt())

        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return
        try:
            signal.signal(signal.SIGINT, end_run)
        except ValueError:  # not the main thread, which alone can handle signals
            yield
            return
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _kill_all(self) -> None:
        for task in list(self._tasks):
            task.kill()
        while self._tasks and self.env.has_present_calls():
            self.env.step()
