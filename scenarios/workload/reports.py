"""What a producer tells the event log: summed up by the second, so that a million records make a bounded log.

The first of its kind is told at once, what follows within a second with the next one after that, or when the producer is
done. Nothing is scheduled for it: an observer does not move the run.
"""

from dataclasses import dataclass

from kcsim.controller.requests import ErrorCode
from kcsim.zk.events import EventFields, EventKind
from kcsim.zk.ports import EventSink, Runtime
from kcsim.zk.vocabulary import BrokerId, TopicPartition

SUMMED_UP_OVER_MS = 1_000


@dataclass(frozen=True, slots=True)
class _What:
    """What is added up: the same happening to records of the same partition at the same leader."""

    kind: EventKind
    tp: TopicPartition
    leader: BrokerId | None = None
    error: str | None = None
    outcome: str | None = None


class ProducerReports:
    """The reports of one producer.

    Args:
        cause: the event by which it was started.

    Attributes:
        acknowledged, given_up: records, since it was started.
    """

    def __init__(self, runtime: Runtime, sink: EventSink, cause: int) -> None:
        self.cause = cause
        self.acknowledged = 0
        self.given_up = 0
        self._runtime = runtime
        self._sink = sink
        self._untold: dict[_What, int] = {}
        self._told_ms: dict[_What, int] = {}

    def note_acknowledged(self, tp: TopicPartition, count: int, leader: BrokerId) -> None:
        self.acknowledged += count
        self._note(_What(EventKind.RECORDS_ACKNOWLEDGED, tp, leader), count)

    def note_refused(self, tp: TopicPartition, count: int, leader: BrokerId, error: str) -> None:
        """An attempt to send them failed."""
        self._note(_What(EventKind.RECORDS_REFUSED, tp, leader, error), count)

    def note_given_up(self, tp: TopicPartition, count: int, error: str | None, may_be_there: bool) -> None:
        self.given_up += count
        outcome = "unknown" if may_be_there else "not applied"
        last = error or ErrorCode.LEADER_NOT_AVAILABLE.name
        self._note(_What(EventKind.RECORDS_GIVEN_UP, tp, error=last, outcome=outcome), count)

    def _note(self, what: _What, count: int) -> None:
        self._untold[what] = self._untold.get(what, 0) + count
        told_ms = self._told_ms.get(what)
        if told_ms is None or self._runtime.now_ms() - told_ms >= SUMMED_UP_OVER_MS:
            self.flush(what.tp)

    def finish(self) -> None:
        """Tell what has not been told, and that nothing is under way any more."""
        self.flush()
        records = "1 record" if self.acknowledged == 1 else f"{self.acknowledged} records"
        told = f"{records} acknowledged, {self.given_up} given up"
        self._sink.emit(EventKind.WORKLOAD_STOPPED, self.cause, count=self.acknowledged, detail=told)

    def flush(self, tp: TopicPartition | None = None) -> None:
        """Tell what has not been told, of one partition or of all, in the order in which it began."""
        for what in [what for what in self._untold if tp is None or what.tp == tp]:
            self._tell(what, self._untold.pop(what))

    def _tell(self, what: _What, count: int) -> None:
        self._told_ms[what] = self._runtime.now_ms()
        fields = EventFields(topic=what.tp.topic, partition=what.tp.partition, count=count)
        if what.leader is not None:
            fields["leader"] = what.leader
        if what.error is not None:
            fields["error"] = what.error
        if what.outcome is not None:
            fields["outcome"] = what.outcome
        self._sink.emit(what.kind, self.cause, **fields)
