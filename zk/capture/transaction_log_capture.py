"""A live run's znode changes, taken from ZooKeeper's own transaction log.

The server writes a transaction to its log before it sends any reply or watch event about it. So the transaction's own events
can be appended before every event that names its zxid: which session wrote what, in the order of the transactions. The
ledger of the simulator's own writes (session, xid) also gives each change its cause.
"""

import threading
from collections.abc import Sequence
from typing import Protocol

from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventFields, EventKind, data_text, hexadecimal
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import SessionId, Zxid
from kcsim.zk.files.transactions import (
    CloseSessionTxn,
    CreateSessionTxn,
    CreateTxn,
    DeleteTxn,
    SetDataTxn,
    Transaction,
    Txn,
)
from kcsim.zk.operations import Sync, Synced
from kcsim.zk.ports import Session

ZOOKEEPER = "zookeeper"


class TransactionTail(Protocol):
    """A reader that follows a log: TransactionLogTail for one server, EnsembleLogTail for several."""

    def read_to(self, zxid: Zxid) -> Sequence[Transaction]: ...


class TransactionLogCapture:
    """Appends the transactions of ZooKeeper's log to the event log; also the ledger of the causes of writes."""

    def __init__(self, log: EventLog, tail: TransactionTail) -> None:
        self._log = log
        self._tail = tail
        self._lock = threading.Lock()  # the ledger is written from the clients' connection threads
        self._open_causes: dict[SessionId, Cause] = {}
        self._write_causes: dict[tuple[SessionId, int], Cause] = {}
        self._close_causes: dict[SessionId, Cause] = {}
        self._fault_causes: dict[SessionId, int] = {}
        self._unreported_sessions: dict[SessionId, int] = {}  # created, with time-out; not reported until the cause is known
        self._ephemerals: dict[SessionId, dict[str, None]] = {}

    # --- the ledger

    def record_write(self, session_id: SessionId, xid: int, cause: Cause) -> None:
        with self._lock:
            self._write_causes[session_id, xid] = cause

    def record_open(self, session_id: SessionId, cause: Cause) -> None:
        with self._lock:
            self._open_causes.setdefault(session_id, cause)

    def record_session_fault(self, session_id: SessionId, cause: int) -> None:
        with self._lock:
            self._fault_causes[session_id] = cause

    def record_close(self, session_id: SessionId, cause: Cause) -> None:
        with self._lock:
            self._close_causes[session_id] = cause

    # --- the log

    def catch_up(self, zxid: Zxid) -> None:
        """Append all transactions up to this zxid that are not in the event log yet."""
        for transaction in self._tail.read_to(zxid):
            self._append(transaction)
        for session_id in [s for s in self._unreported_sessions if s in self._open_causes]:
            self._report_session(session_id)

    async def look(self, session: Session) -> None:
        """Append all transactions so far, also those that no client was notified of, such as an expiry without a watch."""
        (reply,) = await session.call([Sync("/")])
        if isinstance(reply, Synced):
            self.catch_up(reply.zxid)

    def _append(self, transaction: Transaction) -> None:
        if transaction.is_refused:
            return
        with self._lock:
            cause = self._write_causes.pop((transaction.session_id, transaction.cxid), None)
        if not isinstance(transaction.ops[0], CreateSessionTxn):
            self._report_session(transaction.session_id)
        for op in transaction.ops:
            self._append_op(transaction, op, cause)

    def _append_op(self, transaction: Transaction, op: Txn, cause: Cause) -> None:
        fields = EventFields(zxid=transaction.zxid, session_id=hexadecimal(transaction.session_id))
        match op:
            case CreateTxn(path, data, ephemeral):
                if ephemeral:
                    self._ephemerals.setdefault(transaction.session_id, {})[path] = None
                self._emit(EventKind.ZNODE_CREATED, cause, _with_data(fields, path, data, 0, ephemeral))
            case SetDataTxn(path, data, version):
                self._emit(EventKind.ZNODE_CHANGED, cause, _with_data(fields, path, data, version, None))
            case DeleteTxn(path):
                self._emit(EventKind.ZNODE_DELETED, cause, EventFields(**fields, path=path))
                for owned in self._ephemerals.values():
                    owned.pop(path, None)
            case CreateSessionTxn(timeout_ms):
                self._unreported_sessions[transaction.session_id] = timeout_ms
            case CloseSessionTxn(deleted):
                self._append_close(transaction, deleted)
            case _:
                pass  # checks, ACLs and refusals change no znode

    def _report_session(self, session_id: SessionId) -> None:
        """Report a session's creation, once its client has recorded the cause, or with the session's next transaction."""
        timeout_ms = self._unreported_sessions.pop(session_id, None)
        if timeout_ms is not None:
            fields = EventFields(session_id=hexadecimal(session_id), duration_ms=timeout_ms)
            self._emit(EventKind.SESSION_CREATED, self._open_causes.get(session_id), fields)

    def _append_close(self, transaction: Transaction, deleted: Sequence[str] | None) -> None:
        session_id = transaction.session_id
        owned = self._ephemerals.pop(session_id, {})
        with self._lock:
            is_closed_by_owner = session_id in self._close_causes
            cause = self._close_causes.pop(session_id, None) if is_closed_by_owner else self._fault_causes.get(session_id)
        fields = EventFields(session_id=hexadecimal(session_id))
        if not is_closed_by_owner:
            fields["error"] = "SESSIONEXPIRED"
        closed = self._emit(EventKind.SESSION_CLOSED, cause, fields)
        for path in owned if deleted is None else deleted:
            self._emit(
                EventKind.ZNODE_DELETED,
                closed,
                EventFields(path=path, zxid=transaction.zxid, session_id=hexadecimal(session_id)),
            )

    def _emit(self, kind: EventKind, cause: Cause, fields: EventFields) -> int:
        return self._log.append(ZOOKEEPER, kind, cause, fields)


def _with_data(fields: EventFields, path: str, data: bytes | None, version: int, ephemeral: bool | None) -> EventFields:
    filled = EventFields(**fields, path=path, zk_version=version)
    text = data_text(data)
    if text is not None:
        filled["data"] = text
    if ephemeral:
        filled["ephemeral"] = True
    return filled
