"""A broker's process: the only access to the environment for all that runs in it, so it can be frozen and killed as a whole.

A process is the Runtime and the ZooKeeper port of the broker inside, and holds its Network port. While it is paused, as by a
long garbage collection or SIGSTOP, what the broker awaits may arrive, but nothing inside continues, and its ZooKeeper client
sends no heartbeat. When it is killed, as by SIGKILL, its connections break, and every port raises Killed, so that no
`finally` of the dead broker has an effect outside.
"""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from inspect import CORO_CREATED, getcoroutinestate
from typing import Any, Protocol

from kcsim.brokers.network.network import MemoryNetwork
from kcsim.brokers.network.process_network import ProcessNetwork, ProcessTransport
from kcsim.brokers.network.process_states import ProcessInput, ProcessState, next_process_state
from kcsim.brokers.ports import BrokerTransport, Network, OpenTransport
from kcsim.errors import Killed
from kcsim.eventlog.sink import Cause
from kcsim.runtime.ports import Mailbox, Promise, Runtime, Task
from kcsim.runtime.task_alarm import TaskAlarm
from kcsim.zk.operations import Create, Delete, Multi, Notice, ReplyOrError, Request, SessionState, SetData
from kcsim.zk.ports import FaultableSession, ZooKeeper
from kcsim.zk.wrapped_session import WrappedSession

_WRITES = (Create, Delete, SetData, Multi)
# Every port asks for the state with each call, and Python looks up a member of an enum slowly.
_RUNNING, _PAUSED, _DEAD = ProcessState.RUNNING, ProcessState.PAUSED, ProcessState.DEAD


class ProcessInterface(Network, Protocol):
    """The network access of one process, and all that the process has open."""

    @property
    def control_plane(self) -> OpenTransport | None:
        """The process's access to a control plane that is not this network; None: there is none."""
        ...

    def close(self) -> None:
        """Close all that the process had open when it has ended."""
        ...


class NetworkOfRun(Protocol):
    """A network that processes are on. Adapters: brokers/network/network.py; brokers/wire/consumer_network.py."""

    def interface(self, node: str) -> ProcessInterface: ...


class WriteMoment(Enum):
    """The point in a write to ZooKeeper at which a breakpoint triggers."""

    BEFORE = "before"  # decided and begun, not yet sent
    AFTER = "after"  # applied and answered; the process has not seen the answer yet


@dataclass(frozen=True)
class WriteBreakpoint:
    """A breakpoint that acts once, when the process reaches a certain write to ZooKeeper.

    Args:
        matches: selects writes; called with the write requests of one call.
        act: the action; it may pause or kill the process.
    """

    moment: WriteMoment
    matches: Callable[[Sequence[Request]], bool]
    act: Callable[[], None]


class Process:
    """A process that runs a broker, or a client, in the simulation.

    Args:
        name: broker-N, as in the event log.
        runtime: time and tasks of the environment.
        zookeeper: the environment's access to ZooKeeper.
        network: the network of the run; None: the process gets a network of its own.

    Attributes:
        network: the Network port for what runs inside.
        control_plane: the way of the requests between controller and brokers; None: they go over the network.
        state: read only.
    """

    def __init__(self, name: str, runtime: Runtime, zookeeper: ZooKeeper, network: NetworkOfRun | None = None) -> None:
        self.name = name
        self._runtime = runtime
        self.now_ms = runtime.now_ms
        self._zookeeper = zookeeper
        self._interface: ProcessInterface = (network or MemoryNetwork(runtime)).interface(name)
        self.network: Network = ProcessNetwork(self, self._interface)
        separate = self._interface.control_plane
        self.control_plane: BrokerTransport | None = separate and ProcessTransport(self, separate)
        self.state = _RUNNING
        self.sessions: list[ProcessSession] = []
        self._tasks: dict[Task, None] = {}
        self._resumed: Promise[None] = runtime.promise()
        self._held: list[tuple[Callable[[Notice], None], Notice]] = []
        self._breakpoints: list[WriteBreakpoint] = []
        self._refuses_connections = False

    # --- the Runtime port, for what runs inside

    def sleep_ms(self, delay_ms: int) -> Coroutine[Any, Any, None]:
        return self.after(self._runtime.sleep_ms(delay_ms))

    def spawn(self, name: str, work: Coroutine[Any, Any, None]) -> Task:
        if self.state is _DEAD:
            work.close()
            raise Killed
        return _ProcessTask(self, self._runtime, self._tasks, name, work)

    def promise(self) -> Promise[Any]:
        return _ProcessPromise(self, self._runtime.promise())

    def mailbox(self) -> Mailbox[Any]:
        return _ProcessMailbox(self, self._runtime.mailbox())

    def alarm(self, name: str, call: Callable[[], None]) -> TaskAlarm:
        return TaskAlarm(self, name, call)

    def check_alive(self) -> None:
        """Raise Killed if the process is dead. Every port calls this before it does anything."""
        if self.state is _DEAD:
            raise Killed

    async def go_on(self) -> None:
        """Wait while the process is paused. Every port calls this after each await. Raises: Killed."""
        while self.state is _PAUSED:
            await self._resumed.wait()
        self.check_alive()

    async def after(self, awaited: Coroutine[Any, Any, Any]) -> Any:
        """Await something outside, then wait while the process is paused; an error is raised only then. Raises: Killed."""
        if self.state is _DEAD:
            awaited.close()
            raise Killed
        try:
            value = await awaited
        except Exception:
            await self.go_on()
            raise
        if self.state is not _RUNNING:
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
        if self.state is _DEAD:
            session.abandon()
        elif self.state is _PAUSED:
            session.freeze()
        await self.go_on()
        return session

    def _hear(self, listener: Callable[[Notice], None], notice: Notice) -> None:
        if self.state is _PAUSED:
            self._held.append((listener, notice))  # it stays in the socket until the process reads again
        elif self.state is _RUNNING:
            listener(notice)

    async def reach(self, moment: WriteMoment, requests: Sequence[Request]) -> None:
        """Let the breakpoints of a write that has reached `moment` act, then continue if the process still runs."""
        if not self._breakpoints and self.state is _RUNNING:
            return
        due = [b for b in self._breakpoints if b.moment is moment and b.matches(requests)]
        for breakpoint_ in due:
            if self.state is not _RUNNING:
                break  # stopped by the breakpoint before: the others wait for a write that a running process reaches
            self._breakpoints.remove(breakpoint_)
            breakpoint_.act()
        await self.go_on()

    # --- control from outside

    @property
    def live_sessions(self) -> list["ProcessSession"]:
        return [s for s in self.sessions if s.state not in (SessionState.EXPIRED, SessionState.CLOSED)]

    def break_at(self, breakpoint_: WriteBreakpoint) -> None:
        self._breakpoints.append(breakpoint_)

    def pause(self, cause: int | None = None) -> None:
        self.state = next_process_state(self.state, ProcessInput.PAUSE)
        self._resumed = self._runtime.promise()
        for session in self.live_sessions:
            session.freeze(cause)

    def resume(self, cause: int | None = None) -> None:
        self.state = next_process_state(self.state, ProcessInput.RESUME)
        held, self._held = self._held, []
        for listener, notice in held:
            listener(notice)
        self._resumed.resolve(None)
        for session in self.live_sessions:
            session.thaw(cause)

    def kill(self, cause: int | None = None) -> None:
        self.state = next_process_state(self.state, ProcessInput.KILL)
        sessions = self.live_sessions
        for session in sessions:
            session.abandon(cause)
        self._end_tasks()

    def retire(self) -> list[FaultableSession]:
        """End all tasks inside at the end of the run, without events. Return the sessions that still have to be closed."""
        sessions = [session.inner for session in self.live_sessions]
        self.state = next_process_state(self.state, ProcessInput.RETIRE)
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
            except Killed:  # this is the process's own task (it reached a breakpoint): the others must be killed first
                is_suicide = True
        if is_suicide:
            raise Killed

    def refuse_connections(self, cause: int | None = None) -> None:
        """Let ZooKeeper refuse new connections of this process; open connections stay."""
        self._refuses_connections = True
        for session in self.live_sessions:
            session.refuse_connections(cause)

    def allow_connections(self) -> None:
        self._refuses_connections = False
        for session in self.live_sessions:
            session.allow_connections()


class ProcessSession(WrappedSession):
    """A session of a process. It passes all calls on while the process is alive and not paused."""

    def __init__(self, process: Process, inner: FaultableSession) -> None:
        super().__init__(inner)
        self._process = process

    async def call(self, requests: list[Request], cause: Cause = None) -> list[ReplyOrError]:
        self._process.check_alive()
        writes = [r for r in requests if isinstance(r, _WRITES)]
        if writes:
            await self._process.reach(WriteMoment.BEFORE, writes)
        replies: list[ReplyOrError] = await self._process.after(self.inner.call(requests, cause))
        if writes:
            await self._process.reach(WriteMoment.AFTER, writes)
        return replies

    async def close(self, cause: Cause = None) -> None:
        await self._process.after(self.inner.close(cause))


class _ProcessTask:
    """A task of a process. If it is killed before its first step, it closes its coroutine, which was never started.

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
            if self._process.state is not _RUNNING:
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
    __slots__ = ("_inner", "_process", "fail", "resolve")

    def __init__(self, process: Process, inner: Promise[Any]) -> None:
        self._process = process
        self._inner = inner
        self.resolve = inner.resolve
        self.fail = inner.fail

    @property
    def is_settled(self) -> bool:
        return self._inner.is_settled

    def wait(self, timeout_ms: int | None = None) -> Coroutine[Any, Any, Any]:
        return self._process.after(self._inner.wait(timeout_ms))


class _ProcessMailbox:
    __slots__ = ("_inner", "_process", "drain", "put")

    def __init__(self, process: Process, inner: Mailbox[Any]) -> None:
        self._process = process
        self._inner = inner
        self.put = inner.put
        self.drain = inner.drain

    def __len__(self) -> int:
        return len(self._inner)

    def get(self, timeout_ms: int | None = None) -> Coroutine[Any, Any, Any]:
        return self._process.after(self._inner.get(timeout_ms))
