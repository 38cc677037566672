"""The znodes of a cluster's control state at a moment of the past: from ZooKeeper's files, or from an event log."""

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import data_bytes
from kcsim.scenarios.snapshots.control_znodes import ControlZnode
from kcsim.vocabulary import Zxid
from kcsim.zk.files.past_tree import PastTree


def znodes_of_tree(tree: PastTree, chroot: str) -> dict[str, ControlZnode]:
    """Return the znodes below a chroot; its own path is empty if Kafka has the root."""
    below = {path: znode for path, znode in tree.znodes.items() if path.startswith(f"{chroot}/")}
    return {path.removeprefix(chroot): ControlZnode(znode.data, znode.czxid) for path, znode in below.items()}


def znodes_of_state(state: ClusterState) -> dict[str, ControlZnode]:
    """Return the znodes of a run at the moment of its state."""
    return {path: ControlZnode(data_bytes(znode.data), Zxid(znode.czxid)) for path, znode in state.znodes.items()}
