"""The event log of a run on real brokers, made of ZooKeeper's transaction log and of the brokers' own logs as they grow.

What a transaction meant is told as by an import (imported/zookeeper_trace.py). But here it is known whose each session is,
since every broker reaches ZooKeeper through a proxy of its own; what our own writes follow from; and which fault ended a
session. Everything else is told by the brokers' logs (log_events.py). All processes have one clock, so both are merged by
time: a line that speaks of a transaction is written after it.

Each kind of event has one source. What a broker writes to ZooKeeper is told by the transaction, which knows its place among
all others: elections won, registrations, leaders and ISRs. Two kinds are left to the brokers' logs although znodes show
something of them: a broker whose session expired, or who stops, resigns without a write of its own; and of a topic's
deletion only the controller knows when it has begun, and when it is through with the last znode.
"""

import threading
from collections import deque
from collections.abc import Callable, Mapping

from kcsim.scenarios.history import EventLog
from kcsim.scenarios.imported.zookeeper_trace import UNNUMBERED, ZooKeeperTrace
from kcsim.scenarios.on_kafka.log_causes import LogCauses
from kcsim.scenarios.on_kafka.log_events import LogEvent
from kcsim.scenarios.on_kafka.log_tail import LogTail
from kcsim.scenarios.transaction_feed import Tail
from kcsim.zk.events import Event, EventKind
from kcsim.zk.files.past_tree import PastChange, PastTree
from kcsim.zk.files.transactions import Transaction
from kcsim.zk.operations import SessionState, Sync, Synced
from kcsim.zk.ports import Cause, Session
from kcsim.zk.vocabulary import SessionId, Zxid

Owners = Callable[[], Mapping[SessionId, str]]
"""broker-N of each session that a broker has been seen to open."""

WRITTEN_WITHIN_MS = 50
"""How long a broker may take, on a busy machine, from the time that a line bears to having it in its file."""

TOLD_BY_BROKERS = frozenset({EventKind.CONTROLLER_RESIGNED, EventKind.TOPIC_DELETION})


class KafkaFeed:
    """Appends to the event log what ZooKeeper's transaction log says; also the ledger of why our own sessions write.

    Args:
        tail: of ZooKeeper's transaction log.
        logs: the brokers' own.
        wall_ms: the clock of all these processes, ms since 1970.
        began: seq of the run's first event.
    """

    def __init__(
        self, log: EventLog, tail: Tail, logs: LogTail, owners: Owners, wall_ms: Callable[[], int], began: int
    ) -> None:
        self._log = log
        self._tail = tail
        self._logs = logs
        self._wall_ms = wall_ms
        self._names = _SessionOwners(owners)
        self._ledger = _Ledger()
        self._trace = _RunningTrace(log, self._names, self._ledger)
        self._trace.join(began)
        self._causes = LogCauses(began)
        log.subscribe(self._causes.notice)
        self._untold: deque[tuple[int, Transaction]] = deque()  # read, with its time, which never goes back
        self._last_ms = 0
        self._kept: list[LogEvent] = []  # lines that wait for the transactions that they may speak of

    # --- the ledger of our own sessions, and of the faults

    def record_write(self, session_id: SessionId, xid: int, cause: Cause) -> None:
        self._ledger.wrote(session_id, xid, cause)

    def record_open(self, session_id: SessionId, cause: Cause) -> None:
        """Nothing is told of it: our sessions are the scenario's and its tools'."""

    def record_session_fault(self, session_id: SessionId, cause: int) -> None:
        self._ledger.ends[session_id] = cause

    def record_close(self, session_id: SessionId, cause: Cause) -> None:
        """Nothing is told of it: that a session was closed in order, its transaction says."""

    def blame(self, broker: str, cause: int, *, is_expiry: bool = False) -> None:
        """Should a session that this broker has now end unasked, this fault is why.

        Args:
            is_expiry: the fault is that end: the server is asked for it, and not by the broker.
        """
        for session_id in self._names.of(broker):
            self._ledger.ends[session_id] = cause
            if is_expiry:
                self._ledger.expired.add(session_id)

    # --- the log

    def catch_up(self, zxid: Zxid) -> None:
        """Append all transactions up to this one that are not in the event log yet."""
        self._read_to(zxid)
        due = [time_ms for time_ms, transaction in self._untold if transaction.zxid <= zxid]
        if due:
            self._tell_until(due[-1])

    async def look(self, session: Session) -> None:
        """Append what had happened a moment ago, so that all lines of that time are written."""
        await self._look(session, self._wall_ms() - WRITTEN_WITHIN_MS)

    async def settle(self, session: Session) -> None:
        """Append what has happened by now, before something is told of which everybody sees that it comes after.

        A line that a broker has yet to write comes late then.
        """
        await self._look(session, self._wall_ms())

    async def _look(self, session: Session, until_ms: int) -> None:
        (reply,) = await session.call([Sync("/")])
        if isinstance(reply, Synced):
            self._read_to(reply.zxid)
            self._tell_until(until_ms)
        else:
            self._tell_cut_off(until_ms)

    def _tell_cut_off(self, until_ms: int) -> None:
        """Nobody knows which transactions there are that lines may speak of; that a connection is lost speaks of none."""
        for told in self._logs.read(until_ms):
            if told.fields.get("state") == SessionState.SUSPENDED.value:
                self._tell_line(told)
            else:
                self._kept.append(told)

    def _read_to(self, zxid: Zxid) -> None:
        for transaction in self._tail.read_to(zxid):
            self._last_ms = max(self._last_ms, transaction.time_ms)
            self._untold.append((self._last_ms, transaction))

    def _tell_until(self, until_ms: int) -> None:
        lines, self._kept = [*self._kept, *self._logs.read(until_ms)], []
        for told in lines:
            self._tell_transactions(told.time_ms)
            self._tell_line(told)
        self._tell_transactions(until_ms)

    def _tell_line(self, told: LogEvent) -> None:
        self._log.append(told.node, told.kind, self._causes.of(told), told.fields)

    def _tell_transactions(self, until_ms: int) -> None:
        while self._untold and self._untold[0][0] <= until_ms:
            self._trace.take(self._untold.popleft()[1])


class _SessionOwners:
    """Remembers whose a session was, also when its broker is long gone."""

    def __init__(self, owners: Owners) -> None:
        self._owners = owners
        self._known: dict[SessionId, str] = {}

    def broker(self, session_id: SessionId) -> str | None:
        if session_id not in self._known:
            self._known.update(self._owners())
        return self._known.get(session_id)

    def of(self, broker: str) -> list[SessionId]:
        self._known.update(self._owners())
        return [session_id for session_id, owner in self._known.items() if owner == broker]


class _Ledger:
    """What is known of the causes of transactions. Written to from the connection threads of our own clients."""

    def __init__(self) -> None:
        self.ends: dict[SessionId, int] = {}
        self.expired: set[SessionId] = set()
        self._lock = threading.Lock()
        self._writes: dict[tuple[SessionId, int], int] = {}

    def wrote(self, session_id: SessionId, xid: int, cause: Cause) -> None:
        if isinstance(cause, int):
            with self._lock:
                self._writes[session_id, xid] = cause

    def why(self, transaction: Transaction) -> int | None:
        with self._lock:
            return self._writes.pop((transaction.session_id, transaction.cxid), None)


class _RunningTrace(ZooKeeperTrace):
    """Tells transactions to a log that is being written, and knows more of their causes than the files do."""

    def __init__(self, log: EventLog, names: _SessionOwners, ledger: _Ledger) -> None:
        super().__init__(self._put_own, names, PastTree())
        self._log = log
        self._ledger = ledger

    def _put_own(self, event: Event) -> int:
        """Nothing follows from an event of a kind that the brokers tell."""
        return UNNUMBERED if event.kind in TOLD_BY_BROKERS else self._log.put(event)

    def cause_of_act(self, transaction: Transaction, change: PastChange, path: str) -> int:
        cause = self._ledger.why(transaction)
        return super().cause_of_act(transaction, change, path) if cause is None else cause

    def cause_of_close(self, transaction: Transaction, opened: int) -> int:
        cause = self._ledger.ends.pop(transaction.session_id, None)
        return cause if cause is not None and self.is_expiry(transaction) else opened

    def is_expiry(self, transaction: Transaction) -> bool:
        return transaction.session_id in self._ledger.expired or super().is_expiry(transaction)
