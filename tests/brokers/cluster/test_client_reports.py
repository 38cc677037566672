"""A broker's events about its clients are few, however many requests it answers."""

import json

from kcsim.brokers.clients.reports import SUMMED_UP_OVER_MS
from kcsim.brokers.cluster.client_reports import (
    ONE_BY_ONE,
    REQUESTS_WITHIN_MS,
    ClientReports,
    ReportedError,
    RequestOutcome,
)
from kcsim.brokers.wire.answered_errors import ErrorSubject
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.runtime.simulated import SimulatedRuntime

ADDRESS = "127.0.0.1:4711"
OF_ORDERS = ReportedError("shop", "Produce", "NOT_LEADER_OR_FOLLOWER", ErrorSubject("orders", 0), (), 3)
ONE_RECORD = RequestOutcome(has_error=False, records=1, size=100, latency_ms=2.0)


class Reported:
    """The reports of a broker, on a clock that the test moves."""

    def __init__(self) -> None:
        self.runtime = SimulatedRuntime()
        self.log = EventLog(self.runtime.now_ms)
        self.reports = ClientReports(self.runtime, self.log.sink("broker-1"))

    def later(self, ms: int) -> None:
        """Let time pass, and append the events that are due."""

        async def wait() -> None:
            await self.runtime.sleep_ms(ms)

        self.runtime.run(wait())
        self.reports.report_due()

    @property
    def counts(self) -> list[int | None]:
        return [event.count for event in self.log.events]


def test_like_errors_within_a_second_are_two_events() -> None:
    reported = Reported()
    for _ in range(5):
        reported.reports.note_error(OF_ORDERS, ADDRESS, 1)
    assert reported.counts == [1]
    reported.later(SUMMED_UP_OVER_MS - 1)
    assert reported.counts == [1]
    reported.later(1)
    assert reported.counts == [1, 4]
    reported.later(SUMMED_UP_OVER_MS)
    reported.reports.note_error(OF_ORDERS, ADDRESS, 1)
    assert reported.counts == [1, 4, 1]
    first, *_ = reported.log.events
    assert (first.kind, first.cause, first.target) == (EventKind.CLIENT_ERROR, 3, ADDRESS)
    assert (first.topic, first.partition, first.error) == ("orders", 0, "NOT_LEADER_OR_FOLLOWER")


def test_errors_of_another_client_api_partition_or_cause_are_other_errors() -> None:
    reported = Reported()
    for error in (
        OF_ORDERS,
        OF_ORDERS._replace(client_id="bank"),
        OF_ORDERS._replace(api="Fetch"),
        OF_ORDERS._replace(subject=ErrorSubject("orders", 1)),
        OF_ORDERS._replace(cause=4),
    ):
        reported.reports.note_error(error, ADDRESS, 1)
    assert reported.counts == [1] * 5


def test_requests_are_summed_up_over_some_seconds() -> None:
    reported = Reported()
    for latency_ms in (1.0, 2.0, 30.0):
        reported.reports.note_request("shop", "Produce", ONE_RECORD._replace(latency_ms=latency_ms), 7)
    reported.reports.note_request("shop", "Produce", RequestOutcome(True, 0, 50, 4.0), 7)
    reported.reports.note_request("shop", "Fetch", ONE_RECORD, 7)
    assert reported.counts == []
    reported.later(REQUESTS_WITHIN_MS)
    produced, fetched = reported.log.events
    assert (produced.kind, produced.client_id, produced.event, produced.cause) == (
        EventKind.CLIENT_REQUESTS,
        "shop",
        "Produce",
        7,
    )
    assert (produced.count, fetched.event, fetched.count) == (4, "Fetch", 1)
    sums = {"errors": 1, "records": 3, "bytes": 350, "median_ms": 3.0, "longest_ms": 30.0}
    assert json.loads(produced.data or "") == sums
    reported.later(REQUESTS_WITHIN_MS)
    assert len(reported.log.events) == 2


def test_very_many_connections_in_a_second_are_not_reported_one_by_one() -> None:
    reported = Reported()
    kind = EventKind.CLIENT_CONNECTED
    seqs = [reported.reports.note_connection(kind, 0, EventFields(target=f"a:{n}")) for n in range(ONE_BY_ONE[kind] + 5)]
    assert seqs == [*range(ONE_BY_ONE[kind]), *[0] * 5]
    reported.later(SUMMED_UP_OVER_MS)
    last = reported.log.events[-1]
    assert (len(reported.log.events), last.count, last.target) == (ONE_BY_ONE[kind] + 1, 5, f"a:{ONE_BY_ONE[kind] + 4}")


def test_at_the_end_everything_is_reported() -> None:
    reported = Reported()
    reported.reports.note_error(OF_ORDERS, ADDRESS, 1)
    reported.reports.note_error(OF_ORDERS, ADDRESS, 2)
    reported.reports.note_request("shop", "Produce", ONE_RECORD, 7)
    reported.reports.report_all()
    assert reported.counts == [1, 2, 1]
    reported.reports.report_all()
    assert len(reported.log.events) == 3
