"""The event log of a run in processes: their traces and ZooKeeper's transactions in one, with the causes of one process."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from kcsim.brokers.cluster.processes.broker_traces import BrokerTraces, trace_path
from kcsim.brokers.cluster.processes.process_feed import FeedClock, ProcessFeed, RunClock
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EVENT_SCHEMA_VERSION, Event, EventFields, EventKind
from kcsim.eventlog.run_actions import SCENARIO
from kcsim.eventlog.run_record import RunRecord, encode_run_record
from kcsim.vocabulary import BrokerId, SessionId, ZkVersion, Zxid
from kcsim.zk.files.transactions import CheckVersionTxn, CreateTxn, SetDataTxn, Transaction, Txn
from kcsim.zk.operations import ReplyOrError, Request, Synced
from kcsim.znodes import paths

BEGAN_MS = 1_000_000
"""When all processes began, in ms since 1970."""
OWNERS: Mapping[SessionId, str] = {SessionId(1): "broker-1", SessionId(2): "broker-2"}
STATE = "/brokers/topics/orders/partitions/0/state"
K = EventKind


class SyncedSession:
    """A session of which only Sync is asked."""

    async def call(self, _requests: list[Request], _cause: object = None) -> list[ReplyOrError]:
        return [Synced("/", Zxid(1_000))]


class ListedTail:
    """A transaction log that is written already."""

    def __init__(self, transactions: Sequence[Transaction]) -> None:
        self._left = list(transactions)

    def read_to(self, zxid: Zxid) -> list[Transaction]:
        found = [one for one in self._left if one.zxid <= zxid]
        self._left = [one for one in self._left if one.zxid > zxid]
        return found


class Merged:
    """A run of two brokers, which write their traces before the feed looks at them."""

    def __init__(self, directory: Path, transactions: Sequence[Transaction] = ()) -> None:
        self._directory = directory
        self._written: dict[str, list[Event]] = {"broker-1": [], "broker-2": []}
        clock = FeedClock(lambda: 10_000)
        self.log = EventLog(clock.now_ms)
        began = self.log.append(SCENARIO, K.RUN_STARTED, None, EventFields(scenario="test"))
        traces = BrokerTraces(dict.fromkeys(self._written, directory))
        run = RunClock(began, BEGAN_MS, lambda: BEGAN_MS + 10_000)
        self.feed = ProcessFeed(self.log, clock, ListedTail(transactions), traces, lambda: OWNERS, run)
        started = self.act("start", "broker-1, broker-2")
        for node in self._written:
            self.log.append(node, K.PROCESS_STATE, started, EventFields(state="running"))
            record = RunRecord({}, {}, 200, 4_000, began_ms=BEGAN_MS)
            self.write(node, 0, K.RUN_STARTED, None, schema_version=EVENT_SCHEMA_VERSION, data=encode_run_record(record))

    def act(self, op: str, target: str) -> int:
        return self.log.append(SCENARIO, K.ADMIN_ACT, None, EventFields(op=op, target=target))

    def write(self, node: str, t_ms: int, kind: EventKind, cause: int | None, **fields: Any) -> int:
        """Write an event into a broker's trace. Return its seq there."""
        events = self._written[node]
        events.append(Event(len(events), t_ms, fields.pop("of", node), kind, cause, **fields))
        lines = b"".join(msgspec.json.encode(event) + b"\n" for event in events)
        trace_path(self._directory, node, 1).write_bytes(lines)
        return len(events) - 1

    def settle(self) -> list[Event]:
        """Return what is in the log once everything is merged, without the start of the run."""
        before = len(self.log.events)
        asyncio.run(self.feed.settle(SyncedSession()))  # type: ignore[arg-type]
        return list(self.log.events[before:])


def transaction(zxid: int, t_ms: int, session: int, *ops: Txn) -> Transaction:
    return Transaction(Zxid(zxid), SessionId(session), zxid, BEGAN_MS + t_ms, ops, len(ops) > 1)


def set_state(version: int) -> SetDataTxn:
    return SetDataTxn(STATE, b"{}", ZkVersion(version))


def summary(events: Sequence[Event]) -> list[tuple[str, EventKind]]:
    return [(event.node, event.kind) for event in events]


def test_a_transaction_follows_from_the_write_of_its_broker(tmp_path: Path) -> None:
    """Also if no answer has reached the broker, which so has not reported it."""
    merged = Merged(tmp_path, [transaction(7, 20, 1, set_state(3))])
    merged.write("broker-1", 10, K.ZK_WRITE, 0, path=STATE, op="set", count=1)
    written, changed = merged.settle()
    assert (written.kind, changed.kind, changed.cause, changed.zxid) == (K.ZK_WRITE, K.ZNODE_CHANGED, written.seq, 7)
    assert written.cause is not None
    assert merged.log.events[written.cause].kind is K.PROCESS_STATE


def test_a_write_that_was_refused_is_not_the_cause_of_a_later_one(tmp_path: Path) -> None:
    """A former controller's write has the old version of the epoch; its next one as a controller has the new one."""
    fenced = CheckVersionTxn(paths.CONTROLLER_EPOCH, ZkVersion(2)), set_state(4)
    merged = Merged(tmp_path, [transaction(9, 40, 1, *fenced)])
    merged.write("broker-1", 10, K.ZK_WRITE, 0, path=STATE, op="set", count=1, controller_epoch_zk_version=1)
    merged.write("broker-1", 30, K.ZK_WRITE, 0, path=STATE, op="set", count=1, controller_epoch_zk_version=2)
    _, second, changed = merged.settle()
    assert (second.controller_epoch_zk_version, changed.cause) == (2, second.seq)


def test_what_both_report_is_there_once_and_followed_by_what_follows_from_it(tmp_path: Path) -> None:
    merged = Merged(tmp_path, [transaction(7, 20, 1, set_state(3))])
    wrote = merged.write("broker-1", 10, K.ZK_WRITE, 0, path=STATE, op="set", count=1)
    merged.write("broker-1", 25, K.ZNODE_CHANGED, wrote, of="zookeeper", path=STATE, zxid=7, zk_version=3)
    merged.write("broker-2", 22, K.WATCH_FIRED, None, path=STATE, zxid=7, event="NODE_DATA_CHANGED")
    events = merged.settle()
    assert summary(events) == [
        ("broker-1", K.ZK_WRITE),
        ("zookeeper", K.ZNODE_CHANGED),
        ("broker-2", K.WATCH_FIRED),
    ]
    assert [event.cause for event in events[1:]] == [events[0].seq, events[1].seq]


def test_a_registration_comes_before_what_others_do_about_it(tmp_path: Path) -> None:
    """The broker learns of it with the answer, later than the controller by its watch."""
    path = paths.broker_id(BrokerId(2))
    merged = Merged(tmp_path, [transaction(7, 20, 2, CreateTxn(path, b"{}", True, 1)), transaction(8, 25, 1, set_state(3))])
    wrote = merged.write("broker-2", 10, K.ZK_WRITE, 0, path=path, op="create", count=1)
    merged.write("broker-2", 30, K.BROKER_REGISTERED, wrote, broker_id=2, broker_epoch=7)
    merged.write("broker-1", 24, K.ZK_WRITE, 0, path=STATE, op="set", count=1)
    events = merged.settle()
    assert summary(events) == [
        ("broker-2", K.ZK_WRITE),
        ("zookeeper", K.ZNODE_CREATED),
        ("broker-2", K.BROKER_REGISTERED),
        ("broker-1", K.ZK_WRITE),
        ("zookeeper", K.ZNODE_CHANGED),
    ]


def test_what_follows_from_a_request_follows_from_its_sending(tmp_path: Path) -> None:
    """Also when the clocks, which are rounded, seem to say that it was received before it was sent."""
    merged = Merged(tmp_path)
    merged.write("broker-1", 21, K.REQUEST_SENT, 0, broker_id=2, event="LeaderAndIsr")
    received = merged.write("broker-2", 20, K.REQUEST_RECEIVED, 0, broker_id=1, event="LeaderAndIsr")
    merged.write("broker-2", 22, K.BECAME_LEADER, received, topic="orders", partition=0)
    sent, led = merged.settle()
    assert (sent.kind, led.kind, led.cause) == (K.REQUEST_SENT, K.BECAME_LEADER, sent.seq)


def test_what_the_run_reports_of_a_process_is_not_reported_twice(tmp_path: Path) -> None:
    merged = Merged(tmp_path)
    act = merged.write("broker-1", 1, K.ADMIN_ACT, None, of=SCENARIO, op="start", target="broker-1")
    began = merged.write("broker-1", 1, K.PROCESS_STATE, act, state="running")
    merged.write("broker-1", 2, K.SESSION_STATE, began, state="connected")
    (connected,) = merged.settle()
    assert connected.kind is K.SESSION_STATE
    assert connected.cause is not None
    assert merged.log.events[connected.cause].node == "broker-1"


def test_a_process_that_was_paused_is_not_taken_for_a_machine_that_stood_still(tmp_path: Path) -> None:
    merged = Merged(tmp_path)
    resumed = merged.act("resume", "broker-1")
    merged.log.append("broker-1", K.PROCESS_STATE, resumed, EventFields(state="running"))
    merged.write("broker-1", 9_900, K.RUN_STALLED, 0, duration_ms=5_000)
    assert merged.settle() == []


def test_the_next_start_of_a_broker_has_a_trace_of_its_own(tmp_path: Path) -> None:
    merged = Merged(tmp_path)
    merged.write("broker-1", 5, K.SESSION_STATE, 0, state="connected")
    assert len(merged.settle()) == 1
    again = merged.act("start", "broker-1")
    running = merged.log.append("broker-1", K.PROCESS_STATE, again, EventFields(state="running"))
    first = trace_path(tmp_path, "broker-1", 1)
    trace_path(tmp_path, "broker-1", 2).write_bytes(first.read_bytes())
    (connected,) = merged.settle()
    assert connected.cause == running


def test_a_line_that_is_not_complete_is_read_once_it_is(tmp_path: Path) -> None:
    merged = Merged(tmp_path)
    merged.write("broker-1", 5, K.SESSION_STATE, 0, state="connected")
    trace = trace_path(tmp_path, "broker-1", 1)
    whole = trace.read_bytes()
    trace.write_bytes(whole[:-10])
    assert merged.settle() == []
    trace.write_bytes(whole)
    assert summary(merged.settle()) == [("broker-1", K.SESSION_STATE)]
