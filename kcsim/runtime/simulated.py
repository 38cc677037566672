"""Virtual time: the Runtime port on SimPy. The only file that imports simpy.

A run is deterministic: everything happens in the order of virtual time, and at equal times in the order in which it was
caused. SimPy runs coroutines unchanged; its Interrupt is raised as Killed at the await where the task stands.
"""

import signal
import types
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, TypeVar

import simpy
from simpy.core import EmptySchedule
from simpy.events import URGENT

from kcsim.errors import Killed
from kcsim.runtime.task_alarm import NEVER_MS
from kcsim.runtime.waiting import WaitedMailbox, WaitedPromise

T = TypeVar("T")


class DeadlockError(Exception):
    """The run cannot continue: its main task waits, and no scheduled event is left that could wake the task."""


@types.coroutine
def _wait(event: simpy.Event) -> Generator[simpy.Event, Any, None]:
    try:
        yield event
    except simpy.Interrupt:
        raise Killed from None


class _SimulatedSignal:
    __slots__ = ("_env", "_event", "_is_fired")

    def __init__(self, env: simpy.Environment) -> None:
        self._env = env
        self._event = env.event()
        self._is_fired = False

    @property
    def is_fired(self) -> bool:
        return self._is_fired

    def fire(self) -> None:
        if not self._is_fired:
            self._is_fired = True
            self._wake()

    def _wake(self, timer: simpy.Event | None = None) -> None:
        if not self._event.triggered:
            self._event.succeed()

    async def wait(self, timeout_ms: int | None = None) -> None:
        if timeout_ms is not None and not self._is_fired:
            timer = self._env.timeout(timeout_ms)
            assert timer.callbacks is not None
            timer.callbacks.append(self._wake)
        await _wait(self._event)


class SimulatedAlarm:
    """The Alarm port with SimPy's events alone: the model of ZooKeeper and the network set theirs for every message.

    Everything happens in the same order as with a TaskAlarm: one event begins it, and one follows each time that has come.
    """

    __slots__ = ("_at_ms", "_call", "_env", "_is_due", "_is_ringing", "_runtime", "_timer")

    def __init__(self, runtime: "SimulatedRuntime", call: Callable[[], None]) -> None:
        self._runtime = runtime
        self._env = runtime.env
        self._call = call
        self._at_ms: float = NEVER_MS
        self._is_due = False  # an event is scheduled that rings, or sets the timer anew
        self._is_ringing = False
        self._timer: simpy.Event | None = None

    def set(self, at_ms: int) -> None:
        if at_ms >= self._at_ms:
            return
        self._at_ms = at_ms
        if self._timer is None and not self._is_due:
            self._is_due = True
            begin = self._env.event()
            begin.callbacks = [self._go_on]
            begin._ok, begin._value = True, None
            self._env.schedule(begin, URGENT)
        elif not self._is_ringing:
            self._due()

    def _due(self, timer: simpy.Event | None = None) -> None:
        if not self._is_due and (timer is None or timer is self._timer):
            self._is_due = True
            event = self._env.event()
            event.callbacks = [self._go_on]
            event.succeed()

    def _go_on(self, event: simpy.Event) -> None:
        self._is_due = False
        if self._at_ms <= self._env.now:
            self._at_ms, self._is_ringing = NEVER_MS, True
            try:
                self._call()
            except BaseException as error:
                self._runtime.fail(error)
                return
            self._is_ringing = False
        self._timer = event
        if self._at_ms != NEVER_MS:
            self._timer = self._env.timeout(self._at_ms - self._env.now)
            self._timer.callbacks = [self._due]


class SimulatedTask:
    """The Task port over a SimPy process."""

    __slots__ = ("_ended", "_is_killed", "_name", "_process", "_runtime")

    def __init__(self, runtime: "SimulatedRuntime", name: str, work: Coroutine[Any, Any, Any]) -> None:
        self._runtime = runtime
        self._name = name
        self._ended = runtime.promise()
        self._is_killed = False
        self._process = runtime.env.process(self._run(work))  # type: ignore[arg-type]

    @property
    def name(self) -> str:
        return self._name

    @property
    def is_done(self) -> bool:
        return self._ended.is_settled

    async def _run(self, work: Coroutine[Any, Any, Any]) -> None:
        try:
            if self._is_killed:
                work.close()
            else:
                await work
        except Killed:
            pass
        except GeneratorExit:
            raise
        except BaseException as error:  # with a KeyboardInterrupt, too: else SimPy raises it again in the clean-up
            self._runtime.fail(error)
        finally:
            self._ended.resolve(None)
            self._runtime.forget(self)

    def kill(self) -> None:
        if self.is_done or (self._is_killed and self._runtime.env.active_process is not self._process):
            return
        self._is_killed = True
        if self._runtime.env.active_process is self._process:
            raise Killed
        self._process.interrupt()

    async def join(self) -> None:
        await self._ended.wait()


class SimulatedRuntime:
    """Runs a main task, and all tasks that it spawns, in virtual milliseconds that pass only while all tasks wait."""

    def __init__(self) -> None:
        self.env = simpy.Environment()
        self._tasks: dict[SimulatedTask, None] = {}  # insertion-ordered: killed in the order they were spawned
        self._failure: BaseException | None = None
        self._is_over = False
        self._signal = partial(_SimulatedSignal, self.env)

    def now_ms(self) -> int:
        return int(self.env.now)

    async def sleep_ms(self, delay_ms: int) -> None:
        await _wait(self.env.timeout(delay_ms))

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
        now = self.env.now
        for task in list(self._tasks):
            task.kill()
        while self._tasks and self.env.peek() <= now:
            self.env.step()
