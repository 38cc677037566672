"""Reads a whole tree of znodes from a running ZooKeeper or from a past tree, and compares two trees. Reads only."""

from collections.abc import Mapping
from typing import NamedTuple

from kcsim.eventlog.events import data_text
from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.text import did_you_mean
from kcsim.vocabulary import SessionId
from kcsim.zk.capture.transaction_events import OWN
from kcsim.zk.errors import NoNodeError, ZooKeeperError
from kcsim.zk.files.past_tree import PastTree, PastZnode
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.operations import ChildrenRead, DataRead, GetChildren, GetData, MultiRead, MultiReadDone
from kcsim.zk.ports import Session
from kcsim.zk.servers.external import ConnectString, ExternalZooKeeper, parse_connect_string, require_chroot
from kcsim.znodes.paths import child, parent

SESSION_TIMEOUT_MS = 10_000
CONNECT_TIMEOUT_MS = 10_000
BATCH = 500


class DumpedZnode(NamedTuple):
    """One znode. `data` is in the event log's format; `owner` is the session of an ephemeral znode."""

    data: str | None
    version: int
    owner: str | None


Dump = Mapping[str, DumpedZnode]
"""Path (below the chroot) -> znode, sorted by path."""


class NoSuchZnodeError(Exception):
    """The requested path does not exist. The message names the nearest sibling."""


class ZnodeDifference(NamedTuple):
    """A znode that differs between two trees; None where a tree does not have it."""

    path: str
    left: str | None
    right: str | None

    def __str__(self) -> str:
        if self.right is None:
            return f"- {self.path}  {self.left}"
        if self.left is None:
            return f"+ {self.path}  {self.right}"
        return f"~ {self.path}  {self.left} -> {self.right}"


def differences(left: Dump, right: Dump) -> list[ZnodeDifference]:
    """Return the znodes that differ between two trees, sorted by path.

    Versions and owners are not compared; whether a znode is ephemeral is compared.
    """
    found = []
    for path in sorted(left.keys() | right.keys()):
        a, b = (_content(tree[path]) if path in tree else None for tree in (left, right))
        if a != b:
            found.append(ZnodeDifference(path, a, b))
    return found


def _content(node: DumpedZnode) -> str:
    data = "null" if node.data is None else node.data or '""'
    return f"{data} (ephemeral)" if node.owner else data


def dump(connect: str, path: str) -> Dump:
    """Read the znodes at and below a path, without ZooKeeper's own znodes.

    Raises: BadConnectStringError, UnreachableError, NoChrootError, NoSuchZnodeError, ZooKeeperUnavailableError,
        ZooKeeperError when ZooKeeper fails while the tree is being read.
    """
    where = parse_connect_string(connect)
    return WallClockRuntime().run(_dump(where, path.rstrip("/") or "/"))


def dump_of_past(tree: PastTree, path: str) -> Dump:
    """Return the znodes at and below a path of a past tree, without ZooKeeper's own. Raises: NoSuchZnodeError."""
    top = path.rstrip("/") or "/"
    if top not in tree.znodes:
        hint = did_you_mean(top, tree.children(parent(top)))
        raise NoSuchZnodeError(f"there was no znode {path} then{hint}")
    below = "/" if top == "/" else f"{top}/"
    found = (p for p in sorted(tree.znodes) if p == top or p.startswith(below))
    return {p: _past(tree.znodes[p]) for p in found if p != OWN and not p.startswith(f"{OWN}/")}


def _past(znode: PastZnode) -> DumpedZnode:
    return DumpedZnode(data_text(znode.data), znode.version, _owner(znode.ephemeral_owner))


async def _dump(where: ConnectString, path: str) -> Dump:
    await ExternalZooKeeper(str(where)).start()
    # Without the chroot, so that a missing chroot can be distinguished from an empty one.
    session = await LiveZooKeeper(",".join(map(str, where.addresses))).open_session(
        SESSION_TIMEOUT_MS, lambda _: None, CONNECT_TIMEOUT_MS
    )

    async def children(of: str) -> tuple[str, ...] | None:
        (reply,) = await session.call([GetChildren(of)])
        return reply.children if isinstance(reply, ChildrenRead) else None

    try:
        await require_chroot(where.chroot, children)
        top = (where.chroot + path).rstrip("/") or "/"
        if await children(top) is None:
            hint = did_you_mean(top, [child(parent(top), name) for name in await children(parent(top)) or ()])
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
    return DumpedZnode(data_text(read.data), read.stat.version, _owner(read.stat.ephemeral_owner))


def _owner(session_id: SessionId) -> str | None:
    return f"0x{session_id & (2**64 - 1):x}" if session_id else None
