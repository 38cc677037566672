"""Transactions and log lines become one event log: ordered by time, each transaction before the lines that mention it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kcsim.brokers.apache_kafka.log_feed.log_tail import LogTail
from kcsim.brokers.cluster.processes.kafka_feed import WRITTEN_WITHIN_MS, KafkaFeed
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import SessionId, Zxid
from kcsim.zk.errors import ConnectionLossError
from kcsim.zk.files.transactions import CreateSessionTxn, CreateTxn, DeleteTxn, Transaction
from kcsim.zk.operations import ReplyOrError, Request, Synced
from tests.brokers.apache_kafka.log_feed.recorded import CONNECTION, CONTROLLER, DELETION, text

TEN = 1_620_122_400_000
OURS = SessionId(0x17)
BROKERS = {OURS: "broker-1"}


@dataclass
class Server:
    """A ZooKeeper's transaction log, and a session to synchronise with it."""

    transactions: list[Transaction] = field(default_factory=list)
    is_up: bool = True
    read: int = 0

    def wrote(self, ms: int, *ops: Any) -> None:
        zxid = Zxid(len(self.transactions) + 1)
        self.transactions.append(Transaction(zxid, OURS, 1, TEN + ms, ops))

    def read_to(self, zxid: Zxid) -> Sequence[Transaction]:
        new = [one for one in self.transactions[self.read :] if one.zxid <= zxid]
        self.read += len(new)
        return new

    async def call(self, requests: list[Request], cause: Cause = None) -> list[ReplyOrError]:
        return [Synced("/", Zxid(len(self.transactions)))] if self.is_up else [ConnectionLossError("/")]


class Run:
    """A run's event log, fed by a test's server and by the log of its only broker."""

    def __init__(self, directory: Path) -> None:
        self.now_ms = TEN
        self.server = Server()
        self.log = EventLog(lambda: 0)
        self.directory = directory
        began = self.log.append("scenario", EventKind.RUN_STARTED, None, EventFields())
        self.feed = KafkaFeed(self.log, self.server, LogTail([(1, directory)]), lambda: BROKERS, lambda: self.now_ms, began)
        self.server.wrote(0, CreateSessionTxn(3000))

    def logged(self, ms: int, message: str, logger: str = CONTROLLER) -> None:
        with (self.directory / "controller.log").open("a") as file:
            file.write(text(ms, message, logger))

    def look(self, ms: int, is_settling: bool = False) -> None:
        """Poll as late as is needed to see all that had happened by then."""
        self.now_ms = TEN + ms if is_settling else TEN + ms + WRITTEN_WITHIN_MS
        session: Any = self.server
        asyncio.run(self.feed.settle(session) if is_settling else self.feed.look(session))

    def reported(self) -> list[str]:
        """Return the events about the controller and about znodes, in order."""
        return [
            event.path or event.detail or event.step or event.kind.value
            for event in self.log.events
            if event.kind not in (EventKind.RUN_STARTED, EventKind.SESSION_CREATED)
        ]


BROKER_2 = CreateTxn("/brokers/ids/2", None, True, 1)
BROKER_3 = CreateTxn("/brokers/ids/3", None, True, 1)
SEES_2 = "[Controller id=1] Newly added brokers: 2, deleted brokers: , bounced brokers: , all live brokers: 1,2"
SAW_2 = "started [2], stopped [], bounced []"


def test_a_line_stands_between_the_transactions_of_its_time(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.server.wrote(5, BROKER_2)
    run.server.wrote(9, BROKER_3)
    run.logged(7, SEES_2)
    run.look(20)
    assert run.reported() == ["/brokers/ids/2", SAW_2, "/brokers/ids/3"]


def test_a_line_stands_after_the_transaction_of_its_own_time_and_follows_from_it(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.server.wrote(5, BROKER_2)
    run.logged(5, SEES_2)
    run.look(5)
    assert run.reported() == ["/brokers/ids/2", SAW_2]
    assert run.log.events[-1].cause == run.log.events[-2].seq


def test_a_transaction_waits_for_the_lines_before_it(tmp_path: Path) -> None:
    """The broker is slow to write what it logged at 7; at 9 nothing beyond that time has been read yet."""
    run = Run(tmp_path)
    run.server.wrote(5, BROKER_2)
    run.server.wrote(9, BROKER_3)
    run.look(6)
    assert run.reported() == ["/brokers/ids/2"]
    run.logged(7, SEES_2)
    run.look(10)
    assert run.reported() == ["/brokers/ids/2", SAW_2, "/brokers/ids/3"]


def test_what_mentions_a_transaction_has_it_reported_at_once_with_all_before_it(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.server.wrote(5, BROKER_2)
    run.logged(7, SEES_2)
    run.server.wrote(9, BROKER_3)
    run.server.wrote(11, DeleteTxn("/brokers/ids/3"))
    run.feed.catch_up(Zxid(3))
    assert run.reported() == ["/brokers/ids/2", SAW_2, "/brokers/ids/3"]


def test_lines_are_kept_while_nobody_knows_the_transactions_that_they_speak_of(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.server.wrote(5, BROKER_2)
    run.logged(7, SEES_2)
    run.server.is_up = False
    run.look(20)
    assert run.reported() == []
    run.server.is_up = True
    run.look(20)
    assert run.reported() == ["/brokers/ids/2", SAW_2]


def test_a_lost_connection_is_reported_while_there_is_no_server(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.logged(2, "Session establishment complete on server x, sessionid = 0x17, negotiated timeout = 3000", CONNECTION)
    run.look(3)
    run.server.is_up = False
    run.logged(7, SEES_2)
    run.logged(8, "Client session timed out, closing socket connection and attempting reconnect", CONNECTION)
    run.look(20)
    assert run.reported() == ["SessionState", "SessionState"]
    assert run.log.events[-1].state == "suspended"


def test_settled_nothing_is_left_unreported_that_has_happened(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.server.wrote(5, BROKER_2)
    run.logged(7, SEES_2)
    run.look(7, is_settling=True)
    assert run.reported() == ["/brokers/ids/2", SAW_2]


def test_a_deletion_is_reported_by_the_controller_and_not_once_more_by_the_znode(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.server.wrote(1, CreateTxn("/brokers/topics", None, False, 1))
    run.server.wrote(2, CreateTxn("/brokers/topics/orders", b'{"version":1,"partitions":{"0":[1]}}', False, 1))
    run.server.wrote(5, DeleteTxn("/brokers/topics/orders"))
    run.logged(7, "[Topic Deletion Manager 1] Deletion of topic orders successfully completed", DELETION)
    run.look(20)
    completed = [event for event in run.log.events if event.kind is EventKind.TOPIC_DELETION]
    assert [(event.node, event.topic, event.step) for event in completed] == [("broker-1", "orders", "completed")]
    assert completed[0].seq > next(e.seq for e in run.log.events if e.kind is EventKind.ZNODE_DELETED)
