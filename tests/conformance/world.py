"""A ZooKeeper to hold to the suite, whichever adapter stands behind it, and clients that remember what they heard."""

import random
from collections.abc import Callable, Coroutine
from contextlib import suppress
from itertools import count
from typing import Any, TypeVar, Unpack

from kcsim.scenarios.runtimes.simulated import SimulatedRuntime
from kcsim.scenarios.runtimes.wallclock import WallClockRuntime
from kcsim.zk.errors import TimedOutError
from kcsim.zk.events import EventFields, EventKind
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.memory.client import MemoryZooKeeper
from kcsim.zk.operations import (
    Create,
    Notice,
    ReplyOrError,
    Request,
    SessionState,
    SessionStateChanged,
    Sync,
    WatchEvent,
)
from kcsim.zk.ports import Cause, FaultableSession, Mailbox, Runtime, ZooKeeper
from tests.conftest import TICK_MS

T = TypeVar("T")

SHORTEST_TIMEOUT_MS = 2 * TICK_MS
LONGEST_TIMEOUT_MS = 20 * TICK_MS
BOUND_MS = 15_000
"""No wait of the suite may take longer; none comes near."""


class Client:
    """A session, and the notices that it has heard."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._heard: Mailbox[Notice] = world.runtime.mailbox()
        self.notices: list[Notice] = []
        self.session: FaultableSession

    async def open(self, timeout_ms: int) -> "Client":
        self.session = await self._world.zookeeper.open_session(timeout_ms, self._hear, BOUND_MS)
        return self

    def _hear(self, notice: Notice) -> None:
        self.notices.append(notice)
        self._heard.put(notice)

    async def ask(self, *requests: Request, cause: Cause = None) -> list[ReplyOrError]:
        return await self.session.call(list(requests), cause)

    async def does(self, *requests: Request) -> None:
        """Ask, for the sake of the effect: a task's work."""
        await self.ask(*requests)

    async def get(self, request: Request, kind: type[T]) -> T:
        """Ask one thing, which has to be answered by a reply of this kind."""
        (reply,) = await self.ask(request)
        assert isinstance(reply, kind), reply
        return reply

    async def heard(self) -> list[Notice]:
        """All notices since the last time, those included that are on their way."""
        await self.get(Sync(), object)
        notices, self.notices = self.notices, []
        self._heard.drain()
        return notices

    async def events(self) -> list[tuple[str, str]]:
        """All watch events since the last time, as (kind, path)."""
        return [(n.kind.name, n.path) for n in await self.heard() if isinstance(n, WatchEvent)]

    async def until(self, *states: SessionState) -> None:
        """Wait until these states have been announced, in this order. Raises: TimedOutError."""
        for state in states:
            await self._until_notice(lambda n, state=state: n == SessionStateChanged(state), f"{state}")  # type: ignore[misc]

    async def until_event(self, path: str) -> WatchEvent:
        """Wait for the next watch event about a path."""
        found = await self._until_notice(lambda n: isinstance(n, WatchEvent) and n.path == path, f"an event of {path}")
        assert isinstance(found, WatchEvent)
        return found

    async def _until_notice(self, is_wanted: Callable[[Notice], bool], what: str) -> Notice:
        try:
            while True:
                notice = await self._heard.get(BOUND_MS)
                if is_wanted(notice):
                    return notice
        except TimedOutError:
            raise TimedOutError(f"waited for {what}; {self.session.state}, heard {self.notices}") from None


class NoSink:
    """An event log that only counts."""

    def __init__(self) -> None:
        self._seq = count()

    def emit(self, kind: EventKind, cause: Cause = None, **fields: Unpack[EventFields]) -> int:
        return next(self._seq)


class World:
    """One adapter with its runtime, and the sessions that a test has opened on it."""

    def __init__(self, runtime: Runtime, zookeeper: ZooKeeper) -> None:
        self.runtime = runtime
        self.zookeeper = zookeeper
        self._clients: list[Client] = []

    async def open(self, timeout_ms: int = LONGEST_TIMEOUT_MS) -> Client:
        client = await Client(self).open(timeout_ms)
        self._clients.append(client)
        return client

    async def close(self) -> None:
        """End all sessions at the server, whatever was done to them: nothing of this test may happen during the next."""
        for client in self._clients:
            client.notices = []  # the list that a test returns stays as it is
            session = client.session
            session.thaw()
            session.allow_connections()
            if session.state is SessionState.SUSPENDED:
                with suppress(TimedOutError):  # it may find out just now that it has expired
                    await session.expire()
            await session.close()


Main = Callable[[World], Coroutine[Any, Any, Any]]
Run = Callable[[Main], Any]


def run_on_model(main: Main) -> Any:
    runtime = SimulatedRuntime()
    zookeeper = MemoryZooKeeper(runtime, NoSink(), random.Random(1), tick_time_ms=TICK_MS)
    return runtime.run(main(World(runtime, zookeeper)))


def run_on_server(connect_string: str, chroot: str, main: Main) -> Any:
    """Run on a real server, below a chroot of the test's own."""
    runtime = WallClockRuntime()

    async def in_chroot() -> Any:
        await make_chroot(connect_string, chroot)
        world = World(runtime, LiveZooKeeper(connect_string + chroot))
        try:
            return await main(world)
        finally:
            await world.close()

    return runtime.run(in_chroot())


async def make_chroot(connect_string: str, chroot: str) -> None:
    session = await LiveZooKeeper(connect_string).open_session(LONGEST_TIMEOUT_MS, lambda _: None, BOUND_MS)
    await session.call([Create(chroot)])
    await session.close()
