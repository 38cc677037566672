"""A transaction log as a list for people or programs: who did what, to which znode, and what that changed in it.

Pure. A transaction is told by its operations, one line each; the deletions that the end of a session brings count as such.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from kcsim.scenarios.imported.data_difference import change_text, shown
from kcsim.scenarios.imported.moment import time_text
from kcsim.scenarios.imported.session_names import SessionNames
from kcsim.zk.errors import ERRORS_BY_CODE
from kcsim.zk.events import data_text, hexadecimal
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
from kcsim.zk.vocabulary import Zxid

LONGEST_TIME = 2**63 - 1
WHO_WIDTH, OP_WIDTH = 18, 13


class Line(NamedTuple):
    """One operation. `what` says it in words; `data` is what was written, as in the event log."""

    op: str
    path: str | None
    what: str
    data: str | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which transactions to list. Bounds are included; a path stands for all below it; a session for an id or broker-N."""

    paths: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    first: Zxid = Zxid(0)  # noqa: RUF009 -- an int
    last: Zxid = NO_BOUND
    from_ms: int = 0
    to_ms: int = LONGEST_TIME

    def covers(self, transaction: Transaction) -> bool:
        """Whether it lies within the bounds."""
        return self.first <= transaction.zxid <= self.last and self.from_ms <= transaction.time_ms <= self.to_ms

    def is_of(self, session: str, name: str) -> bool:
        return not self.sessions or session in self.sessions or name in self.sessions

    def is_about(self, line: Line) -> bool:
        if not self.paths:
            return True
        return line.path is not None and any(line.path == p or line.path.startswith(p.rstrip("/") + "/") for p in self.paths)


class Listing:
    """Takes every transaction in, from a known tree on, and tells of those that are wanted.

    Args:
        tree: as it was before the first; an empty one if nothing is known, and then what was in a znode before it is
            first seen is not told.
    """

    def __init__(self, tree: PastTree, names: SessionNames, wanted: Wanted) -> None:
        self._tree = tree
        self._names = names
        self._wanted = wanted
        self._data = {path: znode.data for path, znode in tree.znodes.items()}

    def take(self, transaction: Transaction) -> list[Line]:
        """What to say of a transaction: nothing if it is not wanted."""
        lines = list(self._lines(transaction))
        session = hexadecimal(transaction.session_id)
        if not self._wanted.covers(transaction) or not self._wanted.is_of(session, self._names[transaction.session_id]):
            return []
        return [line for line in lines if self._wanted.is_about(line)]

    def table_lines(self, transaction: Transaction, lines: list[Line]) -> Iterator[str]:
        """As people read it."""
        who = self._names[transaction.session_id]
        for line in lines:
            what = f"{line.path or ''}  {line.what}".strip()
            head = f"{transaction.zxid:#x}  {time_text(transaction.time_ms)}  {who:<{WHO_WIDTH}}"
            yield f"{head}  {line.op:<{OP_WIDTH}}  {what}".rstrip()

    def as_json(self, transaction: Transaction, lines: list[Line]) -> Mapping[str, Any]:
        """As programs do."""
        return {
            "zxid": f"{transaction.zxid:#x}",
            "time": time_text(transaction.time_ms),
            "session": hexadecimal(transaction.session_id),
            "by": self._names.broker(transaction.session_id),
            "refused": transaction.is_refused,
            "ops": [line._asdict() for line in lines],
        }

    def _lines(self, transaction: Transaction) -> Iterator[Line]:
        changes = self._tree.apply(transaction)
        for op in transaction.ops:
            yield self._line(op, transaction)
            if isinstance(op, CloseSessionTxn):
                for change in changes:
                    if change.kind is PastChangeKind.DELETED:
                        self._data.pop(change.path, None)
                        yield Line("delete", change.path, "with its session")

    def _line(self, op: Txn, transaction: Transaction) -> Line:
        match op:
            case CreateTxn(path, data, ephemeral):
                self._data[path] = data
                return Line("create", path, shown(data) + (" (ephemeral)" if ephemeral else ""), data_text(data))
            case SetDataTxn(path, data, version):
                is_known = path in self._data
                before, self._data[path] = self._data.get(path), data
                told = change_text(before, data) if is_known else f"now {shown(data)}"
                return Line("set", path, f"{told} (version {version})", data_text(data))
            case DeleteTxn(path):
                self._data.pop(path, None)
                return Line("delete", path, "")
            case SetAclTxn(path, aversion):
                return Line("set-acl", path, f"ACL version {aversion}")
            case CheckVersionTxn(path, version):
                return Line("check", path, f"at version {version}")
            case CreateSessionTxn(timeout_ms):
                return Line("open-session", None, f"time-out {timeout_ms} ms")
            case CloseSessionTxn():
                how = "closed by its client" if transaction.cxid else "expired"
                return Line("close-session", None, how)
            case ErrorTxn(code):
                return Line("refused", None, error_name(code))
            case UnknownTxn(type_):
                return Line(f"type {type_}", None, "")


def error_name(code: int) -> str:
    """ZooKeeper's name of an error."""
    known = ERRORS_BY_CODE.get(code)
    return known.name if known is not None else f"code {code}"
