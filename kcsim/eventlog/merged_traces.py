"""One event log from the traces of a cluster's processes (`kcsim broker --trace`), each of which is what one process saw.

Each process reports a transaction of ZooKeeper when it learns of it; only the process that wrote it knows its cause. In the
merged log a transaction is one event, in the order of ZooKeeper, with the writer's cause. A request between brokers is
RequestSent at the sender, and RequestReceived at the recipient, where its consequences begin: in the merged log these follow
from RequestSent, and RequestReceived is left out.

All other events keep their order in their process, and are ordered by time between processes, a cause always first. The
processes must have one clock, or synchronised ones.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from kcsim.eventlog.events import TRANSACTIONS, Event, EventKind
from kcsim.eventlog.outages import BROKER_PREFIX
from kcsim.eventlog.run_record import run_record

CLOCK_ERROR_MS = 2
"""How much earlier than its RequestSent a RequestReceived may seem to be: both times are rounded."""

Transaction = Hashable
"""What identifies the event of a transaction in all traces: path, zxid and version of a change; id of a session."""
Channel = tuple[str, int | None, str | None]
"""Sender, id of the recipient, and the request's name: one request of a channel is under way at a time."""


class NotOfAProcessError(Exception):
    """A trace is not that of a process which is a part of a cluster, so it cannot be merged with others."""


class _Place(NamedTuple):
    """An event of one trace. Attributes: trace: the trace's number; place: the event's place in it."""

    trace: int
    place: int


@dataclass
class _ProcessTrace:
    """One process's trace.

    Attributes:
        offset_ms: from the start of the merged log to that of this trace.
        next: the place of the next event to be merged.
        merged_seqs: seq in the trace -> seq in the merged log; None if the event has none there.
    """

    events: Sequence[Event]
    offset_ms: int
    next: int = 0
    merged_seqs: dict[int, int | None] = field(default_factory=dict)

    @property
    def next_ms(self) -> int:
        return self.offset_ms + self.events[self.next].t_ms


def merge_traces(traces: Mapping[Path, Sequence[Event]]) -> Iterator[Event]:
    """Yield the events of one log from those of several traces. Raises: NotOfAProcessError."""
    began = {path: _began_ms(path, events) for path, events in traces.items()}
    first_ms = min(began.values(), default=0)
    yield from _Merge([_ProcessTrace(events, began[path] - first_ms) for path, events in traces.items()]).events()


def _began_ms(path: Path, events: Sequence[Event]) -> int:
    record = run_record(events[0]) if events else None
    if record is None or record.began_ms is None:
        raise NotOfAProcessError(f"{path}: not the trace of a broker's process (kcsim broker --trace)")
    return record.began_ms


class _Merge:
    def __init__(self, traces: Sequence[_ProcessTrace]) -> None:
        self._traces = traces
        self._transactions = _Transactions(traces)
        self._requests = _RequestChannels(traces)
        self._merged_transactions: dict[Transaction, int] = {}
        self._known_paths: set[str] = set()
        self._under_way: set[int] = set()  # traces whose event is being merged
        self._merged: list[Event] = []
        self._now_ms = 0
        self._next_seq = 0

    def events(self) -> Iterator[Event]:
        while unread := [number for number, trace in enumerate(self._traces) if trace.next < len(trace.events)]:
            self._take(min(unread, key=lambda number: self._traces[number].next_ms))
            yield from self._merged
            self._merged.clear()
        if all(trace.events[-1].kind is EventKind.RUN_ENDED for trace in self._traces):
            self._put(self._traces[0].events[-1], 0)
            yield from self._merged

    # --- one event

    def _take(self, number: int) -> None:
        """Merge the next event of a trace, after what it follows from."""
        trace = self._traces[number]
        event = trace.events[trace.next]
        self._now_ms = max(self._now_ms, trace.next_ms)
        place, trace.next = _Place(number, trace.next), trace.next + 1
        self._under_way.add(number)
        trace.merged_seqs[event.seq] = self._merged_seq(place, event)
        self._under_way.discard(number)

    def _merged_seq(self, place: _Place, event: Event) -> int | None:
        if event.kind is EventKind.RUN_ENDED:
            return None
        if event.kind is EventKind.RUN_STARTED:
            return 0 if self._next_seq else self._put(event, None)
        if event.kind in TRANSACTIONS:
            return self._merge_transaction(self._transactions.at[place])
        if event.kind is EventKind.REQUEST_RECEIVED and (sent := self._requests.sent(place)) is not None:
            return self._merged_at(sent)
        trace = self._traces[place.trace]
        return self._put(event, None if event.cause is None else trace.merged_seqs.get(event.cause))

    def _merge_transaction(self, transaction: Transaction) -> int | None:
        """Merge a transaction, after all those before it in ZooKeeper's order."""
        for earlier in self._transactions.up_to(transaction):
            self._put_transaction(earlier)
        if transaction not in self._merged_transactions:
            self._put_transaction(transaction)
        return self._merged_transactions.get(transaction)

    def _put_transaction(self, transaction: Transaction) -> None:
        origin = self._transactions.origin[transaction]
        trace = self._traces[origin.trace]
        event = structs.replace(trace.events[origin.place], zxid=self._transactions.zxids.get(transaction))
        cause = None if event.cause is None else self._merged_at(_Place(origin.trace, _place_of(trace, event.cause)))
        if event.path is not None:
            is_known = event.path in self._known_paths
            if event.kind is EventKind.ZNODE_DELETED:
                self._known_paths.discard(event.path)
            else:
                self._known_paths.add(event.path)
                kind = EventKind.ZNODE_CHANGED if is_known else EventKind.ZNODE_CREATED
                event = structs.replace(event, kind=kind)
        self._merged_transactions[transaction] = self._put(event, cause)

    def _merged_at(self, place: _Place) -> int | None:
        """Return the seq in the merged log of an event. It is merged now, after all before it, unless it already is.

        None if the clocks are wrong by so much that two events each seem to follow from the other.
        """
        trace = self._traces[place.trace]
        if place.trace not in self._under_way:
            while trace.next <= place.place:
                self._take(place.trace)
        return trace.merged_seqs.get(trace.events[place.place].seq)

    def _put(self, event: Event, cause: int | None) -> int:
        seq, self._next_seq = self._next_seq, self._next_seq + 1
        self._merged.append(structs.replace(event, seq=seq, t_ms=self._now_ms, cause=cause))
        return seq


def _place_of(trace: _ProcessTrace, seq: int) -> int:
    """Return the place of the event with this seq, which counts from 0 without gaps."""
    return seq - trace.events[0].seq


class _Transactions:
    """The events of ZooKeeper's transactions in all traces.

    Attributes:
        at: the transaction of each such event.
        origin: the event that stands for a transaction: one with a cause, if there is one.
        zxids: those that are known.
    """

    def __init__(self, traces: Sequence[_ProcessTrace]) -> None:
        self.at: dict[_Place, Transaction] = {}
        self.origin: dict[Transaction, _Place] = {}
        self.zxids: dict[Transaction, int] = {}
        self._traces = traces
        changes = _ZnodeChanges(traces)
        for number, trace in enumerate(traces):
            seen: dict[str, int] = {}  # path -> zxid of the change that the process knew last
            for place, event in enumerate(trace.events):
                if event.kind in TRANSACTIONS:
                    self._add(_Place(number, place), event, changes.identify(event, seen))
        self._in_order = sorted(self.zxids, key=lambda one: (self.zxids[one], self.origin[one].place))
        self._order = {one: number for number, one in enumerate(self._in_order)}
        self._next = 0

    def _add(self, place: _Place, event: Event, transaction: Transaction) -> None:
        self.at[place] = transaction
        if event.zxid is not None:
            self.zxids[transaction] = event.zxid
        before = self.origin.get(transaction)
        if before is None or (self._traces[before.trace].events[before.place].cause is None and event.cause is not None):
            self.origin[transaction] = place

    def up_to(self, transaction: Transaction) -> Iterator[Transaction]:
        """Yield each transaction up to this one, in ZooKeeper's order, once; none if its zxid is not known."""
        while self._next <= self._order.get(transaction, -1):
            self._next += 1
            yield self._in_order[self._next - 1]


class _ZnodeChanges:
    """The changes of each znode, by zxid. They tell which deletion a process means that does not know its zxid."""

    def __init__(self, traces: Sequence[_ProcessTrace]) -> None:
        begins_or_ends: dict[str, dict[int, bool]] = defaultdict(dict)  # path -> zxid -> whether the znode does so there
        for event in (event for trace in traces for event in trace.events if event.kind in TRANSACTIONS):
            if event.path is not None and event.zxid is not None:
                changes = begins_or_ends[event.path]
                is_limit = event.kind is EventKind.ZNODE_DELETED or event.zk_version == 0
                changes[event.zxid] = is_limit or changes.get(event.zxid, False)
        self._begins_or_ends = begins_or_ends
        self._zxids = {path: sorted(changes) for path, changes in begins_or_ends.items()}

    def identify(self, event: Event, seen: dict[str, int]) -> Transaction:
        """Return what identifies an event's transaction. Args: seen: path -> the last zxid in this trace; updated."""
        if event.path is None:
            return event.kind, event.session_id
        if event.kind is not EventKind.ZNODE_DELETED:
            assert event.zxid is not None
            seen[event.path] = event.zxid
            return event.path, event.zxid, event.zk_version
        zxids = self._zxids.get(event.path, [])
        if event.zxid is not None:
            before = bisect_left(zxids, event.zxid)
            return EventKind.ZNODE_DELETED, event.path, zxids[before - 1] if before else 0
        last = seen.get(event.path, 0)
        for later in zxids[bisect_right(zxids, last) :]:
            if self._begins_or_ends[event.path][later]:
                break
            last = later
        return EventKind.ZNODE_DELETED, event.path, last


class _RequestChannels:
    """The requests between the processes: which RequestSent a RequestReceived belongs to."""

    def __init__(self, traces: Sequence[_ProcessTrace]) -> None:
        self._traces = traces
        self._sent: defaultdict[Channel, list[_Place]] = defaultdict(list)
        self._times: defaultdict[Channel, list[int]] = defaultdict(list)
        self._last: dict[Channel, int] = {}  # the number of the request that was received last
        for number, trace in enumerate(traces):
            for place, event in enumerate(trace.events):
                if event.kind is EventKind.REQUEST_SENT:
                    channel = event.node, event.broker_id, event.event
                    self._sent[channel].append(_Place(number, place))
                    self._times[channel].append(trace.offset_ms + event.t_ms)

    def sent(self, place: _Place) -> _Place | None:
        """Return the RequestSent of a RequestReceived; None if no trace has it.

        It is the last one before, since the next request of a channel is sent when this one has been answered. Of several
        at nearly the same time, it is the first that was not received yet.
        """
        trace = self._traces[place.trace]
        event = trace.events[place.place]
        channel = f"{BROKER_PREFIX}{event.broker_id}", _broker_id(event.node), event.event
        times, received_ms = self._times[channel], trace.offset_ms + event.t_ms
        first = bisect_left(times, received_ms - CLOCK_ERROR_MS)
        last = bisect_right(times, received_ms + CLOCK_ERROR_MS) - 1
        if last < 0:
            return None
        before = self._last.get(channel, -1)
        found = self._last[channel] = min(max(first, before + 1), last)
        return self._sent[channel][found]


def _broker_id(node: str) -> int | None:
    number = node.removeprefix(BROKER_PREFIX)
    return int(number) if number.isdecimal() else None
