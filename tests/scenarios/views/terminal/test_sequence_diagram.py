"""A part of a run as a sequence diagram of the messages between nodes, in a text that Mermaid can read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.views.terminal.sequence_diagram import LONGEST_TEXT, SequenceDiagram, is_drawn
from kcsim.scenarios.views.trace.event_importance import NOTABLE, EventRanker, RankedEvent
from tests.scenarios.views.page.conftest import run_of
from tests.scenarios.views.terminal.mermaid_grammar import Diagram, Message, Note, parse


def drawn(*events: Event, most: int = 60) -> Diagram:
    diagram, ranker = SequenceDiagram(most), EventRanker()
    for event in events:
        diagram.add(ranker.rank(event))
    return parse(list(diagram.lines()))


def event(kind: EventKind, node: str = "broker-1", **fields: object) -> Event:
    return Event(7, 1500, node, kind, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shown", "message"),
    [
        (
            event(EventKind.ZK_WRITE, op="create", path="/controller", count=1),
            ("broker-1", "->>", "zookeeper", "1.500 s create /controller"),
        ),
        (
            event(EventKind.ZK_WRITE, op="multi", path="/controller", count=3),
            ("broker-1", "->>", "zookeeper", "1.500 s multi /controller and 2 more"),
        ),
        (
            event(EventKind.ZK_WRITE_APPLIED, op="create", path="/controller"),
            ("zookeeper", "-->>", "broker-1", "1.500 s applied: create /controller"),
        ),
        (
            event(EventKind.ZK_WRITE_REFUSED, op="set", path="/a", error="BADVERSION"),
            ("zookeeper", "-->>", "broker-1", "1.500 s refused, BADVERSION: set /a"),
        ),
        (
            event(EventKind.ZK_WRITE_REFUSED, op="set", path="/a", error="CONNECTIONLOSS"),
            ("zookeeper", "-x", "broker-1", "1.500 s no answer: set /a"),
        ),
        (
            event(EventKind.WATCH_FIRED, path="/controller", event="NodeDeleted"),
            ("zookeeper", "-)", "broker-1", "1.500 s watch on /controller: NodeDeleted"),
        ),
        (
            event(EventKind.REQUEST_SENT, broker_id=2, event="LeaderAndIsr", detail="orders-0"),
            ("broker-1", "->>", "broker-2", "1.500 s LeaderAndIsr: orders-0"),
        ),
        (
            event(EventKind.RESPONSE_RECEIVED, broker_id=2, event="LeaderAndIsr"),
            ("broker-2", "-->>", "broker-1", "1.500 s LeaderAndIsr"),
        ),
        (
            event(EventKind.REQUEST_FAILED, broker_id=2, event="LeaderAndIsr", error="refused"),
            ("broker-1", "-x", "broker-2", "1.500 s LeaderAndIsr: refused"),
        ),
        (
            event(EventKind.NETWORK_STALLED, target="broker-3", event="Fetch", rule="cut"),
            ("broker-1", "-x", "broker-3", "1.500 s Fetch, cut"),
        ),
        (
            event(EventKind.RECORDS_ACKNOWLEDGED, "producer-p", leader=2, count=5, topic="orders", partition=0),
            ("broker-2", "-->>", "producer-p", "1.500 s 5 records of orders-0"),
        ),
    ],
    ids=lambda shown: shown.kind.value if isinstance(shown, Event) else "",
)
def test_what_passes_between_two_is_a_message(shown: Event, message: tuple[str, ...]) -> None:
    assert drawn(shown).items == [Message(*message)]


def test_what_happens_to_one_is_a_note() -> None:
    resigned = event(EventKind.CONTROLLER_RESIGNED, controller_epoch=1)
    assert drawn(resigned).items == [Note(("broker-1",), "1.500 s resigns as controller of epoch 1")]


def test_a_fault_is_noted_over_its_targets() -> None:
    kill = event(EventKind.FAULT, "scenario", fault="kill", target="broker-2")
    start = event(EventKind.ADMIN_ACT, "scenario", op="start", target="broker-3, broker-1, broker-2")
    assert drawn(kill, start).items == [
        Note(("broker-2",), "1.500 s FAULT: kills broker-2"),
        Note(("broker-1", "broker-3"), "1.500 s ADMIN: starts broker-3, broker-1, broker-2"),
    ]


def test_participants_stand_from_outside_to_clients_and_brokers_by_number() -> None:
    nodes = ("producer-p", "zookeeper", "broker-10", "broker-9", "scenario", "consumer-c")
    diagram = drawn(*(event(EventKind.PROCESS_STATE, node, state="stopped") for node in nodes))
    assert diagram.participants == ["scenario", "broker-9", "broker-10", "zookeeper", "consumer-c", "producer-p"]


def test_more_than_can_be_taken_in_is_left_out_and_the_diagram_says_so() -> None:
    diagram = drawn(*(event(EventKind.CONTROLLER_RESIGNED, controller_epoch=n) for n in range(5)), most=3)
    assert len(diagram.items) == 4
    assert diagram.items[-1] == Note(("broker-1",), "… 2 more events are left out, from #7 at 1.500 s on")


def test_nothing_cannot_be_drawn() -> None:
    with pytest.raises(ValueError, match="a sequence diagram of nothing"):
        list(SequenceDiagram().lines())


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1), st.text("ab-. #;:,", min_size=1))
def test_any_text_of_any_node_can_be_parsed_and_is_unchanged(says: str, node: str) -> None:
    """A topic's settings or a client's data can contain any text."""
    ranked = RankedEvent(Event(1, 0, f"n{node}", EventKind.LEDGER), says, NOTABLE)
    diagram = SequenceDiagram()
    diagram.add(ranked)
    (note,) = parse(list(diagram.lines())).items
    wanted = " ".join(f"0.000 s {says}".split())
    assert note.text == (wanted if len(wanted) <= LONGEST_TEXT else wanted[: LONGEST_TEXT - 2] + " …")


@pytest.mark.parametrize("scenario", ["controller-failover", "consumer-crash-range", "broker-crash-and-return"])
def test_a_whole_run_can_be_drawn_and_shows_who_writes_and_who_is_notified(scenario: str) -> None:
    ranker = EventRanker()
    diagram = SequenceDiagram(most=10_000)
    for ranked in map(ranker.rank, run_of(scenario)):
        if is_drawn(ranked):
            diagram.add(ranked)
    found = parse(list(diagram.lines()))
    messages = [item for item in found.items if isinstance(item, Message)]
    assert {"->>", "-->>", "-)"} <= {message.arrow for message in messages}
    assert not any("UpdateMetadata" in message.text for message in messages)
    assert any(isinstance(item, Note) and "wins the election" in item.text for item in found.items)
