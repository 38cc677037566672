"""A whole tree of znodes: from a past tree, or as live_dump.py reads it; and the comparison of two trees."""

from collections.abc import Mapping
from typing import NamedTuple

from kcsim.eventlog.events import data_text
from kcsim.text import did_you_mean
from kcsim.vocabulary import SessionId
from kcsim.zk.capture.transaction_events import OWN
from kcsim.zk.files.past_tree import PastTree, PastZnode
from kcsim.znodes.paths import parent


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
    return DumpedZnode(data_text(znode.data), znode.version, owner_text(znode.ephemeral_owner))


def owner_text(session_id: SessionId) -> str | None:
    """Return the id of the session that an ephemeral znode belongs to, as in DumpedZnode; None for 0."""
    return f"0x{session_id & (2**64 - 1):x}" if session_id else None
