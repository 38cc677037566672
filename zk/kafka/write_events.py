"""The events for writes to ZooKeeper: begun, applied, refused.

Reads are not logged. A small batch gets one event for each write, a large batch one event for each kind of reply or error.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kcsim.eventlog.events import EventFields, EventKind
from kcsim.eventlog.sink import Cause, EventSink
from kcsim.vocabulary import ANY_VERSION
from kcsim.zk.errors import ConnectionLossError, RolledBackError, SessionExpiredError, ZooKeeperError
from kcsim.zk.operations import (
    Check,
    Create,
    Created,
    DataSet,
    Delete,
    Deleted,
    Multi,
    MultiDone,
    ReplyOrError,
    Request,
    SetData,
)
from kcsim.znodes.paths import CONTROLLER_EPOCH

SUMMARY_THRESHOLD = 10
"""A batch with more writes than this is summarized."""

ZnodeWriteOp = Create | Delete | SetData
_SINGLE_WRITES = (Create, Delete, SetData)


class _Ending(NamedTuple):
    """The result of one write, or of all `how_many` writes of a refused Multi."""

    path: str
    op: str
    reply: Created | Deleted | DataSet | ZooKeeperError
    how_many: int = 1


def write_begun(sink: EventSink, requests: Sequence[Request], cause: Cause) -> int | None:
    """Log that these requests are about to be sent; return the event's seq, or None if they write nothing."""
    writes = [write for request in requests for write in _writes_of(request)]
    if not writes:
        return None
    kinds = {_op(write) for write in writes}
    fields: EventFields = {
        "path": writes[0].path,
        "op": kinds.pop() if len(kinds) == 1 else "multi",
        "count": len(writes),
    }
    if len(writes) <= SUMMARY_THRESHOLD:
        fields["inputs"] = ", ".join(map(_described, writes))
    fence = next((version for request in requests if (version := _fence_of(request)) is not None), None)
    if fence is not None:
        fields["controller_epoch_zk_version"] = fence
    return sink.emit(EventKind.ZK_WRITE, cause, **fields)


def write_answered(
    sink: EventSink, requests: Sequence[Request], replies: Sequence[ReplyOrError], begun: int | None
) -> int | None:
    """Log the results of these requests with the cause `begun`; return the seq of the last refusal, if any."""
    if begun is None:
        return None
    endings = [e for request, reply in zip(requests, replies, strict=True) for e in _endings(request, reply)]
    if sum(e.how_many for e in endings) > SUMMARY_THRESHOLD:
        endings = _summarize_endings(endings)
    refused = None
    for ending in endings:
        seq = _emit(sink, ending, begun)
        if isinstance(ending.reply, ZooKeeperError):
            refused = seq
    return refused


def write_given_up(sink: EventSink, requests: Sequence[Request], cause: Cause) -> None:
    """Log that these requests, whose answers were lost, will not be sent again because the session has ended.

    Their client cannot know whether they were applied; the last writes of the ended session are in ZooKeeper's own log.
    """
    endings = [_Ending(w.path, _op(w), SessionExpiredError(w.path)) for r in requests for w in _writes_of(r)]
    for ending in _summarize_endings(endings) if len(endings) > SUMMARY_THRESHOLD else endings:
        sink.emit(
            EventKind.ZK_WRITE_REFUSED,
            cause,
            path=ending.path,
            op=ending.op,
            count=ending.how_many,
            error=SessionExpiredError.name,
            outcome=ConnectionLossError.outcome.value,
            detail="the session ended while the write waited to be sent again",
        )


def _emit(sink: EventSink, ending: _Ending, begun: int) -> int:
    reply = ending.reply
    fields: EventFields = {"path": ending.path, "op": ending.op, "count": ending.how_many}
    if isinstance(reply, ZooKeeperError):
        fields["error"], fields["outcome"] = reply.name, reply.outcome.value
        return sink.emit(EventKind.ZK_WRITE_REFUSED, begun, **fields)
    fields["zxid"], fields["outcome"] = reply.zxid, "applied"
    if isinstance(reply, DataSet):
        fields["zk_version"] = reply.stat.version
    return sink.emit(EventKind.ZK_WRITE_APPLIED, begun, **fields)


def _endings(request: Request, reply: ReplyOrError) -> Iterator[_Ending]:
    writes = _writes_of(request)
    if not writes:
        return
    if not isinstance(reply, MultiDone):
        assert isinstance(reply, Created | Deleted | DataSet | ZooKeeperError)
        path = reply.path if isinstance(reply, Created) else writes[0].path
        yield _Ending(path, _op(writes[0]) if len(writes) == 1 else "multi", reply, len(writes))
    elif reply.error is not None:
        assert isinstance(request, Multi)
        failed = request.ops[first_failing(reply)]
        yield _Ending(failed.path, _op(failed), reply.error, len(writes))
    else:
        for result in reply.results:
            if isinstance(result, Created | Deleted | DataSet):
                yield _Ending(result.path, _op_done(result), result)


def first_failing(reply: MultiDone) -> int:
    """Return the index of the operation because of which a Multi was refused."""
    return next(i for i, r in enumerate(reply.results) if not isinstance(r, RolledBackError))


def _summarize_endings(endings: Sequence[_Ending]) -> list[_Ending]:
    """Return one ending for each type of reply: path and operation of the first, reply of the last, count of all."""
    sums: dict[object, _Ending] = {}
    for ending in endings:
        way = type(ending.reply)
        before = sums.get(way)
        sums[way] = (
            ending if before is None else before._replace(reply=ending.reply, how_many=before.how_many + ending.how_many)
        )
    return list(sums.values())


def _writes_of(request: Request) -> Sequence[ZnodeWriteOp]:
    if isinstance(request, _SINGLE_WRITES):
        return (request,)
    return [op for op in request.ops if not isinstance(op, Check)] if isinstance(request, Multi) else ()


def _fence_of(request: Request) -> int | None:
    if isinstance(request, Multi) and isinstance(request.ops[0], Check) and request.ops[0].path == CONTROLLER_EPOCH:
        return request.ops[0].version
    return None


def _op(op: ZnodeWriteOp | Check) -> str:
    match op:
        case Create():
            return "create"
        case Delete():
            return "delete"
        case SetData():
            return "set"
        case Check():
            return "check"


def _op_done(result: Created | Deleted | DataSet) -> str:
    match result:
        case Created():
            return "create"
        case Deleted():
            return "delete"
        case DataSet():
            return "set"


def _described(write: ZnodeWriteOp) -> str:
    version = write.version if isinstance(write, SetData | Delete) else ANY_VERSION
    return f"{_op(write)} {write.path}" + ("" if version == ANY_VERSION else f" if version {version}")
