"""A broker's process: what runs in it sees the world only through this, so that it can be frozen, and killed, as a whole.

It is the Runtime and the ZooKeeper of the broker inside, and has its network. Paused, as by a long garbage collection or
SIGSTOP: whatever the broker waits for may come, but nothing in it goes on, and its ZooKeeper client sends no heartbeat.
Killed, as by SIGKILL: its connections break, and every port refuses with Killed, so that no `finally` of the dead broker
reaches the world.
"""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from inspect import CORO_CREATED, getcoroutinestate
from typing import Any

from kcsim.brokers.ports import Network
from kcsim.scenarios.network import MemoryNetwork
from kcsim.scenarios.process_network import ProcessNetwork
from kcsim.scenarios.wrapped_session import WrappedSession
from kcsim.zk.errors import Killed
from kcsim.zk.operations import Create, Delete, Multi, Notice, ReplyOrError, Request, SessionState, SetData
from kcsim.zk.ports import Cause, FaultableSession, Mailbox, Promise, Runtime, Task, ZooKeeper


class ProcessState(Enum):
    RUNNING = "running"
    PAUSED = "paused"
    DEAD = "dead"


class WriteMoment(Enum):
    """Where in a write to ZooKeeper a breakpoint sits."""

    BEFORE = "before"  # decided and begun, not yet sent
    AFTER = "after"  # applied and answered, the answer not yet seen


@dataclass(frozen=True)
class Breakpoint:
    """Do something, once, when the process reaches a write.

    Args:
        matches: which requests; called with those of one call that write.
        act: what to do; may pause or kill the process.
    """

    moment: WriteMoment
    matches: Callable[[Sequence[Request]], bool]
    act: Callable[[], None]


class Process:
    """One process.

    Args:
        name: broker-N, as in the event log.
        runtime: the world's time and tasks.
        zookeeper: the world's way to ZooKeeper.
        network: the network of the run; None: a process that shares it with nobody.

    Attributes:
        network: that network, for what runs inside.
    """

    def __init__(self, name: str, runtime: Runtime, zookeeper: ZooKeeper, network: MemoryNetwork | None = None) -> None:
        self.name = name
        self._runtime = runtime
        self._zookeeper = zookeeper
        self._interface = (network or MemoryNetwork(runtime)).interface(name)
        self.network: Network = ProcessNetwork(self, self._interface)
        self.state = ProcessState.RUNNING
        self.sessions: list[ProcessSession] = []
        self._tasks: dict[Task, None] = {}
        self._resumed: Promise[None] = runtime.promise()
        self._held: list[tuple[Callable[[Notice], None], Notice]] = []
        self._breakpoints: list[Breakpoint] = []
        self._refuses_connections = False

    # --- the Runtime port, for what runs inside

    def now_ms(self) -> int:
        return self._runtime.now_ms()

    async def sleep_ms(self, delay_ms: int) -> None:
        await self.after(self._runtime.sleep_ms(delay_ms))

    def spawn(self, name: str, work: Coroutine[Any, Any, None]) -> Task:
        if self.state is ProcessState.DEAD:
            work.close()
            raise Killed
        return _ProcessTask(self, self._runtime, self._tasks, name, work)

    def promise(self) -> Promise[Any]:
        return _ProcessPromise(self, self._runtime.promise())

    def mailbox(self) -> Mailbox[Any]:
        return _ProcessMailbox(self, self._runtime.mailbox())

    def check_alive(self) -> None:
        """Raise Killed if the process is dead: called by every port before it does anything."""
        if self.state is ProcessState.DEAD:
            raise Killed

    async def go_on(self) -> None:
        """Called by every port when what was awaited has come: waits while the process is paused. Raises: Killed."""
        while self.state is ProcessState.PAUSED:
            await self._resumed.wait()
        self.check_alive()

    async def after(self, awaited: Coroutine[Any, Any, Any]) -> Any:
        """Await something of the world, then go on when the process does; an error is seen only then. Raises: Killed."""
        if self.state is ProcessState.DEAD:
            awaited.close()
            raise Killed
        try:
            value = await awaited
        except Exception:
            await self.go_on()
            raise
        await self.go_on()
        return value

    # --- the ZooKeeper port, for what runs inside

    async def open_session(
        self, timeout_ms: int, listener: Callable[[Notice], None], connect_timeout_ms: int, cause: Cause = None
    ) -> FaultableSession:
        self.check_alive()
        hear = partial(self._hear, listener)
        inner = await self._zookeeper.open_session(timeout_ms, hear, connect_timeout_ms, cause)
        session = ProcessSession(self, inner)
        self.sessions.append(session)
        if self._refuses_connections:
            session.refuse_connections()
        if self.state is ProcessState.DEAD:
            session.abandon()
        elif self.state is ProcessState.PAUSED:
            session.freeze()
        await self.go_on()
        return session

    def _hear(self, listener: Callable[[Notice], None], notice: Notice) -> None:
        if self.state is ProcessState.PAUSED:
            self._held.append((listener, notice))  # it lies in the socket until the process reads again
        elif self.state is ProcessState.RUNNING:
            listener(notice)

    async def reach(self, moment: WriteMoment, requests: Sequence[Request]) -> None:
        """A write has come to `moment`: let the breakpoints act, then go on, if the process still does."""
        due = [b for b in self._breakpoints if b.moment is moment and b.matches(requests)]
        for breakpoint_ in due:
            if self.state is not ProcessState.RUNNING:
                break  # struck by the one before: the others wait for a write that it comes to alive and awake
            self._breakpoints.remove(breakpoint_)
            breakpoint_.act()
        await self.go_on()

    # --- what is done to it

    @property
    def live_sessions(self) -> list["ProcessSession"]:
        return [s for s in self.sessions if s.state not in (SessionState.EXPIRED, SessionState.CLOSED)]

    def break_at(self, breakpoint_: Breakpoint) -> None:
        self._breakpoints.append(breakpoint_)

    def pause(self, cause: int | None = None) -> None:
        if self.state is not ProcessState.RUNNING:
            raise ValueError(f"{self.name} is {self.state.value} and cannot be paused")
        self.state = ProcessState.PAUSED
        self._resumed = self._runtime.promise()
        for session in self.live_sessions:
            session.freeze(cause)

    def resume(self, cause: int | None = None) -> None:
        if self.state is not ProcessState.PAUSED:
            raise ValueError(f"{self.name} is {self.state.value}, so there is nothing to resume")
        self.state = ProcessState.RUNNING
        held, self._held = self._held, []
        for listener, notice in held:
            listener(notice)
        self._resumed.resolve(None)
        for session in self.live_sessions:
            session.thaw(cause)

    def kill(self, cause: int | None = None) -> None:
        if self.state is ProcessState.DEAD:
            raise ValueError(f"{self.name} is dead already")
        sessions = self.live_sessions
        self.state = ProcessState.DEAD
        for session in sessions:
            session.abandon(cause)
        self._end_tasks()

    def retire(self) -> list[FaultableSession]:
        """The run is over: end all that runs inside, unheard. Returns the sessions that are still to be closed."""
        sessions = [session.inner for session in self.live_sessions]
        self.state = ProcessState.DEAD
        self._end_tasks()
        return sessions

    def _end_tasks(self) -> None:
        self._interface.close()
        self._held.clear()
        self._resumed.resolve(None)
        is_suicide = False
        for task in list(self._tasks):
            try:
                task.kill()
            except Killed:  # we are in this very task (a breakpoint struck): the others must go first
                is_suicide = True
        if is_suicide:
            raise Killed

    def refuse_connections(self, cause: int | None = None) -> None:
        """ZooKeeper cannot be reached from this process any more: open connections stay, none can be made."""
        self._refuses_connections = True
        for session in self.live_sessions:
            session.refuse_connections(cause)

    def allow_connections(self) -> None:
        self._refuses_connections = False
        for session in self.live_sessions:
            session.allow_connections()


class ProcessSession(WrappedSession):
    """A session of a process: passes everything on, while the process lives and is not paused."""

    def __init__(self, process: Process, inner: FaultableSession) -> None:
        super().__init__(inner)
        self._process = process

    async def call(self, requests: list[Request], cause: Cause = None) -> list[ReplyOrError]:
        self._process.check_alive()
        writes = [r for r in requests if isinstance(r, Create | Delete | SetData | Multi)]
        if writes:
            await self._process.reach(WriteMoment.BEFORE, writes)
        replies: list[ReplyOrError] = await self._process.after(self.inner.call(requests, cause))
        if writes:
            await self._process.reach(WriteMoment.AFTER, writes)
        return replies

    async def close(self, cause: Cause = None) -> None:
        await self._process.after(self.inner.close(cause))


class _ProcessTask:
    """A task of a process. Killed before its first step, it leaves no coroutine behind that was never begun.

    Args:
        running: the tasks of the process; this one is among them until it ends.
    """

    __slots__ = ("_inner", "_process", "_running", "_work")

    def __init__(
        self, process: Process, runtime: Runtime, running: dict[Task, None], name: str, work: Coroutine[Any, Any, None]
    ) -> None:
        self._process = process
        self._running = running
        self._work = work
        running[self] = None
        self._inner = runtime.spawn(f"{process.name} {name}", self._run())

    async def _run(self) -> None:
        try:
            await self._process.go_on()
            await self._work
        finally:
            self._end()

    def _end(self) -> None:
        self._work.close()
        self._running.pop(self, None)

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def is_done(self) -> bool:
        return self._inner.is_done

    def kill(self) -> None:
        self._inner.kill()
        if getcoroutinestate(self._work) == CORO_CREATED:
            self._end()

    async def join(self) -> None:
        await self._inner.join()


class _ProcessPromise:
    __slots__ = ("_inner", "_process")

    def __init__(self, process: Process, inner: Promise[Any]) -> None:
        self._process = process
        self._inner = inner

    @property
    def is_settled(self) -> bool:
        return self._inner.is_settled

    def resolve(self, value: Any) -> None:
        self._inner.resolve(value)

    def fail(self, error: Exception) -> None:
        self._inner.fail(error)

    async def wait(self, timeout_ms: int | None = None) -> Any:
        return await self._process.after(self._inner.wait(timeout_ms))


class _ProcessMailbox:
    def __init__(self, process: Process, inner: Mailbox[Any]) -> None:
        self._process = process
        self._inner = inner

    def __len__(self) -> int:
        return len(self._inner)

    def put(self, item: Any) -> None:
        self._inner.put(item)

    def drain(self) -> list[Any]:
        return self._inner.drain()

    async def get(self, timeout_ms: int | None = None) -> Any:
        return await self._process.after(self._inner.get(timeout_ms))
