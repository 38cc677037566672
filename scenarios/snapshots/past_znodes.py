"""The znodes of a cluster's control state at a moment of the past: from ZooKeeper's files, or from an event log."""

import base64
import binascii

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.scenarios.snapshots.control_znodes import ControlZnode
from kcsim.vocabulary import Zxid
from kcsim.zk.files.past_tree import PastTree

BASE64 = "base64:"


def znodes_of_tree(tree: PastTree, chroot: str) -> dict[str, ControlZnode]:
    """Return the znodes below a chroot; its own path is empty if Kafka has the root."""
    below = {path: znode for path, znode in tree.znodes.items() if path.startswith(f"{chroot}/")}
    return {path.removeprefix(chroot): ControlZnode(znode.data, znode.czxid) for path, znode in below.items()}


def znodes_of_state(state: ClusterState) -> dict[str, ControlZnode]:
    """Return the znodes of a run at the moment of its state."""
    return {path: ControlZnode(_bytes(znode.data), Zxid(znode.czxid)) for path, znode in state.znodes.items()}


def _bytes(text: str | None) -> bytes | None:
    """Return a znode's data from the format of the event log (kcsim.eventlog.events.data_text)."""
    if text is None or not text.startswith(BASE64):
        return None if text is None else text.encode()
    try:
        return base64.b64decode(text.removeprefix(BASE64), validate=True)
    except binascii.Error:  # a text of a client that begins so
        return text.encode()
