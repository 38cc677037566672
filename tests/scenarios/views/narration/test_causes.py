"""Causes and consequences of an event: chains back to a root, trees of what followed, and their printed form."""

import pytest

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.views.narration.cause_text import Sentences, seqs_of, story_json, story_lines
from kcsim.scenarios.views.narration.causes import Branch, Causes, LeftOut, NoSuchEventError, Story
from kcsim.scenarios.views.narration.event_choice import EventChoiceError, EventCriteria, choose
from tests.scenarios.evaluated_log import EvaluatedLog


@pytest.fixture
def log() -> EvaluatedLog:
    """Return a log: a controller is killed (#1), its session expires (#2), the next one is elected (#5).

    The new controller then notifies two brokers.
    """
    log = EvaluatedLog()
    log.append("scenario", EventKind.RUN_STARTED, scenario="try-it", seed=1)
    killed = log.append("scenario", EventKind.FAULT, fault="kill", target="broker-1")
    expired = log.append("zookeeper", EventKind.SESSION_CLOSED, killed, session_id="0x1", error="SESSIONEXPIRED")
    gone = log.gone("/controller", expired)
    log.gone("/brokers/ids/1", expired)
    won = log.append("broker-2", EventKind.ELECTION_WON, gone, controller_epoch=2)
    elected = log.append(
        "broker-2",
        EventKind.LEADER_ELECTION,
        won,
        topic="orders",
        partition=0,
        leader=2,
        leader_epoch=4,
        isr=[2, 3],
        detail="leader 2: first of the assignment [1, 2, 3] that is alive and in the ISR [1, 2, 3]",
    )
    for broker in (2, 3):
        log.append("broker-2", EventKind.REQUEST_SENT, elected, event="LeaderAndIsr", broker_id=broker, detail="orders-0: …")
    return log


def followed_by(story: Story) -> list[tuple[int, int] | str]:
    """Return what followed: the seq and level of each event, and the counts of what was left out."""
    return [
        (item.event.seq, len(item.continues)) if isinstance(item, Branch) else f"{item.count} below #{item.cause}"
        for item in story.followed_by
    ]


# --- chains and trees ------------------------------------------------------------------------------------------------------


def test_a_chain_goes_from_its_root_down_to_the_event(log: EvaluatedLog) -> None:
    story = Causes(log.events).story(6)
    assert [event.seq for event in story.chain] == [1, 2, 3, 5, 6]
    assert (story.event.seq, story.has_known_root, story.missing_cause) == (6, True, None)


def test_what_followed_is_a_tree_in_reading_order(log: EvaluatedLog) -> None:
    assert followed_by(Causes(log.events).story(2)) == [(3, 1), (5, 2), (6, 3), (7, 4), (8, 4), (4, 1)]


def test_depth_leaves_out_what_is_below_and_says_how_much(log: EvaluatedLog) -> None:
    assert followed_by(Causes(log.events).story(2, depth=2)) == [(3, 1), (5, 2), "3 below #5", (4, 1)]
    assert followed_by(Causes(log.events).story(2, depth=0)) == ["6 below #2"]


def test_breadth_leaves_out_the_later_followers_with_all_that_followed_from_them(log: EvaluatedLog) -> None:
    assert followed_by(Causes(log.events).story(6, breadth=1)) == [(7, 1), "1 below #6"]


def test_nothing_follows_from_the_last_event(log: EvaluatedLog) -> None:
    assert Causes(log.events).story(8).followed_by == ()


def test_every_event_is_in_the_tree_of_its_root_once(log: EvaluatedLog) -> None:
    """No event is missing between the chains and the trees."""
    causes = Causes(log.events)
    roots = [event.seq for event in log.events if event.cause is None]
    followers = [item.event.seq for root in roots for item in causes.story(root).followed_by if isinstance(item, Branch)]
    assert sorted(roots + followers) == [event.seq for event in log.events]


def test_a_very_long_chain_is_no_problem() -> None:
    log = EvaluatedLog()
    log.append("scenario", EventKind.FAULT, fault="kill", target="broker-1")
    for cause in range(5_000):
        log.append("broker-1", EventKind.WATCH_FIRED, cause, path="/controller")
    causes = Causes(log.events)
    assert len(causes.story(5_000).chain) == 5_001
    assert len(causes.story(0).followed_by) == 5_000


# --- incomplete traces -----------------------------------------------------------------------------------------------------


def test_a_cause_that_the_trace_lacks_ends_the_chain_and_is_reported(log: EvaluatedLog) -> None:
    """The beginning of the trace was cut off."""
    story = Causes(log.events[3:]).story(6)
    assert [event.seq for event in story.chain] == [3, 5, 6]
    assert (story.missing_cause, story.has_known_root) == (2, False)
    assert "(#3 follows from #2, which the trace does not have before it)" in printed(story, log.events)[0]


@pytest.mark.parametrize(("first", "second"), [(1, 1), (2, 1), (1, None)])
def test_no_chain_loops_whatever_a_trace_says(first: int, second: int | None) -> None:
    """A cause that does not precede its event is ignored."""
    events = [
        Event(1, 0, "broker-1", EventKind.ELECTION_STARTED, cause=first),
        Event(2, 0, "broker-1", EventKind.ELECTION_WON, cause=second),
    ]
    story = Causes(events).story(1)
    assert [event.seq for event in story.chain] == [1]
    assert story.missing_cause == first


def test_an_event_without_a_cause_that_should_have_one_is_reported() -> None:
    log = EvaluatedLog()
    log.append("broker-1", EventKind.ELECTION_WON, controller_epoch=1)
    story = Causes(log.events).story(0)
    assert not story.has_known_root
    assert "(what #0 follows from is not recorded)" in printed(story, log.events)[0]


def test_a_seq_that_is_not_there_is_reported_with_those_that_are(log: EvaluatedLog) -> None:
    with pytest.raises(NoSuchEventError, match="there is no event #9 in the trace; it has #0 to #8"):
        Causes(log.events).story(9)
    with pytest.raises(NoSuchEventError, match="there is no event #0 in the trace; it has none"):
        Causes([]).story(0)


# --- printed form ----------------------------------------------------------------------------------------------------------


def printed(story: Story, events: list[Event]) -> list[str]:
    return list(story_lines(story, Sentences(events, seqs_of(story))))


def test_the_tree_is_printed_with_columns_and_the_event_asked_about_is_marked(log: EvaluatedLog) -> None:
    story = Causes(log.events).story(5, breadth=1)
    assert printed(story, log.events) == [
        "  #1      0.100 s  scenario   kills broker-1",
        "  #2      0.200 s  zookeeper  └ expires session 0x1",
        "  #3      0.300 s  zookeeper    └ /controller is gone: no broker is the controller",
        "→ #5      0.500 s  broker-2       └ wins the election: controller epoch 2 (it created /controller first)",
        "  #6      0.600 s  broker-2         └ elects for orders-0: leader 2: first of the assignment [1, 2, 3] that is "
        "alive and in the ISR [1, 2, 3]; leader epoch 4, ISR [2, 3]",
        "  #7      0.700 s  broker-2           ├ sends broker-2 LeaderAndIsr: orders-0: …",
        "                                      └ … 1 more follows",
    ]


def test_siblings_are_held_together_by_lines(log: EvaluatedLog) -> None:
    story = Causes(log.events).story(2, depth=2)
    assert [line[32:] for line in printed(story, log.events)[2:]] == [
        "├ /controller is gone: no broker is the controller",
        "│ └ wins the election: controller epoch 2 (it created /controller first)",
        "│   └ … 3 more follow",
        "└ /brokers/ids/1 is gone: broker 1 is no longer registered",
    ]


def test_the_json_holds_the_same_events_with_their_causes(log: EvaluatedLog) -> None:
    story = Causes(log.events).story(5, breadth=1)
    document = story_json(story, Sentences(log.events, seqs_of(story)))
    assert [event["seq"] for event in document["chain"]] == [1, 2, 3, 5]
    assert [(event["seq"], event["cause"], event["kind"]) for event in document["followed_by"]] == [
        (6, 5, "LeaderElection"),
        (7, 6, "RequestSent"),
    ]
    assert (document["seq"], document["left_out"], document["has_known_root"]) == (5, {6: 1}, True)


def test_what_was_left_out_closes_its_siblings(log: EvaluatedLog) -> None:
    *_, last = Causes(log.events).story(6, breadth=1).followed_by
    assert last == LeftOut(cause=6, count=1, continues=(False,))


# --- selecting an event ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted", "seq"),
    [
        ("6", EventCriteria(), 6),
        ("#6", EventCriteria(), 6),
        ("99", EventCriteria(), 99),  # the lookup reports that the event is missing
        ("ElectionWon", EventCriteria(), 5),
        ("first:RequestSent", EventCriteria(), 7),
        ("last:RequestSent", EventCriteria(), 8),
        ("LeaderElection", EventCriteria(topic="orders", partition=0), 6),
        ("last:ZnodeDeleted", EventCriteria(node="zookeeper"), 4),
    ],
)
def test_an_event_is_meant_by_number_or_by_kind(log: EvaluatedLog, text: str, wanted: EventCriteria, seq: int) -> None:
    assert choose(log.events, text, wanted) == seq


@pytest.mark.parametrize(
    ("text", "wanted", "message"),
    [
        (
            "RequestSent",
            EventCriteria(),
            "the trace has 2 RequestSent: #7, #8; name one, or first:RequestSent, or last:RequestSent",
        ),
        ("LeaderElection", EventCriteria("orders", 1), "the trace has no LeaderElection with topic orders, partition 1"),
        ("last:LeaderElecton", EventCriteria(), "'LeaderElecton' is no number and no kind of event; did you mean"),
        ("latest:ElectionWon", EventCriteria(), "'latest:ElectionWon': write first:ElectionWon or last:ElectionWon"),
        ("-1", EventCriteria(), "'-1' is no number and no kind of event; write its number"),
    ],
)
def test_what_means_no_event_is_reported(log: EvaluatedLog, text: str, wanted: EventCriteria, message: str) -> None:
    with pytest.raises(EventChoiceError) as caught:
        choose(log.events, text, wanted)
    assert message in str(caught.value)
