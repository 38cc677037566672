"""The model in virtual time, with an event log and sessions that remember what they heard."""

import random
from collections.abc import Callable, Coroutine
from typing import Any

from kcsim.scenarios.history import EventLog
from kcsim.scenarios.runtimes.simulated import SimulatedRuntime
from kcsim.zk.events import Event, EventKind
from kcsim.zk.memory.client import MemoryZooKeeper
from kcsim.zk.memory.session import MemorySession
from kcsim.zk.operations import Notice, ReplyOrError, Request, SessionState, SessionStateChanged, WatchEvent
from kcsim.zk.ports import Cause

TICK_MS = 200
BOUND_MS = 60_000


class Client:
    """A session and the notices that it has heard, each with the time it came."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._news = world.runtime.mailbox()
        self.heard: list[tuple[int, Notice]] = []
        self.session: MemorySession

    def hear(self, notice: Notice) -> None:
        self.heard.append((self._world.runtime.now_ms(), notice))
        self._news.put(notice)

    async def ask(self, *requests: Request, cause: Cause = None) -> list[ReplyOrError]:
        return await self.session.call(list(requests), cause)

    async def until(self, state: SessionState) -> int:
        """Wait until a state is announced, and say when that was. Raises: TimedOutError."""
        while await self._news.get(BOUND_MS) != SessionStateChanged(state):
            pass
        return self._world.runtime.now_ms()

    async def until_event(self, path: str) -> int:
        """Wait for a watch event about a path, and say when it came. Raises: TimedOutError."""
        while getattr(await self._news.get(BOUND_MS), "path", None) != path:
            pass
        return self._world.runtime.now_ms()

    @property
    def states(self) -> list[tuple[str, int | None]]:
        return [(n.state.value, n.cause) for _, n in self.heard if isinstance(n, SessionStateChanged)]

    @property
    def events(self) -> list[tuple[str, str]]:
        return [(n.kind.name, n.path) for _, n in self.heard if isinstance(n, WatchEvent)]


class World:
    """A model of its own; `options` are those of MemoryZooKeeper."""

    def __init__(self, seed: int = 1, **options: Any) -> None:
        self.runtime = SimulatedRuntime()
        self.log = EventLog(self.runtime.now_ms)
        options = {"tick_time_ms": TICK_MS, **options}
        self.zookeeper = MemoryZooKeeper(self.runtime, self.log.sink("zookeeper"), random.Random(seed), **options)

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


Main = Callable[[World], Coroutine[Any, Any, Any]]


def run(main: Main, **options: Any) -> Any:
    world = World(**options)
    return world.runtime.run(main(world))
