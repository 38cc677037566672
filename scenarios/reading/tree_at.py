"""The znodes of a moment, as `kcsim zk tree` has them."""

from collections.abc import Iterator

from kcsim.scenarios.language.words import did_you_mean
from kcsim.scenarios.reading.event_filter import is_below
from kcsim.scenarios.state import ClusterState, Znode
from kcsim.scenarios.znode_dump import Dump, NoSuchZnodeError, ZnodeSeen
from kcsim.zk.paths import parent

ROOT = "/"


def tree_at(state: ClusterState, top: str = ROOT) -> Dump:
    """The znodes at a path and below it, sorted. The root itself is in no event log. Raises: NoSuchZnodeError."""
    top = top.rstrip("/") or ROOT
    if top != ROOT and top not in state.znodes:
        beside = [path for path in state.znodes if parent(path) == parent(top)]
        raise NoSuchZnodeError(f"there was no znode {top} then{did_you_mean(top, beside)}")
    return {path: _seen(state.znodes[path]) for path in sorted(state.znodes) if is_below(path, top)}


def _seen(znode: Znode) -> ZnodeSeen:
    owner = znode.session_id if znode.ephemeral else None
    return ZnodeSeen(znode.data, znode.zk_version, f"0x{int(owner, 16):x}" if owner else None)


def tree_lines(tree: Dump) -> Iterator[str]:
    """Each znode with its version, its owner if it is ephemeral, and its data."""
    for path, node in tree.items():
        owner = f", ephemeral of {node.owner}" if node.owner else ""
        data = "" if node.data is None else f"  {node.data}"
        yield f"{path}  (version {node.version}{owner}){data}"
