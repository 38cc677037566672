"""The lessons of the simulator: each fits its run, asks only what the run can answer, and links to existing targets."""

import shlex

import pytest
from typer.main import get_command

from kcsim.brokers.config import PROTOCOL_VERSION
from kcsim.scenarios.cli.app import app
from kcsim.scenarios.language.library import library_names
from kcsim.scenarios.lessons.answers import parse_answer
from kcsim.scenarios.lessons.handout import handout, lesson_json
from kcsim.scenarios.lessons.lesson_names import lesson_names
from kcsim.scenarios.lessons.page_picture import picture_lines
from kcsim.scenarios.lessons.player import Player
from kcsim.scenarios.views.narration.causes import ROOTS
from tests.scenarios.lessons.lesson_fixtures import played, the_course
from tests.scenarios.lessons.lesson_names import NAMES
from tests.tiers import tiered


def test_the_course_goes_from_the_first_election_to_the_one_that_never_ends() -> None:
    assert [loaded.lesson.name for loaded in the_course()] == NAMES
    assert [loaded.lesson.number for loaded in the_course()] == list(range(1, len(NAMES) + 1))
    assert sorted(NAMES) == lesson_names()


@pytest.mark.parametrize("name", NAMES)
def test_every_lesson_states_the_version_that_it_shows(name: str) -> None:
    cluster = played(name).loaded.scenario.scenario.cluster
    assert cluster.release is not None or PROTOCOL_VERSION in cluster.settings


@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_is_short_and_asks_often(name: str) -> None:
    lesson = played(name).lesson
    assert 5 <= lesson.minutes <= 10
    assert 3 <= len(played(name).questions) <= 7


@pytest.mark.parametrize("name", NAMES)
def test_every_right_answer_is_among_the_choices_once_and_can_be_typed(name: str) -> None:
    for question in played(name).questions:
        assert question.choices.count(question.right.text) == 1, question.text
        assert 2 <= len(question.choices) == len(set(question.choices)) <= 6, question.text
        assert parse_answer(question.right.text, question.right.kind, question.choices) == question.right.text


@pytest.mark.parametrize("name", NAMES)
def test_what_made_it_so_goes_back_to_a_fault_an_admin_act_or_the_start(name: str) -> None:
    for question in played(name).questions:
        if question.chain:
            assert question.chain[0].kind in ROOTS, question.text
            assert question.chain[-1] is question.right.evidence


@pytest.mark.parametrize("name", tiered(NAMES, fast=6))
def test_a_lesson_fits_another_run_of_its_scenario_as_well(name: str) -> None:
    """With another seed other brokers win races and answers come in another order; every page still finds its event."""
    other = played(name, seed=2)
    assert len(other.questions) == len(played(name).questions)


@pytest.mark.parametrize("name", NAMES)
def test_pages_that_show_the_same_have_the_same_answer(name: str) -> None:
    """What a reader has seen decides the answer, not the chances of a run: three seeds of each lesson are compared."""
    answers: dict[tuple[object, ...], str] = {}
    for seed in (1, 2, 3):
        for page in played(name, seed).scenes:
            if (question := page.question) is not None:
                seen = (page.text, question.text, question.number, *picture_lines(page.picture, 100))
                assert answers.setdefault(seen, question.right.text) == question.right.text


def test_who_wins_the_race_differs_from_seed_to_seed() -> None:
    assert len({played("controller-election", seed).answer(3) for seed in (1, 2, 3)}) > 1


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", NAMES)
def test_nothing_but_a_command_is_wider_than_the_terminal(name: str, width: int) -> None:
    shown, lines = played(name), list[str]()
    Player(lambda line, style: lines.append(line), None, width, waits=False).play(
        shown.lesson, shown.scenes, shown.narration
    )
    assert [line for line in lines if len(line) > width and not line.startswith("  kcsim ")] == []


@pytest.mark.parametrize("name", NAMES)
def test_no_phrase_is_left_in_braces(name: str) -> None:
    text = "\n".join(handout(played(name).lesson, played(name).scenes, played(name).narration))
    assert not [phrase for phrase in ("{leader", "{isr", "{controller", "{name", "{answer", "{was") if phrase in text]


@pytest.mark.parametrize("name", NAMES)
def test_a_handout_has_the_answers_at_its_end(name: str) -> None:
    shown = played(name)
    asked, _, answered = "\n".join(handout(shown.lesson, shown.scenes, shown.narration)).partition("## Answers")
    for question in shown.questions:
        assert f"**Question {question.number}.**" in asked
        assert question.because not in asked
        assert question.because in answered
        assert f"**{question.number}.**" in answered


def test_programs_get_questions_and_right_answers() -> None:
    shown = played("unclean-election")
    document = lesson_json(shown.lesson, shown.scenes, shown.narration)
    asked = [page["question"] for page in document["pages"] if page["question"]]
    assert [question["right"] for question in asked] == [question.right.text for question in shown.questions]
    assert asked[3]["rule"] == "Rule: Unclean; it looked at: candidates [2, 3], ISR [3], alive [2]"
    assert asked[3]["chain"][0]["says"] == "starts broker-2"


@pytest.mark.parametrize("name", NAMES)
def test_what_to_try_next_is_there(name: str) -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    for line in played(name).lesson.try_next or ():
        program, command, *arguments = shlex.split(line.partition("   (")[0])
        assert program == "kcsim"
        assert command in commands, line
        if command == "run":
            assert arguments[0] in library_names(), line
        if command == "learn":
            assert int(arguments[0]) <= len(NAMES), line
