"""A ZooKeeper for the suite, behind either adapter, and clients that keep their notices."""

import random
from collections.abc import Callable, Coroutine
from contextlib import suppress
from itertools import count
from typing import Any, TypeVar, Unpack

import pytest

from kcsim.errors import TimedOutError
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.eventlog.sink import Cause
from kcsim.runtime.ports import Mailbox, Runtime
from kcsim.runtime.simulated import SimulatedRuntime
from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.memory.client import MemoryZooKeeper
from kcsim.zk.memory.settings import ModelSettings
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
from kcsim.zk.ports import FaultableSession, ZooKeeper
from tests.conftest import LONGEST_SESSION_MS, TICK_MS

T = TypeVar("T")

LONGEST_TIMEOUT_MS = LONGEST_SESSION_MS
SHORT_TIMEOUT_MS = 2_000
"""Time-out of a session that is to expire: long enough for the test's preceding actions, on a busy machine too."""
BOUND_MS = 120_000
"""Bound of every wait of the suite; none comes near it."""

LIVE_IS_SLOW = pytest.mark.parametrize(
    "run",
    [
        "model",
        pytest.param("socket", marks=pytest.mark.slow),
        pytest.param("live", marks=[pytest.mark.live, pytest.mark.slow]),
    ],
    indirect=True,
)
"""Mark of a test that waits for seconds on a real server."""


class Client:
    """A session, and the notices that it has received."""

    def __init__(self, environment: "Environment") -> None:
        self._environment = environment
        self._heard: Mailbox[Notice] = environment.runtime.mailbox()
        self.notices: list[Notice] = []
        self.session: FaultableSession

    async def open(self, timeout_ms: int) -> "Client":
        self.session = await self._environment.zookeeper.open_session(timeout_ms, self._hear, BOUND_MS)
        return self

    def _hear(self, notice: Notice) -> None:
        self.notices.append(notice)
        self._heard.put(notice)

    async def ask(self, *requests: Request, cause: Cause = None) -> list[ReplyOrError]:
        return await self.session.call(list(requests), cause)

    async def does(self, *requests: Request) -> None:
        """Send requests for their effect only, as a task's work."""
        await self.ask(*requests)

    async def get(self, request: Request, kind: type[T]) -> T:
        """Send one request, which has to be answered by a reply of this kind."""
        (reply,) = await self.ask(request)
        assert isinstance(reply, kind), reply
        return reply

    async def heard(self) -> list[Notice]:
        """Return all notices since the last time, including those in transit."""
        await self.get(Sync(), object)
        notices, self.notices = self.notices, []
        self._heard.drain()
        return notices

    async def events(self) -> list[tuple[str, str]]:
        """Return all watch events since the last time, as (kind, path)."""
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


class Environment:
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
        """End all sessions at the server, whatever faults they had: nothing of this test may happen during the next."""
        for client in self._clients:
            client.notices = []  # the list that a test returns stays unchanged
            session = client.session
            session.thaw()
            session.allow_connections()
            if session.state is SessionState.SUSPENDED:
                with suppress(TimedOutError):  # the session may learn just now that it has expired
                    await session.expire()
            await session.close()


Main = Callable[[Environment], Coroutine[Any, Any, Any]]
Run = Callable[[Main], Any]


def model_of_the_server(runtime: SimulatedRuntime) -> MemoryZooKeeper:
    """Return a model with the settings of the shared server."""
    return MemoryZooKeeper(
        runtime, NoSink(), random.Random(1), ModelSettings(tick_time_ms=TICK_MS, max_session_timeout_ms=LONGEST_SESSION_MS)
    )


def run_on_model(main: Main) -> Any:
    runtime = SimulatedRuntime()
    zookeeper = model_of_the_server(runtime)
    return runtime.run(main(Environment(runtime, zookeeper)))


def run_on_server(connect_string: str, chroot: str, main: Main) -> Any:
    """Run on a real server, below a chroot of the test's own."""
    runtime = WallClockRuntime()

    async def in_chroot() -> Any:
        await make_chroot(connect_string, chroot)
        environment = Environment(runtime, LiveZooKeeper(connect_string + chroot))
        try:
            return await main(environment)
        finally:
            await environment.close()

    return runtime.run(in_chroot())


async def make_chroot(connect_string: str, chroot: str) -> None:
    session = await LiveZooKeeper(connect_string).open_session(LONGEST_TIMEOUT_MS, lambda _: None, BOUND_MS)
    await session.call([Create(chroot)])
    await session.close()
