"""The timeline of a run: columns, wrapping, colour only on a terminal, and the verdict with its evidence."""

import io

import pytest
from rich.console import Console

from kcsim.eventlog.events import EventFields, EventKind
from kcsim.scenarios.engine.expectations.verdict import ExpectationOutcome, ExpectationResult, StepFailure, Verdict, summary
from kcsim.scenarios.views.narration.timeline import LIKE_EVENTS_SHOWN, ConsoleTimeline, console_on, show_verdict
from tests.scenarios.evaluated_log import EvaluatedLog

BROKERS = ("broker-1", "broker-2")


@pytest.fixture
def story() -> EvaluatedLog:
    story = EvaluatedLog()
    story.append("scenario", EventKind.FAULT, fault="disconnect", target="broker-1")
    story.append("broker-1", EventKind.ELECTION_WON, controller_epoch=1)
    story.append("broker-1", EventKind.WATCH_FIRED)
    story.znode("/controller")
    return story


def shown(story: EvaluatedLog, console: Console, file: io.StringIO) -> list[str]:
    timeline = ConsoleTimeline(console, BROKERS)
    for event in story.events:
        timeline(event)
    return file.getvalue().splitlines()


def test_without_a_terminal_there_is_one_plain_line_for_each_event_worth_one(story: EvaluatedLog) -> None:
    file = io.StringIO()
    assert shown(story, console_on(file), file) == [
        "  0.000 s  scenario   cuts broker-1 off from ZooKeeper",
        "  0.100 s  broker-1   wins the election: controller epoch 1 (it created /controller first)",
    ]


def test_a_narrow_terminal_wraps_below_the_words(story: EvaluatedLog) -> None:
    file = io.StringIO()
    console = Console(file=file, width=60, force_terminal=True, no_color=True, highlight=False, markup=False)
    lines = shown(story, console, file)
    assert [line for line in lines if "\x1b[3" not in line][-2:] == [
        "  0.100 s  broker-1   wins the election: controller epoch 1",
        "                      (it created /controller first)",
    ]
    assert max(map(len, lines[1:])) <= 60


def test_long_words_do_not_leave_a_narrow_terminal() -> None:
    story = EvaluatedLog()
    story.gone("/brokers/ids/1")
    story.append("scenario", EventKind.ADMIN_ACT, op="create", path="/isr_change_notification/isr_change_0000000000")
    file = io.StringIO()
    lines = shown(story, Console(file=file, width=60, no_color=True, highlight=False, markup=False), file)
    assert max(map(len, lines)) <= 60


def test_colour_repeats_the_nodes_name_and_nothing_else(story: EvaluatedLog) -> None:
    file = io.StringIO()
    lines = shown(story, Console(file=file, width=200, force_terminal=True, color_system="standard"), file)
    assert lines[1] == (
        "  0.100 s  \x1b[32mbroker-1 \x1b[0m  wins the election: controller epoch 1 (it created /controller first)"
    )


def test_no_color_is_honoured(story: EvaluatedLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    file = io.StringIO()
    lines = shown(story, Console(file=file, width=200, force_terminal=True, color_system="standard"), file)
    assert "\x1b[32m" not in lines[1]


def test_the_verdict_shows_each_expectation_what_was_seen_and_why(story: EvaluatedLog) -> None:
    file = io.StringIO()
    timeline = ConsoleTimeline(console_on(io.StringIO()), BROKERS)
    for event in story.events:
        timeline(event)
    judged = ExpectationResult(
        "Somebody wins.", ExpectationOutcome.HELD, "epochs won: 1", (story.events[1], story.events[3])
    )
    violated = ExpectationResult(
        "Nobody was cut off.", ExpectationOutcome.VIOLATED, "Fault happened once", (story.events[0],)
    )
    show_verdict(console_on(file), Verdict("try-it", (judged, violated)), timeline.evidence)
    rows = [
        [cell.strip() for cell in line.split("│")[1:-1]] for line in file.getvalue().splitlines() if line.startswith("│")
    ]
    assert rows == [
        ["held", "Somebody wins.", "epochs won: 1"],
        ["", "", "#1 at 0.100 s: broker-1 wins the election: controller epoch 1"],
        ["", "", "(it created /controller first)"],
        ["", "", "#3 at 0.300 s: /controller was created"],
        ["violated", "Nobody was cut off.", "Fault happened once"],
        ["", "", "#0 at 0.000 s: scenario cuts broker-1 off from ZooKeeper"],
    ]
    assert file.getvalue().splitlines()[-1] == "1 of 2 expectations violated"


def test_the_story_stands_before_the_verdict_and_wraps_at_the_terminals_width() -> None:
    file = io.StringIO()
    console = Console(file=file, width=40)
    story = ["Then broker-2, leader of t-0, froze for 2 s.", "It ended."]  # "2" alone would fit into the first line
    show_verdict(console, Verdict("try-it", ()), lambda _: [], story)
    assert file.getvalue().splitlines()[1:5] == ["Then broker-2, leader of t-0, froze for", "2 s.", "It ended.", ""]


def test_of_much_evidence_the_first_and_the_last_are_shown() -> None:
    story = EvaluatedLog()
    for _ in range(20):
        story.append("broker-1", EventKind.WATCH_FIRED)
    lines = ConsoleTimeline(console_on(io.StringIO()), BROKERS).evidence(
        ExpectationResult("", ExpectationOutcome.HELD, "", tuple(story.events))
    )
    assert [line.split(" at ")[0] for line in lines] == ["#0", "… 13 more …", "#14", "#15", "#16", "#17", "#18", "#19"]


def test_of_many_like_reports_of_a_producer_the_first_are_shown() -> None:
    """A producer that writes for an hour reports every second."""
    file = io.StringIO()
    timeline = ConsoleTimeline(console_on(file), BROKERS, clients=("producer-writer",))
    story = EvaluatedLog()
    story.append("producer-writer", EventKind.WORKLOAD_STARTED)
    for _ in range(40):
        fields = EventFields(topic="orders", partition=0, count=9, leader=1)
        story.append("producer-writer", EventKind.RECORDS_ACKNOWLEDGED, 0, **fields)
    for event in story.events:
        timeline(event)
    lines = file.getvalue().splitlines()
    assert len(lines) == LIKE_EVENTS_SHOWN + 1
    assert lines[-1].endswith("producer-writer  … and so on, for more of them")


HELD = ExpectationResult("a", ExpectationOutcome.HELD, "")
VIOLATED = ExpectationResult("b", ExpectationOutcome.VIOLATED, "")
UNSEEN = ExpectationResult("d", ExpectationOutcome.NOT_OBSERVABLE, "")
BROKEN = ExpectationResult("e", ExpectationOutcome.VIOLATED, "", invariant="one-controller")
FAILURE = StepFailure("x.yaml", 7, "wait", "not within 10 ms: no broker is the controller")


@pytest.mark.parametrize(
    ("verdict", "status", "line"),
    [
        (Verdict("x", (HELD, HELD)), 0, "all 2 expectations held"),
        (Verdict("x", (HELD,)), 0, "the expectation held"),
        (Verdict("x", (VIOLATED,)), 1, "the expectation was violated"),
        (Verdict("x", (HELD, VIOLATED)), 1, "1 of 2 expectations violated"),
        (Verdict("x", (UNSEEN, UNSEEN)), 2, "undecided: none of the expectations can be seen on these brokers"),
        (Verdict("x", (HELD, UNSEEN)), 0, "the expectation held; 1 could not be seen on these brokers"),
        (Verdict("x", (), invariants=("a", "b")), 0, "all 2 invariants held"),
        (Verdict("x", (HELD, BROKEN)), 1, "1 invariant violated: one-controller; the expectation held"),
        (Verdict("x", (BROKEN,)), 1, "1 invariant violated: one-controller"),
        (Verdict("x", (BROKEN,), FAILURE), 1, f"1 invariant violated: one-controller; undecided: {FAILURE}"),
        (Verdict("x", (VIOLATED,), FAILURE), 2, "undecided: x.yaml:7: wait: not within 10 ms: no broker is the controller"),
    ],
)
def test_a_verdict_is_an_exit_status_and_a_line(verdict: Verdict, status: int, line: str) -> None:
    assert (verdict.exit_status, summary(verdict)) == (status, line)
