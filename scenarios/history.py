"""The event log: everything that happens in a run, appended in order, as JSONL or Parquet with one schema.

Facts flow in and never back: subscribers may show an event or judge it, nothing here acts. In a live run the znode changes
come from ZooKeeper's own transaction log (transaction_feed.py); whoever mentions a transaction makes the log catch up with
it first, so that a cause always stands before what follows from it.
"""

import types
import typing
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Protocol, Unpack

import msgspec
from msgspec import structs

from kcsim.zk.events import EVENT_SCHEMA_VERSION, Event, EventFields, EventKind, Transaction
from kcsim.zk.paths import parent
from kcsim.zk.ports import Cause, EventSink
from kcsim.zk.vocabulary import Zxid

TRANSACTIONS_REMEMBERED = 200_000
ROWS_PER_GROUP = 50_000

_TREE_CHANGES = frozenset({EventKind.ZNODE_CREATED, EventKind.ZNODE_CHANGED, EventKind.ZNODE_DELETED})


class TraceWriter(Protocol):
    """Keeps events outside the process as they come."""

    def write(self, event: Event) -> None: ...
    def flush(self) -> None:
        """Let readers see what was written, where the format allows that before the end."""
        ...

    def close(self) -> None: ...


class EventLog:
    """One run's events.

    Args:
        now_ms: the run's clock.

    Attributes:
        events: those that are kept.
        keeps_events: whether those to come are; a run too large for that has its subscribers only.
    """

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self.events: list[Event] = []
        self.keeps_events = True
        self._now_ms = now_ms
        self._next_seq = 0
        self._subscribers: list[Callable[[Event], None]] = []
        self._catch_up: Callable[[Zxid], None] | None = None
        self._seq_of_transaction: OrderedDict[tuple[int, str], int] = OrderedDict()
        self._last_change: dict[str, tuple[int, int | None]] = {}  # path -> seq and zxid

    def subscribe(self, subscriber: Callable[[Event], None]) -> None:
        """Call `subscriber` with each event from now on."""
        self._subscribers.append(subscriber)

    def follow_transactions(self, catch_up: Callable[[Zxid], None]) -> None:
        """Before an event that mentions a transaction is appended, call `catch_up` to append the transaction itself."""
        self._catch_up = catch_up

    def sink(self, node: str) -> EventSink:
        """The EventSink of one node."""
        return _NodeSink(self, node)

    def append(self, node: str, kind: EventKind, cause: Cause, fields: EventFields) -> int:
        """Append an event and return its seq."""
        if kind not in _TREE_CHANGES:
            self._catch_up_with(cause, fields)
        return self._keep(Event(self._next_seq, self._now_ms(), node, kind, self._seq_of(cause), **fields))

    def put(self, event: Event) -> int:
        """Append an event that was made elsewhere, under a seq of this log and as of now; return its seq."""
        return self._keep(structs.replace(event, seq=self._next_seq, t_ms=self._now_ms()))

    def _keep(self, event: Event) -> int:
        self._next_seq += 1
        if self.keeps_events:
            self.events.append(event)
        if event.kind in _TREE_CHANGES:
            self._remember(event)
        for subscriber in self._subscribers:
            subscriber(event)
        return event.seq

    def _catch_up_with(self, cause: Cause, fields: EventFields) -> None:
        if self._catch_up is None:
            return
        zxid = cause.zxid if isinstance(cause, Transaction) else fields.get("zxid")
        if zxid:
            self._catch_up(Zxid(zxid))

    def _seq_of(self, cause: Cause) -> int | None:
        if not isinstance(cause, Transaction):
            return cause
        found = self._seq_of_transaction.get((cause.zxid, cause.path))
        if found is not None:
            return found
        # Servers before 3.9 do not tell the zxid of what a watch saw: the last change of that path is it, or later. But a
        # change that is older than what was seen is not it: nobody has told us of that one.
        last, zxid = self._last_change.get(cause.path, (None, None))
        is_older = (zxid or cause.zxid) < cause.zxid
        return None if is_older else last

    def _remember(self, event: Event) -> None:
        assert event.path is not None
        places = [event.path]
        if event.kind is not EventKind.ZNODE_CHANGED:
            places.append(parent(event.path))  # a watch on the children names the parent
        last = event.seq, event.zxid
        for path in places:
            self._last_change[path] = last
            if event.zxid is not None:
                self._seq_of_transaction.setdefault((event.zxid, path), event.seq)
        while len(self._seq_of_transaction) > TRANSACTIONS_REMEMBERED:
            self._seq_of_transaction.popitem(last=False)


class _NodeSink:
    def __init__(self, log: EventLog, node: str) -> None:
        self._log = log
        self._node = node

    def emit(self, kind: EventKind, cause: Cause = None, **fields: Unpack[EventFields]) -> int:
        return self._log.append(self._node, kind, cause, fields)


# --- on disk -------------------------------------------------------------------------------------------------------------


class JsonlTrace:
    """One JSON object a line, absent columns left out."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._encoder = msgspec.json.Encoder()

    def write(self, event: Event) -> None:
        self._file.write(self._encoder.encode(event) + b"\n")

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class ParquetTrace:
    """The same columns in Parquet, every one present, null where absent; schema version in the file's metadata."""

    def __init__(self, file: IO[bytes]) -> None:
        import pyarrow.parquet as pq

        self._file = file
        self._schema = arrow_schema()
        self._writer = pq.ParquetWriter(file, self._schema, compression="zstd")
        self._rows: list[dict[str, Any]] = []

    def write(self, event: Event) -> None:
        self._rows.append({**msgspec.structs.asdict(event), "kind": str(event.kind)})
        if len(self._rows) >= ROWS_PER_GROUP:
            self._write_rows()

    def flush(self) -> None:
        """Nothing: a Parquet file can be read when it is complete, not before."""

    def _write_rows(self) -> None:
        import pyarrow as pa

        if self._rows:
            self._writer.write_table(pa.Table.from_pylist(self._rows, schema=self._schema))
            self._rows.clear()

    def close(self) -> None:
        self._write_rows()
        self._writer.close()
        self._file.close()


def trace_to(path: Path) -> TraceWriter:
    """Open a trace for writing: Parquet if the name ends so, JSONL otherwise. Raises: OSError."""
    file = path.open("wb")
    return ParquetTrace(file) if path.suffix == ".parquet" else JsonlTrace(file)


class TraceError(Exception):
    """A trace that cannot be kept: says which file, and why."""

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__(f"{path} cannot be written: {error.strerror or error}")


class KeptTrace:
    """A trace whose failure does not disturb the run that it is of: what went wrong is told when it is closed."""

    def __init__(self, path: Path) -> None:
        """Open it. Raises: TraceError."""
        self._path = path
        self._failure: OSError | None = None
        try:
            self._writer = trace_to(path)
        except OSError as error:
            raise TraceError(path, error) from None

    def write(self, event: Event) -> None:
        """Keep an event; after a failure, none."""
        if self._failure is None:
            try:
                self._writer.write(event)
            except OSError as error:
                self._failure = error

    def flush(self) -> None:
        """Let readers see what was kept so far, if it is kept as JSONL."""
        if self._failure is None:
            try:
                self._writer.flush()
            except OSError as error:
                self._failure = error

    def close(self) -> None:
        """Write what is left. Raises: TraceError, also for what went wrong before."""
        try:
            self._writer.close()
        except OSError as error:
            self._failure = self._failure or error
        if self._failure is not None:
            raise TraceError(self._path, self._failure)


def arrow_schema() -> Any:
    """The event log's columns as a pyarrow.Schema, made from Event itself."""
    import pyarrow as pa

    arrow_types = {
        int: pa.int64(),
        str: pa.string(),
        EventKind: pa.string(),
        bool: pa.bool_(),
        Sequence[int]: pa.list_(pa.int64()),
        Sequence[str]: pa.list_(pa.string()),
    }
    fields = []
    for field in msgspec.structs.fields(Event):
        wanted = field.type
        is_optional = isinstance(wanted, types.UnionType)
        if is_optional:
            wanted = next(t for t in typing.get_args(wanted) if t is not types.NoneType)
        fields.append(pa.field(field.name, arrow_types[wanted], nullable=is_optional))
    return pa.schema(fields, metadata={"kcsim.schema_version": str(EVENT_SCHEMA_VERSION)})


class BadTraceError(Exception):
    """A trace that cannot be read: says which file, where in it, and why."""


class BrokenOffTraceError(BadTraceError):
    """A trace whose last line was never finished: its run was killed, or is still writing it."""


def read_trace(path: Path) -> Iterator[Event]:
    """Yield the events of a trace, in order.

    Raises: OSError; BadTraceError at the first line or column that is no event, and at once when a newer kcsim wrote it;
        BrokenOffTraceError when all is well but the last line.
    """
    for event in _read_parquet(path) if path.suffix == ".parquet" else _read_jsonl(path):
        if event.schema_version is not None and event.schema_version > EVENT_SCHEMA_VERSION:
            ours = f"this one reads versions up to {EVENT_SCHEMA_VERSION}"
            raise BadTraceError(f"{path}: a newer kcsim wrote it, in version {event.schema_version} of the format; {ours}")
        yield event


def _read_jsonl(path: Path) -> Iterator[Event]:
    decoder = msgspec.json.Decoder(Event)
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                if not line.endswith(b"\n"):
                    raise BrokenOffTraceError(f"{path}:{number}: not an event: the trace breaks off here") from None
                raise BadTraceError(f"{path}:{number}: not an event: {error}") from None


def _read_parquet(path: Path) -> Iterator[Event]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):  # each for itself: what comes before a damaged one can be read
                for batch in file.iter_batches(row_groups=[group]):
                    for row in batch.to_pylist():
                        yield msgspec.convert(row, Event)
    except (pa.ArrowException, msgspec.ValidationError) as error:
        raise BadTraceError(f"{path}: not a trace: {error}") from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise BadTraceError(f"{path}: damaged: {' '.join(str(error).split())}") from None
