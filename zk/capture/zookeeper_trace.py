"""Makes an event log from a ZooKeeper's transactions: the changes of znodes and sessions, and the Kafka events they imply.

The changes of znodes and sessions are the same as in the event log of a run, and every state that is folded from an event
log comes out the same. There is no request that a fenced write follows from; instead, the write itself has the version of
/controller_epoch with which it was checked. Elections, registrations, changes of leaders and ISRs, reassignments and
deletions are added, as far as the znodes show them; each event has a likely cause (cause_inference.py). Writes of sessions
that do not belong to a broker become admin actions.

Left out, because no znode shows it: elections that were lost, requests between brokers, the reasons of a controller's
decisions.
"""

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Protocol, Unpack

from msgspec import structs

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import EVENT_SCHEMA_VERSION, Event, EventFields, EventKind, hexadecimal
from kcsim.eventlog.run_actions import SCENARIO
from kcsim.eventlog.step_names import TopicDeletionStep
from kcsim.vocabulary import NO_LEADER, SessionId, ZkVersion
from kcsim.zk.capture.cause_inference import CauseInference
from kcsim.zk.capture.partition_event_inference import InferredEvent, infer_reassignment_events, infer_state_event
from kcsim.zk.capture.transaction_events import (
    KINDS,
    ZOOKEEPER,
    fence_of,
    path_of_kafka,
    session_closed,
    session_created,
    znode_deleted,
    znode_written,
)
from kcsim.zk.capture.zxid_or_time import time_text
from kcsim.zk.files.past_tree import NO_OWNER, PastChange, PastChangeKind, PastTree, PastZnode
from kcsim.zk.files.transactions import CloseSessionTxn, CreateSessionTxn, Transaction
from kcsim.znodes import paths
from kcsim.znodes.paths import KnownPath, PathKind

IMPORTED = "imported-history"
PATHS_REMEMBERED = 100_000
"""Size of the cache of parsed paths."""
UNNUMBERED = -1
parsed = lru_cache(PATHS_REMEMBERED)(paths.parse)


class SessionOwnerLookup(Protocol):
    """A lookup of the brokers that sessions belong to."""

    def broker(self, session_id: SessionId) -> str | None:
        """Return broker-N, the owner of a session; None if the session does not belong to a broker."""
        ...


class ZooKeeperTrace:
    """Turns transactions into events.

    Args:
        put: called with each event; gives the event a seq and returns that seq.
        names: the owners of the sessions; used from a session's first write on.
        tree: the tree before the first transaction; the transactions are applied to it.
        chroot: the path below which Kafka's znodes are; empty for the root. Other znodes are ignored.
    """

    def __init__(self, put: Callable[[Event], int], names: SessionOwnerLookup, tree: PastTree, chroot: str = "") -> None:
        self._put = put
        self._names = names
        self._tree = tree
        self._chroot = chroot
        self._state = ClusterState()
        self._causes = CauseInference()
        self._began_ms = 0
        self._t_ms = 0
        self._fence: ZkVersion | None = None  # version of /controller_epoch that the present transaction checked
        self._began = 0
        self._sessions: dict[SessionId, int] = {}  # live session -> seq of its creation
        self._candidate: int | None = None  # the broker that has created /controller, until the epoch is raised

    # --- beginning and end

    def begin(self, first_ms: int, detail: str) -> None:
        """Emit RunStarted, and the sessions and znodes that existed before the first transaction.

        Args:
            first_ms: time of the first transaction, in ms since 1970.
            detail: the origin of the transactions, in words.
        """
        self._began_ms = first_ms
        self._began = self._emit(
            SCENARIO,
            EventKind.RUN_STARTED,
            None,
            scenario=IMPORTED,
            schema_version=EVENT_SCHEMA_VERSION,
            detail=f"{detail}; it begins at {time_text(first_ms)}",
            data=json.dumps({"epoch_ms": first_ms}),
        )
        for session_id, timeout_ms in sorted(self._tree.sessions.items()):
            self._open(session_id, timeout_ms, None)
        for path in sorted(self._tree.znodes):
            if (below := self._below_chroot(path)) is not None:
                self._emit_existing_znode(below, self._tree.znodes[path])

    def join(self, began: int) -> None:
        """Continue an event log that has begun already, with the event `began`."""
        self._began = began

    def opened(self, session_id: SessionId) -> int | None:
        """Return the seq of a live session's creation; None if the session is not known."""
        return self._sessions.get(session_id)

    def end(self) -> None:
        self._emit(SCENARIO, EventKind.RUN_ENDED, self._began)

    # --- transactions

    def take(self, transaction: Transaction) -> None:
        """Emit the events of the next transaction and apply it to the tree."""
        self.take_changes(transaction, self._tree.apply(transaction))

    def take_changes(self, transaction: Transaction, changes: Sequence[PastChange]) -> None:
        """Emit the events of the next transaction, which was applied to the tree already and made these changes."""
        self._t_ms = max(self._t_ms, transaction.time_ms - self._began_ms)
        if transaction.is_refused or not transaction.ops:
            return
        self._fence = fence_of(transaction, self._chroot) if transaction.is_multi else None
        op, session_id = transaction.ops[0], transaction.session_id
        if isinstance(op, CreateSessionTxn):
            self._open(session_id, op.timeout_ms, transaction.zxid)
            return
        cause = self._close(transaction) if isinstance(op, CloseSessionTxn) else self._act(transaction, changes)
        for change in changes:
            if (path := self._below_chroot(change.path)) is not None:
                self._emit_change(path, change, transaction, cause)

    def _open(self, session_id: SessionId, timeout_ms: int, zxid: int | None) -> None:
        fields = session_created(session_id, timeout_ms, zxid)
        self._sessions[session_id] = self._emit(ZOOKEEPER, EventKind.SESSION_CREATED, self._began, **fields)

    def _close(self, transaction: Transaction) -> int:
        session_id = transaction.session_id
        fields = self.fields_of_close(transaction)
        opened = self._sessions.pop(session_id, self._began)
        return self._emit(ZOOKEEPER, EventKind.SESSION_CLOSED, self.cause_of_close(transaction, opened), **fields)

    def fields_of_close(self, transaction: Transaction) -> EventFields:
        """Return the columns of a session's end."""
        is_expired = self.is_expiry(transaction)
        return session_closed(transaction.session_id, is_expired=is_expired, zxid=transaction.zxid)

    def is_expiry(self, transaction: Transaction) -> bool:
        """Return whether a session ended because it expired: then no client requested the transaction."""
        return not transaction.cxid

    def cause_of_close(self, transaction: Transaction, opened: int) -> int:
        """Return the cause of a session's end: its creation, because nothing nearer is known."""
        return opened

    def _act(self, transaction: Transaction, changes: Sequence[PastChange]) -> int | None:
        """Emit an admin action for a transaction; None if it is a broker's, or changes none of Kafka's znodes."""
        if self._names.broker(transaction.session_id) is not None:
            return None
        for change in changes:
            if (path := self._below_chroot(change.path)) is not None:
                return self.cause_of_act(transaction, change, path)
        return None

    def cause_of_act(self, transaction: Transaction, change: PastChange, path: str) -> int:
        """Emit the admin action that a write of a session without a broker follows from, and return its seq."""
        return self._emit_admin_act(change.kind, path, transaction.session_id)

    def _emit_admin_act(self, kind: PastChangeKind, path: str, session_id: SessionId) -> int:
        fields = EventFields(op=kind.value, path=path, session_id=hexadecimal(session_id))
        return self._emit(SCENARIO, EventKind.ADMIN_ACT, None, **fields)

    def writer_of(self, transaction: Transaction, change: PastChange) -> str:
        """Return the node that changed a znode: broker-N, or SCENARIO if the session does not belong to a broker."""
        return self._names.broker(transaction.session_id) or SCENARIO

    # --- znodes

    def _emit_change(self, path: str, change: PastChange, transaction: Transaction, given: int | None) -> None:
        """Emit a change of a znode, the decision before it and the events that follow from it.

        Args:
            given: the cause of the change, where it is known; otherwise the cause is inferred.
        """
        is_deleted = change.kind is PastChangeKind.DELETED
        event = self._event(path, change, transaction)
        holder = self._state.controller_id
        inferred_events, reading = self._apply(path, event)
        opened = self._sessions.get(transaction.session_id, self._began)
        cause = given
        if cause is None:
            cause = self._causes.of_write(path, is_deleted, opened) if reading is None else reading(opened)
        by = self.writer_of(transaction, change)
        for inferred in inferred_events:
            if inferred.is_decision:
                cause = self._emit(by, inferred.kind, cause, **inferred.fields)
        seq = self._put(structs.replace(event, cause=cause))
        self._causes.path_changed(path, seq, is_deleted)
        for inferred in inferred_events:
            if not inferred.is_decision:
                self._emit(_changed_by(inferred, by), inferred.kind, seq, **inferred.fields)
        self._emit_role_events(
            path, event, seq, by, holder, is_own_action=not isinstance(transaction.ops[0], CloseSessionTxn)
        )

    def _event(self, path: str, change: PastChange, transaction: Transaction) -> Event:
        zxid = transaction.zxid
        session_id = None if transaction.session_id == NO_OWNER else transaction.session_id
        if change.kind is PastChangeKind.DELETED:
            fields = znode_deleted(path, zxid, session_id=session_id)
        else:
            is_ephemeral = change.owner != NO_OWNER
            fields = znode_written(path, change.data, change.version, zxid, session_id=session_id, is_ephemeral=is_ephemeral)
        if self._fence is not None:
            fields["controller_epoch_zk_version"] = self._fence
        return Event(seq=UNNUMBERED, t_ms=self._t_ms, node=ZOOKEEPER, kind=KINDS[change.kind], **fields)

    def _apply(self, path: str, event: Event) -> tuple[list[InferredEvent], Callable[[int], int] | None]:
        """Apply a change to the cluster state.

        Returns: the events that the change implies; and, for a partition's state, the function that infers its cause from a
            default.
        """
        known, topics = parsed(path), self._state.of_topics
        tp = known.topic_partition if known is not None and known.kind is PathKind.TOPIC_PARTITION_STATE else None
        topic = known.topic if known is not None and known.kind is PathKind.TOPIC else None
        before, old = topics.states.get(tp) if tp else None, topics.topics.get(topic) if topic else None
        self._state.apply(event)
        after, new = topics.states.get(tp) if tp else None, topics.topics.get(topic) if topic else None
        if tp is not None and after is not None:
            inferred = infer_state_event(tp, before, after)
            return [inferred] if inferred else [], lambda default: self._causes.of_state(tp, before, after, default)
        if topic is not None and old is not None and new is not None:
            return list(infer_reassignment_events(topic, old.assignments, new.assignments)), None
        return [], None

    def _emit_role_events(self, path: str, event: Event, seq: int, by: str, holder: int | None, is_own_action: bool) -> None:
        """Emit what a change means for registrations, for the controller's role and for the deletion of topics."""
        state = self._state
        match parsed(path):
            case KnownPath(PathKind.BROKER_ID, broker_id=int(broker)) if (
                event.data and event.kind is not EventKind.ZNODE_DELETED
            ):
                epoch = state.znodes[path].czxid
                self._emit(f"broker-{broker}", EventKind.BROKER_REGISTERED, seq, broker_id=broker, broker_epoch=epoch)
            case KnownPath(PathKind.CONTROLLER) if event.kind is EventKind.ZNODE_CREATED:
                self._candidate = state.controller_id
            case KnownPath(PathKind.CONTROLLER) if event.kind is EventKind.ZNODE_DELETED:
                self._candidate = None
                if is_own_action and by == f"broker-{holder}":
                    fields = EventFields(controller_id=holder or 0, controller_epoch=state.controller_epoch or 0)
                    self._emit(by, EventKind.CONTROLLER_RESIGNED, seq, **fields)
            case KnownPath(PathKind.TOPIC, topic=str(topic)) if event.kind is EventKind.ZNODE_DELETED and by != SCENARIO:
                detail = f"deletion of topic {topic} completed"
                self._emit(
                    by, EventKind.TOPIC_DELETION, seq, topic=topic, step=TopicDeletionStep.COMPLETED.value, detail=detail
                )
            case KnownPath(PathKind.CONTROLLER_EPOCH) if self._candidate is not None and state.controller_epoch is not None:
                self._causes.elected = self._emit(
                    f"broker-{self._candidate}",
                    EventKind.ELECTION_WON,
                    seq,
                    controller_id=self._candidate,
                    controller_epoch=state.controller_epoch,
                    controller_epoch_zk_version=event.zk_version or 0,
                )
                self._candidate = None
            case _:
                pass

    def _emit_existing_znode(self, path: str, znode: PastZnode) -> None:
        """Emit the creation of a znode that existed before the first transaction, and a change if it was set since."""
        owner = znode.ephemeral_owner if znode.ephemeral_owner != NO_OWNER else None
        # The data with which the znode was created are not known if it was set since.
        first_data = None if znode.version else znode.data
        created = znode_written(path, first_data, 0, znode.czxid, session_id=owner, is_ephemeral=owner is not None)
        events = [(EventKind.ZNODE_CREATED, created)]
        if znode.version:
            events.append((EventKind.ZNODE_CHANGED, znode_written(path, znode.data, znode.version, znode.mzxid)))
        for kind, fields in events:
            event = Event(seq=UNNUMBERED, t_ms=0, node=ZOOKEEPER, kind=kind, cause=self._began, **fields)
            self._state.apply(event)
            self._causes.path_changed(path, self._put(event), is_deleted=False)

    # --- writing

    def _below_chroot(self, path: str) -> str | None:
        """Return a path relative to Kafka's chroot; None for a path that is not Kafka's."""
        return path_of_kafka(path, self._chroot)

    def _emit(self, node: str, kind: EventKind, cause: int | None, **fields: Unpack[EventFields]) -> int:
        return self._put(Event(seq=UNNUMBERED, t_ms=self._t_ms, node=node, kind=kind, cause=cause, **fields))


def _changed_by(isr_change: InferredEvent, writer: str) -> str:
    """Return who changed an ISR: the leader, also where the controller writes it for the leader (Kafka 2.7 and newer)."""
    leader = isr_change.fields.get("leader", NO_LEADER)
    return writer if writer == SCENARIO or leader == NO_LEADER else f"broker-{leader}"
