"""Imports the operations of some paths as the events that one process makes of the whole log: kinds, columns, causes.

Pure. ZooKeeperTrace determines what an operation means. This module contains only what differs where one importer does not
see the whole log: the numbers of events, and what happened at other paths.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from msgspec import structs

from kcsim.eventlog.events import ZNODE_CHANGES, Event, EventKind
from kcsim.scenarios.analysis.importing.zookeeper.import_context import AsOf, ImportContext
from kcsim.scenarios.analysis.importing.zookeeper.operation import AdminActEmission, Op, Operation
from kcsim.vocabulary import SessionId, ZkVersion, Zxid
from kcsim.zk.capture.cause_inference import CauseInference
from kcsim.zk.capture.zookeeper_trace import ZooKeeperTrace
from kcsim.zk.files.past_tree import PastChange, PastChangeKind, PastTree, PastZnode
from kcsim.zk.files.transactions import (
    CheckVersionTxn,
    CloseSessionTxn,
    CreateSessionTxn,
    CreateTxn,
    DeleteTxn,
    SetDataTxn,
    Transaction,
    Txn,
)
from kcsim.znodes import paths

OF_THE_WHOLE = (EventKind.SESSION_CREATED, EventKind.SESSION_CLOSED, EventKind.ADMIN_ACT)
"""Events of a whole transaction. There is at most one of them, and it comes first."""
WHAT_WAS_DONE = {
    Op.CREATE: PastChangeKind.CREATED,
    Op.SET: PastChangeKind.CHANGED,
    Op.DELETE: PastChangeKind.DELETED,
}


class PathImporter(ZooKeeperTrace):
    """Imports the operations of one key, in order of zxid and place; skips operations that come again.

    Args:
        keep: called with each event.
        context: the run's; for the cluster's own operations, what has been imported so far.
    """

    def __init__(self, keep: Callable[[Event], None], context: ImportContext) -> None:
        self._context = context
        self._keep = keep
        self._as_of = AsOf(context)
        self._grown = PastTree()
        super().__init__(self._numbered, context.names, self._grown)
        self._began, self._began_ms = 0, context.began_ms
        self._sessions = context.opened
        self._causes = CauseInference(self._as_of)
        self._at: Operation | None = None
        self._last = (0, 0)
        self._change_is_emitted = False
        self._emitted = 0  # events of this operation, before its change or after

    def begin_run(self, sessions: Mapping[SessionId, int], detail: str) -> None:
        """Emit the beginning of the run, and the sessions that lived then, with their time-outs in ms."""
        self._grown.sessions.update(sessions)
        self.begin(self._context.began_ms, detail)

    def end_run(self) -> None:
        """Emit the end of the run."""
        self._at = None
        self._t_ms = self._context.clock.latest_ms - self._began_ms
        self.end()

    def take_operation(self, operation: Operation) -> None:
        """Emit the events of one operation."""
        self._at, self._emitted, self._change_is_emitted = operation, 0, False
        place = (operation.zxid, operation.place)
        if operation.op == Op.PRESENT:
            assert operation.path is not None
            self._grown.znodes[operation.path] = znode = _znode(operation)
            self._emit_existing_znode(operation.path, znode)
        elif place > self._last:
            self._last = place
            self._as_of.now = self._context.numbering.seq(*place)
            self._t_ms = 0  # the clock ensures that time never goes back
            self._take_next(operation)

    def _take_next(self, operation: Operation) -> None:
        transaction = self._transaction(operation)
        match operation.op:
            case Op.OPEN | Op.CLOSE:
                self.take_changes(transaction, ())
            case Op.END:
                if operation.number or self._is_owned(operation):
                    # Not as the end of the session: that would delete its other znodes, too, whose operations come later.
                    alone = replace(transaction, ops=(DeleteTxn(operation.path or ""),))
                    self.take_changes(transaction, self._grown.apply(alone))
            case _:
                changes = self._grown.apply(transaction)
                self.take_changes(transaction, changes)
                if (
                    not changes
                    and operation.act == AdminActEmission.ALWAYS
                    and self._names.broker(transaction.session_id) is None
                ):
                    # Its first operation changed nothing, but others of its operations may still follow from it.
                    self._emit_admin_act(WHAT_WAS_DONE[Op(operation.op)], operation.path or "", transaction.session_id)

    def cause_of_act(self, transaction: Transaction, change: PastChange, path: str) -> int:
        """Return the seq of the AdminAct, which the importer of the transaction's first operation emits."""
        assert self._at is not None
        if self._at.act:
            return super().cause_of_act(transaction, change, path)
        return self._context.numbering.seq(transaction.zxid, 0)

    def _close(self, transaction: Transaction) -> int:
        assert self._at is not None
        if self._at.op == Op.END:
            return self._context.numbering.seq(transaction.zxid, 0)
        opened = self._sessions.get(transaction.session_id)
        seq = super()._close(transaction)
        if opened is not None:
            self._sessions[transaction.session_id] = opened  # the importers of other paths need it
        return seq

    def _is_owned(self, operation: Operation) -> bool:
        znode = self._grown.znodes.get(operation.path or "")
        return znode is not None and znode.ephemeral_owner == operation.session_id

    def _transaction(self, operation: Operation) -> Transaction:
        op = _txn(operation)
        fenced = operation.fence is not None
        ops = (CheckVersionTxn(paths.CONTROLLER_EPOCH, ZkVersion(operation.fence or 0)), op) if fenced else (op,)
        time_ms = self._context.clock.time_ms(operation.zxid, operation.time_ms)
        session = SessionId(operation.session_id)
        return Transaction(Zxid(operation.zxid), session, operation.cxid, time_ms, ops, fenced)

    # --- numbers

    def _numbered(self, event: Event) -> int:
        seq = self._seq(event)
        self._keep(structs.replace(event, seq=seq))
        return seq

    def _seq(self, event: Event) -> int:
        at = self._at
        self._emitted += 1
        if at is None:
            return self._context.numbering.end if event.kind is EventKind.RUN_ENDED else self._emitted - 1
        if at.op == Op.PRESENT:
            return at.place + self._emitted - 1
        if event.kind in OF_THE_WHOLE:
            self._emitted -= 1
            return self._context.numbering.seq(at.zxid, 0)
        if event.kind in ZNODE_CHANGES:
            self._change_is_emitted, self._emitted = True, 0
        elif not self._change_is_emitted:
            return self._context.numbering.seq(at.zxid, at.place + self._emitted - 1)
        return self._context.numbering.seq(at.zxid, at.place + at.room + self._emitted)


def _znode(operation: Operation) -> PastZnode:
    return PastZnode(
        operation.data,
        Zxid(operation.czxid),
        Zxid(operation.mzxid),
        0,
        0,
        version=ZkVersion(operation.number),
        ephemeral_owner=SessionId(operation.session_id),
    )


def _txn(operation: Operation) -> Txn:
    path = operation.path or ""
    match operation.op:
        case Op.OPEN:
            return CreateSessionTxn(operation.number)
        case Op.CREATE:
            return CreateTxn(path, operation.data, operation.is_ephemeral, 0)
        case Op.SET:
            return SetDataTxn(path, operation.data, ZkVersion(operation.number))
        case Op.DELETE:
            return DeleteTxn(path)
        case _:
            return CloseSessionTxn(None)
