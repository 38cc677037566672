"""A test's own hands and eyes in ZooKeeper: plain writes and reads, and waiting for a znode by its watches."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kcsim.scenarios.testing.background import WITHIN_S, Background
from kcsim.zk.errors import (
    ConnectionLossError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    SessionExpiredError,
    TimedOutError,
    ZooKeeperError,
    ZooKeeperUnavailableError,
)
from kcsim.zk.live import LiveSession, LiveZooKeeper
from kcsim.zk.operations import (
    ChildrenRead,
    Create,
    Created,
    DataRead,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Reply,
    Request,
    SetData,
)
from kcsim.zk.vocabulary import SessionId

SESSION_TIMEOUT_MS = 30_000
"""What is asked for; the server may grant less."""
CONNECT_WITHIN_MS = 15_000
DELETE_ATTEMPTS = 100
AWAY = (ConnectionLossError, SessionExpiredError, ZooKeeperUnavailableError)

Data = bytes | str | Callable[[bytes], object]
"""What a znode's data is to be: these bytes, this text, or what this function says yes to."""
Children = int | Collection[str] | Callable[[list[str]], object]
"""What a znode's children are to be: so many, these names, or what this function says yes to."""


@dataclass(frozen=True)
class Look:
    """What was seen in one look.

    Attributes:
        holds: whether it was what is waited for.
        seen: the same in words.
    """

    holds: bool
    value: Any
    seen: str


Looking = Callable[[Callable[[Request], Awaitable[Reply | None]]], Awaitable[Look]]
"""Looks once, with a way to ask that answers None when there is no such znode."""


class Znodes:
    """A session of a test's own, opened when it is first needed, and again when it has expired.

    Paths are below the chroot of the connect string. Refusals are raised as ZooKeeperError (NodeExistsError, …), which say
    whether something was written. Waiting polls nothing: watches tell of changes.
    """

    def __init__(self, connect_string: str, background: Background) -> None:
        self._zookeeper = LiveZooKeeper(connect_string)
        self._background = background
        self._session: LiveSession | None = None
        self._opening: asyncio.Lock = asyncio.Lock()
        self._waiting: set[asyncio.Event] = set()
        self.session_ids: list[SessionId] = []
        """All sessions that there were."""

    # --- writes

    def create(self, path: str, data: bytes | str | None = b"", *, ephemeral: bool = False, sequential: bool = False) -> str:
        """Create a znode, and return its path."""
        reply = self._write(Create(path, _bytes(data), ephemeral, sequential))
        assert isinstance(reply, Created)
        return reply.path

    def ensure(self, path: str) -> None:
        """Create a znode, and those above it, unless it is there."""
        parts = path.strip("/").split("/")
        for length in range(1, len(parts) + 1):
            with suppress(NodeExistsError):
                self.create("/" + "/".join(parts[:length]))

    def set(self, path: str, data: bytes | str | None) -> None:
        """Give a znode other data."""
        self._write(SetData(path, _bytes(data)))

    def delete(self, path: str) -> None:
        """Delete a znode that has no children."""
        self._write(Delete(path))

    def delete_all(self, path: str) -> None:
        """Delete a znode and all below it, although others may delete or create some of that. Raises: TimedOutError."""
        for _ in range(DELETE_ATTEMPTS):
            if not self.exists(path):
                return
            for child in self.children(path):
                self.delete_all(f"{path.rstrip('/')}/{child}")
            with suppress(NoNodeError, NotEmptyError, ConnectionLossError):
                self.delete(path)
        raise TimedOutError(f"{path} is still there after {DELETE_ATTEMPTS} attempts; children: {self.children(path)}")

    def _write(self, request: Request) -> Reply:
        async def write() -> Reply:
            (reply,) = await (await self._opened()).call([request])
            if isinstance(reply, ZooKeeperError):
                raise reply
            return reply

        return self._background.call(write())

    # --- reads

    def exists(self, path: str) -> bool:
        """Whether the znode is there."""
        found: bool = self._look_once(path, _existence(path)).value
        return found

    def get(self, path: str) -> bytes:
        """The data of a znode; null data as b"". Raises: NoNodeError."""
        found = self._look_once(path, _data(path, _anything)).value
        if found is None:
            raise NoNodeError(path)
        data: bytes = found
        return data

    def children(self, path: str) -> list[str]:
        """The names of a znode's children, sorted; none if there is no such znode."""
        found: list[str] | None = self._look_once(path, _children(path, _anything)).value
        return found or []

    def _look_once(self, path: str, looking: Looking) -> Look:
        """One look, repeated while the connection is away."""

        async def look(ask: Callable[[Request], Awaitable[Reply | None]]) -> Look:
            found = await looking(ask)
            return Look(True, found.value, found.seen)

        return self._background.call(self._until(f"a look at {path}", look, WITHIN_S))

    # --- waiting; each raises TimedOutError, which says what was last seen

    def wait_until_exists(self, path: str, within_s: float = WITHIN_S) -> bytes:
        """Wait for a znode, and return its data."""
        return self.wait_until_data(path, _anything, within_s)

    def wait_until_gone(self, path: str, within_s: float = WITHIN_S) -> None:
        """Wait until there is no such znode."""

        async def look(ask: Callable[[Request], Awaitable[Reply | None]]) -> Look:
            found = await _data(path, _anything)(ask)
            return Look(found.value is None, None, found.seen)

        self._background.call(self._until(f"{path} to be gone", look, within_s))

    def wait_until_data(self, path: str, wanted: Data, within_s: float = WITHIN_S) -> bytes:
        """Wait until a znode is there and has this data, and return it."""
        what, holds = _wanted(wanted, lambda given: _bytes(given) or b"")
        look: Look = self._background.call(self._until(f"{path} to be there{what}", _data(path, holds), within_s))
        data: bytes = look.value
        return data

    def wait_until_children(self, path: str, wanted: Children, within_s: float = WITHIN_S) -> list[str]:
        """Wait until a znode is there and has these children, or so many, and return their names, sorted."""
        if isinstance(wanted, int):
            number = wanted
            what, holds = _wanted(lambda names: len(names) == number, sorted)
            what = f" with {number} children"
        else:
            what, holds = _wanted(wanted, sorted)
        look: Look = self._background.call(self._until(f"{path} to be there{what}", _children(path, holds), within_s))
        names: list[str] = look.value
        return names

    async def _until(self, what: str, looking: Looking, within_s: float) -> Look:
        loop = asyncio.get_running_loop()
        deadline, seen = loop.time() + within_s, "nothing yet"
        look: Look | None = None
        stirred = asyncio.Event()
        self._waiting.add(stirred)
        try:
            while True:
                stirred.clear()
                try:
                    look = await self._bounded(looking, deadline)
                except AWAY as error:
                    seen = f"{seen}, then {error}"
                else:
                    if look is None or look.holds:
                        break
                    seen = look.seen
                with suppress(TimeoutError):
                    await asyncio.wait_for(stirred.wait(), max(deadline - loop.time(), 0))
                if loop.time() >= deadline:
                    look = None
                    break
        finally:
            self._waiting.discard(stirred)
        if look is None:
            raise TimedOutError(f"not within {within_s:g} s: {what}; last seen: {seen}")
        return look

    async def _bounded(self, looking: Looking, deadline: float) -> Look | None:
        """One look; None when there is no answer in time. A server that stands still answers nobody."""
        looks = asyncio.ensure_future(self._look(looking))
        done, _ = await asyncio.wait({looks}, timeout=max(deadline - asyncio.get_running_loop().time(), 0.05))
        if not done:
            looks.cancel()
            await asyncio.wait({looks})
            if not looks.cancelled():
                looks.exception()  # it was called off: what it says of that is of no interest
            return None
        return looks.result()

    async def _look(self, looking: Looking) -> Look:
        session = await self._opened()

        async def ask(request: Request) -> Reply | None:
            (reply,) = await session.call([request])
            if isinstance(reply, NoNodeError):
                return None
            if isinstance(reply, ZooKeeperError):
                raise reply
            return reply

        return await looking(ask)

    # --- the session

    async def _opened(self) -> LiveSession:
        async with self._opening:
            if self._session is None or self._session.state.value in ("expired", "closed"):
                self._session = await self._zookeeper.open_session(SESSION_TIMEOUT_MS, self._hear, CONNECT_WITHIN_MS)
                self.session_ids.append(self._session.session_id)
            return self._session

    def _hear(self, _: object) -> None:
        for stirred in self._waiting:
            stirred.set()

    def close(self) -> None:
        """End the session, if there is one. Idempotent."""
        session, self._session = self._session, None
        if session is not None:
            self._background.call(session.close())


def _existence(path: str) -> Looking:
    async def look(ask: Callable[[Request], Awaitable[Reply | None]]) -> Look:
        is_there = await ask(Exists(path, watch=True)) is not None
        return Look(is_there, is_there, "it" if is_there else f"no {path}")

    return look


def _data(path: str, holds: Callable[[bytes], object]) -> Looking:
    """A look at a znode's data. The watch on its existence is armed as well: one on data needs a znode to sit on."""

    async def look(ask: Callable[[Request], Awaitable[Reply | None]]) -> Look:
        if await ask(Exists(path, watch=True)) is None or (reply := await ask(GetData(path, watch=True))) is None:
            return Look(False, None, f"no {path}")
        assert isinstance(reply, DataRead)
        data = reply.data or b""
        return Look(bool(holds(data)), data, f"{path} with {data!r}")

    return look


def _children(path: str, holds: Callable[[list[str]], object]) -> Looking:
    async def look(ask: Callable[[Request], Awaitable[Reply | None]]) -> Look:
        if await ask(Exists(path, watch=True)) is None or (reply := await ask(GetChildren(path, watch=True))) is None:
            return Look(False, None, f"no {path}")
        assert isinstance(reply, ChildrenRead)
        names = list(reply.children)
        return Look(bool(holds(names)), names, f"{path} with children {names}")

    return look


def _anything(_: object) -> bool:
    return True


def _wanted(wanted: Any, as_found: Callable[[Any], object]) -> tuple[str, Callable[[Any], object]]:
    """A condition in words, and as a function."""
    if callable(wanted):
        name = getattr(wanted, "__name__", "<lambda>")
        if wanted is _anything:
            return "", wanted
        return (" as asked for" if name == "<lambda>" else f" such that {name}"), wanted
    expected = as_found(wanted)
    return f" with {expected!r}", lambda found: found == expected


def _bytes(data: bytes | str | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data
