"""A broker's events about its clients from outside the run, summed up, so that any number of requests makes few events.

An error is reported at once; those like it within the next second become one more event with their number. The requests of
a client to an API are one event for every few seconds. Connections are reported one by one, unless there are very many in a
second. What is due later is reported when `report_due` is called.
"""

import json
from collections.abc import Hashable
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

from kcsim.brokers.clients.reports import SUMMED_UP_OVER_MS
from kcsim.brokers.wire.answered_errors import ErrorSubject
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.eventlog.sink import EventSink
from kcsim.runtime.ports import Runtime

REQUESTS_WITHIN_MS = 5_000
ONE_BY_ONE = {EventKind.CLIENT_CONNECTED: 20, EventKind.CLIENT_DISCONNECTED: 20, EventKind.CLIENT_ERROR: 1}
"""Kind -> how many like events within a second have an event of their own."""
LATENCIES_KEPT = 10_000
"""The median is that of so many first latencies."""


class ReportedError(NamedTuple):
    """What makes errors alike.

    Attributes:
        partitions: some of the many partitions that a response has the error for; empty: the subject names the only one.
        cause: the event that explains the error.
    """

    client_id: str
    api: str
    error: str
    subject: ErrorSubject
    partitions: tuple[str, ...]
    cause: int


class RequestOutcome(NamedTuple):
    """What became of one request.

    Attributes:
        has_error: whether the answer names any error.
        records: those that the request wrote or read.
        size: bytes of request and answer.
    """

    has_error: bool
    records: int
    size: int
    latency_ms: float


@dataclass(slots=True)
class _LikeEvents:
    """Like events since one was reported. Attributes: unreported: their number; fields and cause: of the latest of them."""

    since_ms: int
    reported: int = 0
    unreported: int = 0
    fields: EventFields = field(default_factory=EventFields)
    cause: int = 0


@dataclass(slots=True)
class _Requests:
    """The requests of a client to an API since the last report. Latencies in ms."""

    since_ms: int
    cause: int
    count: int = 0
    errors: int = 0
    records: int = 0
    size: int = 0
    longest_ms: float = 0.0
    latencies_ms: list[float] = field(default_factory=list)

    def add(self, outcome: RequestOutcome) -> None:
        self.count += 1
        self.errors += outcome.has_error
        self.records += outcome.records
        self.size += outcome.size
        self.longest_ms = max(self.longest_ms, outcome.latency_ms)
        if len(self.latencies_ms) < LATENCIES_KEPT:
            self.latencies_ms.append(outcome.latency_ms)

    @property
    def data(self) -> str:
        """The sums as a JSON object."""
        values = {
            "errors": self.errors,
            "records": self.records,
            "bytes": self.size,
            "median_ms": round(median(self.latencies_ms), 3),
            "longest_ms": round(self.longest_ms, 3),
        }
        return json.dumps(values, separators=(",", ":"))


class ClientReports:
    """The reports of one broker."""

    def __init__(self, runtime: Runtime, sink: EventSink) -> None:
        self._runtime = runtime
        self._sink = sink
        self._like: dict[tuple[EventKind, Hashable], _LikeEvents] = {}
        self._requests: dict[tuple[str, str], _Requests] = {}

    def note_connection(self, kind: EventKind, cause: int, fields: EventFields) -> int:
        """Add a connection that began or ended. Return the seq of its event; its cause if it has no event of its own."""
        return self._note(kind, None, cause, fields)

    def note_error(self, error: ReportedError, target: str, count: int) -> None:
        """Add an error. Args: target: the client's address; count: the number of partitions that have the error."""
        fields = EventFields(client_id=error.client_id, target=target, event=error.api, error=error.error, count=count)
        topic, partition, group = error.subject
        if topic is not None:
            fields["topic"] = topic
        if partition is not None:
            fields["partition"] = partition
        if group is not None:
            fields["group"] = group
        if error.partitions:
            fields["partitions"] = list(error.partitions)
        self._note(EventKind.CLIENT_ERROR, error, error.cause, fields)

    def note_request(self, client_id: str, api: str, outcome: RequestOutcome, cause: int) -> None:
        """Add a request that was answered. Args: cause: the event of the client's connection."""
        requests = self._requests.get((client_id, api))
        if requests is None:
            began_ms = self._runtime.now_ms() - round(outcome.latency_ms)
            requests = self._requests[client_id, api] = _Requests(began_ms, cause)
        requests.add(outcome)

    def report_due(self) -> None:
        """Append the events that are due."""
        now_ms = self._runtime.now_ms()
        self._report(now_ms - SUMMED_UP_OVER_MS, now_ms - REQUESTS_WITHIN_MS)

    def report_all(self) -> None:
        """Append all events."""
        now_ms = self._runtime.now_ms()
        self._report(now_ms, now_ms)

    def _note(self, kind: EventKind, like_what: Hashable, cause: int, fields: EventFields) -> int:
        like = self._like.get((kind, like_what))
        if like is None:
            like = self._like[kind, like_what] = _LikeEvents(self._runtime.now_ms())
        if like.reported < ONE_BY_ONE[kind]:
            like.reported += 1
            return self._sink.emit(kind, cause, **fields)
        like.unreported += fields.get("count", 1)
        like.fields, like.cause = fields, cause
        return cause

    def _report(self, like_events_since_ms: int, requests_since_ms: int) -> None:
        for kind, what in [key for key, like in self._like.items() if like.since_ms <= like_events_since_ms]:
            like = self._like.pop((kind, what))
            if like.unreported:
                fields = like.fields.copy()
                fields["count"] = like.unreported
                self._sink.emit(kind, like.cause, **fields)
        for key in [key for key, requests in self._requests.items() if requests.since_ms <= requests_since_ms]:
            self._report_requests(*key, self._requests.pop(key))

    def _report_requests(self, client_id: str, api: str, requests: _Requests) -> None:
        self._sink.emit(
            EventKind.CLIENT_REQUESTS,
            requests.cause,
            client_id=client_id,
            event=api,
            count=requests.count,
            data=requests.data,
            duration_ms=self._runtime.now_ms() - requests.since_ms,
        )
