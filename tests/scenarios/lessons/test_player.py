"""The player of a lesson: it asks before it shows the outcome, takes answers, keeps the score, and ends at any time."""

from collections.abc import Callable, Iterable

import pytest

from kcsim.scenarios.lessons.page_text import event_lines
from kcsim.scenarios.lessons.player import GO_ON, YOUR_ANSWER_OR_MOVE, Ask, Player, Score, ShowRunPage
from tests.scenarios.lessons.lesson_fixtures import played


def typing(*lines: str) -> Ask:
    """Return a reader who types these lines and then nothing any more."""
    waiting = iter(lines)
    return lambda prompt: next(waiting, None)


def shown_to(
    ask: Ask | None, waits: bool = False, lesson: str = "unclean-election", run_page: ShowRunPage | None = None
) -> tuple[list[str], Score]:
    lines: list[str] = []
    shown = played(lesson)
    player = Player(lambda line, style: lines.append(line), ask, 100, waits, run_page)
    score = player.play(shown.lesson, shown.scenes, shown.narration)
    return lines, score


def right_answers(lesson: str = "unclean-election") -> Iterable[str]:
    return (question.right.text for question in played(lesson).questions)


def at(lines: list[str], starts: Callable[[str], bool] | str) -> int:
    """Return the index of the first line that begins with this text."""
    return next(n for n, line in enumerate(lines) if (line.startswith(starts) if isinstance(starts, str) else starts(line)))


def test_the_question_comes_before_the_outcome() -> None:
    lines, _ = shown_to(None)
    asked, answered = at(lines, "? When its session has expired"), at(lines, "It is: [3]")
    elected = at(lines, lambda line: "elects for ledger-0: leader 3" in line)
    assert asked < answered < elected


def test_all_right_is_all_of_them() -> None:
    lines, score = shown_to(typing(*right_answers()))
    assert (score.right, str(score)) == (6, "6 of 6 right.")
    assert "That was it. 6 of 6 right." in lines
    assert "Right: nobody" in lines


def test_a_wrong_answer_is_corrected_and_explained() -> None:
    lines, score = shown_to(typing("broker-2", "", "a", "", "", ""))
    assert "Not right. Your answer was [2]; the right answer is: [3]" in lines
    assert any(line.startswith("  Rule: AliveAndInIsr; it looked at: candidates [2, 3]") for line in lines)
    assert str(score) == "0 of 6 right, 4 shown."


def test_enter_alone_reveals_the_answer() -> None:
    lines, score = shown_to(typing(*[""] * 6))
    assert str(score) == "6 questions, and all of them were shown to you."
    assert "It is: [3]" in lines


def test_what_is_no_answer_is_asked_again() -> None:
    lines, score = shown_to(typing("what?", "3", *[""] * 5))
    assert any(
        line.startswith("That is no answer to this. Type a letter, or the answer itself, as [2, 3]") for line in lines
    )
    assert score.right == 1


def test_the_answer_is_revealed_after_the_third_try() -> None:
    lines, score = shown_to(typing("what?", "how?", "who?", *[""] * 5))
    assert score.given == [None] * 6
    assert lines[-1].startswith("  kcsim")


def test_a_reader_who_leaves_gets_a_goodbye_and_the_score_so_far() -> None:
    lines, score = shown_to(typing("3", "3"))
    assert lines[-1] == "Until next time. 2 of 2 right."
    assert score.given == ["[3]", "[3]"]


def test_pages_wait_for_their_reader_where_there_is_one() -> None:
    prompts: list[str] = []

    def ask(prompt: str) -> str:
        prompts.append(prompt)
        return ""

    shown_to(ask, waits=True)
    assert prompts == [YOUR_ANSWER_OR_MOVE, GO_ON] * 5 + [YOUR_ANSWER_OR_MOVE]


def test_what_was_so_before_the_question_is_described_as_that() -> None:
    """No event has decided it anew, and an old decision is no news: only its time is shown."""
    lines, _ = shown_to(None, lesson="session-states")
    assert at(lines, "It has been so since:") > at(lines, "? Is broker-2 registered")


def test_of_many_events_the_first_and_the_last_are_shown() -> None:
    shown = played("unclean-election")
    events = shown.run.events[:40]
    lines = list(event_lines(events, shown.narration, 400))
    assert lines[5] == "  … 26 more …"
    assert (len(lines), "RunStarted" in lines[0], lines[-1].split()[0]) == (15, False, f"{events[-1].t_ms / 1000:.3f}")


RIGHT = ("3", "", "3", "", "nobody", "", "broker-2", "", "2", "")
"""Right answers to all questions of unclean-election but the last one, each followed by Enter to go on."""


def test_back_shows_the_page_before_with_its_answer_and_asks_nothing_twice() -> None:
    lines, score = shown_to(typing("3", "", "back", "b", "", *RIGHT[2:], "no"), waits=True)
    assert str(score) == "6 of 6 right."
    first = [line for line in lines if line.startswith("? When its session has expired")]
    assert len(first) == 3  # asked once; shown again after `back`, and after `b`, which stays at the first page
    assert lines.count("Right: [3]") == 4


def test_what_was_wrong_is_asked_again_with_the_choices_in_another_order() -> None:
    lines, score = shown_to(typing("2", *RIGHT[1:], "no", "3"), waits=True)
    assert str(score) == "5 of 6 right. When asked again: 1 of 1 right."
    again = lines[at(lines, "Once more, what was not right.") :]
    choices = [line for line in again if line.startswith(("  a) ", "  d) "))]
    assert choices == ["  a) [2]", "  d) [2, 3]"]
    assert "  a) [2, 3]" in lines


def test_a_reader_may_leave_while_questions_are_asked_again() -> None:
    lines, _ = shown_to(typing("2", *RIGHT[1:], "no"), waits=True)
    assert lines[-1] == "Until next time. 5 of 6 right."


def test_the_page_of_the_run_is_shown_for_the_event_of_the_page() -> None:
    shown = played("unclean-election")
    lines, score = shown_to(typing("page", "3", "p"), waits=True, run_page=lambda seq: f"written for #{seq}")
    assert lines.count(f"written for #{shown.scenes[0].at.seq}") == 2
    assert score.right == 1


def test_ctrl_c_ends_with_what_was_achieved_and_is_passed_on() -> None:
    lines: list[str] = []
    shown = played("unclean-election")
    answers = typing("3", "")

    def ask(prompt: str) -> str:
        typed = answers(prompt)
        if typed is None:
            raise KeyboardInterrupt
        return typed

    player = Player(lambda line, style: lines.append(line), ask, 100, waits=True)
    with pytest.raises(KeyboardInterrupt):
        player.play(shown.lesson, shown.scenes, shown.narration)
    assert lines[-1] == "Until next time. 1 of 1 right."
