"""A ZooKeeper for dry runs: writes are checked, answered as the server would, and recorded, but not made.

A dry run therefore takes the same path as the real command, refusals included. Left out: transactions, which no admin
action needs.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from kcsim.eventlog.events import data_text
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import ANY_VERSION, SessionId, ZkVersion, Zxid
from kcsim.zk.errors import BadVersionError, NodeExistsError, NoNodeError, ZooKeeperError
from kcsim.zk.operations import (
    Create,
    Created,
    DataSet,
    Delete,
    Deleted,
    Exists,
    Multi,
    NodeFound,
    Notice,
    ReplyOrError,
    Request,
    SetData,
    Stat,
)
from kcsim.zk.ports import FaultableSession, ZooKeeper
from kcsim.zk.wrapped_session import WrappedSession
from kcsim.znodes.paths import parent

Write = Create | SetData | Delete

NO_STAT = Stat(Zxid(0), Zxid(0), 0, 0, ZkVersion(0), 0, 0, SessionId(0), 0, 0, Zxid(0))


@dataclass
class DryRunZooKeeper:
    """The ZooKeeper port over `inner`, which is only read.

    Attributes:
        writes: the would-be writes, in order; refused writes are not among them.
    """

    inner: ZooKeeper
    writes: list[Write] = field(default_factory=list)

    async def open_session(
        self, timeout_ms: int, listener: Callable[[Notice], None], connect_timeout_ms: int, cause: Cause = None
    ) -> FaultableSession:
        return _DryRunSession(await self.inner.open_session(timeout_ms, listener, connect_timeout_ms, cause), self.writes)


class _DryRunSession(WrappedSession):
    def __init__(self, inner: FaultableSession, writes: list[Write]) -> None:
        super().__init__(inner)
        self._writes = writes
        self._stats: dict[str, Stat | None] = {}  # of znodes written here; None for a deleted one

    async def call(self, requests: list[Request], cause: Cause = None) -> list[ReplyOrError]:
        if not any(isinstance(request, Write | Multi) for request in requests):
            return await self.inner.call(requests, cause)
        return [await self._answer(request, cause) for request in requests]

    async def _answer(self, request: Request, cause: Cause) -> ReplyOrError:
        assert not isinstance(request, Multi), "admin acts are not fenced"
        if not isinstance(request, Write):
            return (await self.inner.call([request], cause))[0]
        found = await self._stat(request.path)
        reply = await self._refusal(request, found)
        if reply is not None:
            return reply
        self._writes.append(request)
        match request:
            case Create(path):
                self._stats[path] = NO_STAT
                return Created(path, NO_STAT, Zxid(0))
            case SetData(path):
                self._stats[path] = found or NO_STAT
                return DataSet(path, found or NO_STAT, Zxid(0))
            case Delete(path):
                self._stats[path] = None
                return Deleted(path, Zxid(0))

    async def _refusal(self, write: Write, found: Stat | None) -> ZooKeeperError | None:
        if isinstance(write, Create):
            if await self._stat(parent(write.path)) is None:
                return NoNodeError(write.path)
            return NodeExistsError(write.path) if found and not write.sequential else None
        if found is None:
            return NoNodeError(write.path)
        if write.version not in (ANY_VERSION, found.version):
            return BadVersionError(write.path)
        return None

    async def _stat(self, path: str) -> Stat | None:
        if path in self._stats:
            return self._stats[path]
        (reply,) = await self.inner.call([Exists(path)])
        if isinstance(reply, ZooKeeperError) and not isinstance(reply, NoNodeError):
            raise reply
        return reply.stat if isinstance(reply, NodeFound) else None


def write_line(write: Write) -> str:
    """Return a write as text: its operation, path and data."""
    match write:
        case Create(path, data, sequential=sequential):
            return f"create {path}{'…' if sequential else ''}{_shown(data)}"
        case SetData(path, data):
            return f"set {path}{_shown(data)}"
        case Delete(path):
            return f"delete {path}"


def _shown(data: bytes | None) -> str:
    return "" if data is None else f"  {data_text(data)}"
