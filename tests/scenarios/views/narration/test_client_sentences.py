"""Sentences about Kafka clients from outside the run."""

import io
import json

import pytest

from kcsim.eventlog.events import EventFields, EventKind
from kcsim.scenarios.views.narration.timeline import ConsoleTimeline, console_on
from tests.scenarios.evaluated_log import EvaluatedLog
from tests.scenarios.views.narration.test_narrator import narrated

SHOP = EventFields(client_id="shop", target="127.0.0.1:4711")
SUMS = json.dumps({"errors": 2, "records": 500, "bytes": 20_000, "median_ms": 1.26, "longest_ms": 40.0})


@pytest.mark.parametrize(
    ("kind", "fields", "sentence"),
    [
        (
            EventKind.CLIENT_CONNECTED,
            EventFields(data='{"software":"librdkafka","version":"2.3.0"}'),
            "accepts a connection of client shop (librdkafka 2.3.0) from 127.0.0.1:4711",
        ),
        (EventKind.CLIENT_CONNECTED, EventFields(), "accepts a connection of client shop from 127.0.0.1:4711"),
        (
            EventKind.CLIENT_CONNECTED,
            EventFields(client_id="", count=7),
            "accepts 7 more connections, the last of a client without an id from 127.0.0.1:4711",
        ),
        (
            EventKind.CLIENT_DISCONNECTED,
            EventFields(rule="closed by the client"),
            "loses the connection to client shop at 127.0.0.1:4711: closed by the client",
        ),
        (
            EventKind.CLIENT_DISCONNECTED,
            EventFields(rule="closed by the client", count=3),
            "loses 3 more connections to clients, the last to client shop at 127.0.0.1:4711: closed by the client",
        ),
        (
            EventKind.CLIENT_CONNECTION_CLOSED,
            EventFields(detail="API 0 is not known in version 99"),
            "closes the connection of the client at 127.0.0.1:4711: API 0 is not known in version 99",
        ),
        (
            EventKind.CLIENT_ERROR,
            EventFields(event="Produce", error="NOT_LEADER_OR_FOLLOWER", topic="orders", partition=0, count=1),
            "answers Produce of client shop with NOT_LEADER_OR_FOLLOWER for orders-0",
        ),
        (
            EventKind.CLIENT_ERROR,
            EventFields(event="Produce", error="NOT_LEADER_OR_FOLLOWER", topic="orders", partition=0, count=4),
            "answers Produce of client shop with NOT_LEADER_OR_FOLLOWER for orders-0, 4 times more",
        ),
        (
            EventKind.CLIENT_ERROR,
            EventFields(event="Heartbeat", error="REBALANCE_IN_PROGRESS", group="readers", count=1),
            "answers Heartbeat of client shop with REBALANCE_IN_PROGRESS for group readers",
        ),
        (
            EventKind.CLIENT_ERROR,
            EventFields(event="CreateTopics", error="NOT_CONTROLLER", topic="orders", count=1),
            "answers CreateTopics of client shop with NOT_CONTROLLER for orders",
        ),
        (
            EventKind.CLIENT_ERROR,
            EventFields(event="Fetch", error="FENCED_LEADER_EPOCH", count=11, partitions=["orders-0", "orders-1"]),
            "answers Fetch of client shop with FENCED_LEADER_EPOCH for 11 partitions: orders-0, orders-1, …",
        ),
        (
            EventKind.CLIENT_REQUESTS,
            EventFields(event="Produce", count=20, duration_ms=5_000, data=SUMS),
            "has answered 20 Produce requests of client shop in 5.0 s; 2 errors, 500 records, 20000 bytes; "
            "latency 1.3 ms in the median, 40.0 ms at most",
        ),
    ],
)
def test_what_a_broker_has_to_do_with_clients(kind: EventKind, fields: EventFields, sentence: str) -> None:
    story = EvaluatedLog()
    of_client = SHOP.copy()
    of_client.update(fields)
    story.append("broker-1", kind, **of_client)
    assert narrated(story) == [f"broker-1: {sentence}"]


def test_a_sum_of_requests_is_a_detail() -> None:
    story = EvaluatedLog()
    story.append("broker-1", EventKind.CLIENT_CONNECTED, **SHOP)
    story.append("broker-1", EventKind.CLIENT_REQUESTS, client_id="shop", event="Fetch", count=1, duration_ms=1, data=SUMS)
    shown = io.StringIO()
    timeline = ConsoleTimeline(console_on(shown), ("broker-1",))
    for event in story.events:
        timeline(event)
    assert len(shown.getvalue().splitlines()) == 1
