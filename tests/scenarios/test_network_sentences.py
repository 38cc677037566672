"""What is said of a network in trouble; and what is but a detail."""

import io

import pytest

from kcsim.scenarios.telling.narrator import deed_of
from kcsim.scenarios.telling.timeline import Timeline, console_on
from kcsim.zk.events import EventFields, EventKind
from tests.scenarios.made_up import Story
from tests.scenarios.test_narrator import told


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
            EventFields(fault="break-connections", detail="armed: from broker-1 to broker-2, once Fetch has been delivered"),
            "sees to it that a connection breaks from broker-1 to broker-2, once Fetch has been delivered",
        ),
        (
            EventKind.ADMIN_ACT,
            EventFields(op="heal", detail="between all and all, 4 links in trouble"),
            "heals the network between all and all, 4 links in trouble",
        ),
    ],
)
def test_what_is_done_to_the_network(kind: EventKind, fields: EventFields, sentence: str) -> None:
    story = Story()
    story.tell("scenario", kind, **fields)
    assert told(story) == [f"scenario: {sentence}"]
    assert deed_of(story.events[0]) == sentence


def test_what_senders_have_of_it() -> None:
    story = Story()
    story.tell("broker-1", EventKind.NETWORK_STALLED, target="broker-2", event="LeaderAndIsr", rule="cut")
    story.tell("broker-1", EventKind.NETWORK_STALLED, target="broker-2", event="answer to Fetch", rule="lost")
    story.tell("broker-1", EventKind.NETWORK_RESUMED, target="broker-2", count=1, duration_ms=600)
    story.tell("broker-1", EventKind.NETWORK_CONNECTION_BROKEN, target="broker-2", detail="Fetch: refused by the network")
    assert told(story) == [
        "broker-1: sends to broker-2, where nothing arrives: LeaderAndIsr",
        "broker-1: sends to broker-2 what is lost on the way, and sends it again: answer to Fetch",
        "broker-1: gets through to broker-2 after all, 600 ms late",
        "broker-1: loses a connection to broker-2: Fetch: refused by the network",
    ]


def test_what_is_lost_by_chance_is_a_detail() -> None:
    story = Story()
    story.tell("broker-1", EventKind.NETWORK_STALLED, target="broker-2", event="Fetch", rule="lost")
    story.tell("broker-1", EventKind.NETWORK_RESUMED, target="broker-2", count=1, duration_ms=600)
    story.tell("broker-1", EventKind.NETWORK_STALLED, target="broker-2", event="Fetch", rule="cut")
    shown = io.StringIO()
    timeline = Timeline(console_on(shown), ("broker-1",))
    for event in story.events:
        timeline(event)
    assert shown.getvalue().count("broker-2") == 1
