"""One operation of a transaction, as it travels from the file it stands in to whoever tells of its path.

Pure. Operations of one `key` are told by one teller, in order of zxid and place. The key "" is the cluster's: sessions, the
role of controller, registrations and an administrator's requests, to which all others look.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from kcsim.scenarios.imported.zookeeper_trace import path_of_kafka
from kcsim.zk import paths
from kcsim.zk.files.past_tree import PastZnode
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

OF_THE_CLUSTER = ""
FIRST_PLACE = 1
"""Of an operation; before it there is room for what the whole transaction is: the end of a session, somebody's act."""
AFTER_A_CHANGE = 3
"""How many events may follow an operation's change of a znode: what it says of the ISR, and of a role."""
SHORTEST_PARTITION = len('"0":[],')
"""In a topic's znode. Each partition may be the subject of a decision, which is told before the change itself."""
PLACES = 1 << 20
"""Of one transaction. A transaction of 1 MB, which is what a server takes at most by itself, needs half of them."""


ENUMERATIONS = ("op", "act")


class Op(StrEnum):
    """What is done."""

    FILE = "file"  # no operation: `data` is the survey of a log file
    PRESENT = "present"  # a znode was there before the first transaction
    OPEN = "open"  # a session
    CLOSE = "close"
    END = "end"  # of an ephemeral znode, with its session
    CREATE = "create"
    SET = "set"
    DELETE = "delete"


class Act(StrEnum):
    """Who tells of the transaction as somebody's act, should its session be no broker's."""

    NOT = ""
    IF_DONE = "if done"  # this operation, if it changes something
    ALWAYS = "always"  # this one: it is the first of several


class Operation(NamedTuple):
    """The columns of the table of operations.

    Attributes:
        place: where its events begin among those of its transaction; of PRESENT, among those of the beginning.
        room: how many of its events may come before the change of the znode.
        path: below the chroot.
        number: the new version of SET and PRESENT, the time-out of OPEN; of CLOSE 1 if the paths that end with it are told.
        fence: the version at which /controller_epoch was checked.
        czxid, mzxid: of PRESENT.
    """

    run: str
    key: str
    zxid: int
    place: int
    op: str
    path: str | None = None
    data: bytes | None = None
    number: int = 0
    is_ephemeral: bool = False
    session_id: int = 0
    cxid: int = 0
    time_ms: int = 0
    room: int = 0
    fence: int | None = None
    act: str = Act.NOT
    czxid: int = 0
    mzxid: int = 0


class TooLongError(ValueError):
    """A transaction with more operations than there are places for events in it."""


def operations_arrow_schema() -> Any:
    """The columns as a pyarrow.Schema."""
    import pyarrow as pa

    special = {"data": pa.binary(), "is_ephemeral": pa.bool_()}
    texts = {"run", "key", "op", "path", "act"}
    types = {name: special.get(name, pa.string() if name in texts else pa.int64()) for name in Operation._fields}
    return pa.schema(list(types.items()))


def operations_batch(operations: Sequence[Operation]) -> Any:
    """Operations as a pyarrow.RecordBatch."""
    import pyarrow as pa

    schema = operations_arrow_schema()
    columns = zip(*operations, strict=True) if operations else ([] for _ in schema)
    arrays = [
        # An enumeration's members take pyarrow many times as long as plain text.
        pa.array([*map(str.__str__, column)] if field.name in ENUMERATIONS else column, type=field.type)
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def key_of(path: str) -> str:
    """Whose history the changes of a path belong to: its own, a partition's ("orders 0"), or the cluster's."""
    parts = path.split("/")
    match parts[1:]:
        case ["brokers", "topics", topic, "partitions", number] | [
            "brokers",
            "topics",
            topic,
            "partitions",
            number,
            "state",
        ]:
            return f"{topic} {number}"
        case ["brokers", "ids", _] | ["controller"] | ["controller_epoch"] | ["admin", *_]:
            return OF_THE_CLUSTER
        case _:
            return path


def operations_of(run: str, transaction: Transaction, chroot: str) -> Iterator[Operation]:
    """What there is to tell of a transaction, operation by operation. Raises: TooLongError."""
    if transaction.is_refused or not transaction.ops:
        return
    of = transaction
    whole = Operation(run, OF_THE_CLUSTER, of.zxid, 0, Op.OPEN, session_id=of.session_id, cxid=of.cxid, time_ms=of.time_ms)
    match transaction.ops[0]:
        case CreateSessionTxn(timeout_ms):
            yield whole._replace(number=timeout_ms)
        case CloseSessionTxn(deleted):
            yield whole._replace(op=Op.CLOSE, number=int(deleted is not None))
            yield from ends(whole, [path_of_kafka(path, chroot) for path in deleted or ()])
        case _:
            yield from _changes(whole, transaction, chroot)


def ends(close: Operation, gone: Sequence[str | None]) -> Iterator[Operation]:
    """The ends of the ephemeral znodes that a session takes along; None for those that are no business of Kafka's."""
    place = FIRST_PLACE
    for path in gone:
        if path is not None:
            yield _checked(close._replace(key=key_of(path), place=place, op=Op.END, path=path, number=close.number))
        place += 1 + AFTER_A_CHANGE


def _changes(whole: Operation, transaction: Transaction, chroot: str) -> Iterator[Operation]:
    told = [op for op in _told(transaction.ops, whole, chroot) if op is not None]
    place = FIRST_PLACE
    for number, op in enumerate(told):
        act = Act.NOT if number else Act.ALWAYS if len(told) > 1 else Act.IF_DONE
        yield _checked(op._replace(place=place, act=act))
        place += op.room + 1 + AFTER_A_CHANGE


def _told(ops: Sequence[Txn], whole: Operation, chroot: str) -> Iterator[Operation | None]:
    checks = (op.version for op in ops if isinstance(op, CheckVersionTxn) and op.path == f"{chroot}{paths.CONTROLLER_EPOCH}")
    of = whole._replace(fence=next(checks, None)) if len(ops) > 1 else whole
    for op in ops:
        match op:
            case CreateTxn(path, data, ephemeral):
                yield _change(of._replace(is_ephemeral=ephemeral), path_of_kafka(path, chroot), Op.CREATE, data)
            case SetDataTxn(path, data, version):
                yield _change(of._replace(number=version), path_of_kafka(path, chroot), Op.SET, data)
            case DeleteTxn(path):
                yield _change(of, path_of_kafka(path, chroot), Op.DELETE, None)
            case _:
                pass


def _change(of: Operation, path: str | None, op: Op, data: bytes | None) -> Operation | None:
    if path is None:
        return None
    return of._replace(key=key_of(path), op=op, path=path, data=data, room=_room(path, data))


def _room(path: str, data: bytes | None) -> int:
    is_topic = paths.parent(path) == paths.BROKER_TOPICS
    return 1 + len(data or b"") // SHORTEST_PARTITION if is_topic else 1


def _checked(operation: Operation) -> Operation:
    if operation.place + operation.room + AFTER_A_CHANGE >= PLACES:
        raise TooLongError(f"transaction {operation.zxid:#x} is too long: more than {PLACES} events may follow from it")
    return operation


def present(run: str, path: str, znode: PastZnode, place: int) -> Operation:
    """A znode of the tree that a history begins with."""
    return Operation(
        run,
        key_of(path),
        0,
        place,
        Op.PRESENT,
        path,
        znode.data,
        znode.version,
        session_id=znode.ephemeral_owner,
        czxid=znode.czxid,
        mzxid=znode.mzxid,
    )
