"""The events behind records of real clients that are lost, or in a log twice.

Acknowledged records are lost when the replica that had appended them truncates its log; if that replica never did, when a
leader without them was elected. A batch is there twice because its producer got an error for it, or lost the connection.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kcsim.brokers.clients.batch_copies import BatchCopy
from kcsim.brokers.clients.reports import SUMMED_UP_OVER_MS
from kcsim.brokers.log.intervals import IntervalSet, Range
from kcsim.brokers.records import Run
from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.run_actions import RUN_STARTED_SEQ
from kcsim.vocabulary import LeaderEpoch, TopicPartition

ENDS_OF_CONNECTIONS = (EventKind.CLIENT_DISCONNECTED, EventKind.CLIENT_CONNECTION_CLOSED)
_READ = frozenset(
    {
        *(EventKind.RECORDS_APPENDED, EventKind.RECORDS_TRUNCATED, EventKind.LEADER_ELECTION, EventKind.CLIENT_ERROR),
        *ENDS_OF_CONNECTIONS,
    }
)


class RecordFate(NamedTuple):
    """Consecutive records of one leader epoch with the same fate.

    Attributes:
        writers: who wrote them: client ids with addresses, or with producer ids.
        cause: the event that the fate follows from.
    """

    leader_epoch: LeaderEpoch
    offsets: Range
    writers: tuple[str, ...]
    cause: int


@dataclass(slots=True)
class _PartitionHistory:
    """The events of one partition that are read here, in order."""

    appended: list[Event] = field(default_factory=list)
    truncated: list[Event] = field(default_factory=list)
    elected: list[Event] = field(default_factory=list)
    errors: list[Event] = field(default_factory=list)


class RecordHistory:
    """The events that explain the fates of records of some partitions.

    Args:
        events: of the run, in order; the earliest may be missing.
    """

    def __init__(self, events: Iterable[Event], partitions: Iterable[TopicPartition]) -> None:
        self._of = {tp: _PartitionHistory() for tp in partitions}
        self._ends: dict[str, Event] = {}  # the client's address -> the end of its connection
        for event in events:
            if event.kind in ENDS_OF_CONNECTIONS and event.target is not None:
                self._ends[event.target] = event
            elif event.kind in _READ and event.topic is not None and event.partition is not None:
                self._add(TopicPartition(event.topic, event.partition), event)

    def _add(self, tp: TopicPartition, event: Event) -> None:
        history = self._of.get(tp)
        if history is None:
            return
        match event.kind:
            case EventKind.RECORDS_APPENDED:
                history.appended.append(event)
            case EventKind.RECORDS_TRUNCATED:
                history.truncated.append(event)
            case EventKind.LEADER_ELECTION:
                history.elected.append(event)
            case _:
                history.errors.append(event)

    # --- lost records

    def lost(self, tp: TopicPartition, offsets: Mapping[LeaderEpoch, IntervalSet]) -> list[RecordFate]:
        """Return the fates of lost records of a partition, by the epoch in which they were appended."""
        return [self._loss(tp, epoch, lost) for epoch, of_epoch in offsets.items() for lost in of_epoch.ranges]

    def _loss(self, tp: TopicPartition, epoch: LeaderEpoch, lost: Range) -> RecordFate:
        history = self._of[tp]
        appended = [event for event in history.appended if event.leader_epoch == epoch and _overlaps(event, lost)]
        writers = tuple(dict.fromkeys(event.writer or "" for event in appended))
        return RecordFate(epoch, lost, writers, _cause_of_loss(history, epoch, lost, appended))

    # --- records that are there twice

    def duplicated(self, tp: TopicPartition, copies: Iterable[BatchCopy]) -> list[RecordFate]:
        """Return the fates of the batches of a partition that were appended again."""
        return [self._duplicate(tp, copy) for copy in copies]

    def _duplicate(self, tp: TopicPartition, copy: BatchCopy) -> RecordFate:
        first, again = copy
        return RecordFate(
            again.leader_epoch, (again.base_offset, again.end_offset), (again.writer,), self._reason(tp, first, again)
        )

    def _reason(self, tp: TopicPartition, first: Run, again: Run) -> int:
        """Return why a batch was sent again; if no event says so, the append of the second one."""
        began, ended = self._append(tp, first), self._append(tp, again)
        if began is None or ended is None:
            return RUN_STARTED_SEQ
        address = first.writer.rpartition("@")[2]
        errors = [event for event in self._of[tp].errors if event.target == address and event.seq > began.seq]
        ends = [self._ends[address]] if address in self._ends and self._ends[address].seq > began.seq else []
        before = [event.seq for event in (*errors, *ends) if event.seq < ended.seq]
        # The error may be one of those that are summed up and reported a little later.
        after = [event.seq for event in errors if ended.t_ms <= event.t_ms <= ended.t_ms + 2 * SUMMED_UP_OVER_MS]
        return max(before) if before else min(after, default=ended.seq)

    def _append(self, tp: TopicPartition, run: Run) -> Event | None:
        place = run.leader_epoch, run.base_offset
        return next((event for event in self._of[tp].appended if (event.leader_epoch, event.offset) == place), None)


def _cause_of_loss(history: _PartitionHistory, epoch: LeaderEpoch, lost: Range, appended: Sequence[Event]) -> int:
    since = min((event.seq for event in appended), default=RUN_STARTED_SEQ)
    nodes = {event.node for event in appended}
    for event in history.truncated:
        if event.seq > since and event.node in nodes and _overlaps(event, lost):
            return event.seq
    for event in history.elected:
        if event.seq > since and event.leader_epoch is not None and event.leader_epoch > epoch:
            return event.seq
    return since


def _overlaps(event: Event, offsets: Range) -> bool:
    start, end = event.offset, event.end_offset
    return start is not None and end is not None and start < offsets[1] and offsets[0] < end
