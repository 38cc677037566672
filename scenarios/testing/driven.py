"""A cluster's run that is driven from outside: it lives in a thread, and does what it is asked, one thing after the other.

In the simulated world time stands still between two requests; in the live one it goes on, and several may ask at once.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar

from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.runs import Script
from kcsim.scenarios.testing.errors import WorldEndedError
from kcsim.zk.errors import Killed

T = TypeVar("T")
Work = Callable[[Cluster], Coroutine[Any, Any, T]]
Run = Callable[[Script], object]
"""Runs a script on a cluster in some world, to its end."""


class Driven(Protocol):
    """A run that is under way."""

    def call(self, work: Work[T]) -> T:
        """Have something done in the world, and return what comes of it.

        Raises: what the work raises; WorldEndedError when the run is over, or ends meanwhile: its cause is why.
        """
        ...

    def end(self) -> None:
        """End the run, and wait until nothing of it is left. Idempotent. Raises: what ended it before, if that is new."""
        ...


class SimulatedRun:
    """A run in virtual time, which passes only while something is being done."""

    def __init__(self, run: Run) -> None:
        self._asked: SimpleQueue[tuple[Work[Any], Future[Any]] | None] = SimpleQueue()
        self._life = _Life(run, self._script)
        self._began: Future[None] = self._life.promise()
        self._life.begin(self._began)

    def call(self, work: Work[T]) -> T:
        done: Future[T] = self._life.promise()
        self._asked.put((work, done))
        return self._life.wait(done)

    def end(self) -> None:
        self._asked.put(None)
        self._life.join()

    async def _script(self, cluster: Cluster) -> None:
        self._began.set_result(None)
        while (asked := self._asked.get()) is not None:  # blocks the whole world: nothing happens, and no time passes
            work, done = asked
            try:
                done.set_result(await work(cluster))
            except Exception as error:
                done.set_exception(error)


class LiveRun:
    """A run on the wall clock."""

    def __init__(self, run: Run) -> None:
        self._life = _Life(run, self._script)
        self._began: Future[None] = self._life.promise()
        self._life.begin(self._began)

    def call(self, work: Work[T]) -> T:
        done: Future[T] = self._life.promise()

        async def do() -> None:
            try:
                done.set_result(await work(self._cluster))
            except Exception as error:
                done.set_exception(error)

        self._in_loop(lambda: self._cluster.runtime.spawn("asked by the test", do()))
        return self._life.wait(done)

    def end(self) -> None:
        self._in_loop(self._enough.set)
        self._life.join()

    async def _script(self, cluster: Cluster) -> None:
        self._cluster, self._enough, self._loop = cluster, asyncio.Event(), asyncio.get_running_loop()
        self._began.set_result(None)
        try:
            await self._enough.wait()
        except asyncio.CancelledError:
            raise Killed from None

    def _in_loop(self, act: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(act)
        except RuntimeError:  # closed: the run is over, which those who wait are told
            return


class _Life:
    """The thread of a run, and those who wait for something of it: all are told when it ends."""

    def __init__(self, run: Run, script: Script) -> None:
        self._run, self._script = run, script
        self._lock = threading.Lock()
        self._waiting: set[Future[Any]] = set()
        self._has_ended = False
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._live, name="kcsim-cluster", daemon=True)

    def begin(self, began: "Future[None]") -> None:
        """Start, and return when the script has begun. Raises: what the world could not be opened for."""
        self._thread.start()
        try:
            self.wait(began)
        except WorldEndedError as error:
            raise error.__cause__ or error from None

    def promise(self) -> "Future[Any]":
        promised: Future[Any] = Future()
        with self._lock:
            if self._has_ended:
                promised.set_exception(self._ended())
            self._waiting.add(promised)
        return promised

    def wait(self, promised: "Future[T]") -> T:
        try:
            return promised.result()
        finally:
            with self._lock:
                self._waiting.discard(promised)

    def join(self) -> None:
        self._thread.join()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _live(self) -> None:
        try:
            self._run(self._script)
        except BaseException as error:
            self._failure = error
        finally:
            with self._lock:
                self._has_ended = True
                for waiting in self._waiting:
                    if not waiting.done():
                        waiting.set_exception(self._ended())

    def _ended(self) -> WorldEndedError:
        error = WorldEndedError("the run of the cluster is over" + (f": {self._failure}" if self._failure else ""))
        error.__cause__ = self._failure
        return error
