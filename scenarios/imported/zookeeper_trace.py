"""Makes an event log of ours out of a ZooKeeper's files: what was written is taken over, what it meant is added.

The changes of znodes and sessions are as a run's own log has them, and every state that is folded from a log comes out the
same. In place of the request that a fenced write follows from, the write itself carries the version of /controller_epoch
with which it was checked. Elections, registrations, changes of leaders and ISRs, reassignments and deletions are told
besides, as far as the znodes show them; each event has a likely cause (likely_causes.py). Writes of sessions that are no
broker's are told as the acts of an administrator.

Left out, because no znode shows it: elections that were lost, requests between brokers, why a controller decided so.
"""

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Protocol, Unpack

from msgspec import structs

from kcsim.scenarios.deeds import SCENARIO
from kcsim.scenarios.imported.likely_causes import LikelyCauses
from kcsim.scenarios.imported.moment import time_text
from kcsim.scenarios.imported.partition_story import Deed, assignment_deeds, state_deed
from kcsim.scenarios.state import ClusterState
from kcsim.zk import paths
from kcsim.zk.events import EVENT_SCHEMA_VERSION, Event, EventFields, EventKind, data_text, hexadecimal
from kcsim.zk.files.past_tree import NOBODY, PastChange, PastChangeKind, PastTree, PastZnode
from kcsim.zk.files.transactions import CheckVersionTxn, CloseSessionTxn, CreateSessionTxn, Transaction
from kcsim.zk.paths import KnownPath, PathKind
from kcsim.zk.vocabulary import SessionId, ZkVersion

ZOOKEEPER = "zookeeper"
IMPORTED = "imported-history"
OWN = "/zookeeper"
"""ZooKeeper's own znodes, which are no business of a cluster."""

PATHS_REMEMBERED = 100_000
"""How many of the paths that come again and again are not taken apart again."""
UNNUMBERED = -1
parsed = lru_cache(PATHS_REMEMBERED)(paths.parse)
KINDS = {
    PastChangeKind.CREATED: EventKind.ZNODE_CREATED,
    PastChangeKind.CHANGED: EventKind.ZNODE_CHANGED,
    PastChangeKind.DELETED: EventKind.ZNODE_DELETED,
}


def path_of_kafka(path: str, chroot: str) -> str | None:
    """A path as Kafka knows it, below its chroot (empty for the root); None for what is no business of its."""
    if not path.startswith(f"{chroot}/"):
        return None
    below = path.removeprefix(chroot)
    return None if below == "/" or below == OWN or below.startswith(f"{OWN}/") else below


class Names(Protocol):
    """Knows whose the sessions are."""

    def broker(self, session_id: SessionId) -> str | None:
        """broker-N; None for anybody else's."""
        ...


class ZooKeeperTrace:
    """Takes transactions in, gives events out.

    Args:
        put: called with each event; gives it a seq and returns that.
        names: whose the sessions are; they are asked for from a session's first write on.
        tree: as it was before the first transaction; it is brought forward.
        chroot: where Kafka's znodes are; empty for the root. What is outside is not told.
    """

    def __init__(self, put: Callable[[Event], int], names: Names, tree: PastTree, chroot: str = "") -> None:
        self._put = put
        self._names = names
        self._tree = tree
        self._chroot = chroot
        self._state = ClusterState()
        self._causes = LikelyCauses()
        self._began_ms = 0
        self._t_ms = 0
        self._fence: ZkVersion | None = None  # with which the transaction at hand checked /controller_epoch
        self._began = 0
        self._sessions: dict[SessionId, int] = {}  # seq of its creation
        self._candidate: int | None = None  # who has created /controller, until the epoch is raised

    # --- beginning and end

    def begin(self, first_ms: int, detail: str) -> None:
        """Tell what the run is, and what was there before its first transaction, which was at this time (ms since 1970)."""
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
                self._tell_present(below, self._tree.znodes[path])

    def join(self, began: int) -> None:
        """What is to be told belongs to a run whose log has begun with this event."""
        self._began = began

    def opened(self, session_id: SessionId) -> int | None:
        """seq of the beginning of a session that lives."""
        return self._sessions.get(session_id)

    def end(self) -> None:
        self._emit(SCENARIO, EventKind.RUN_ENDED, self._began)

    # --- transactions

    def take(self, transaction: Transaction) -> None:
        """Tell of one transaction; the next in order."""
        self.take_changes(transaction, self._tree.apply(transaction))

    def take_changes(self, transaction: Transaction, changes: Sequence[PastChange]) -> None:
        """The same, where what it has changed in the tree is known already."""
        self._t_ms = max(self._t_ms, transaction.time_ms - self._began_ms)
        if transaction.is_refused or not transaction.ops:
            return
        self._fence = self._fence_of(transaction) if transaction.is_multi else None
        op, session_id = transaction.ops[0], transaction.session_id
        if isinstance(op, CreateSessionTxn):
            self._open(session_id, op.timeout_ms, transaction.zxid)
            return
        cause = self._close(transaction) if isinstance(op, CloseSessionTxn) else self._act(transaction, changes)
        for change in changes:
            if (path := self._below_chroot(change.path)) is not None:
                self._tell(path, change, transaction, cause)

    def _fence_of(self, transaction: Transaction) -> ZkVersion | None:
        fence = f"{self._chroot}{paths.CONTROLLER_EPOCH}"
        checks = (op.version for op in transaction.ops if isinstance(op, CheckVersionTxn) and op.path == fence)
        return next(checks, None)

    def _open(self, session_id: SessionId, timeout_ms: int, zxid: int | None) -> None:
        fields = EventFields(session_id=hexadecimal(session_id), duration_ms=timeout_ms)
        if zxid is not None:
            fields["zxid"] = zxid
        self._sessions[session_id] = self._emit(ZOOKEEPER, EventKind.SESSION_CREATED, self._began, **fields)

    def _close(self, transaction: Transaction) -> int:
        fields = EventFields(session_id=hexadecimal(transaction.session_id), zxid=transaction.zxid)
        if self.is_expiry(transaction):
            fields["error"] = "SESSIONEXPIRED"
        opened = self._sessions.pop(transaction.session_id, self._began)
        return self._emit(ZOOKEEPER, EventKind.SESSION_CLOSED, self.cause_of_close(transaction, opened), **fields)

    def is_expiry(self, transaction: Transaction) -> bool:
        """Whether a session ended because its time had run out: then nobody asked for it."""
        return not transaction.cxid

    def cause_of_close(self, transaction: Transaction, opened: int) -> int:
        """What the end of a session follows from, as far as anybody knows: its beginning."""
        return opened

    def _act(self, transaction: Transaction, changes: Sequence[PastChange]) -> int | None:
        """Tell of an administrator's act; None if it is a broker's transaction, or about nothing of Kafka's."""
        if self._names.broker(transaction.session_id) is not None:
            return None
        for change in changes:
            if (path := self._below_chroot(change.path)) is not None:
                return self.cause_of_act(transaction, change, path)
        return None

    def cause_of_act(self, transaction: Transaction, change: PastChange, path: str) -> int:
        """What a write of somebody who is no broker follows from: an act of an administrator, which is told now."""
        return self._emit(
            SCENARIO,
            EventKind.ADMIN_ACT,
            None,
            op=change.kind.value,
            path=path,
            session_id=hexadecimal(transaction.session_id),
        )

    # --- znodes

    def _tell(self, path: str, change: PastChange, transaction: Transaction, given: int | None) -> None:
        """Tell of a change, of what decided it, and of what it shows. `given` is its cause, where that is known."""
        is_deleted = change.kind is PastChangeKind.DELETED
        event = self._event(path, change, transaction)
        holder = self._state.controller_id
        deeds, reading = self._apply(path, event)
        opened = self._sessions.get(transaction.session_id, self._began)
        cause = given
        if cause is None:
            cause = self._causes.of_write(path, is_deleted, opened) if reading is None else reading(opened)
        by = self._names.broker(transaction.session_id) or SCENARIO
        for deed in deeds:
            if deed.is_decision:
                cause = self._emit(by, deed.kind, cause, **deed.fields)
        seq = self._put(structs.replace(event, cause=cause))
        self._causes.path_changed(path, seq, is_deleted)
        for deed in deeds:
            if not deed.is_decision:
                self._emit(by, deed.kind, seq, **deed.fields)
        self._tell_roles(path, event, seq, by, holder, is_own_deed=not isinstance(transaction.ops[0], CloseSessionTxn))

    def _event(self, path: str, change: PastChange, transaction: Transaction) -> Event:
        fields = EventFields(path=path, zxid=transaction.zxid, session_id=hexadecimal(transaction.session_id))
        if self._fence is not None:
            fields["controller_epoch_zk_version"] = self._fence
        if change.kind is not PastChangeKind.DELETED:
            fields["zk_version"] = change.version
            if (text := data_text(change.data)) is not None:
                fields["data"] = text
            if change.owner != NOBODY:
                fields["ephemeral"] = True
        return Event(seq=UNNUMBERED, t_ms=self._t_ms, node=ZOOKEEPER, kind=KINDS[change.kind], **fields)

    def _apply(self, path: str, event: Event) -> tuple[list[Deed], Callable[[int], int] | None]:
        """Fold a change in. Returns: what it stands for, and, of a partition's state, how its cause is found."""
        known, topics = parsed(path), self._state.of_topics
        tp = known.topic_partition if known is not None and known.kind is PathKind.TOPIC_PARTITION_STATE else None
        topic = known.topic if known is not None and known.kind is PathKind.TOPIC else None
        before, old = topics.states.get(tp) if tp else None, topics.topics.get(topic) if topic else None
        self._state.apply(event)
        after, new = topics.states.get(tp) if tp else None, topics.topics.get(topic) if topic else None
        if tp is not None and after is not None:
            deed = state_deed(tp, before, after)
            return [deed] if deed else [], lambda default: self._causes.of_state(tp, before, after, default)
        if topic is not None and old is not None and new is not None:
            return list(assignment_deeds(topic, old.assignments, new.assignments)), None
        return [], None

    def _tell_roles(self, path: str, event: Event, seq: int, by: str, holder: int | None, is_own_deed: bool) -> None:
        """Tell what a change means for registrations and for the role of controller."""
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
                if is_own_deed and by == f"broker-{holder}":
                    fields = EventFields(controller_id=holder or 0, controller_epoch=state.controller_epoch or 0)
                    self._emit(by, EventKind.CONTROLLER_RESIGNED, seq, **fields)
            case KnownPath(PathKind.TOPIC, topic=str(topic)) if event.kind is EventKind.ZNODE_DELETED and by != SCENARIO:
                detail = f"deletion of topic {topic} completed"
                self._emit(by, EventKind.TOPIC_DELETION, seq, topic=topic, step="completed", detail=detail)
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

    def _tell_present(self, path: str, znode: PastZnode) -> None:
        """Tell of a znode that was there before the first transaction: created as it was, and set if it has been since."""
        session = hexadecimal(znode.ephemeral_owner) if znode.ephemeral_owner != NOBODY else None
        created = EventFields(path=path, zxid=znode.czxid, zk_version=0)
        if session is not None:
            created["session_id"], created["ephemeral"] = session, True
        events = [(EventKind.ZNODE_CREATED, created)]
        text = data_text(znode.data)
        if znode.version:
            # What was in it at first is not known.
            events.append((EventKind.ZNODE_CHANGED, EventFields(path=path, zxid=znode.mzxid, zk_version=znode.version)))
        if text is not None:
            events[-1][1]["data"] = text
        for kind, fields in events:
            event = Event(seq=UNNUMBERED, t_ms=0, node=ZOOKEEPER, kind=kind, cause=self._began, **fields)
            self._state.apply(event)
            self._causes.path_changed(path, self._put(event), is_deleted=False)

    # --- writing

    def _below_chroot(self, path: str) -> str | None:
        """The path as Kafka knows it; None for what is no business of its."""
        return path_of_kafka(path, self._chroot)

    def _emit(self, node: str, kind: EventKind, cause: int | None, **fields: Unpack[EventFields]) -> int:
        return self._put(Event(seq=UNNUMBERED, t_ms=self._t_ms, node=node, kind=kind, cause=cause, **fields))
