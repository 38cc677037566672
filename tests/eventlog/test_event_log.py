"""The event log: order, causes, and the two forms on disk."""

from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from kcsim.eventlog.event_log import (
    BadTraceError,
    EventLog,
    FailSafeTraceWriter,
    TraceWriteError,
    arrow_schema,
    open_trace_writer,
    read_trace,
)
from kcsim.eventlog.events import EVENT_SCHEMA_VERSION, Event, EventFields, EventKind, TransactionRef
from kcsim.vocabulary import Zxid


def a_log() -> EventLog:
    log = EventLog(lambda: 7)
    began = log.append("scenario", EventKind.RUN_STARTED, None, EventFields(scenario="try", seed=1))
    log.append(
        "zookeeper",
        EventKind.ZNODE_CREATED,
        began,
        EventFields(path="/controller", data='{"brokerid":1}', zxid=5, zk_version=0, ephemeral=True),
    )
    log.append("broker-1", EventKind.BROKER_CHANGE, began, EventFields(brokers=[1, 2], detail="“quoted”, with ü"))
    return log


def test_seq_counts_without_gaps_and_time_is_the_run_s() -> None:
    assert [(e.seq, e.t_ms) for e in a_log().events] == [(0, 7), (1, 7), (2, 7)]


def test_a_watch_is_caused_by_the_transaction_it_saw() -> None:
    log = a_log()
    sink = log.sink("broker-2")
    sink.emit(EventKind.WATCH_FIRED, TransactionRef(Zxid(5), "/controller"), path="/controller")
    assert log.events[-1].cause == 1


def test_a_watch_on_the_children_is_caused_by_the_child_that_came() -> None:
    log = a_log()
    log.append("zookeeper", EventKind.ZNODE_CREATED, None, EventFields(path="/brokers/ids/3", zxid=6))
    log.sink("broker-2").emit(EventKind.WATCH_FIRED, TransactionRef(Zxid(6), "/brokers/ids"), path="/brokers/ids")
    assert log.events[-1].cause == 3


def test_an_event_that_mentions_a_transaction_comes_after_it() -> None:
    """In a live run the transaction is fetched from ZooKeeper's log when the event is appended."""
    log = a_log()

    def catch_up(zxid: Zxid) -> None:
        if zxid == 9:
            log.append("zookeeper", EventKind.ZNODE_DELETED, None, EventFields(path="/controller", zxid=9))

    log.follow_transactions(catch_up)
    log.sink("broker-2").emit(EventKind.WATCH_FIRED, TransactionRef(Zxid(9), "/controller"), path="/controller")
    deleted, fired = log.events[-2:]
    assert (deleted.kind, fired.cause) == (EventKind.ZNODE_DELETED, deleted.seq)


def test_a_server_that_reports_no_zxid_leaves_the_last_change_of_that_path_as_cause() -> None:
    log = a_log()
    log.sink("broker-2").emit(EventKind.WATCH_FIRED, TransactionRef(Zxid(0), "/controller"), path="/controller")
    assert log.events[-1].cause == 1


@pytest.mark.parametrize("name", ["trace.jsonl", "trace.parquet"])
def test_a_trace_is_read_back_as_it_was_written(tmp_path: Path, name: str) -> None:
    log = a_log()
    writer = open_trace_writer(tmp_path / name)
    for event in log.events:
        writer.write(event)
    writer.close()
    assert list(read_trace(tmp_path / name)) == log.events


def test_jsonl_leaves_absent_columns_out(tmp_path: Path) -> None:
    writer = open_trace_writer(tmp_path / "trace.jsonl")
    writer.write(Event(seq=0, t_ms=0, node="scenario", kind=EventKind.RUN_STARTED))
    writer.close()
    assert (tmp_path / "trace.jsonl").read_text() == '{"seq":0,"t_ms":0,"node":"scenario","kind":"RunStarted"}\n'


def test_a_trace_that_cannot_be_opened_says_so_at_once(tmp_path: Path) -> None:
    path = tmp_path / "no-such" / "trace.jsonl"
    with pytest.raises(TraceWriteError, match=f"{path} cannot be written: No such file or directory"):
        FailSafeTraceWriter(path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_does_not_disturb_the_run_and_is_reported_at_the_end() -> None:
    trace = FailSafeTraceWriter(Path("/dev/full"))
    for seq in range(10_000):  # more than any buffer holds
        trace.write(Event(seq=seq, t_ms=0, node="scenario", kind=EventKind.ADMIN_ACT))
    with pytest.raises(TraceWriteError, match="/dev/full cannot be written: No space left on device"):
        trace.close()


def test_the_parquet_schema_has_every_column_of_an_event_and_the_version() -> None:
    schema = arrow_schema()
    assert schema.names == [field.name for field in msgspec.structs.fields(Event)]
    assert schema.field("seq").type == pa.int64()
    assert not schema.field("kind").nullable
    assert schema.field("brokers").type == pa.list_(pa.int64())
    assert schema.metadata[b"kcsim.schema_version"] == str(EVENT_SCHEMA_VERSION).encode()


def test_the_columns_sinks_take_are_those_an_event_has() -> None:
    common = {"seq", "t_ms", "node", "kind", "cause"}
    assert {field.name for field in msgspec.structs.fields(Event)} == common | EventFields.__annotations__.keys()


def test_a_line_that_is_no_event_is_named(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    path.write_text('{"seq":0,"t_ms":0,"node":"scenario","kind":"RunStarted"}\n{"seq":1,"t_m')
    with pytest.raises(BadTraceError, match=r"cut\.jsonl:2: not an event"):
        list(read_trace(path))


def test_a_line_that_is_too_long_is_refused_without_being_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line without an end would fill the memory before it could be found invalid."""
    monkeypatch.setattr("kcsim.eventlog.event_log.MOST_LINE_BYTES", 1 << 20)
    path = tmp_path / "long.jsonl"
    path.write_bytes(b'{"seq":0,"t_ms":0,"node":"scenario","kind":"RunStarted"}\n' + b"x" * (1 << 20) + b"x\n")
    with pytest.raises(BadTraceError, match=r"long\.jsonl:2: not an event: the line is longer than 1 MB"):
        list(read_trace(path))


def test_a_line_that_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "deep.jsonl"
    path.write_text('{"more": ' + "[" * 100_000 + "]" * 100_000 + "}\n")
    with pytest.raises(BadTraceError, match=r"deep\.jsonl:1: not an event: nested too deeply"):
        list(read_trace(path))


def test_a_file_that_is_no_parquet_is_named(tmp_path: Path) -> None:
    path = tmp_path / "junk.parquet"
    path.write_bytes(b"junk")
    with pytest.raises(BadTraceError, match=r"junk\.parquet: not a trace"):
        list(read_trace(path))


def test_a_log_that_keeps_nothing_more_goes_on_counting_and_notifies_its_subscribers() -> None:
    """Very large runs are processed while they happen: their millions of events would not fit into memory."""
    log, heard = a_log(), list[Event]()
    log.subscribe(heard.append)
    log.keeps_events = False
    assert log.sink("broker-2").emit(EventKind.ELECTION_LOST) == 3
    log.append("zookeeper", EventKind.ZNODE_CREATED, None, EventFields(path="/brokers/ids/3", zxid=6))
    log.sink("broker-2").emit(EventKind.WATCH_FIRED, TransactionRef(Zxid(6), "/brokers/ids"), path="/brokers/ids")
    assert [event.seq for event in heard] == [3, 4, 5]
    assert heard[-1].cause == 4
    assert len(log.events) == 3
