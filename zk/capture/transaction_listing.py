"""A transaction log as a list for people or programs: which session did what to which znode, and what data changed.

Pure. A transaction has one line per operation; the deletions of ephemeral znodes at a session's end count as operations.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from kcsim.eventlog.events import data_text, hexadecimal
from kcsim.vocabulary import Zxid
from kcsim.zk.capture.data_difference import change_text, shown
from kcsim.zk.capture.session_owners import SessionOwners
from kcsim.zk.capture.zxid_or_time import time_text
from kcsim.zk.errors import ERRORS_BY_CODE
from kcsim.zk.files.past_tree import PastChangeKind, PastTree
from kcsim.zk.files.transaction_log import NO_BOUND
from kcsim.zk.files.transactions import (
    CheckVersionTxn,
    CloseSessionTxn,
    CreateSessionTxn,
    CreateTxn,
    DeleteTxn,
    ErrorTxn,
    SetAclTxn,
    SetDataTxn,
    Transaction,
    Txn,
    UnknownTxn,
)

LONGEST_TIME = 2**63 - 1
WHO_WIDTH, OP_WIDTH = 18, 13


class OperationLine(NamedTuple):
    """One operation. `what` describes it in words; `data` are the data written, in the event log's format."""

    op: str
    path: str | None
    what: str
    data: str | None = None


@dataclass(frozen=True, slots=True)
class TransactionFilter:
    """The transactions to list.

    Bounds are inclusive; a path includes all paths below it; a session is given by its id or as broker-N.
    """

    paths: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    first: Zxid = Zxid(0)  # noqa: RUF009 -- an int
    last: Zxid = NO_BOUND
    from_ms: int = 0
    to_ms: int = LONGEST_TIME

    def covers(self, transaction: Transaction) -> bool:
        """Return whether a transaction lies within the bounds of zxid and time."""
        return self.first <= transaction.zxid <= self.last and self.from_ms <= transaction.time_ms <= self.to_ms

    def is_of(self, session: str, name: str) -> bool:
        return not self.sessions or session in self.sessions or name in self.sessions

    def is_about(self, line: OperationLine) -> bool:
        if not self.paths:
            return True
        return line.path is not None and any(line.path == p or line.path.startswith(p.rstrip("/") + "/") for p in self.paths)


class TransactionListing:
    """Takes every transaction and returns the lines of those that the filter selects.

    Args:
        tree: the tree before the first transaction; if it is unknown, an empty tree: then the first line about a znode does
            not show the data before it.
    """

    def __init__(self, tree: PastTree, names: SessionOwners, transaction_filter: TransactionFilter) -> None:
        self._tree = tree
        self._names = names
        self._filter = transaction_filter
        self._data = {path: znode.data for path, znode in tree.znodes.items()}

    def take(self, transaction: Transaction) -> list[OperationLine]:
        """Apply a transaction and return its lines; empty if the filter does not select it."""
        lines = list(self._lines(transaction))
        session = hexadecimal(transaction.session_id)
        if not self._filter.covers(transaction) or not self._filter.is_of(session, self._names[transaction.session_id]):
            return []
        return [line for line in lines if self._filter.is_about(line)]

    def table_lines(self, transaction: Transaction, lines: list[OperationLine]) -> Iterator[str]:
        """Yield the lines of a transaction as text for people."""
        who = self._names[transaction.session_id]
        for line in lines:
            what = f"{line.path or ''}  {line.what}".strip()
            head = f"{transaction.zxid:#x}  {time_text(transaction.time_ms)}  {who:<{WHO_WIDTH}}"
            yield f"{head}  {line.op:<{OP_WIDTH}}  {what}".rstrip()

    def as_json(self, transaction: Transaction, lines: list[OperationLine]) -> Mapping[str, Any]:
        """Return the lines of a transaction as a JSON object for programs."""
        return {
            "zxid": f"{transaction.zxid:#x}",
            "time": time_text(transaction.time_ms),
            "session": hexadecimal(transaction.session_id),
            "by": self._names.broker(transaction.session_id),
            "refused": transaction.is_refused,
            "ops": [line._asdict() for line in lines],
        }

    def _lines(self, transaction: Transaction) -> Iterator[OperationLine]:
        changes = self._tree.apply(transaction)
        for op in transaction.ops:
            yield self._line(op, transaction)
            if isinstance(op, CloseSessionTxn):
                for change in changes:
                    if change.kind is PastChangeKind.DELETED:
                        self._data.pop(change.path, None)
                        yield OperationLine("delete", change.path, "with its session")

    def _line(self, op: Txn, transaction: Transaction) -> OperationLine:
        match op:
            case CreateTxn(path, data, ephemeral):
                self._data[path] = data
                return OperationLine("create", path, shown(data) + (" (ephemeral)" if ephemeral else ""), data_text(data))
            case SetDataTxn(path, data, version):
                is_known = path in self._data
                before, self._data[path] = self._data.get(path), data
                change = change_text(before, data) if is_known else f"now {shown(data)}"
                return OperationLine("set", path, f"{change} (version {version})", data_text(data))
            case DeleteTxn(path):
                self._data.pop(path, None)
                return OperationLine("delete", path, "")
            case SetAclTxn(path, aversion):
                return OperationLine("set-acl", path, f"ACL version {aversion}")
            case CheckVersionTxn(path, version):
                return OperationLine("check", path, f"at version {version}")
            case CreateSessionTxn(timeout_ms):
                return OperationLine("open-session", None, f"time-out {timeout_ms} ms")
            case CloseSessionTxn():
                how = "closed by its client" if transaction.cxid else "expired"
                return OperationLine("close-session", None, how)
            case ErrorTxn(code):
                return OperationLine("refused", None, error_name(code))
            case UnknownTxn(type_):
                return OperationLine(f"type {type_}", None, "")


def error_name(code: int) -> str:
    """Return ZooKeeper's name of an error code."""
    known = ERRORS_BY_CODE.get(code)
    return known.name if known is not None else f"code {code}"
