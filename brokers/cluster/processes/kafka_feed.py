"""The event log of a run on real brokers, made from ZooKeeper's transaction log and the brokers' own logs as they grow.

Transactions are interpreted as in an import (zk/capture/zookeeper_trace.py). But here more is known: the owner of each
session, since every broker reaches ZooKeeper through a proxy of its own; the causes of this process's own writes; and which
fault ended a session. All other events come from the brokers' logs (log_events.py). All processes use one clock, so both
sources are merged by time: a line about a transaction is appended after the transaction.

Each kind of event has one source. What a broker writes to ZooKeeper comes from the transaction, which has its slot in the
order of all others: elections won, registrations, leaders and ISRs. Two kinds are left to the brokers' logs although znodes
show a part of them: a broker that stops, or whose session expired, resigns without a write of its own; and only the
controller knows when a topic's deletion has begun, and when its last znode was deleted.
"""

from collections import deque
from collections.abc import Callable, Mapping, Set

from kcsim.brokers.apache_kafka.log_feed.log_causes import LogCauses
from kcsim.brokers.apache_kafka.log_feed.log_events import LogEvent
from kcsim.brokers.apache_kafka.log_feed.log_tail import LogTail
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import Event, EventKind
from kcsim.vocabulary import SessionId, Zxid
from kcsim.zk.capture.cause_ledger import CauseLedger
from kcsim.zk.capture.transaction_log_capture import TransactionTail
from kcsim.zk.capture.zookeeper_trace import UNNUMBERED, ZooKeeperTrace
from kcsim.zk.files.past_tree import PastChange, PastTree
from kcsim.zk.files.transactions import Transaction
from kcsim.zk.operations import SessionState, Sync, Synced
from kcsim.zk.ports import Session

Owners = Callable[[], Mapping[SessionId, str]]
"""Session -> broker-N, for each session that a broker has been seen to open."""

WRITTEN_WITHIN_MS = 50
"""How long a broker may take, on a busy machine, from the timestamp of a log line until the line is in its file."""

LOGGED_BY_BROKERS = frozenset({EventKind.CONTROLLER_RESIGNED, EventKind.TOPIC_DELETION})


class KafkaFeed:
    """Appends to the event log what the transaction log and the brokers' logs show.

    Args:
        tail: of ZooKeeper's transaction log.
        logs: the brokers' own logs.
        wall_ms: the clock of all these processes, in ms since 1970.
        began: seq of the run's first event.

    Attributes:
        ledger: the causes of our own writes, and the faults of sessions. Our sessions, which are the scenario's and its
            tools', leave no event, so it is not asked for the causes of their openings and ends.
    """

    def __init__(
        self, log: EventLog, tail: TransactionTail, logs: LogTail, owners: Owners, wall_ms: Callable[[], int], began: int
    ) -> None:
        self._log = log
        self._tail = tail
        self._logs = logs
        self._wall_ms = wall_ms
        self._names = _SessionOwners(owners)
        self.ledger = CauseLedger()
        self._expired: set[SessionId] = set()  # the sessions that faults themselves have ended
        self._trace = _RunningTrace(log, self._names, self.ledger, self._expired)
        self._trace.join(began)
        self._causes = LogCauses(began)
        log.subscribe(self._causes.notice)
        self._pending_transactions: deque[tuple[int, Transaction]] = deque()  # read; with a time that never decreases
        self._last_ms = 0
        self._kept: list[LogEvent] = []  # lines that wait for the transactions that they may be about

    # --- faults

    def attribute_session_end(self, broker: str, cause: int, *, is_expiry: bool = False) -> None:
        """Note this fault as the cause if a session that this broker has now ends without being closed by the broker.

        Args:
            is_expiry: the fault itself ends the session: ZooKeeper is asked to end it, but not by the broker.
        """
        for session_id in self._names.of(broker):
            self.ledger.record_session_fault(session_id, cause)
            if is_expiry:
                self._expired.add(session_id)

    # --- the log

    def catch_up(self, zxid: Zxid) -> None:
        """Append all transactions up to this one that are not in the event log yet."""
        self._read_to(zxid)
        due = [time_ms for time_ms, transaction in self._pending_transactions if transaction.zxid <= zxid]
        if due:
            self._append_until(due[-1])

    async def look(self, session: Session) -> None:
        """Append everything up to a moment ago, a delay after which all log lines of that time are written."""
        await self._look(session, self._wall_ms() - WRITTEN_WITHIN_MS)

    async def settle(self, session: Session) -> None:
        """Append everything up to now, before an event that must come after it is appended.

        A line that a broker has not written yet is appended late in this case.
        """
        await self._look(session, self._wall_ms())

    async def _look(self, session: Session, until_ms: int) -> None:
        (reply,) = await session.call([Sync("/")])
        if isinstance(reply, Synced):
            self._read_to(reply.zxid)
            self._append_until(until_ms)
        else:
            self._append_while_cut_off(until_ms)

    def _append_while_cut_off(self, until_ms: int) -> None:
        """Append lines about lost connections only; other lines wait, as they may be about transactions not known yet."""
        for event in self._logs.read(until_ms):
            if event.fields.get("state") == SessionState.SUSPENDED.value:
                self._append_line(event)
            else:
                self._kept.append(event)

    def _read_to(self, zxid: Zxid) -> None:
        for transaction in self._tail.read_to(zxid):
            self._last_ms = max(self._last_ms, transaction.time_ms)
            self._pending_transactions.append((self._last_ms, transaction))

    def _append_until(self, until_ms: int) -> None:
        lines, self._kept = [*self._kept, *self._logs.read(until_ms)], []
        for event in lines:
            self._append_transactions(event.time_ms)
            self._append_line(event)
        self._append_transactions(until_ms)

    def _append_line(self, event: LogEvent) -> None:
        self._log.append(event.node, event.kind, self._causes.of(event), event.fields)

    def _append_transactions(self, until_ms: int) -> None:
        while self._pending_transactions and self._pending_transactions[0][0] <= until_ms:
            self._trace.take(self._pending_transactions.popleft()[1])


class _SessionOwners:
    """The owner of each session, remembered after its broker has ended."""

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


class _RunningTrace(ZooKeeperTrace):
    """Appends transactions to a growing event log, and knows more about their causes than the files do."""

    def __init__(self, log: EventLog, names: _SessionOwners, ledger: CauseLedger, expired: Set[SessionId]) -> None:
        super().__init__(self._put_own, names, PastTree())
        self._log = log
        self._ledger = ledger
        self._expired = expired

    def _put_own(self, event: Event) -> int:
        """Append an event unless the brokers' logs report its kind; such an event is never a cause."""
        return UNNUMBERED if event.kind in LOGGED_BY_BROKERS else self._log.put(event)

    def cause_of_act(self, transaction: Transaction, change: PastChange, path: str) -> int:
        cause = self._ledger.take_write(transaction.session_id, transaction.cxid)
        return cause if isinstance(cause, int) else super().cause_of_act(transaction, change, path)

    def cause_of_close(self, transaction: Transaction, opened: int) -> int:
        cause = self._ledger.take_fault(transaction.session_id)
        return cause if cause is not None and self.is_expiry(transaction) else opened

    def is_expiry(self, transaction: Transaction) -> bool:
        return transaction.session_id in self._expired or super().is_expiry(transaction)
