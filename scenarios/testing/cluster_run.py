"""A cluster's run that is driven from outside. The run has a thread of its own and executes the work that it is given.

In virtual time no time passes between two requests, and requests are served one after the other. A live run continues
between requests, and several threads may request work at once.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_setup import Script
from kcsim.errors import Killed
from kcsim.scenarios.testing.errors import RunEndedError

T = TypeVar("T")
Work = Callable[[Cluster], Coroutine[Any, Any, T]]
ScriptRunner = Callable[[Script], object]
"""A function that runs a script on a cluster in some environment, until the script ends."""


class ClusterRun(Protocol):
    """A run that is in progress."""

    def call(self, work: Work[T]) -> T:
        """Run some work on the cluster and return its result.

        Raises: what the work raises; RunEndedError when the run is over or ends meanwhile; its cause is the error that ended
            the run.
        """
        ...

    @property
    def is_own_thread(self) -> bool:
        """Whether this is the run's own thread, as in a condition that is evaluated in it: it must not wait for work."""
        ...

    def read(self, look: Callable[[Cluster], T]) -> T:
        """Return what a function reads of the cluster, in any thread. Raises: as `call`."""
        ...

    def end(self) -> None:
        """End the run and wait until its thread is done.

        Idempotent. Raises: the error that ended the run, unless raised before.
        """
        ...


class SimulatedRun:
    """A run in virtual time, which passes only while work is executed."""

    def __init__(self, run: ScriptRunner) -> None:
        self._requests: SimpleQueue[tuple[Work[Any], Future[Any]] | None] = SimpleQueue()
        self._run_thread = _RunThread(run, self._script)
        self._began: Future[None] = self._run_thread.promise()
        self._run_thread.begin(self._began)

    def call(self, work: Work[T]) -> T:
        done: Future[T] = self._run_thread.promise()
        self._requests.put((work, done))
        return self._run_thread.wait(done)

    @property
    def is_own_thread(self) -> bool:
        return self._run_thread.is_current

    def read(self, look: Callable[[Cluster], T]) -> T:
        return look(self._cluster) if self.is_own_thread else self.call(_reading(look))

    def end(self) -> None:
        self._requests.put(None)
        self._run_thread.join()

    async def _script(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._began.set_result(None)
        while (request := self._requests.get()) is not None:  # blocks the simulation: nothing happens, no time passes
            work, done = request
            try:
                done.set_result(await work(cluster))
            except Exception as error:
                done.set_exception(error)


class LiveRun:
    """A run on the wall clock."""

    def __init__(self, run: ScriptRunner) -> None:
        self._run_thread = _RunThread(run, self._script)
        self._began: Future[None] = self._run_thread.promise()
        self._run_thread.begin(self._began)

    def call(self, work: Work[T]) -> T:
        done: Future[T] = self._run_thread.promise()

        async def do() -> None:
            try:
                done.set_result(await work(self._cluster))
            except Exception as error:
                done.set_exception(error)

        self._in_loop(lambda: self._cluster.runtime.spawn("asked by the test", do()))
        return self._run_thread.wait(done)

    @property
    def is_own_thread(self) -> bool:
        return self._run_thread.is_current

    def read(self, look: Callable[[Cluster], T]) -> T:
        return look(self._cluster) if self.is_own_thread else self.call(_reading(look))

    def end(self) -> None:
        self._in_loop(self._end_requested.set)
        self._run_thread.join()

    async def _script(self, cluster: Cluster) -> None:
        self._cluster, self._end_requested, self._loop = cluster, asyncio.Event(), asyncio.get_running_loop()
        self._began.set_result(None)
        try:
            await self._end_requested.wait()
        except asyncio.CancelledError:
            raise Killed from None

    def _in_loop(self, act: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(act)
        except RuntimeError:  # the loop is closed: the run is over, and its end fails the futures of all waiters
            return


def _reading(look: Callable[[Cluster], T]) -> Work[T]:
    async def read(cluster: Cluster) -> T:
        return look(cluster)

    return read


class _RunThread:
    """The thread of a run and the futures that other threads wait for. The end of the run completes all of them."""

    def __init__(self, run: ScriptRunner, script: Script) -> None:
        self._run, self._script = run, script
        self._lock = threading.Lock()
        self._waiting: set[Future[Any]] = set()
        self._has_ended = False
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._execute, name="kcsim-cluster", daemon=True)

    @property
    def is_current(self) -> bool:
        return threading.current_thread() is self._thread

    def begin(self, began: "Future[None]") -> None:
        """Start the thread and return when the script has begun. Raises: the error that kept it from beginning."""
        self._thread.start()
        try:
            self.wait(began)
        except RunEndedError as error:
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

    def _execute(self) -> None:
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

    def _ended(self) -> RunEndedError:
        error = RunEndedError("the run of the cluster is over" + (f": {self._failure}" if self._failure else ""))
        error.__cause__ = self._failure
        return error
