"""A lesson file as its author sees it: mistakes are reported line by line, with the nearest right word."""

from pathlib import Path

import pytest

from kcsim.scenarios.lessons.lesson import Lesson, json_schema
from kcsim.scenarios.lessons.lesson_file import LessonFileError, find_lesson, load_lesson, load_lesson_text
from kcsim.scenarios.lessons.lesson_pages import LessonError, lesson_pages
from kcsim.scenarios.lessons.lesson_run import run_lesson
from tests.scenarios.lessons.lesson_fixtures import lesson_text

OWN = """\
name: own
title: A lesson of one's own
minutes: 5
you-will-know: That it can be written.
scenario:
  name: own
  description: Three brokers, and the controller dies.
  cluster:
    brokers: 3
    settings: {zookeeper.session.timeout.ms: 3000}
    topics:
      orders: {assignment: {0: [1, 2]}}
  timetable:
    - start: all
    - wait: {registered: all, controller: any, events: {of: {kind: ElectionLost}, at-least: 2}}
    - kill: controller
      as: first
    - wait: {event: {kind: ElectionWon, controller-epoch: 2}}
  expect:
    - controller: any
pages:
  - at: {kind: ProcessState, state: dead}
    say: "{name of first} dies."
    ask: Who is next?
    answer: {value: node, of: {kind: ElectionWon}}
    once: end
    because: "{answer} was quick."
"""

ANSWER = "answer: {value: node, of: {kind: ElectionWon}}"


def problems(text: str, file: str = "own.yaml") -> list[str]:
    with pytest.raises(LessonFileError) as raised:
        load_lesson_text(text, file)
    return [str(problem) for problem in raised.value.problems]


def test_a_lesson_may_hold_its_scenario() -> None:
    loaded = load_lesson_text(OWN, "own.yaml")
    assert (loaded.scenario.scenario.name, loaded.library, loaded.scenario.step_lines) == ("own", None, (14, 15, 16, 18))
    played = lesson_pages(loaded.lesson, run_lesson(loaded.scenario))
    assert played[0].question is not None
    assert played[0].question.right.text in ("broker-1", "broker-2", "broker-3")


def test_a_lesson_may_name_a_scenario_of_the_library() -> None:
    loaded = load_lesson(find_lesson("unclean-election"))
    assert loaded.library == loaded.scenario.scenario.name == "last-isr-member-lost"


def test_a_lesson_may_name_a_scenario_beside_it(tmp_path: Path) -> None:
    inside = OWN[OWN.index("  name: own") : OWN.index("pages:")]
    (tmp_path / "mine.yaml").write_text("\n".join(line.removeprefix("  ") for line in inside.splitlines()) + "\n")
    named = OWN[: OWN.index("scenario:")] + "scenario: mine.yaml\n" + OWN[OWN.index("pages:") :]
    (tmp_path / "own.yaml").write_text(named)
    loaded = load_lesson(tmp_path / "own.yaml")
    assert (loaded.scenario.file, loaded.library) == (str(tmp_path / "mine.yaml"), None)


@pytest.mark.parametrize("wanted", ["3", "leaders-and-isr"])
def test_a_lesson_is_found_by_its_number_or_its_name(wanted: str) -> None:
    assert find_lesson(wanted).name == "leaders-and-isr.yaml"


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("14", "14: there is no lesson of this number; there are 1 to 13"),
        ("unclean-elections", "unclean-elections: neither a file nor a lesson; did you mean unclean-election?"),
        ("lessons/none.yaml", "lessons/none.yaml: no such file"),
        ("", "'': neither a file nor a lesson; there are consumer-rebalances, "),
    ],
)
def test_a_lesson_that_is_not_there(wanted: str, message: str) -> None:
    with pytest.raises(LessonFileError) as raised:
        find_lesson(wanted)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("title:", "titel:", "own.yaml:2: unknown key 'titel'; did you mean title?"),
        ("minutes: 5", "minutes: soon", "own.yaml:3: minutes: 'soon' is no whole number"),
        ('    because: "{answer} was quick."\n', "", "own.yaml:24: a question needs a because: why it is so"),
        ("    ask: Who is next?\n", "", "own.yaml:24: answer belongs to a question: write ask"),
        ("name of first", "name of frist", "own.yaml:23: unknown name 'frist'; did you mean first?"),
        (
            "{name of first}",
            "{leeder of orders-0}",
            "own.yaml:23: unknown phrase 'leeder of orders-0'; did you mean leader?",
        ),
        ("{name of first}", "{leader of orders-9}", "own.yaml:23: unknown partition 'orders-9'; orders has 0 to 0"),
        ("{name of first}", "{leader}", "own.yaml:23: 'leader': leader of what? It is of a partition"),
        ("{name of first}", "{controller of x}", "own.yaml:23: 'controller of x': controller has no argument"),
        (
            "{name of first}",
            "{data of controller}",
            "own.yaml:23: 'controller' is no path of a znode",
        ),
        ("{name of first}", "{owned of c1}", "own.yaml:23: unknown consumer 'c1'; there are none"),
        ("{name of first}", "{answer}", "own.yaml:23: {answer} is for because: here it would give the answer away"),
        ("{value: node, of:", "{valu: node, of:", "own.yaml:25: unknown query 'valu'; did you mean value?"),
        ("value: node", "value: nod", "own.yaml:25: unknown column 'nod'; did you mean node?"),
        (ANSWER, "answer: 7", "own.yaml:25: 7 is no query"),
        (
            "{kind: ElectionWon}",
            "{kind: ElectionOne}",
            "own.yaml:25: unknown kind of event 'ElectionOne'; did you mean ElectionWon?",
        ),
        (
            "answer: {value: node, of: {kind: ElectionWon}}",
            "answer: {count: {kind: Fault}, happened: {kind: Fault}}",
            "own.yaml:25: one thing is asked for, and not count and happened",
        ),
        (
            "answer: {value: node, of: {kind: ElectionWon}}",
            "answer: {rise: controller}",
            "own.yaml:25: controller is no number",
        ),
        ("once: end", "once: soon", "own.yaml:26: 'soon' is no point of a run; write start, end, an event as"),
        ("once: end", "once: 5 later", "own.yaml:26: '5' is no duration"),
        ("brokers: 3", "brokers: -1", "own.yaml:9: brokers: -1: "),
        ("- kill: controller", "- kil: controller", "own.yaml:16: unknown verb 'kil'; did you mean kill?"),
        ("name: own\ntitle", "name: Own!\ntitle", "own.yaml:1: name: 'Own!' does not match"),
    ],
)
def test_what_is_wrong_is_reported_with_its_line(before: str, after: str, message: str) -> None:
    assert before in OWN
    found = problems(OWN.replace(before, after, 1))
    assert any(problem.startswith(message) for problem in found), found


def test_a_lesson_without_a_question_is_none() -> None:
    silent = OWN[: OWN.index("    ask:")]
    assert problems(silent) == ["own.yaml:21: a lesson asks something: none of its pages does"]


def test_a_scenario_that_is_not_there_is_reported_where_it_is_named() -> None:
    named = OWN[: OWN.index("scenario:")] + "scenario: last-isr-member-los\n" + OWN[OWN.index("pages:") :]
    assert problems(named)[0] == (
        "own.yaml:5: last-isr-member-los: neither a file nor a scenario of the library; did you mean last-isr-member-lost?"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "own.yaml:1: the file is empty; a lesson begins with name:, title:, scenario:"),
        ("[1, 2]", "own.yaml:1: [1, 2] is no lesson; a lesson begins with name:, title:, scenario:"),
        ("name: [a", "own.yaml:1: not YAML: a bracket that is opened here is not closed: name: [a"),
    ],
)
def test_what_is_no_lesson_at_all(text: str, message: str) -> None:
    assert problems(text) == [message]


def test_a_page_whose_point_is_not_in_the_run_is_named() -> None:
    loaded = load_lesson_text(OWN.replace("{kind: ProcessState, state: dead}", "{kind: LogDirFailed}"), "own.yaml")
    with pytest.raises(LessonError, match=r"page 1 \({name of first} dies. …\): the run has no LogDirFailed after #0"):
        lesson_pages(loaded.lesson, run_lesson(loaded.scenario))


def test_a_question_that_the_run_does_not_answer_is_named() -> None:
    loaded = load_lesson_text(
        OWN.replace(ANSWER, ANSWER.replace("kind: ElectionWon", "kind: ElectionWon, controller-epoch: 7")), "own.yaml"
    )
    with pytest.raises(LessonError, match=r"page 1 .*: there is no ElectionWon \(controller epoch 7\) from #"):
        lesson_pages(loaded.lesson, run_lesson(loaded.scenario))


def test_braces_that_are_doubled_are_braces() -> None:
    loaded = load_lesson_text(OWN.replace("{name of first} dies.", "{{brokerid}} of {name of first}"), "own.yaml")
    text = lesson_pages(loaded.lesson, run_lesson(loaded.scenario))[0].text
    assert text.startswith("{brokerid} of broker-")


def test_a_lesson_can_be_written_down_again_as_it_was_read() -> None:
    lesson = load_lesson_text(OWN, "own.yaml").lesson
    dumped = lesson.model_dump(by_alias=True)
    assert dumped["pages"][0]["answer"] == {"value": "node", "of": {"kind": "ElectionWon"}}
    assert dumped["pages"][0]["once"] == "end"


def test_the_schema_knows_every_key_of_the_lessons_that_there_are() -> None:
    keys = {alias.alias for alias in Lesson.model_fields.values()}
    assert set(json_schema()["properties"]) == keys
    assert "you-will-know: " in lesson_text("watches")
