"""A live run's znode changes, taken from ZooKeeper's own transaction log.

The server writes a transaction to its log before it sends any reply or watch event about it. So the transaction's own events
can be appended before every event that names its zxid: which session wrote what, in the order of the transactions. The
ledger of the simulator's own writes (session, xid) also gives each change its cause.
"""

from collections.abc import Sequence
from typing import Protocol

from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import SessionId, Zxid
from kcsim.zk.capture.cause_ledger import CauseLedger
from kcsim.zk.capture.transaction_events import ZOOKEEPER, session_closed, session_created, znode_deleted, znode_written
from kcsim.zk.files.transactions import (
    CloseSessionTxn,
    CreateSessionTxn,
    CreateTxn,
    DeleteTxn,
    SetDataTxn,
    Transaction,
    Txn,
)
from kcsim.zk.operations import Created, DataSet, Deleted, MultiDone, ReplyOrError, Request, Sync, Synced
from kcsim.zk.ports import FaultableSession, Session
from kcsim.zk.wrapped_session import WrappedSession


class TransactionTail(Protocol):
    """A reader that follows a log: TransactionLogTail for one server, EnsembleLogTail for several."""

    def read_to(self, zxid: Zxid) -> Sequence[Transaction]: ...


class TransactionLogCapture:
    """Appends the transactions of ZooKeeper's log to the event log.

    Attributes:
        ledger: the causes of our own clients' writes and sessions.
    """

    def __init__(self, log: EventLog, tail: TransactionTail) -> None:
        self.ledger = CauseLedger()
        self._log = log
        self._tail = tail
        self._unreported_sessions: dict[SessionId, int] = {}  # created, with time-out; not reported until the cause is known
        self._ephemerals: dict[SessionId, dict[str, None]] = {}

    def catch_up(self, zxid: Zxid) -> None:
        """Append all transactions up to this zxid that are not in the event log yet."""
        for transaction in self._tail.read_to(zxid):
            self.append(transaction)
        self.report_sessions()

    def report_sessions(self) -> None:
        """Append the creations of the sessions whose causes are recorded by now."""
        for session_id in [s for s in self._unreported_sessions if self.ledger.has_opened(s)]:
            self._report_session(session_id)

    async def look(self, session: Session) -> None:
        """Append all transactions so far, also those that no client was notified of, such as an expiry without a watch."""
        (reply,) = await session.call([Sync("/")])
        if isinstance(reply, Synced):
            self.catch_up(reply.zxid)

    def has_reported(self, session_id: SessionId) -> bool:
        """Return whether the creation of a session is in the event log, or was before the log began."""
        return session_id not in self._unreported_sessions

    def leave_out(self, session_id: SessionId) -> None:
        """Do not report the creation of a session any more."""
        self._unreported_sessions.pop(session_id, None)

    def append(self, transaction: Transaction) -> None:
        """Append the events of the next transaction."""
        if transaction.is_refused:
            return
        cause = self.ledger.take_write(transaction.session_id, transaction.cxid)
        if not isinstance(transaction.ops[0], CreateSessionTxn):
            self._report_session(transaction.session_id)
        for op in transaction.ops:
            self._append_op(transaction, op, cause)

    def _append_op(self, transaction: Transaction, op: Txn, cause: Cause) -> None:
        zxid, session_id = transaction.zxid, transaction.session_id
        match op:
            case CreateTxn(path, data, is_ephemeral):
                if is_ephemeral:
                    self._ephemerals.setdefault(session_id, {})[path] = None
                fields = znode_written(path, data, 0, zxid, session_id=session_id, is_ephemeral=is_ephemeral)
                self._emit(EventKind.ZNODE_CREATED, cause, fields)
            case SetDataTxn(path, data, version):
                self._emit(EventKind.ZNODE_CHANGED, cause, znode_written(path, data, version, zxid, session_id=session_id))
            case DeleteTxn(path):
                self._emit(EventKind.ZNODE_DELETED, cause, znode_deleted(path, zxid, session_id=session_id))
                for owned in self._ephemerals.values():
                    owned.pop(path, None)
            case CreateSessionTxn(timeout_ms):
                self._unreported_sessions[session_id] = timeout_ms
            case CloseSessionTxn(deleted):
                self._append_close(transaction, deleted)
            case _:
                pass  # checks, ACLs and refusals change no znode

    def _report_session(self, session_id: SessionId) -> None:
        """Report a session's creation, once its client has recorded the cause, or with the session's next transaction."""
        timeout_ms = self._unreported_sessions.pop(session_id, None)
        if timeout_ms is not None:
            cause = self.ledger.cause_of_opening(session_id)
            self._emit(EventKind.SESSION_CREATED, cause, session_created(session_id, timeout_ms))

    def _append_close(self, transaction: Transaction, deleted: Sequence[str] | None) -> None:
        session_id = transaction.session_id
        owned = self._ephemerals.pop(session_id, {})
        is_closed_by_owner, cause = self.ledger.take_end(session_id)
        closed = self._emit(EventKind.SESSION_CLOSED, cause, session_closed(session_id, is_expired=not is_closed_by_owner))
        for path in owned if deleted is None else deleted:
            self._emit(EventKind.ZNODE_DELETED, closed, znode_deleted(path, transaction.zxid, session_id=session_id))

    def _emit(self, kind: EventKind, cause: Cause, fields: EventFields) -> int:
        return self._log.append(ZOOKEEPER, kind, cause, fields)


class CaughtUpSession(WrappedSession):
    """A session whose writes are in the event log before their replies are given to the caller.

    Events that follow from a write but name no transaction, such as a controller's step that read what was written, then
    come after it.
    """

    def __init__(self, inner: FaultableSession, capture: TransactionLogCapture) -> None:
        super().__init__(inner)
        self._capture = capture

    async def call(self, requests: list[Request], cause: Cause = None) -> list[ReplyOrError]:
        """Call the session; see Session.call."""
        replies = await self.inner.call(requests, cause)
        written = [one.zxid for one in replies if isinstance(one, Created | DataSet | Deleted | MultiDone)]
        if written:
            self._capture.catch_up(max(written))
        return replies
