"""Records that a producer has sent and that are neither acknowledged nor given up, as far as the event log shows them."""

from dataclasses import dataclass, field

from kcsim.eventlog.events import Event, EventKind
from kcsim.vocabulary import TopicPartition

PRODUCER_PREFIX = "producer-"
NOT_APPLIED = "not applied"


@dataclass
class ProducerRecords:
    """The records of one producer in one partition.

    Attributes:
        appended: the sequence numbers that a leader appended.
        settled: how many of these are acknowledged or given up.
        refused: the latest attempt, if it was refused and nothing has followed.
        latest: the latest append.
    """

    appended: set[int] = field(default_factory=set)
    settled: int = 0
    refused: Event | None = None
    latest: Event | None = None

    @property
    def unanswered(self) -> int:
        """The number of appended records without an acknowledgement."""
        return max(0, len(self.appended) - self.settled)


@dataclass
class PendingRecords:
    """The records of all producers. `see` takes the events in order.

    A record on its way to a broker that does not answer has no event before its fate is known; it is not counted.
    """

    producers: dict[TopicPartition, dict[str, ProducerRecords]] = field(default_factory=dict)
    has_producers: bool = False

    def see(self, event: Event) -> None:
        """Apply one event."""
        match event.kind:
            case EventKind.WORKLOAD_STARTED:
                self.has_producers = True
            case EventKind.RECORDS_APPENDED if event.writer is not None and event.sequence is not None:
                records = self._of(event, PRODUCER_PREFIX + event.writer)
                records.appended.update(range(event.sequence, event.sequence + (event.count or 0)))
                records.refused, records.latest = None, event
            case EventKind.RECORDS_ACKNOWLEDGED:
                self._settle(event)
            case EventKind.RECORDS_REFUSED:
                self._of(event, event.node).refused = event
            case EventKind.RECORDS_GIVEN_UP:
                self._settle(event)
            case _:
                pass

    def _settle(self, event: Event) -> None:
        records = self._of(event, event.node)
        records.refused = None
        if event.outcome != NOT_APPLIED:
            records.settled += event.count or 0

    def _of(self, event: Event, producer: str) -> ProducerRecords:
        partition = TopicPartition(event.topic or "", event.partition or 0)
        self.has_producers = True
        return self.producers.setdefault(partition, {}).setdefault(producer, ProducerRecords())

    def pending(self, partition: TopicPartition) -> dict[str, ProducerRecords]:
        """Return the producers that wait, each with its records."""
        known = self.producers.get(partition, {})
        return {name: records for name, records in sorted(known.items()) if records.unanswered or records.refused}
