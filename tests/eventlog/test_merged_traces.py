"""One log from the traces of a cluster's processes: order, causes, and transactions that several processes saw."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kcsim.eventlog.event_log import BadTraceError, read_trace
from kcsim.eventlog.events import EVENT_SCHEMA_VERSION, Event, EventKind
from kcsim.eventlog.merged_traces import merge_traces
from kcsim.eventlog.run_record import RunRecord, encode_run_record

BEGAN_MS = 1_700_000_000_000


class Trace:
    """The trace of one process, event by event.

    Args:
        later_ms: how much later than BEGAN_MS it began; None: its start has no time.
    """

    def __init__(self, node: str, later_ms: int | None = 0) -> None:
        self.node = node
        began_ms = None if later_ms is None else BEGAN_MS + later_ms
        data = encode_run_record(RunRecord({}, {}, 2_000, 6_000, began_ms=began_ms))
        self.events = [Event(0, 0, "scenario", EventKind.RUN_STARTED, data=data, schema_version=EVENT_SCHEMA_VERSION)]

    def add(self, t_ms: int, kind: EventKind, cause: int | None = 0, node: str | None = None, **fields: Any) -> int:
        """Add an event of this process, and return its seq."""
        self.events.append(Event(len(self.events), t_ms, node or self.node, kind, cause, **fields))
        return len(self.events) - 1

    def znode(
        self, t_ms: int, kind: EventKind, path: str, zxid: int | None, version: int | None = 0, cause: int | None = None
    ) -> int:
        return self.add(t_ms, kind, cause, "zookeeper", path=path, zxid=zxid, zk_version=version)


def merged(*traces: Trace) -> list[Event]:
    events = list(merge_traces({Path(trace.node): trace.events for trace in traces}))
    assert [event.seq for event in events] == list(range(len(events)))
    assert all(event.cause is None or event.cause < event.seq for event in events)
    assert [event.t_ms for event in events] == sorted(event.t_ms for event in events)
    return events


def kinds_of(events: Sequence[Event]) -> list[tuple[str, EventKind]]:
    return [(event.node, event.kind) for event in events]


def only(events: Sequence[Event], kind: EventKind) -> Event:
    (found,) = [event for event in events if event.kind is kind]
    return found


def test_events_are_in_the_order_of_the_wall_clock() -> None:
    first, second = Trace("broker-1", later_ms=500), Trace("broker-2")
    first.add(10, EventKind.ELECTION_STARTED)
    second.add(509, EventKind.ELECTION_LOST)
    second.add(511, EventKind.CONTROLLER_RESIGNED)
    assert [(event.t_ms, event.kind) for event in merged(first, second)] == [
        (0, EventKind.RUN_STARTED),
        (509, EventKind.ELECTION_LOST),
        (510, EventKind.ELECTION_STARTED),
        (511, EventKind.CONTROLLER_RESIGNED),
    ]


def test_a_transaction_is_one_event_with_the_writer_s_cause_where_it_was_seen_first() -> None:
    """The other broker is notified before the writer has read its reply."""
    writer, watcher = Trace("broker-1"), Trace("broker-2")
    election = writer.add(10, EventKind.ELECTION_STARTED)
    writer.znode(30, EventKind.ZNODE_CREATED, "/controller", 7, cause=election)
    seen = watcher.znode(20, EventKind.ZNODE_CREATED, "/controller", 7)
    watcher.add(20, EventKind.WATCH_FIRED, seen, path="/controller")
    events = merged(watcher, writer)
    created = only(events, EventKind.ZNODE_CREATED)
    assert (created.t_ms, created.cause) == (20, only(events, EventKind.ELECTION_STARTED).seq)
    assert only(events, EventKind.WATCH_FIRED).cause == created.seq


def test_transactions_are_in_zookeeper_s_order_if_reported_late() -> None:
    slow, fast = Trace("broker-1"), Trace("broker-2")
    begun = slow.add(5, EventKind.ELECTION_STARTED)
    slow.znode(90, EventKind.ZNODE_CREATED, "/a", 3, cause=begun)
    fast.znode(10, EventKind.ZNODE_CHANGED, "/a", 4, version=1)
    events = [event for event in merged(slow, fast) if event.path == "/a"]
    assert [(e.kind, e.zxid, e.t_ms) for e in events] == [(EventKind.ZNODE_CREATED, 3, 10), (EventKind.ZNODE_CHANGED, 4, 10)]


def test_a_deletion_whose_zxid_is_known_to_the_deleter_only_is_one_event() -> None:
    deleter, reader = Trace("broker-1"), Trace("broker-2")
    deleter.znode(10, EventKind.ZNODE_CREATED, "/a", 3)
    decided = deleter.add(15, EventKind.TOPIC_DELETION)
    deleter.znode(20, EventKind.ZNODE_DELETED, "/a", 5, version=None, cause=decided)
    deleter.znode(30, EventKind.ZNODE_CREATED, "/a", 6)
    reader.znode(11, EventKind.ZNODE_CREATED, "/a", 3)
    reader.znode(25, EventKind.ZNODE_DELETED, "/a", None, version=None)
    reader.znode(31, EventKind.ZNODE_CREATED, "/a", 6)
    events = merged(deleter, reader)
    deleted = only(events, EventKind.ZNODE_DELETED)
    assert (deleted.zxid, deleted.cause) == (5, only(events, EventKind.TOPIC_DELETION).seq)
    assert [event.zxid for event in events if event.kind is EventKind.ZNODE_CREATED] == [3, 6]


def test_an_expiry_is_one_event_although_each_process_infers_it() -> None:
    traces = [Trace("broker-1"), Trace("broker-2")]
    for trace in traces:
        trace.znode(10, EventKind.ZNODE_CREATED, "/brokers/ids/3", 3)
        ended = trace.add(20, EventKind.SESSION_CLOSED, None, "zookeeper", session_id="0x1")
        trace.znode(20, EventKind.ZNODE_DELETED, "/brokers/ids/3", None, version=None, cause=ended)
    events = merged(*traces)
    assert only(events, EventKind.ZNODE_DELETED).cause == only(events, EventKind.SESSION_CLOSED).seq


def test_what_follows_from_a_request_follows_from_its_sending() -> None:
    """The recipient's clock is a millisecond behind, and its second request comes right after the first."""
    sender, recipient = Trace("broker-1"), Trace("broker-2")
    for t_ms in (10, 11):
        sender.add(t_ms, EventKind.REQUEST_SENT, broker_id=2, event="LeaderAndIsr", detail=f"at {t_ms}")
    sender.add(12, EventKind.REQUEST_SENT, broker_id=3, event="LeaderAndIsr")
    for t_ms in (9, 10):
        received = recipient.add(t_ms, EventKind.REQUEST_RECEIVED, broker_id=1, event="LeaderAndIsr")
        recipient.add(t_ms, EventKind.BECAME_LEADER, received)
    events = merged(sender, recipient)
    assert EventKind.REQUEST_RECEIVED not in {event.kind for event in events}
    causes = [event.cause for event in events if event.kind is EventKind.BECAME_LEADER]
    assert [events[cause].detail for cause in causes if cause is not None] == ["at 10", "at 11"]


def test_a_request_that_never_arrived_causes_nothing() -> None:
    sender, recipient = Trace("broker-1"), Trace("broker-2")
    for t_ms in (10, 5_000):
        sender.add(t_ms, EventKind.REQUEST_SENT, broker_id=2, event="StopReplica", detail=f"at {t_ms}")
    received = recipient.add(5_001, EventKind.REQUEST_RECEIVED, broker_id=1, event="StopReplica")
    recipient.add(5_001, EventKind.REPLICA_STOPPED, received)
    events = merged(sender, recipient)
    cause = only(events, EventKind.REPLICA_STOPPED).cause
    assert cause is not None
    assert events[cause].detail == "at 5000"


def test_a_request_whose_sender_has_left_no_trace_is_kept() -> None:
    recipient = Trace("broker-2")
    received = recipient.add(10, EventKind.REQUEST_RECEIVED, broker_id=1, event="LeaderAndIsr")
    recipient.add(11, EventKind.BECAME_LEADER, received)
    events = merged(recipient, Trace("broker-3"))
    assert only(events, EventKind.BECAME_LEADER).cause == only(events, EventKind.REQUEST_RECEIVED).seq


def test_the_log_has_an_end_only_if_every_process_has() -> None:
    killed, stopped = Trace("broker-1"), Trace("broker-2")
    stopped.add(10, EventKind.RUN_ENDED)
    assert kinds_of(merged(killed, stopped)) == [("scenario", EventKind.RUN_STARTED)]
    killed.add(20, EventKind.RUN_ENDED)
    assert kinds_of(merged(killed, stopped)) == [("scenario", EventKind.RUN_STARTED), ("broker-1", EventKind.RUN_ENDED)]


# --- a directory of traces -------------------------------------------------------------------------------------------------


def write(trace: Trace, path: Path, then: bytes = b"") -> None:
    path.write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in trace.events) + then)


def test_a_directory_is_read_as_one_trace_up_to_a_killed_process_s_last_line(tmp_path: Path) -> None:
    for number in (1, 2):
        trace = Trace(f"broker-{number}")
        trace.add(number, EventKind.ELECTION_STARTED)
        write(trace, tmp_path / f"{number}.jsonl", b'{"seq":2,"t_m' if number == 1 else b"")
    (tmp_path / "notes.txt").write_text("not a trace")
    assert kinds_of(list(read_trace(tmp_path)))[1:] == [
        ("broker-1", EventKind.ELECTION_STARTED),
        ("broker-2", EventKind.ELECTION_STARTED),
    ]


def test_a_directory_without_traces_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadTraceError, match="no traces in this directory"):
        list(read_trace(tmp_path))


def test_the_trace_of_a_whole_run_is_no_part_of_a_cluster(tmp_path: Path) -> None:
    write(Trace("broker-1", later_ms=None), tmp_path / "run.jsonl")
    with pytest.raises(BadTraceError, match=r"run\.jsonl: not the trace of a broker's process"):
        list(read_trace(tmp_path))
