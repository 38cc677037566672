"""From one operation on ZooKeeper to its event: a znode was written or deleted, a session was opened or has ended.

Pure; nothing is inferred. Every source uses these functions: the log of transactions of a run, the replies to clients, and
what real servers have left behind. Sources differ in what they know: what is None or False here is left out of the event.
"""

from kcsim.eventlog.events import EventFields, EventKind, data_text, hexadecimal
from kcsim.vocabulary import SessionId, ZkVersion
from kcsim.zk.files.past_tree import PastChangeKind
from kcsim.zk.files.transactions import CheckVersionTxn, Transaction
from kcsim.znodes import paths

ZOOKEEPER = "zookeeper"
"""The node of these events."""
EXPIRED = "SESSIONEXPIRED"
OWN = "/zookeeper"
"""ZooKeeper's own znodes, which do not belong to a Kafka cluster."""
KINDS = {
    PastChangeKind.CREATED: EventKind.ZNODE_CREATED,
    PastChangeKind.CHANGED: EventKind.ZNODE_CHANGED,
    PastChangeKind.DELETED: EventKind.ZNODE_DELETED,
}


def znode_written(
    path: str,
    data: bytes | None,
    version: int,
    zxid: int,
    *,
    session_id: SessionId | None = None,
    is_ephemeral: bool = False,
) -> EventFields:
    """Return the columns of ZnodeCreated and ZnodeChanged.

    Args:
        version: the data version after the write; 0 for a creation.
        session_id: the session that wrote, or the owner of an ephemeral znode, whichever is known.
    """
    fields = EventFields(path=path, zxid=zxid, zk_version=version)
    if (text := data_text(data)) is not None:
        fields["data"] = text
    if session_id is not None:
        fields["session_id"] = hexadecimal(session_id)
    if is_ephemeral:
        fields["ephemeral"] = True
    return fields


def znode_deleted(path: str, zxid: int | None, *, session_id: SessionId | None = None) -> EventFields:
    """Return the columns of ZnodeDeleted; `session_id`: the session that deleted the znode, or whose end did."""
    fields = EventFields(path=path)
    if zxid is not None:
        fields["zxid"] = zxid
    if session_id is not None:
        fields["session_id"] = hexadecimal(session_id)
    return fields


def session_created(session_id: SessionId, timeout_ms: int, zxid: int | None = None) -> EventFields:
    """Return the columns of SessionCreated."""
    fields = EventFields(session_id=hexadecimal(session_id), duration_ms=timeout_ms)
    if zxid is not None:
        fields["zxid"] = zxid
    return fields


def session_closed(session_id: SessionId, *, is_expired: bool, zxid: int | None = None) -> EventFields:
    """Return the columns of SessionClosed."""
    fields = EventFields(session_id=hexadecimal(session_id))
    if zxid is not None:
        fields["zxid"] = zxid
    if is_expired:
        fields["error"] = EXPIRED
    return fields


def fence_of(transaction: Transaction, chroot: str) -> ZkVersion | None:
    """Return the version at which a transaction of several operations checked /controller_epoch; None if it did not."""
    fence = f"{chroot}{paths.CONTROLLER_EPOCH}"
    checks = (op.version for op in transaction.ops if isinstance(op, CheckVersionTxn) and op.path == fence)
    return next(checks, None)


def path_of_kafka(path: str, chroot: str) -> str | None:
    """Return a path relative to Kafka's chroot (empty for the root); None for a path that is not Kafka's."""
    if not path.startswith(f"{chroot}/"):
        return None
    below = path.removeprefix(chroot)
    return None if below == "/" or below == OWN or below.startswith(f"{OWN}/") else below
