"""A test's own session in ZooKeeper: plain writes and reads, and waits for a znode that use its watches."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kcsim.errors import TimedOutError
from kcsim.scenarios.testing.background import WITHIN_S, Background
from kcsim.vocabulary import SessionId
from kcsim.zk.errors import (
    ConnectionLossError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    SessionExpiredError,
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
from kcsim.zk.security import ClientSecurity

SESSION_TIMEOUT_MS = 30_000
"""The requested session timeout. The server may grant less."""
CONNECT_WITHIN_MS = 15_000
DELETE_ATTEMPTS = 100
AWAY = (ConnectionLossError, SessionExpiredError, ZooKeeperUnavailableError)

Data = bytes | str | Callable[[bytes], object]
"""The wanted data of a znode: these bytes, this text, or data for which this function returns a true value."""
Children = int | Collection[str] | Callable[[list[str]], object]
"""The wanted children of a znode: this number, these names, or names for which this function returns a true value."""


@dataclass(frozen=True)
class ZnodeObservation:
    """The result of reading a znode once.

    Attributes:
        holds: whether the awaited condition held.
        description: what was seen, in words.
    """

    holds: bool
    value: Any
    description: str


ObserveZnode = Callable[[Callable[[Request], Awaitable[Reply | None]]], Awaitable[ZnodeObservation]]
"""Reads a znode once. Its argument sends a request, and returns None when there is no such znode."""


class Znodes:
    """A session of the test's own, opened when it is first needed, and again after it has expired.

    Paths are below the chroot of the connect string. Refusals are raised as ZooKeeperError (NodeExistsError, …), which says
    whether something was written. Waits do not poll: watches notify of changes.
    """

    def __init__(
        self,
        connect_string: str,
        background: Background,
        security: ClientSecurity = ClientSecurity(),  # noqa: B008 -- frozen
    ) -> None:
        self._zookeeper = LiveZooKeeper(connect_string, security=security)
        self._background = background
        self._session: LiveSession | None = None
        self._opening: asyncio.Lock = asyncio.Lock()
        self._waiting: set[asyncio.Event] = set()
        self.session_ids: list[SessionId] = []
        """All sessions that were opened."""

    # --- writes

    def create(self, path: str, data: bytes | str | None = b"", *, ephemeral: bool = False, sequential: bool = False) -> str:
        """Create a znode, and return its path."""
        reply = self._write(Create(path, _bytes(data), ephemeral, sequential))
        assert isinstance(reply, Created)
        return reply.path

    def ensure(self, path: str) -> None:
        """Create a znode and its parents, unless they exist."""
        parts = path.strip("/").split("/")
        for length in range(1, len(parts) + 1):
            with suppress(NodeExistsError):
                self.create("/" + "/".join(parts[:length]))

    def set(self, path: str, data: bytes | str | None) -> None:
        """Replace a znode's data."""
        self._write(SetData(path, _bytes(data)))

    def delete(self, path: str) -> None:
        """Delete a znode that has no children."""
        self._write(Delete(path))

    def delete_all(self, path: str) -> None:
        """Delete a znode and its descendants, although other clients may delete or create some meanwhile.

        Raises: TimedOutError.
        """
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
        """Return whether the znode exists."""
        found: bool = self._look_once(path, _existence(path)).value
        return found

    def get(self, path: str) -> bytes:
        """Return the data of a znode; null data as b"". Raises: NoNodeError."""
        found = self._look_once(path, _data(path, _anything)).value
        if found is None:
            raise NoNodeError(path)
        data: bytes = found
        return data

    def children(self, path: str) -> list[str]:
        """Return the names of a znode's children, sorted; none if there is no such znode."""
        found: list[str] | None = self._look_once(path, _children(path, _anything)).value
        return found or []

    def _look_once(self, path: str, observe: ObserveZnode) -> ZnodeObservation:
        """Read a znode once; repeat that while the connection is lost."""

        async def look(ask: Callable[[Request], Awaitable[Reply | None]]) -> ZnodeObservation:
            found = await observe(ask)
            return ZnodeObservation(True, found.value, found.description)

        return self._background.call(self._until(f"a look at {path}", look, WITHIN_S))

    # --- waiting; each method raises TimedOutError with what was last seen

    def wait_until_exists(self, path: str, within_s: float = WITHIN_S) -> bytes:
        """Wait until a znode exists, and return its data."""
        return self.wait_until_data(path, _anything, within_s)

    def wait_until_gone(self, path: str, within_s: float = WITHIN_S) -> None:
        """Wait until a znode does not exist."""

        async def look(ask: Callable[[Request], Awaitable[Reply | None]]) -> ZnodeObservation:
            found = await _data(path, _anything)(ask)
            return ZnodeObservation(found.value is None, None, found.description)

        self._background.call(self._until(f"{path} to be gone", look, within_s))

    def wait_until_data(self, path: str, wanted: Data, within_s: float = WITHIN_S) -> bytes:
        """Wait until a znode exists and has this data, and return the data."""
        what, holds = _wanted(wanted, lambda given: _bytes(given) or b"")
        look: ZnodeObservation = self._background.call(
            self._until(f"{path} to be there{what}", _data(path, holds), within_s)
        )
        data: bytes = look.value
        return data

    def wait_until_children(self, path: str, wanted: Children, within_s: float = WITHIN_S) -> list[str]:
        """Wait until a znode exists and has these children, or this many, and return their names, sorted."""
        if isinstance(wanted, int):
            number = wanted
            what, holds = _wanted(lambda names: len(names) == number, sorted)
            what = f" with {number} children"
        else:
            what, holds = _wanted(wanted, sorted)
        look: ZnodeObservation = self._background.call(
            self._until(f"{path} to be there{what}", _children(path, holds), within_s)
        )
        names: list[str] = look.value
        return names

    async def _until(self, what: str, observe: ObserveZnode, within_s: float) -> ZnodeObservation:
        loop = asyncio.get_running_loop()
        deadline, seen = loop.time() + within_s, "nothing yet"
        look: ZnodeObservation | None = None
        stirred = asyncio.Event()
        self._waiting.add(stirred)
        try:
            while True:
                stirred.clear()
                try:
                    look = await self._bounded(observe, deadline)
                except AWAY as error:
                    seen = f"{seen}, then {error}"
                else:
                    if look is None or look.holds:
                        break
                    seen = look.description
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

    async def _bounded(self, observe: ObserveZnode, deadline: float) -> ZnodeObservation | None:
        """Read a znode once; return None when there is no reply in time. A frozen server sends no replies."""
        looks = asyncio.ensure_future(self._look(observe))
        done, _ = await asyncio.wait({looks}, timeout=max(deadline - asyncio.get_running_loop().time(), 0.05))
        if not done:
            looks.cancel()
            await asyncio.wait({looks})
            if not looks.cancelled():
                looks.exception()  # retrieve the exception of the cancelled read, which is of no interest
            return None
        return looks.result()

    async def _look(self, observe: ObserveZnode) -> ZnodeObservation:
        session = await self._opened()

        async def ask(request: Request) -> Reply | None:
            (reply,) = await session.call([request])
            if isinstance(reply, NoNodeError):
                return None
            if isinstance(reply, ZooKeeperError):
                raise reply
            return reply

        return await observe(ask)

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


def _existence(path: str) -> ObserveZnode:
    async def look(ask: Callable[[Request], Awaitable[Reply | None]]) -> ZnodeObservation:
        is_there = await ask(Exists(path, watch=True)) is not None
        return ZnodeObservation(is_there, is_there, "it" if is_there else f"no {path}")

    return look


def _data(path: str, holds: Callable[[bytes], object]) -> ObserveZnode:
    """Return an observer of a znode's data. It sets an existence watch, too: a data watch needs a znode that exists."""

    async def look(ask: Callable[[Request], Awaitable[Reply | None]]) -> ZnodeObservation:
        if await ask(Exists(path, watch=True)) is None or (reply := await ask(GetData(path, watch=True))) is None:
            return ZnodeObservation(False, None, f"no {path}")
        assert isinstance(reply, DataRead)
        data = reply.data or b""
        return ZnodeObservation(bool(holds(data)), data, f"{path} with {data!r}")

    return look


def _children(path: str, holds: Callable[[list[str]], object]) -> ObserveZnode:
    async def look(ask: Callable[[Request], Awaitable[Reply | None]]) -> ZnodeObservation:
        if await ask(Exists(path, watch=True)) is None or (reply := await ask(GetChildren(path, watch=True))) is None:
            return ZnodeObservation(False, None, f"no {path}")
        assert isinstance(reply, ChildrenRead)
        names = list(reply.children)
        return ZnodeObservation(bool(holds(names)), names, f"{path} with children {names}")

    return look


def _anything(_: object) -> bool:
    return True


def _wanted(wanted: Any, as_found: Callable[[Any], object]) -> tuple[str, Callable[[Any], object]]:
    """Return a condition as text and as a function."""
    if callable(wanted):
        name = getattr(wanted, "__name__", "<lambda>")
        if wanted is _anything:
            return "", wanted
        return (" as asked for" if name == "<lambda>" else f" such that {name}"), wanted
    expected = as_found(wanted)
    return f" with {expected!r}", lambda found: found == expected


def _bytes(data: bytes | str | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data
