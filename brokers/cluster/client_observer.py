"""What the brokers' ports report about their clients: connections, requests, errors, and records that were acknowledged."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kcsim.brokers.clients.acknowledged_records import AcknowledgedRecords
from kcsim.brokers.cluster.client_reports import ClientReports, ReportedError, RequestOutcome
from kcsim.brokers.cluster.error_causes import ErrorCauses
from kcsim.brokers.ports import ConnectionEnd
from kcsim.brokers.record_batches import header_of
from kcsim.brokers.requests import ACKS_NONE, FetchResponse, ProduceResponse
from kcsim.brokers.wire.answered_errors import ErrorSubject, errors_in
from kcsim.brokers.wire.apis.records import records_in
from kcsim.brokers.wire.client_connection import OF_BROKERS, AnsweredRequest
from kcsim.brokers.wire.frames import RequestFrame
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.eventlog.outages import BROKER_PREFIX
from kcsim.runtime.ports import Runtime

PARTITIONS_ONE_BY_ONE = 10
"""The errors of a response about more partitions, topics or groups than this are one event for each error."""
PARTITIONS_NAMED = 5
NOT_REPORTED = frozenset({ErrorCode.MEMBER_ID_REQUIRED.name})
"""Part of every member's way into its group: it is answered with the member's id."""


def api_name(frame: RequestFrame) -> str:
    """Return the name of a request's API."""
    return type(frame.message).__name__.removesuffix("Request")


def _named_cause(request: AnsweredRequest) -> int:
    """Return the event that the port, or the group's coordinator, names as the cause of an answer; 0 if neither does."""
    named: int = getattr(request.response, "cause", 0)
    return named if request.cause is None else request.cause


def _name(subject: ErrorSubject) -> str:
    topic, partition, group = subject
    if topic is None:
        return group or ""
    return topic if partition is None else f"{topic}-{partition}"


class _Connection(NamedTuple):
    """A client's connection. Attributes: event: by which it began."""

    client_id: str
    event: int


class ClientObserver:
    """The observer of one broker's port, through all starts of the broker.

    Args:
        causes: subscriber of the event log.
        records: receives the acknowledged records.
    """

    def __init__(
        self, node: str, reports: ClientReports, log: EventLog, causes: ErrorCauses, records: AcknowledgedRecords
    ) -> None:
        self.reports = reports
        self._node = node
        self._log = log
        self._causes = causes
        self._records = records
        self._connections: dict[str, _Connection] = {}
        self._refused: set[tuple[int, str, str, str]] = set()

    # --- connections

    @property
    def client_ids(self) -> Iterator[str]:
        """The client id of each open connection."""
        return (connection.client_id for connection in self._connections.values())

    def received(self, frame: RequestFrame) -> int:
        """A request has arrived. Return the event of its connection."""
        connection = self._connections.get(frame.client)
        if connection is None:
            connection = self._connections[frame.client] = self._began(frame)
        return connection.event

    def received_from_broker(self, broker: str, request: str) -> int:
        """A request of a broker in another process has arrived. Return the event that its consequences follow from."""
        started = self._causes.of_process(self._node)
        if request not in OF_BROKERS:
            return started
        fields = EventFields(event=request, broker_id=int(broker.removeprefix(BROKER_PREFIX)))
        return self._log.append(self._node, EventKind.REQUEST_RECEIVED, started, fields)

    def _began(self, frame: RequestFrame) -> _Connection:
        client_id = frame.client_id or ""
        fields = EventFields(client_id=client_id, target=frame.client)
        software = getattr(frame.message, "client_software_name", None)
        if software is not None:
            named = {"software": software, "version": frame.message.client_software_version}
            fields["data"] = json.dumps(named, separators=(",", ":"))
        started = self._causes.of_process(self._node)
        return _Connection(client_id, self.reports.note_connection(EventKind.CLIENT_CONNECTED, started, fields))

    def closed(self, client: str, why: str) -> None:
        """A connection was closed because of what came over it. Args: client: host and port."""
        connection = self._connections.pop(client, None) or _Connection("", self._causes.of_process(self._node))
        fields = EventFields(client_id=connection.client_id, target=client, detail=why)
        self._log.append(self._node, EventKind.CLIENT_CONNECTION_CLOSED, connection.event, fields)

    def refused_broker(self, broker: str, request: str, why: str) -> None:
        """The connection of a broker was closed because this broker's release does not know the version of its request.

        A broker tries again, a controller ten times a second: only the first time is an event.
        """
        started = self._causes.of_process(self._node)
        refused = (started, broker, request, why)
        if refused in self._refused:
            return
        self._refused.add(refused)
        fields = EventFields(
            event=request,
            broker_id=int(broker.removeprefix(BROKER_PREFIX)),
            error=ErrorCode.UNSUPPORTED_VERSION.name,
            detail=why,
        )
        self._log.append(self._node, EventKind.REQUEST_REFUSED, started, fields)

    def disconnected(self, client: str, end: ConnectionEnd) -> None:
        """A connection ended for another reason. One over which no request has come is not reported."""
        is_port_closed = end is ConnectionEnd.PORT_CLOSED
        connection = self._connections.pop(client, None)
        if connection is not None:
            cause = self._causes.of_process(self._node) if is_port_closed else connection.event
            fields = EventFields(client_id=connection.client_id, target=client, rule=end.value)
            self.reports.note_connection(EventKind.CLIENT_DISCONNECTED, cause, fields)
        if is_port_closed:
            self.reports.report_all()

    # --- requests

    def answered(self, request: AnsweredRequest) -> None:
        """The response to a request was written to its connection."""
        frame = request.frame
        client_id, api = frame.client_id or "", api_name(frame)
        errors = [] if request.values is None else self._errors(request)
        if errors:
            self._report_errors(client_id, api, request, errors)
        outcome = RequestOutcome(bool(errors), self._count_records(request), request.size, request.latency_ms)
        self.reports.note_request(client_id, api, outcome, self.received(frame))

    def _errors(self, request: AnsweredRequest) -> list[tuple[str, ErrorSubject]]:
        assert request.values is not None
        message = request.frame.message
        group = getattr(message, "group_id", None) or getattr(message, "key", None)
        found = errors_in(request.values, group)
        return [(error, subject) for error, subject in found if error not in NOT_REPORTED]

    def _report_errors(
        self, client_id: str, api: str, request: AnsweredRequest, errors: list[tuple[str, ErrorSubject]]
    ) -> None:
        by_error: dict[str, list[ErrorSubject]] = {}
        for error, subject in errors:
            by_error.setdefault(error, []).append(subject)
        for error, subjects in by_error.items():
            is_in_one = len(subjects) > PARTITIONS_ONE_BY_ONE
            for subject in subjects[:1] if is_in_one else subjects:
                cause = _named_cause(request) or self._causes.of(self._node, error, subject)
                about = ErrorSubject(group=subject.group) if is_in_one else subject
                first = tuple(map(_name, subjects[:PARTITIONS_NAMED])) if is_in_one else ()
                reported = ReportedError(client_id, api, error, about, first, cause)
                self.reports.note_error(reported, request.frame.client, len(subjects) if is_in_one else 1)

    # --- records

    def _count_records(self, request: AnsweredRequest) -> int:
        """Return how many records a request wrote or read. Those that it wrote are entered as acknowledged."""
        match request.response:
            case ProduceResponse():
                return self._acknowledge(request.frame, request.response)
            case FetchResponse(partitions):
                return sum(run.count for fetched in partitions.values() for run in fetched.runs)
            case _:
                return 0

    def _acknowledge(self, frame: RequestFrame, response: ProduceResponse) -> int:
        total = 0
        for tp, records in records_in(frame):
            result = response.results.get(tp)
            if result is not None and result.error is ErrorCode.NONE:
                count = header_of(records).record_count
                total += count
                is_acknowledged = frame.message.acks != ACKS_NONE
                note = self._records.acknowledge if is_acknowledged else self._records.note_without_answer
                note(tp, result.leader_epoch, result.base_offset, count)
        return total


class ClientObservers:
    """The observers of all brokers' ports in a run."""

    def __init__(self, runtime: Runtime, log: EventLog, causes: ErrorCauses, records: AcknowledgedRecords) -> None:
        self._runtime = runtime
        self._log = log
        self._causes = causes
        self._records = records
        self._observers: dict[str, ClientObserver] = {}

    def of(self, node: str) -> ClientObserver:
        """Return the observer of a broker's port."""
        observer = self._observers.get(node)
        if observer is None:
            reports = ClientReports(self._runtime, self._log.sink(node))
            observer = ClientObserver(node, reports, self._log, self._causes, self._records)
            self._observers[node] = observer
        return observer

    @property
    def connections(self) -> Mapping[str, int]:
        """Client id -> the number of its open connections, sorted."""
        ids = Counter(client_id for observer in self._observers.values() for client_id in observer.client_ids)
        return dict(sorted(ids.items()))

    def report_due(self) -> None:
        """Append the events that are due."""
        for observer in self._observers.values():
            observer.reports.report_due()

    def report_all(self) -> None:
        """Append all events that are to be appended."""
        for observer in self._observers.values():
            observer.reports.report_all()
