"""Reads a whole tree of znodes from a running ZooKeeper. Reads only."""

from collections.abc import Callable

from kcsim.eventlog.events import data_text
from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.text import did_you_mean
from kcsim.zk.capture.transaction_events import OWN
from kcsim.zk.capture.znode_dump import Dump, DumpedZnode, NoSuchZnodeError, owner_text
from kcsim.zk.errors import NoNodeError, ZooKeeperError
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.operations import ChildrenRead, DataRead, GetChildren, GetData, MultiRead, MultiReadDone
from kcsim.zk.ports import Session
from kcsim.zk.security import ClientSecurity
from kcsim.zk.servers.external import ConnectString, ExternalZooKeeper, children_of, parse_connect_string, require_chroot
from kcsim.znodes.paths import child, parent

SESSION_TIMEOUT_MS = 10_000
CONNECT_TIMEOUT_MS = 10_000
BATCH = 500


def dump(
    connect: str,
    path: str,
    security: ClientSecurity = ClientSecurity(),  # noqa: B008 -- frozen
    on_read_only: Callable[[], None] = lambda: None,
) -> Dump:
    """Read the znodes at and below a path, without ZooKeeper's own znodes.

    Args:
        on_read_only: called if a member that is cut off from its ensemble answers.

    Raises: BadConnectStringError, UnreachableError, NoChrootError, NoSuchZnodeError, ZooKeeperUnavailableError,
        ZooKeeperError when ZooKeeper fails while the tree is being read.
    """
    where = parse_connect_string(connect)
    return WallClockRuntime().run(_dump(where, path.rstrip("/") or "/", security, on_read_only))


async def _dump(where: ConnectString, path: str, security: ClientSecurity, on_read_only: Callable[[], None]) -> Dump:
    await ExternalZooKeeper(str(where), security=security).start()
    # Without the chroot, so that a missing chroot can be distinguished from an empty one.
    zookeeper = LiveZooKeeper(",".join(map(str, where.addresses)), security=security, accepts_read_only=True)
    session = await zookeeper.open_session(SESSION_TIMEOUT_MS, lambda _: None, CONNECT_TIMEOUT_MS)
    if session.is_read_only:
        on_read_only()

    try:
        await require_chroot(where.chroot, session)
        top = (where.chroot + path).rstrip("/") or "/"
        if await children_of(session, top) is None:
            hint = did_you_mean(top, [child(parent(top), name) for name in await children_of(session, parent(top)) or ()])
            raise NoSuchZnodeError(f"there is no znode {path} in {where}{hint}")
        found = await _read_below(session, top)
    finally:
        await session.close()
    return {path.removeprefix(where.chroot) or "/": node for path, node in sorted(found.items())}


async def _read_below(session: Session, top: str) -> dict[str, DumpedZnode]:
    found: dict[str, DumpedZnode] = {}
    level = [top]
    while level:
        following: list[str] = []
        for begin in range(0, len(level), BATCH):
            batch = level[begin : begin + BATCH]
            ops: list[GetData | GetChildren] = [*map(GetData, batch), *map(GetChildren, batch)]
            (reply,) = await session.call([MultiRead(tuple(ops))])
            if isinstance(reply, ZooKeeperError):
                raise reply
            assert isinstance(reply, MultiReadDone)
            for path, data, below in zip(batch, reply.results[: len(batch)], reply.results[len(batch) :], strict=True):
                if isinstance(data, DataRead):
                    found[path] = _seen(data)
                if isinstance(below, ChildrenRead):
                    following += [child(path, name) for name in below.children]
                for answer in (data, below):
                    if isinstance(answer, ZooKeeperError) and not isinstance(answer, NoNodeError):
                        raise answer  # NoNodeError is no error: the znode was deleted while the tree was read
        level = [path for path in following if path != OWN]
    return found


def _seen(read: DataRead) -> DumpedZnode:
    return DumpedZnode(data_text(read.data), read.stat.version, owner_text(read.stat.ephemeral_owner))
