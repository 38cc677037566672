"""Virtual time: the Runtime port on SimPy. The only file that imports simpy.

A run is deterministic: everything happens in the order of virtual time, and at equal times in the order in which it was
caused. SimPy keeps the time and the queue of events. Its processes are not used: most events of a run resume a task, and a
task needs no more for that than an event that makes one call.
"""

import math
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


class _PointInTime(simpy.Event):
    """A later time at which calls are to be made. It has only what SimPy reads of an event."""

    _ok = True

    def __init__(self, callbacks: list[Any]) -> None:
        self.callbacks = callbacks


class _Environment(simpy.Environment):
    """SimPy's time and queue, for calls instead of events.

    Two of three calls are to be made at the present time: they need no event. SimPy's queue holds one event for each later
    time, as several calls are often to be made at the same one.

    Attributes:
        urgent: the calls to make before all others of the present time, in order.
        present: the other calls of the present time, in order: first those that were scheduled before this time.
        let_time_pass: goes on to the next time for which there are calls. Raises: EmptySchedule.
    """

    def __init__(self) -> None:
        super().__init__()
        self.urgent: deque[Callable[[], None]] = deque()
        self.present: deque[Callable[[], None]] = deque()
        self._later: dict[int, list[Callable[[], None]]] = {}
        self._callbacks = [self._reach]
        self.let_time_pass = super().step
        self.call_first = self.urgent.append
        self.call = self.present.append

    def now_ms(self) -> int:
        return self._now  # type: ignore[return-value]  # all delays are whole

    def call_later(self, call: Callable[[], None], delay_ms: int) -> None:
        """Make a call after a time."""
        at_ms: int = self._now + delay_ms  # type: ignore[assignment]
        calls = self._later.get(at_ms)
        if calls is not None:
            calls.append(call)
        elif delay_ms > 0:
            self._later[at_ms] = [call]
            self.schedule(_PointInTime(self._callbacks), NORMAL, delay_ms)
        else:
            assert delay_ms == 0, f"time does not go back: {delay_ms} ms"
            self.call(call)

    def step(self) -> None:
        """Make the next call; without one at the present time, let time pass. Raises: EmptySchedule."""
        if self.urgent:
            self.urgent.popleft()()
        elif self.present:
            self.present.popleft()()
        else:
            self.let_time_pass()

    def _reach(self, event: simpy.Event) -> None:
        self.present.extend(self._later.pop(self._now))  # type: ignore[arg-type]  # all delays are whole


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

    def _wake(self) -> None:
        if not self._is_due and self._task.awaited is self:
            self._is_due = True
            self._env.call(self._resume)

    def _resume(self) -> None:
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


class _Timer:
    """A time for which an alarm was set. The alarm may have another timer when the time comes: this one is then ignored."""

    __slots__ = ("_alarm",)

    def __init__(self, alarm: "SimulatedAlarm") -> None:
        self._alarm = alarm

    def end(self) -> None:
        if self._alarm.timer is self:
            self._alarm.go_on_soon()


class SimulatedAlarm:
    """The Alarm port without a task: the model of ZooKeeper and the network set theirs for every message.

    Everything happens in the same order as with a TaskAlarm: one call begins it, and one follows each time that has come.

    Attributes:
        timer: the latest; None while the alarm is not set.
    """

    __slots__ = ("_at_ms", "_call", "_env", "_is_due", "_runtime", "_schedule", "timer")

    def __init__(self, runtime: "SimulatedRuntime", call: Callable[[], None]) -> None:
        self._runtime = runtime
        self._env = runtime.env
        self._call = call
        self._at_ms: float = NEVER_MS
        self._is_due = False  # a call is scheduled or under way that rings, or sets the timer anew
        self._schedule = self._env.call_first  # the first call is the one that would begin a task
        self.timer: _Timer | None = None

    def set(self, at_ms: int) -> None:
        if at_ms >= self._at_ms:
            return
        self._at_ms = at_ms
        self.go_on_soon()

    def go_on_soon(self) -> None:
        """Ring after all calls of the present time, or set the timer anew if it is too early."""
        if not self._is_due:
            self._is_due = True
            self._schedule(self._go_on)

    def _go_on(self) -> None:
        env = self._env
        self._schedule = env.call
        now_ms = env.now_ms()
        if self._at_ms <= now_ms:
            self._at_ms = NEVER_MS
            try:
                self._call()
            except BaseException as error:
                self._runtime.fail(error)
                return
        self._is_due = False
        if self._at_ms == NEVER_MS:
            self.timer = None
        else:
            self.timer = timer = _Timer(self)
            env.call_later(timer.end, int(self._at_ms) - now_ms)


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

    @property
    def next_ms(self) -> int | None:
        """The next time at which something happens; None if nothing is left to happen after the present time."""
        next_ms = self.env.peek()
        return None if next_ms == math.inf else int(next_ms)

    def call_later(self, call: Callable[[], None], delay_ms: int) -> None:
        """Make a call after a time."""
        self.env.call_later(call, delay_ms)

    def pass_time_through(self, gate: Callable[[], None]) -> Callable[[], None]:
        """Call `gate` from now on when everything has happened that happens at the present time. For a run to come.

        Returns: the function with which the gate passes to the next time. Raises: EmptySchedule.
        """
        pass_time = self.env.let_time_pass
        self.env.let_time_pass = gate
        return pass_time

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
        urgent, present, let_time_pass = self.env.urgent, self.env.present, self.env.let_time_pass
        try:
            with self._ctrl_c_between_steps():
                while not self._is_over:  # as step() does, but without one more call for each
                    if urgent:
                        urgent.popleft()()
                    elif present:
                        present.popleft()()
                    else:
                        let_time_pass()
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
        while self._tasks and (self.env.urgent or self.env.present):
            self.env.step()
