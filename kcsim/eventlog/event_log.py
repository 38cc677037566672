"""The event log: everything that happens in a run, appended in order, as JSONL or Parquet with one schema.

Facts flow in and never back: subscribers may display or evaluate an event; nothing here acts. In a live run the znode
changes come from ZooKeeper's own transaction log (transaction_log_capture.py). Before the event log appends an event that
refers to a transaction, it appends the events of that transaction: a cause always stands before what follows from it.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import UnionType
from typing import IO, Any, Protocol, Unpack

import msgspec
from msgspec import structs

from kcsim.eventlog.arrow_types import arrow_fields
from kcsim.eventlog.events import EVENT_SCHEMA_VERSION, ZNODE_CHANGES, Event, EventFields, EventKind, TransactionRef
from kcsim.eventlog.recent_events import RecentEvents
from kcsim.eventlog.schema_upgrade import LAST_VERSION_WITHOUT_COLUMNS, upgraded
from kcsim.eventlog.sink import Cause, EventSink
from kcsim.vocabulary import Zxid
from kcsim.znodes.paths import parent

TRANSACTIONS_REMEMBERED = 200_000
ROWS_PER_GROUP = 50_000
ROWS_AT_ONCE = 10_000
TRACE_SUFFIXES = (".jsonl", ".parquet")
MOST_LINE_BYTES = 64 << 20
"""Bytes of one event as JSON. ZooKeeper refuses data of a znode beyond 1 MB; without a bound a line may fill the memory."""


class TraceWriter(Protocol):
    """A writer that stores events outside the process as they are appended."""

    def write(self, event: Event) -> None: ...
    def flush(self) -> None:
        """Make the events written so far visible to readers, if the format can be read before it is complete."""
        ...

    def close(self) -> None: ...


class EventLog:
    """The events of one run.

    Args:
        now_ms: the run's clock.

    Attributes:
        keeps_events: whether later events are kept in memory; those of a run too large for that reach only the subscribers.
    """

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._kept: list[Event] | RecentEvents = []
        self.keeps_events = True
        self._now_ms = now_ms
        self._next_seq = 0
        self._subscribers: list[Callable[[Event], None]] = []
        self._catch_up: Callable[[Zxid], None] | None = None
        self._seq_of_transaction: OrderedDict[tuple[int, str], int] = OrderedDict()
        self._last_change: dict[str, tuple[int, int | None]] = {}  # path -> seq and zxid

    @property
    def events(self) -> Sequence[Event]:
        """The events kept in memory; it grows with the log."""
        return self._kept

    def subscribe(self, subscriber: Callable[[Event], None]) -> None:
        """Call `subscriber` with each event from now on."""
        self._subscribers.append(subscriber)

    def keep_latest(self, most: int) -> None:
        """Keep only so many events in memory from now on. Call it before anything refers to `events`."""
        self._kept = RecentEvents(self._kept, most)

    def forget(self) -> None:
        """Drop the events kept so far; later ones go on counting."""
        self._kept.clear()

    def follow_transactions(self, catch_up: Callable[[Zxid], None]) -> None:
        """Call `catch_up` before each event that refers to a transaction, to append the transaction's own events first."""
        self._catch_up = catch_up

    def sink(self, node: str) -> EventSink:
        """Return the EventSink of one node."""
        return _NodeSink(self, node)

    def append(self, node: str, kind: EventKind, cause: Cause, fields: EventFields) -> int:
        """Append an event and return its seq."""
        if self._catch_up is not None and kind not in ZNODE_CHANGES:
            self._catch_up_with(self._catch_up, cause, fields)
        seq = self.seq_of(cause) if isinstance(cause, TransactionRef) else cause
        return self._keep(Event(self._next_seq, self._now_ms(), node, kind, seq, **fields))

    def put(self, event: Event) -> int:
        """Append an existing event with the next seq and the present time of this log; return its seq."""
        return self._keep(structs.replace(event, seq=self._next_seq, t_ms=self._now_ms()))

    def _keep(self, event: Event) -> int:
        self._next_seq += 1
        if self.keeps_events:
            self._kept.append(event)
        if event.kind in ZNODE_CHANGES:
            self._remember(event)
        for subscriber in self._subscribers:
            subscriber(event)
        return event.seq

    def _catch_up_with(self, catch_up: Callable[[Zxid], None], cause: Cause, fields: EventFields) -> None:
        zxid = cause.zxid if isinstance(cause, TransactionRef) else fields.get("zxid")
        if zxid:
            catch_up(Zxid(zxid))

    def seq_of(self, cause: TransactionRef) -> int | None:
        """Return the seq of a transaction's event; None if the event log does not have it."""
        found = self._seq_of_transaction.get((cause.zxid, cause.path))
        if found is not None:
            return found
        # Servers before 3.9 do not send the zxid of the change that fired a watch: the last logged change of the path is
        # that change or a later one. A last change with a lower zxid than the watch event cannot be the cause: the change
        # that fired the watch is not in the event log.
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


class JsonlTraceWriter:
    """A trace with one JSON object per line; absent columns are left out."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._encoder = msgspec.json.Encoder()

    def write(self, event: Event) -> None:
        self._file.write(self._encoder.encode(event) + b"\n")

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class ParquetTraceWriter:
    """A trace in Parquet: every column is present, null where absent; the schema version is in the file's metadata."""

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet as pq

        self._schema = arrow_schema()
        self._file = path.open("wb")
        self._writer = pq.ParquetWriter(self._file, self._schema, compression="zstd")
        self._rows: list[dict[str, Any]] = []

    def write(self, event: Event) -> None:
        self._rows.append({**msgspec.structs.asdict(event), "kind": str(event.kind)})
        if len(self._rows) >= ROWS_PER_GROUP:
            self._write_rows()

    def flush(self) -> None:
        """Do nothing: a Parquet file can only be read when it is complete."""

    def _write_rows(self) -> None:
        import pyarrow as pa

        if self._rows:
            self._writer.write_table(pa.Table.from_pylist(self._rows, schema=self._schema))
            self._rows.clear()

    def close(self) -> None:
        self._write_rows()
        self._writer.close()
        self._file.close()


def open_trace_writer(path: Path) -> TraceWriter:
    """Open a trace for writing: Parquet if the name ends in .parquet, JSONL otherwise. Raises: OSError."""
    return ParquetTraceWriter(path) if path.suffix == ".parquet" else JsonlTraceWriter(path.open("wb"))


class TraceWriteError(Exception):
    """A trace cannot be written: the message names the file and the reason."""

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__(f"{path} cannot be written: {error.strerror or error}")


class FailSafeTraceWriter:
    """A trace writer that does not disturb its run when writing fails: `close` raises the first failure."""

    def __init__(self, path: Path) -> None:
        """Open the trace. Raises: TraceWriteError."""
        self._path = path
        self._failure: OSError | None = None
        try:
            self._writer = open_trace_writer(path)
        except OSError as error:
            raise TraceWriteError(path, error) from None

    def write(self, event: Event) -> None:
        """Write an event; after a failure, do nothing."""
        if self._failure is None:
            try:
                self._writer.write(event)
            except OSError as error:
                self._failure = error

    def flush(self) -> None:
        """Make the events written so far visible to readers, if the trace is JSONL."""
        if self._failure is None:
            try:
                self._writer.flush()
            except OSError as error:
                self._failure = error

    def close(self) -> None:
        """Write the buffered events and close the file. Raises: TraceWriteError, also for an earlier failure."""
        try:
            self._writer.close()
        except OSError as error:
            self._failure = self._failure or error
        if self._failure is not None:
            raise TraceWriteError(self._path, self._failure)


def arrow_schema() -> Any:
    """Return the event log's columns as a pyarrow.Schema, derived from Event."""
    import pyarrow as pa

    required = {field.name for field in structs.fields(Event) if not isinstance(field.type, UnionType)}
    fields = [field.with_nullable(field.name not in required) for field in arrow_fields(Event)]
    return pa.schema(fields, metadata={"kcsim.schema_version": str(EVENT_SCHEMA_VERSION)})


class BadTraceError(Exception):
    """A trace cannot be read: the message names the file, the place in it and the reason."""


class TruncatedTraceError(BadTraceError):
    """The last line of a trace is incomplete: its run was killed, or is still writing the trace."""


def read_trace(path: Path) -> Iterator[Event]:
    """Yield the events of a trace, in order; those of an older version of the schema are upgraded (schema_upgrade.py).

    Args:
        path: of a file, or of a directory with the traces of a cluster's processes, which are merged (merged_traces.py).

    Raises: OSError; BadTraceError at the first line or column that is not an event, and immediately when a newer kcsim wrote
        the trace; TruncatedTraceError when only the last line is incomplete.
    """
    if path.is_dir():
        yield from _read_directory(path)
        return
    is_older = True
    for event in _read_parquet(path) if path.suffix == ".parquet" else _read_jsonl(path):
        if event.schema_version is not None:
            if event.schema_version > EVENT_SCHEMA_VERSION:
                ours = f"this one reads versions up to {EVENT_SCHEMA_VERSION}"
                newer = f"a newer kcsim wrote it, in version {event.schema_version} of the format"
                raise BadTraceError(f"{path}: {newer}; {ours}")
            is_older = event.schema_version <= LAST_VERSION_WITHOUT_COLUMNS
        yield upgraded(event) if is_older else event


def _read_directory(path: Path) -> Iterator[Event]:
    from kcsim.eventlog.merged_traces import NotOfAProcessError, merge_traces

    files = sorted(file for file in path.iterdir() if file.suffix in TRACE_SUFFIXES)
    if not files:
        raise BadTraceError(f"{path}: no traces in this directory: no file ends in {' or '.join(TRACE_SUFFIXES)}")
    try:
        yield from merge_traces({file: list(_until_broken_off(file)) for file in files})
    except NotOfAProcessError as error:
        raise BadTraceError(str(error)) from None


def _until_broken_off(path: Path) -> Iterator[Event]:
    """Yield the events of a process that may have been killed while it wrote its last line, or still writes it."""
    with suppress(TruncatedTraceError):
        yield from read_trace(path)


def _read_jsonl(path: Path) -> Iterator[Event]:
    decoder = msgspec.json.Decoder(Event)
    with path.open("rb") as lines:
        for number, line in enumerate(iter(lambda: lines.readline(MOST_LINE_BYTES + 1), b""), 1):
            if len(line) > MOST_LINE_BYTES:
                raise BadTraceError(f"{path}:{number}: not an event: the line is longer than {MOST_LINE_BYTES >> 20} MB")
            try:
                yield decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                if not line.endswith(b"\n"):
                    raise TruncatedTraceError(f"{path}:{number}: not an event: the trace breaks off here") from None
                raise BadTraceError(f"{path}:{number}: not an event: {error}") from None
            except RecursionError:
                raise BadTraceError(f"{path}:{number}: not an event: nested too deeply") from None


def _read_parquet(path: Path) -> Iterator[Event]:
    import pyarrow as pa

    from kcsim.eventlog.parquet_batches import OversizedFileError, batches_of, open_parquet

    try:
        with open_parquet(path) as file:
            for batch in batches_of(file, ROWS_AT_ONCE):
                for row in batch.to_pylist():
                    yield msgspec.convert(row, Event)
    except OversizedFileError as error:
        raise BadTraceError(f"{path}: {error}") from None
    except (pa.ArrowException, msgspec.ValidationError) as error:
        raise BadTraceError(f"{path}: not a trace: {error}") from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise BadTraceError(f"{path}: damaged: {' '.join(str(error).split())}") from None
