"""The znodes at a point in time, in the format of `kcsim zk tree`."""

from collections.abc import Iterator

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.state_changes import Znode
from kcsim.scenarios.views.terminal.event_filter import is_below
from kcsim.text import did_you_mean
from kcsim.zk.capture.znode_dump import Dump, DumpedZnode, NoSuchZnodeError
from kcsim.znodes.paths import parent

ROOT = "/"


def tree_snapshot(state: ClusterState, top: str = ROOT) -> Dump:
    """Return the znodes at a path and below it, sorted. The event log has no root znode. Raises: NoSuchZnodeError."""
    top = top.rstrip("/") or ROOT
    if top != ROOT and top not in state.znodes:
        beside = [path for path in state.znodes if parent(path) == parent(top)]
        raise NoSuchZnodeError(f"there was no znode {top} then{did_you_mean(top, beside)}")
    return {path: _seen(state.znodes[path]) for path in sorted(state.znodes) if is_below(path, top)}


def _seen(znode: Znode) -> DumpedZnode:
    owner = znode.session_id if znode.ephemeral else None
    return DumpedZnode(znode.data, znode.zk_version, f"0x{int(owner, 16):x}" if owner else None)


def tree_lines(tree: Dump) -> Iterator[str]:
    """Yield a line for each znode with its version, its owner if it is ephemeral, and its data."""
    for path, node in tree.items():
        owner = f", ephemeral of {node.owner}" if node.owner else ""
        data = "" if node.data is None else f"  {node.data}"
        yield f"{path}  (version {node.version}{owner}){data}"
