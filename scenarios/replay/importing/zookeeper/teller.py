"""Tells the operations of some paths as the events that one process makes of the whole log: kinds, columns, causes.

Pure. What an operation is and stands for is found by ZooKeeperTrace; here is only what differs where nobody sees all of the
log: the numbers of events, and what happened elsewhere.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from msgspec import structs

from kcsim.scenarios.deeds import SCENARIO
from kcsim.scenarios.imported.likely_causes import LikelyCauses
from kcsim.scenarios.imported.zookeeper_trace import KINDS, ZooKeeperTrace
from kcsim.scenarios.replay.importing.zookeeper.cluster_past import AsOf, ClusterPast
from kcsim.scenarios.replay.importing.zookeeper.operation import Act, Op, Operation
from kcsim.zk import paths
from kcsim.zk.events import Event, EventKind, hexadecimal
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
from kcsim.zk.vocabulary import SessionId, ZkVersion, Zxid

OF_THE_WHOLE = (EventKind.SESSION_CREATED, EventKind.SESSION_CLOSED, EventKind.ADMIN_ACT)
"""Events of a transaction as such; there is one of them at most, and it comes first."""
ZNODE_CHANGES = frozenset(KINDS.values())
WHAT_WAS_DONE = {
    Op.CREATE: PastChangeKind.CREATED,
    Op.SET: PastChangeKind.CHANGED,
    Op.DELETE: PastChangeKind.DELETED,
}


class Teller(ZooKeeperTrace):
    """Takes the operations of one key in, in order of zxid and place; operations that come again are passed over.

    Args:
        keep: called with each event.
        past: the cluster's; of the cluster's own operations, what has been told so far.
    """

    def __init__(self, keep: Callable[[Event], None], past: ClusterPast) -> None:
        self._past = past
        self._keep = keep
        self._as_of = AsOf(past)
        self._grown = PastTree()
        super().__init__(self._numbered, past.names, self._grown)
        self._began, self._began_ms = 0, past.began_ms
        self._sessions = past.opened
        self._causes = LikelyCauses(self._as_of)
        self._at: Operation | None = None
        self._last = (0, 0)
        self._change_is_told = False
        self._told = 0  # events of this operation, before its change or after

    def begin_run(self, sessions: Mapping[SessionId, int], detail: str) -> None:
        """Tell what the run is, and which sessions lived when it began, with their time-outs in ms."""
        self._grown.sessions.update(sessions)
        self.begin(self._past.began_ms, detail)

    def end_run(self) -> None:
        """Tell that this was all."""
        self._at = None
        self._t_ms = self._past.clock.latest_ms - self._began_ms
        self.end()

    def take_operation(self, operation: Operation) -> None:
        """Tell of one operation."""
        self._at, self._told, self._change_is_told = operation, 0, False
        place = (operation.zxid, operation.place)
        if operation.op == Op.PRESENT:
            assert operation.path is not None
            self._grown.znodes[operation.path] = znode = _znode(operation)
            self._tell_present(operation.path, znode)
        elif place > self._last:
            self._last = place
            self._as_of.now = self._past.numbering.seq(*place)
            self._t_ms = 0  # the clock sees to it that it never goes back
            self._take_next(operation)

    def _take_next(self, operation: Operation) -> None:
        transaction = self._transaction(operation)
        match operation.op:
            case Op.OPEN | Op.CLOSE:
                self.take_changes(transaction, ())
            case Op.END:
                if operation.number or self._is_owned(operation):
                    # Not as the end of the session: that would take what else it owns along, whose turn comes later.
                    alone = replace(transaction, ops=(DeleteTxn(operation.path or ""),))
                    self.take_changes(transaction, self._grown.apply(alone))
            case _:
                changes = self._grown.apply(transaction)
                self.take_changes(transaction, changes)
                if not changes and operation.act == Act.ALWAYS and self._names.broker(transaction.session_id) is None:
                    self._tell_act(operation)

    def cause_of_act(self, transaction: Transaction, change: PastChange, path: str) -> int:
        """The act is told by the first operation of its transaction, whoever takes that one."""
        assert self._at is not None
        if self._at.act:
            return super().cause_of_act(transaction, change, path)
        return self._past.numbering.seq(transaction.zxid, 0)

    def _tell_act(self, operation: Operation) -> None:
        """Of a transaction whose first operation turned out to change nothing; others may follow from the act yet."""
        op = WHAT_WAS_DONE[Op(operation.op)].value
        session_id = hexadecimal(SessionId(operation.session_id))
        self._emit(SCENARIO, EventKind.ADMIN_ACT, None, op=op, path=operation.path or "", session_id=session_id)

    def _close(self, transaction: Transaction) -> int:
        assert self._at is not None
        if self._at.op == Op.END:
            return self._past.numbering.seq(transaction.zxid, 0)
        opened = self._sessions.get(transaction.session_id)
        seq = super()._close(transaction)
        if opened is not None:
            self._sessions[transaction.session_id] = opened  # those who tell of paths will ask for it
        return seq

    def _is_owned(self, operation: Operation) -> bool:
        znode = self._grown.znodes.get(operation.path or "")
        return znode is not None and znode.ephemeral_owner == operation.session_id

    def _transaction(self, operation: Operation) -> Transaction:
        op = _txn(operation)
        fenced = operation.fence is not None
        ops = (CheckVersionTxn(paths.CONTROLLER_EPOCH, ZkVersion(operation.fence or 0)), op) if fenced else (op,)
        time_ms = self._past.clock.time_ms(operation.zxid, operation.time_ms)
        session = SessionId(operation.session_id)
        return Transaction(Zxid(operation.zxid), session, operation.cxid, time_ms, ops, fenced)

    # --- numbers

    def _numbered(self, event: Event) -> int:
        seq = self._seq(event)
        self._keep(structs.replace(event, seq=seq))
        return seq

    def _seq(self, event: Event) -> int:
        at = self._at
        self._told += 1
        if at is None:
            return self._past.numbering.end if event.kind is EventKind.RUN_ENDED else self._told - 1
        if at.op == Op.PRESENT:
            return at.place + self._told - 1
        if event.kind in OF_THE_WHOLE:
            self._told -= 1
            return self._past.numbering.seq(at.zxid, 0)
        if event.kind in ZNODE_CHANGES:
            self._change_is_told, self._told = True, 0
        elif not self._change_is_told:
            return self._past.numbering.seq(at.zxid, at.place + self._told - 1)
        return self._past.numbering.seq(at.zxid, at.place + at.room + self._told)


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
