"""Makes an event log of what a ZnodeObserver sees, as ZooKeeperTrace makes one of transactions whose writers are known.

A watch does not tell who wrote. So a write is taken for the controller's if only a controller makes such a write, or if it
was requested (a reassignment, the deletion of a topic); all others are admin actions of somebody unknown.
"""

from collections.abc import Callable, Sequence

from kcsim.eventlog.events import Event, EventFields, EventKind
from kcsim.eventlog.run_actions import SCENARIO
from kcsim.zk.capture.session_owners import SessionOwners
from kcsim.zk.capture.transaction_events import session_closed
from kcsim.zk.capture.zookeeper_trace import ZooKeeperTrace, parsed
from kcsim.zk.files.past_tree import NO_OWNER, PastChange, PastChangeKind, PastTree
from kcsim.zk.files.transactions import Transaction
from kcsim.znodes import paths
from kcsim.znodes.paths import KnownPath, PathKind

BROKERS_ONLY = frozenset(
    {
        PathKind.CONTROLLER_EPOCH,
        PathKind.TOPIC_PARTITIONS,
        PathKind.TOPIC_PARTITION,
        PathKind.TOPIC_PARTITION_STATE,
        PathKind.ISR_CHANGE,
        PathKind.LOG_DIR_EVENT,
        PathKind.FEATURE,
        PathKind.LATEST_PRODUCER_ID_BLOCK,
    }
)
"""Kinds of znode that only brokers write: the controller, or a broker for its own partitions and directories."""
STARTING_BROKERS_CREATE = frozenset(
    {*(part for path in (*paths.TOP_LEVEL_PATHS, paths.CLUSTER_ID, paths.FEATURE) for part in paths.lineage(path))}
)
REQUESTS = frozenset({PathKind.DELETE_TOPIC, PathKind.REASSIGN_PARTITIONS, PathKind.PREFERRED_REPLICA_ELECTION})
"""Kinds of znode that a tool or a broker creates on request, and the controller deletes."""
TOPIC_ID = b'"topic_id"'
END_UNKNOWN = "closed, or expired: its znodes do not show which"
WRITER_UNKNOWN = "no znode shows by whom"


class ObservedTrace(ZooKeeperTrace):
    """Turns a ZnodeObserver's transactions into events.

    Args:
        put: called with each event; gives the event a seq and returns that seq.
        tree: as the observer has read it first.
    """

    def __init__(self, put: Callable[[Event], int], tree: PastTree) -> None:
        self._owners = SessionOwners()
        self._owners.learn_tree(tree)
        super().__init__(put, self._owners, tree)

    def take_changes(self, transaction: Transaction, changes: Sequence[PastChange]) -> None:
        self._owners.learn(transaction)
        super().take_changes(transaction, changes)

    def fields_of_close(self, transaction: Transaction) -> EventFields:
        fields = session_closed(transaction.session_id, is_expired=False, zxid=transaction.zxid)
        return EventFields(**fields, detail=f"of {self._owners[transaction.session_id]}; {END_UNKNOWN}")

    def writer_of(self, transaction: Transaction, change: PastChange) -> str:
        if transaction.session_id != NO_OWNER:
            return super().writer_of(transaction, change)
        controller = self._state.controller_id
        return f"broker-{controller}" if controller is not None and self._is_by_brokers(change) else SCENARIO

    def _act(self, transaction: Transaction, changes: Sequence[PastChange]) -> int | None:
        if transaction.session_id != NO_OWNER:
            return super()._act(transaction, changes)
        for change in changes:
            if not self._is_by_brokers(change):
                fields = EventFields(op=change.kind.value, path=change.path, detail=WRITER_UNKNOWN)
                return self._emit(SCENARIO, EventKind.ADMIN_ACT, None, **fields)
        return None

    def _is_by_brokers(self, change: PastChange) -> bool:
        """Return whether brokers make such a change by themselves, or on a request that is known."""
        known = parsed(change.path)
        is_deletion = change.kind is PastChangeKind.DELETED
        match known:
            case None:
                return False
            case KnownPath(PathKind.TOPIC, topic=str(topic)):
                return self._is_requested(topic, is_deletion) or _gives_id(change)
            case KnownPath(PathKind.CONFIG_ENTITY, entity_type="topics", entity=str(topic)):
                return is_deletion and self._is_requested(topic, is_deletion)
            case _:
                of_requests = is_deletion and known.kind in REQUESTS
                of_a_start = change.kind is PastChangeKind.CREATED and change.path in STARTING_BROKERS_CREATE
                return of_requests or of_a_start or known.kind in BROKERS_ONLY

    def _is_requested(self, topic: str, is_deletion: bool) -> bool:
        """Return whether the deletion of a topic, or a change of its assignment, follows from a request."""
        znodes = self._state.znodes
        if is_deletion:
            return paths.delete_topic(topic) in znodes
        of_topic = self._state.of_topics.topics.get(topic)
        assignments = of_topic.assignments.values() if of_topic is not None else ()
        return paths.REASSIGN_PARTITIONS in znodes or any(one.is_being_reassigned for one in assignments)


def _gives_id(change: PastChange) -> bool:
    """Return whether a topic's znode has its id only since this change: the controller gives ids."""
    return (
        change.kind is PastChangeKind.CHANGED and TOPIC_ID in (change.data or b"") and TOPIC_ID not in (change.before or b"")
    )
