"""The event log of a run whose simulated brokers are processes of their own, made while they run.

It has the events that the same run in one process would have: ZooKeeper's transactions from its transaction log, everything
else from the brokers' traces, merged by time, with causes that lead from process to process. All processes have one clock.

- A process reports transactions when it learns of them; here they are appended once, in ZooKeeper's order. A transaction
  follows from the ZkWrite that its broker has written into its trace before it sent the request.
- A request between brokers is RequestSent at the sender and RequestReceived at the recipient. What follows from the latter
  follows from RequestSent here.
- A registration and an election come with their transactions, before anything that others do about them.
- Starts, stops and ends of processes are events of the run itself (process_cluster.py).

Source of the same merge of complete traces: kcsim/eventlog/merged_traces.py.
"""

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from msgspec import structs

from kcsim.brokers.cluster.processes.broker_traces import BrokerTrace, BrokerTraces
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import TRANSACTIONS, ZNODE_CHANGES, Event, EventKind, TransactionRef, hexadecimal
from kcsim.eventlog.outages import BROKER_PREFIX
from kcsim.eventlog.run_actions import SCENARIO
from kcsim.vocabulary import SessionId, Zxid
from kcsim.zk.capture.transaction_events import fence_of
from kcsim.zk.capture.transaction_log_capture import TransactionLogCapture, TransactionTail
from kcsim.zk.files.transactions import CloseSessionTxn, CreateTxn, DeleteTxn, SetDataTxn, Transaction
from kcsim.zk.operations import Sync, Synced
from kcsim.zk.ports import Session
from kcsim.znodes import paths

Owners = Callable[[], Mapping[SessionId, str]]
"""Session -> broker-N, for each session that a broker has been seen to open."""

WRITTEN_WITHIN_MS = 50
"""How long a process may take, on a busy machine, from the time of an event until the event is in its file."""
CLOCK_ERROR_MS = 2
"""How much two times of the same moment may differ: they are rounded."""
OF_THE_RUN = frozenset({EventKind.PROCESS_STATE, EventKind.BROKER_START_FAILED, EventKind.RUN_STARTED, EventKind.RUN_ENDED})
"""Kinds of events about a broker's process that the run itself reports."""
MEMBER_PREFIX = "member-"
SEQUENCE_NUMBER = re.compile(r"[0-9]{10}")
"""What ZooKeeper appends to the name of a sequential znode."""


class FeedClock:
    """The time of the event that is appended next: when it happened, if that is known, and never before an earlier one.

    Args:
        now_ms: the clock of the run.
    """

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._happened_ms: int | None = None
        self._last_ms = 0

    def now_ms(self) -> int:
        self._last_ms = max(self._last_ms, self._now_ms() if self._happened_ms is None else self._happened_ms)
        return self._last_ms

    @contextmanager
    def at(self, happened_ms: int) -> Iterator[None]:
        """Append events of this time, in ms of the run."""
        before, self._happened_ms = self._happened_ms, happened_ms
        try:
            yield
        finally:
            self._happened_ms = before


@dataclass(frozen=True, slots=True)
class RunClock:
    """When a run began.

    Attributes:
        seq: of its first event.
        epoch_ms: in ms since 1970.
        wall_ms: the present time, in ms since 1970.
    """

    seq: int
    epoch_ms: int
    wall_ms: Callable[[], int]

    def since_start_ms(self, time_ms: int) -> int:
        """Return a time in ms since 1970 in ms of the run."""
        return max(0, time_ms - self.epoch_ms)


@dataclass
class _SentRequests:
    """The requests of one channel that have been sent and not received: time and seq of each RequestSent, oldest first."""

    sent: deque[tuple[int, int]] = field(default_factory=deque)

    def receive(self, time_ms: int) -> int | None:
        """Return the seq of the RequestSent of a request that was received at this time; None if none is known.

        It is the last one before, since the next one of a channel is sent when this one has been answered.
        """
        while len(self.sent) > 1 and self.sent[1][0] < time_ms - CLOCK_ERROR_MS:
            self.sent.popleft()
        return self.sent.popleft()[1] if self.sent else None


@dataclass(frozen=True, slots=True)
class _Write:
    """A ZkWrite. Attributes: fence: the version of /controller_epoch with which it is checked; None: it is not checked."""

    seq: int
    path: str
    fence: int | None

    @classmethod
    def of(cls, event: Event, seq: int = 0) -> "_Write":
        return cls(seq, event.path or "", event.controller_epoch_zk_version)

    def is_of(self, written: Sequence[str], fence: int | None) -> bool:
        """Return whether a transaction that writes these paths with this fence may be of this write.

        The path of the write may not have the number of a sequential znode yet.
        """
        if fence != self.fence:
            return False
        return any(
            path == self.path
            or (path.startswith(self.path) and SEQUENCE_NUMBER.fullmatch(path.removeprefix(self.path)) is not None)
            for path in written
        )


@dataclass
class _Broker:
    """What is known of one broker.

    Attributes:
        running: seq of the ProcessState with which its present process began.
        stopping: seq of the action that stops it.
        fault: seq of the last fault that ends or cuts its session.
        log_dir_fault: seq of the last fault of a log directory.
        resumed_ms: when it was resumed last, in ms since 1970.
        writes: each ZkWrite of which no transaction has been seen.
        write: seq of the last ZkWrite of which one has been seen.
    """

    running: int
    stopping: int | None = None
    fault: int | None = None
    log_dir_fault: int | None = None
    resumed_ms: int = 0
    writes: deque[_Write] = field(default_factory=deque)
    write: int | None = None


class ProcessFeed:
    """Appends to the event log what the transaction log and the brokers' traces show.

    Args:
        clock: the clock of the event log.
        tail: of ZooKeeper's transaction log.
        run: when the run began.

    Attributes:
        ledger: the causes of our own writes and of the sessions' ends.
    """

    def __init__(
        self, log: EventLog, clock: FeedClock, tail: TransactionTail, traces: BrokerTraces, owners: Owners, run: RunClock
    ) -> None:
        self._log = log
        self._clock = clock
        self._tail = tail
        self._traces = traces
        self._owners = owners
        self._run = run
        self._capture = TransactionLogCapture(log, tail)
        self.ledger = self._capture.ledger
        self._pending: deque[Transaction] = deque()  # read, and not appended yet
        self._known_owners: dict[SessionId, str] = {}
        self._brokers = {trace.node: _Broker(run.seq) for trace in traces}
        self._requests: dict[tuple[str, int | None, str | None], _SentRequests] = {}  # sender, recipient's id, name
        self._latest: dict[tuple[str, str], int] = {}  # (path or kind, session) -> seq of the last such transaction
        self._under_way: set[str] = set()  # the brokers of which an event is being appended
        self._server_fault: int | None = None
        self._expired: set[SessionId] = set()  # the sessions that faults themselves have ended
        log.subscribe(self._notice)

    # --- faults

    def attribute_session_end(self, broker: str, cause: int, *, is_expiry: bool = False) -> None:
        """Note this fault as the cause if a session that this broker has now ends without being closed by the broker.

        Args:
            is_expiry: the fault itself ends the session: ZooKeeper is asked to end it, but not by the broker.
        """
        self._brokers[broker].fault = cause
        self._known_owners.update(self._owners())
        for session_id in [session_id for session_id, owner in self._known_owners.items() if owner == broker]:
            self.ledger.record_session_fault(session_id, cause)
            if is_expiry:
                self._expired.add(session_id)

    # --- the log

    def catch_up(self, zxid: Zxid) -> None:
        """Append all transactions up to this one that are not in the event log yet."""
        self._read_transactions(zxid)
        self._traces.read()
        while self._pending and self._pending[0].zxid <= zxid:
            self._append_transaction()
        self._capture.report_sessions()

    async def look(self, session: Session) -> None:
        """Append everything up to a moment ago, a delay after which all events of that time are in their files."""
        await self._look(session, self._run.wall_ms() - WRITTEN_WITHIN_MS)

    async def settle(self, session: Session) -> None:
        """Append everything up to now, before an event that must come after it is appended."""
        await self._look(session, self._run.wall_ms())

    async def _look(self, session: Session, until_ms: int) -> None:
        (reply,) = await session.call([Sync("/")])
        if isinstance(reply, Synced):
            self._read_transactions(reply.zxid)
        self._traces.read()
        while (trace := self._next_trace(until_ms)) is not None or self._is_transaction_due(until_ms):
            if self._pending and (trace is None or self._pending[0].time_ms <= trace.unread[0][0]):
                self._append_transaction()
            elif trace is not None:
                self._append_event(trace)
        self._capture.report_sessions()

    def _next_trace(self, until_ms: int) -> BrokerTrace | None:
        """Return the trace with the oldest event up to this time; None if there is none."""
        unread = [trace for trace in self._traces if trace.unread and trace.unread[0][0] <= until_ms]
        return min(unread, key=lambda trace: trace.unread[0][0], default=None)

    def _is_transaction_due(self, until_ms: int) -> bool:
        return bool(self._pending) and self._pending[0].time_ms <= until_ms

    def _notice(self, event: Event) -> None:
        """Take note of an event that others may follow from."""
        broker = self._brokers.get(event.node if event.kind is EventKind.PROCESS_STATE else event.target or "")
        match event.kind:
            case EventKind.PROCESS_STATE if broker is not None and event.state == "running":
                broker.resumed_ms = self._run.wall_ms()
                if event.cause is not None and self._log.events[event.cause].op == "start":
                    broker.running, broker.stopping, broker.fault = event.seq, None, None
                    broker.writes.clear()
            case EventKind.ADMIN_ACT if broker is not None and event.op == "stop":
                broker.stopping = event.seq
            case EventKind.FAULT if broker is not None and event.fault == "fail-log-dir":
                broker.log_dir_fault = event.seq
            case EventKind.FAULT if (event.target or "").startswith(MEMBER_PREFIX):
                self._server_fault = event.seq
            case kind if kind in TRANSACTIONS:
                self._latest[_place_of(event)] = event.seq

    # --- transactions

    def _read_transactions(self, zxid: Zxid) -> None:
        self._pending.extend(self._tail.read_to(zxid))

    def _append_transaction(self) -> None:
        transaction = self._pending.popleft()
        owner = self._owner(transaction.session_id)
        if owner is not None:
            self._record_cause(transaction, owner)
        elif isinstance(transaction.ops[0], CloseSessionTxn) and not self._capture.has_reported(transaction.session_id):
            self._capture.leave_out(transaction.session_id)  # a session that only observed, of a broker's process perhaps
            return
        with self._clock.at(self._run.since_start_ms(transaction.time_ms)):
            self._capture.append(transaction)
        if owner is not None:
            self._append_outcome(transaction, owner)

    def _append_outcome(self, transaction: Transaction, owner: str) -> None:
        """Append what a broker did until it reported that it had registered, or won the election, by a transaction.

        The broker learns of it with the answer; others may have acted on the transaction by then.
        """
        trace = self._traces.of(owner)
        for _, event in () if trace is None else trace.unread:
            if _is_outcome(event, transaction):
                assert trace is not None
                self._append_to(trace, event.seq)
                return

    def _owner(self, session_id: SessionId) -> str | None:
        if session_id not in self._known_owners:
            self._known_owners.update(self._owners())
        return self._known_owners.get(session_id)

    def _record_cause(self, transaction: Transaction, owner: str) -> None:
        broker, session_id = self._brokers[owner], transaction.session_id
        if isinstance(transaction.ops[0], CloseSessionTxn):
            if transaction.cxid and session_id not in self._expired:
                self.ledger.record_close(session_id, broker.stopping or broker.running)
            return
        if (cause := self._reported_cause(transaction, owner)) is not None:
            while broker.writes and broker.writes[0].seq <= cause:
                broker.writes.popleft()
            broker.write = cause
        else:
            self._find_write(transaction, owner)
        if broker.write is not None:
            self.ledger.record_write(session_id, transaction.cxid, broker.write)

    def _reported_cause(self, transaction: Transaction, owner: str) -> int | None:
        """Return the seq of the ZkWrite from which its broker's report of a transaction follows; None without a report."""
        trace = self._traces.of(owner)
        if trace is None:
            return None
        for _, event in trace.unread:
            if event.zxid == transaction.zxid and event.kind in ZNODE_CHANGES and event.cause is not None:
                self._append_to(trace, event.cause)
                return trace.merged_cause(event)
        return None

    def _find_write(self, transaction: Transaction, owner: str) -> None:
        """Find the ZkWrite of a transaction of which its broker has not reported: the answer may never have come."""
        written = [op.path for op in transaction.ops if isinstance(op, CreateTxn | DeleteTxn | SetDataTxn)]
        fence = fence_of(transaction, "") if transaction.is_multi else None
        trace, writes = self._traces.of(owner), self._brokers[owner].writes
        for _, event in () if trace is None else trace.unread:
            if event.kind is EventKind.ZK_WRITE and _Write.of(event).is_of(written, fence):
                assert trace is not None
                self._append_to(trace, event.seq)
                break
        place = next((place for place, write in enumerate(writes) if write.is_of(written, fence)), None)
        if place is not None:
            for _ in range(place + 1):
                self._brokers[owner].write = writes.popleft().seq

    # --- events of a trace

    def _append_to(self, trace: BrokerTrace, seq: int) -> None:
        """Append the events of a trace up to the one with this seq, unless one of the trace is being appended."""
        while trace.node not in self._under_way and trace.unread and trace.unread[0][1].seq <= seq:
            self._append_event(trace)

    def _append_event(self, trace: BrokerTrace) -> None:
        time_ms, event = trace.unread.popleft()
        self._under_way.add(trace.node)
        with self._clock.at(self._run.since_start_ms(time_ms)):
            trace.note_merged(event, self._merged_seq(trace, time_ms, event))
        self._under_way.discard(trace.node)

    def _merged_seq(self, trace: BrokerTrace, time_ms: int, event: Event) -> int | None:
        """Append an event unless it is in the event log in another form. Return its seq there; None if it has none."""
        broker = self._brokers[trace.node]
        if event.node == SCENARIO and event.kind in (EventKind.FAULT, EventKind.FAULT_CONFIRMED):
            return broker.log_dir_fault or broker.running
        if event.kind in OF_THE_RUN or event.node == SCENARIO:
            return broker.stopping if event.op == "stop" else broker.running
        if event.kind is EventKind.RUN_STALLED and time_ms - (event.duration_ms or 0) <= broker.resumed_ms:
            return None  # it was paused
        if event.zxid is not None:
            self.catch_up(Zxid(event.zxid))
        if event.kind in TRANSACTIONS:
            return self._seq_of_transaction(trace, event)
        if event.kind is EventKind.REQUEST_RECEIVED and (sent := self._request_sent(time_ms, event)) is not None:
            return sent
        seq = self._log.put(structs.replace(event, cause=self._cause(trace, broker, event)))
        if event.kind is EventKind.REQUEST_SENT:
            channel = event.node, event.broker_id, event.event
            self._requests.setdefault(channel, _SentRequests()).sent.append((time_ms, seq))
        if event.kind is EventKind.ZK_WRITE_REFUSED and event.cause is not None:
            refused = trace.merged_cause(event)
            broker.writes = deque(write for write in broker.writes if write.seq != refused)
        if event.kind is EventKind.ZK_WRITE:
            broker.writes.append(_Write.of(event, seq))
        return seq

    def _cause(self, trace: BrokerTrace, broker: _Broker, event: Event) -> int | None:
        known = trace.merged_cause(event)
        if event.kind is EventKind.WATCH_FIRED and event.zxid and event.path is not None:
            return self._log.seq_of(TransactionRef(Zxid(event.zxid), event.path)) or known
        if event.kind is EventKind.SESSION_STATE and known is None:
            return broker.fault or self._server_fault
        return known

    def _seq_of_transaction(self, trace: BrokerTrace, event: Event) -> int | None:
        if event.kind is EventKind.SESSION_CREATED and event.session_id is not None:
            session_id = next((one for one in self._owners() if hexadecimal(one) == event.session_id), None)
            if session_id is not None:
                self.ledger.record_open(session_id, trace.merged_cause(event))
                self._capture.report_sessions()
        if event.zxid is not None and event.path is not None:
            return self._log.seq_of(TransactionRef(Zxid(event.zxid), event.path))
        return self._latest.get(_place_of(event))

    def _request_sent(self, time_ms: int, event: Event) -> int | None:
        """Return the seq of the RequestSent of a RequestReceived; None if it is not known."""
        sender = f"{BROKER_PREFIX}{event.broker_id}"
        number = event.node.removeprefix(BROKER_PREFIX)
        channel = sender, int(number) if number.isdecimal() else None, event.event
        trace = self._traces.of(sender)
        if trace is not None:
            self._append_until_request(trace, channel, time_ms + CLOCK_ERROR_MS)
        return self._requests[channel].receive(time_ms) if channel in self._requests else None

    def _append_until_request(self, trace: BrokerTrace, channel: tuple[str, int | None, str | None], until_ms: int) -> None:
        """Append what a broker did before it sent the last request of a channel before this time."""
        last = -1
        for time_ms, event in trace.unread:
            if time_ms > until_ms:
                break
            if event.kind is EventKind.REQUEST_SENT and (event.node, event.broker_id, event.event) == channel:
                last = event.seq
        self._append_to(trace, last)


def _is_outcome(event: Event, transaction: Transaction) -> bool:
    """Return whether an event is the registration or the election of a broker by this transaction."""
    if event.kind is EventKind.BROKER_REGISTERED:
        return event.broker_epoch == transaction.zxid
    if event.kind is not EventKind.ELECTION_WON:
        return False
    written = (op for op in transaction.ops if isinstance(op, SetDataTxn) and op.path == paths.CONTROLLER_EPOCH)
    return any(op.version == event.controller_epoch_zk_version for op in written)


def _place_of(event: Event) -> tuple[str, str]:
    """Return what two reports of the same transaction have in common, if it is the last one of its place."""
    return (event.path, "") if event.path is not None else (event.kind.value, event.session_id or "")
