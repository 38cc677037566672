"""A producer's events about its records, summed up per second, so that a million records make a bounded event log.

The first event of its kind is appended at once. What follows within a second is added to the next event of that kind after
the second, or to the events at the end of the producer's work. No timer is used: reporting must not change the run.
"""

from typing import NamedTuple

from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.eventlog.sink import EventSink
from kcsim.runtime.ports import Runtime
from kcsim.vocabulary import BrokerId, TopicPartition

SUMMED_UP_OVER_MS = 1_000


class _ReportKey(NamedTuple):
    """What is summed up: the same result for records of the same partition at the same leader."""

    kind: EventKind
    tp: TopicPartition
    leader: BrokerId | None = None
    error: str | None = None
    outcome: str | None = None


class ProducerReports:
    """The reports of one producer.

    Args:
        cause: the event that started the producer.

    Attributes:
        acknowledged, given_up: numbers of records since the start.
    """

    def __init__(self, runtime: Runtime, sink: EventSink, cause: int) -> None:
        self.cause = cause
        self.acknowledged = 0
        self.given_up = 0
        self._runtime = runtime
        self._sink = sink
        self._unreported: dict[_ReportKey, int] = {}
        self._reported_ms: dict[_ReportKey, int] = {}

    def note_acknowledged(self, tp: TopicPartition, count: int, leader: BrokerId | None = None) -> None:
        """Add acknowledged records, with the leader that has answered if it is known."""
        self.acknowledged += count
        self._note(_ReportKey(EventKind.RECORDS_ACKNOWLEDGED, tp, leader), count)

    def note_refused(self, tp: TopicPartition, count: int, leader: BrokerId, error: str) -> None:
        """Add records that an attempt failed to send."""
        self._note(_ReportKey(EventKind.RECORDS_REFUSED, tp, leader, error), count)

    def note_given_up(self, tp: TopicPartition, count: int, error: str | None, may_be_there: bool) -> None:
        self.given_up += count
        outcome = "unknown" if may_be_there else "not applied"
        last = error or ErrorCode.LEADER_NOT_AVAILABLE.name
        self._note(_ReportKey(EventKind.RECORDS_GIVEN_UP, tp, error=last, outcome=outcome), count)

    def _note(self, what: _ReportKey, count: int) -> None:
        self._unreported[what] = self._unreported.get(what, 0) + count
        reported_ms = self._reported_ms.get(what)
        if reported_ms is None or self._runtime.now_ms() - reported_ms >= SUMMED_UP_OVER_MS:
            self.flush(what.tp)

    def finish(self) -> None:
        """Append all unreported counts, and that the producer's work has ended."""
        self.flush()
        records = "1 record" if self.acknowledged == 1 else f"{self.acknowledged} records"
        summary = f"{records} acknowledged, {self.given_up} given up"
        self._sink.emit(EventKind.WORKLOAD_STOPPED, self.cause, count=self.acknowledged, detail=summary)

    def flush(self, tp: TopicPartition | None = None) -> None:
        """Append the unreported counts of one partition or of all, in the order in which they began."""
        for what in [what for what in self._unreported if tp is None or what.tp == tp]:
            self._report(what, self._unreported.pop(what))

    def _report(self, what: _ReportKey, count: int) -> None:
        self._reported_ms[what] = self._runtime.now_ms()
        fields = EventFields(topic=what.tp.topic, partition=what.tp.partition, count=count)
        if what.leader is not None:
            fields["leader"] = what.leader
        if what.error is not None:
            fields["error"] = what.error
        if what.outcome is not None:
            fields["outcome"] = what.outcome
        self._sink.emit(what.kind, self.cause, **fields)
