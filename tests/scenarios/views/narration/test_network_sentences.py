"""Sentences about network faults, and the events that are only a detail."""

import io

import pytest

from kcsim.eventlog.events import EventFields, EventKind
from kcsim.scenarios.views.narration.event_description import action_text
from kcsim.scenarios.views.narration.timeline import ConsoleTimeline, console_on
from tests.scenarios.evaluated_log import EvaluatedLog
from tests.scenarios.views.narration.test_narrator import narrated


@pytest.mark.parametrize(
    ("kind", "fields", "sentence"),
    [
        (
            EventKind.FAULT,
            EventFields(fault="partition", detail="between broker-1 and broker-2, refusing"),
            "cuts the network between broker-1 and broker-2, refusing",
        ),
        (
            EventKind.FAULT,
            EventFields(fault="slow-link", detail="from broker-1 to all, 200 ms longer"),
            "slows the network down from broker-1 to all, 200 ms longer",
        ),
        (
            EventKind.FAULT,
            EventFields(
                fault="break-connections",
                breakpoint="delivered",
                event="Fetch",
                sources=["broker-1"],
                targets=["broker-2"],
                both_ways=False,
            ),
            "sees to it that a connection breaks from broker-1 to broker-2, once Fetch has been delivered",
        ),
        (
            EventKind.FAULT,
            EventFields(
                fault="inject-error",
                breakpoint="answered",
                event="Produce",
                detail="armed: the next answer to Produce from all: NOT_LEADER",
            ),
            "sees to it that clients are answered with an error: the next answer to Produce from all: NOT_LEADER",
        ),
        (
            EventKind.ADMIN_ACT,
            EventFields(op="heal", detail="between all and all, 4 links in trouble"),
            "heals the network between all and all, 4 links in trouble",
        ),
    ],
)
def test_what_is_done_to_the_network(kind: EventKind, fields: EventFields, sentence: str) -> None:
    story = EvaluatedLog()
    story.append("scenario", kind, **fields)
    assert narrated(story) == [f"scenario: {sentence}"]
    assert action_text(story.events[0]) == sentence


def test_what_senders_have_of_it() -> None:
    story = EvaluatedLog()
    story.append("broker-1", EventKind.NETWORK_STALLED, target="broker-2", event="LeaderAndIsr", rule="cut")
    story.append("broker-1", EventKind.NETWORK_STALLED, target="broker-2", event="answer to Fetch", rule="lost")
    story.append("broker-1", EventKind.NETWORK_RESUMED, target="broker-2", count=1, duration_ms=600)
    story.append("broker-1", EventKind.NETWORK_CONNECTION_BROKEN, target="broker-2", detail="Fetch: refused by the network")
    assert narrated(story) == [
        "broker-1: sends to broker-2 a message that does not arrive: LeaderAndIsr",
        "broker-1: sends to broker-2 a message that is lost, and sends it again: answer to Fetch",
        "broker-1: reaches broker-2 at last, 600 ms late",
        "broker-1: loses a connection to broker-2: Fetch: refused by the network",
    ]


def test_what_is_lost_by_chance_is_a_detail() -> None:
    story = EvaluatedLog()
    story.append("broker-1", EventKind.NETWORK_STALLED, target="broker-2", event="Fetch", rule="lost")
    story.append("broker-1", EventKind.NETWORK_RESUMED, target="broker-2", count=1, duration_ms=600)
    story.append("broker-1", EventKind.NETWORK_STALLED, target="broker-2", event="Fetch", rule="cut")
    shown = io.StringIO()
    timeline = ConsoleTimeline(console_on(shown), ("broker-1",))
    for event in story.events:
        timeline(event)
    assert shown.getvalue().count("broker-2") == 1
