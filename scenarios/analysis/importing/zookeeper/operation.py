"""One operation of a transaction, between the task that reads it from a file and the task that imports its path.

Pure. One importer processes all operations of one `key`, in order of zxid and place. The key "" is the cluster's: sessions,
the role of controller, registrations and administrators' requests, on which the import of all other keys depends.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from kcsim.eventlog.arrow_types import arrow_fields
from kcsim.zk.capture.transaction_events import fence_of, path_of_kafka
from kcsim.zk.files.past_tree import PastZnode
from kcsim.zk.files.transactions import (
    CloseSessionTxn,
    CreateSessionTxn,
    CreateTxn,
    DeleteTxn,
    SetDataTxn,
    Transaction,
    Txn,
)
from kcsim.znodes import paths

OF_THE_CLUSTER = ""
FIRST_PLACE = 1
"""The place of the first operation. Place 0 is for the event of the whole transaction: a session's end, an AdminAct."""
AFTER_A_CHANGE = 3
"""How many events may follow an operation's change of a znode: changes of the ISR, and of a role."""
SHORTEST_PARTITION = len('"0":[],')
"""Its length in a topic's znode. Each partition may be the subject of a decision, whose event precedes the change."""
PLACES = 1 << 20
"""The number of places in one transaction. A transaction of 1 MB, a server's default limit, needs half of them."""


ENUMERATIONS = ("op", "act")


class Op(StrEnum):
    """The kind of an operation."""

    FILE = "file"  # no operation: `data` is the survey of a log file
    PRESENT = "present"  # a znode was there before the first transaction
    OPEN = "open"  # a session
    CLOSE = "close"
    END = "end"  # of an ephemeral znode, with its session
    CREATE = "create"
    SET = "set"
    DELETE = "delete"


class AdminActEmission(StrEnum):
    """Whether an operation emits the AdminAct event of its transaction, if the session is not a broker's."""

    NOT = ""
    IF_DONE = "if done"  # this operation, if it changes something
    ALWAYS = "always"  # this one: it is the first of several


class Operation(NamedTuple):
    """The columns of the table of operations.

    Attributes:
        place: where its events begin among those of its transaction; of PRESENT, among those of the beginning.
        room: how many of its events may come before the change of the znode.
        path: below the chroot.
        number: the new version of SET and PRESENT, the time-out of OPEN; of CLOSE 1 if the log lists the znodes that it
            deletes.
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
    act: str = AdminActEmission.NOT
    czxid: int = 0
    mzxid: int = 0


class TransactionTooLongError(ValueError):
    """A transaction with more operations than it has places for events."""


def operations_arrow_schema() -> Any:
    """Return the columns as a pyarrow.Schema."""
    import pyarrow as pa

    return pa.schema(arrow_fields(Operation))


def operations_batch(operations: Sequence[Operation]) -> Any:
    """Return operations as a pyarrow.RecordBatch."""
    import pyarrow as pa

    schema = operations_arrow_schema()
    columns = zip(*operations, strict=True) if operations else ([] for _ in schema)
    arrays = [
        # pyarrow converts members of an enumeration many times more slowly than plain strings.
        pa.array([*map(str.__str__, column)] if field.name in ENUMERATIONS else column, type=field.type)
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def key_of(path: str) -> str:
    """Return the key that imports a path: the path itself, its partition's ("orders 0"), or the cluster's."""
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
    """Yield the operations of a transaction that concern Kafka. Raises: TransactionTooLongError."""
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
    """Yield the ends of a session's ephemeral znodes; in `gone`, None stands for a znode that is not Kafka's."""
    place = FIRST_PLACE
    for path in gone:
        if path is not None:
            yield _checked(close._replace(key=key_of(path), place=place, op=Op.END, path=path, number=close.number))
        place += 1 + AFTER_A_CHANGE


def _changes(whole: Operation, transaction: Transaction, chroot: str) -> Iterator[Operation]:
    of = whole._replace(fence=fence_of(transaction, chroot)) if len(transaction.ops) > 1 else whole
    operations = [op for op in _znode_operations(transaction.ops, of, chroot) if op is not None]
    place = FIRST_PLACE
    for number, op in enumerate(operations):
        act = (
            AdminActEmission.NOT if number else AdminActEmission.ALWAYS if len(operations) > 1 else AdminActEmission.IF_DONE
        )
        yield _checked(op._replace(place=place, act=act))
        place += op.room + 1 + AFTER_A_CHANGE


def _znode_operations(ops: Sequence[Txn], of: Operation, chroot: str) -> Iterator[Operation | None]:
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
        raise TransactionTooLongError(
            f"transaction {operation.zxid:#x} is too long: more than {PLACES} events may follow from it"
        )
    return operation


def present(run: str, path: str, znode: PastZnode, place: int) -> Operation:
    """Return the operation of a znode of the tree that a history begins with."""
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
