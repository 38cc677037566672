"""Records the model's actions as the transactions that a real server would have written to its log.

Every zxid that the model assigns becomes one transaction, refused writes included; so a log of the model has no holes. Pure
except for the call of `write`.
"""

from collections.abc import Callable, Iterator, Sequence

from kcsim.vocabulary import SessionId
from kcsim.zk.errors import ZooKeeperError
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
)
from kcsim.zk.memory.server import ServerStep, SessionEnded, SessionOpened
from kcsim.zk.memory.tree import NO_OWNER, ChangeKind, ZnodeChange
from kcsim.zk.operations import Check, Create, DataSet, Delete, Multi, MultiDone, Request, SetData

TransactionWriter = Callable[[Transaction], None]
BY_THE_SERVER = 0
"""The cxid of transactions that no client requested."""


class Journal:
    """The recorder of transactions. Call its methods with the server's actions, in order.

    Args:
        write: called with each transaction.
        epoch_ms: the time of the run's beginning, in ms since 1970.
    """

    def __init__(self, write: TransactionWriter, epoch_ms: int) -> None:
        self._write = write
        self._epoch_ms = epoch_ms
        self._request_counts: dict[SessionId, int] = {}  # session -> number of its requests so far

    def requested(
        self, session_id: SessionId, request: Request, step: ServerStep, now_ms: int, xid: int | None = None
    ) -> None:
        """Record a request that the server answered with this step. `xid` is its client's number; None: they are counted."""
        cxid = self._request_counts[session_id] = self._request_counts.get(session_id, 0) + 1
        cxid = cxid if xid is None else xid
        if isinstance(request, Create | Delete | SetData | Multi):
            is_multi = isinstance(request, Multi)
            ops = tuple(_ops(request, step))
            self._write(Transaction(step.zxid, session_id, cxid, self._epoch_ms + now_ms, ops, is_multi))

    def acl_set(self, session_id: SessionId, xid: int, step: ServerStep, now_ms: int) -> None:
        """Record the change of an ACL, or its refusal."""
        reply = step.reply
        op = SetAclTxn(reply.path, reply.stat.aversion) if isinstance(reply, DataSet) else ErrorTxn(_code(reply))
        self._write(Transaction(step.zxid, session_id, xid, self._epoch_ms + now_ms, (op,)))

    def session_opened(self, opened: SessionOpened, now_ms: int) -> None:
        op = CreateSessionTxn(opened.timeout_ms)
        self._write(Transaction(opened.zxid, opened.session_id, BY_THE_SERVER, self._epoch_ms + now_ms, (op,)))

    def session_ended(self, ended: SessionEnded, now_ms: int, xid: int | None = None) -> None:
        count = self._request_counts.pop(ended.session_id, 0)
        cxid = BY_THE_SERVER if ended.is_expired else count + 1 if xid is None else xid
        op = CloseSessionTxn(tuple(change.path for change in ended.removed))
        self._write(Transaction(ended.zxid, ended.session_id, cxid, self._epoch_ms + now_ms, (op,)))


def _code(reply: object) -> int:
    return reply.code if isinstance(reply, ZooKeeperError) else 0


def _ops(request: Create | Delete | SetData | Multi, step: ServerStep) -> Iterator[Txn]:
    reply = step.reply
    changes = iter([fact for fact in step.facts if isinstance(fact, ZnodeChange)])
    if isinstance(reply, ZooKeeperError):
        yield ErrorTxn(reply.code)
    elif not isinstance(request, Multi):
        yield _of_change(next(changes))
    elif isinstance(reply, MultiDone) and reply.error is not None:
        yield from _refused(reply.results)
    else:
        for op in request.ops:
            yield CheckVersionTxn(op.path, op.version) if isinstance(op, Check) else _of_change(next(changes))


def _refused(results: Sequence[object]) -> Iterator[Txn]:
    for result in results:
        assert isinstance(result, ZooKeeperError)
        yield ErrorTxn(result.code)


def _of_change(change: ZnodeChange) -> Txn:
    match change.kind:
        case ChangeKind.CREATED:
            return CreateTxn(change.path, change.data, change.owner != NO_OWNER, change.parent_cversion)
        case ChangeKind.CHANGED:
            return SetDataTxn(change.path, change.data, change.version)
        case ChangeKind.DELETED:
            return DeleteTxn(change.path)
