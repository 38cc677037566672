"""The model in virtual time, with an event log and sessions that keep their notices."""

import random
from collections.abc import Callable, Coroutine
from typing import Any

from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.sink import Cause
from kcsim.runtime.simulated import SimulatedRuntime
from kcsim.zk.memory.client import MemoryZooKeeper
from kcsim.zk.memory.session import MemorySession
from kcsim.zk.memory.settings import ModelSettings
from kcsim.zk.operations import Notice, ReplyOrError, Request, SessionState, SessionStateChanged, WatchEvent

TICK_MS = 200
BOUND_MS = 60_000


class Client:
    """A session and the notices that it has received, each with its time."""

    def __init__(self, environment: "Environment") -> None:
        self._environment = environment
        self._news = environment.runtime.mailbox()
        self.heard: list[tuple[int, Notice]] = []
        self.session: MemorySession

    def hear(self, notice: Notice) -> None:
        self.heard.append((self._environment.runtime.now_ms(), notice))
        self._news.put(notice)

    async def ask(self, *requests: Request, cause: Cause = None) -> list[ReplyOrError]:
        return await self.session.call(list(requests), cause)

    async def until(self, state: SessionState) -> int:
        """Wait until a state is announced, and return the time. Raises: TimedOutError."""
        while await self._news.get(BOUND_MS) != SessionStateChanged(state):
            pass
        return self._environment.runtime.now_ms()

    async def until_event(self, path: str) -> int:
        """Wait for a watch event about a path, and return its time. Raises: TimedOutError."""
        while getattr(await self._news.get(BOUND_MS), "path", None) != path:
            pass
        return self._environment.runtime.now_ms()

    @property
    def states(self) -> list[tuple[str, int | None]]:
        return [(n.state.value, n.cause) for _, n in self.heard if isinstance(n, SessionStateChanged)]

    @property
    def events(self) -> list[tuple[str, str]]:
        return [(n.kind.name, n.path) for _, n in self.heard if isinstance(n, WatchEvent)]


class Environment:
    """A model for one test; `options` are those of ModelSettings."""

    def __init__(self, seed: int = 1, latency_ms: Callable[[random.Random], int] | None = None, **options: Any) -> None:
        self.runtime = SimulatedRuntime()
        self.log = EventLog(self.runtime.now_ms)
        settings = ModelSettings(**{"tick_time_ms": TICK_MS, **options})
        sink = self.log.sink("zookeeper")
        self.zookeeper = MemoryZooKeeper(self.runtime, sink, random.Random(seed), settings, latency_ms)

    async def open(self, timeout_ms: int = 4000) -> Client:
        client = Client(self)
        client.session = await self.zookeeper.open_session(timeout_ms, client.hear, BOUND_MS)
        return client

    async def open_at(self, member: str, timeout_ms: int = 4000) -> Client:
        """Open sessions until one is connected to this member; the others are closed."""
        for _ in range(100):
            client = await self.open(timeout_ms)
            if client.session.member == member:
                return client
            await client.session.close()
        raise AssertionError(f"no session in 100 came to {member}")

    def events(self, *kinds: EventKind) -> list[Event]:
        return [event for event in self.log.events if event.kind in kinds]


Main = Callable[[Environment], Coroutine[Any, Any, Any]]


def run(main: Main, **options: Any) -> Any:
    environment = Environment(**options)
    return environment.runtime.run(main(environment))
