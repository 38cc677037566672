"""Where a lesson stands, what may be seen of its run, and how answers are counted."""

from typing import Any

from kcsim.scenarios.classroom.lesson_session import TEACHER, LessonSession
from tests.scenarios.classroom.conftest import applied


def session(*, has_class: bool = False) -> LessonSession:
    lesson, _, pages = applied("controller-election")
    return LessonSession(lesson, pages, has_class)


def question(played: LessonSession, who: str = TEACHER) -> dict[str, Any]:
    found: dict[str, Any] = played.seen_by(who, 0)["pages"][-1]["question"]
    return found


def test_alone_an_answer_shows_the_right_one_and_the_run_goes_on() -> None:
    played = session()
    before = played.until_seq
    assert question(played)["answered"] is None
    played.answer(TEACHER, "2")
    asked = question(played)
    assert (asked["given"], asked["answered"]["right"]) == ("2", "1")
    assert asked["answered"]["because"]
    assert played.until_seq > before
    assert played.seen_by(TEACHER, 0)["score"] == {"right": 0, "asked": 1, "questions": 7}


def test_what_was_shown_cannot_be_answered_and_what_is_no_choice_is_no_answer() -> None:
    played = session()
    played.answer(TEACHER, "ninety")
    assert question(played)["given"] is None
    played.go_on()
    played.answer(TEACHER, "1")
    assert question(played)["given"] is None
    assert question(played)["answered"]["right"] == "1"


def test_the_run_is_never_seen_further_than_the_page() -> None:
    """A reader who looks at what the page was sent does not find the answer."""
    _, run, pages = applied("controller-election")
    played = session()
    seen = []
    for page in pages:
        seen.append(played.until_seq)
        assert played.until_seq >= page.at.seq
        if page.question is not None:
            played.go_on()
            assert played.until_seq >= page.question.answered
        played.go_on()
    assert seen == sorted(seen)
    assert seen[0] == pages[0].at.seq
    assert played.until_seq <= run.events[-1].seq


def test_a_class_is_shown_the_answer_by_its_teacher_who_sees_the_spread_before() -> None:
    played = session(has_class=True)
    for pupil, choice in (("a", "1"), ("b", "2"), ("c", "1"), ("c", "3")):
        played.answer(pupil, choice)
    assert question(played)["spread"] == {"0": 0, "1": 1, "2": 1, "3": 1}
    assert question(played, "a")["spread"] is None
    assert question(played, "a")["answered"] is None
    played.go_on()
    assert question(played, "a")["spread"] == {"0": 0, "1": 1, "2": 1, "3": 1}
    assert played.seen_by("a", 3)["score"]["right"] == 1
    assert played.seen_by("b", 3)["score"]["right"] == 0
