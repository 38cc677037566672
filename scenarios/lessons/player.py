"""Plays a lesson to a reader: shows pages, asks questions, waits for answers, explains the result, and keeps the score.

Pure but for the two functions that it is given: one that shows lines, one that asks for a line.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from kcsim.scenarios.lessons.answers import parse_answer
from kcsim.scenarios.lessons.lesson import Lesson
from kcsim.scenarios.lessons.lesson_pages import LessonPage, Question
from kcsim.scenarios.lessons.page_text import choice_lines, event_lines, paragraphs, reason_lines
from kcsim.scenarios.lessons.run_narration import RunNarration

TRIES = 3
"""How often a question is repeated if the reader types something that is not an answer."""
GO_ON = "Enter goes on "
YOUR_ANSWER = "Your answer (Enter: show it) "


class Style(StrEnum):
    """The role of a line, for a terminal to colour; the text is complete without colour."""

    HEADING = "heading"
    PROSE = "prose"
    EVENT = "event"
    ASKED = "asked"
    RIGHT = "right"
    WRONG = "wrong"
    REASON = "reason"


Show = Callable[[str, Style], None]
Ask = Callable[[str], str | None]
"""Shows a prompt and returns what was typed; None when the input has ended."""


@dataclass
class Score:
    """The result of a lesson. `given` has the answer to each question so far, None where the answer was shown instead."""

    right: int = 0
    given: list[str | None] = field(default_factory=list)

    def __str__(self) -> str:
        asked, revealed = len(self.given), self.given.count(None)
        if not asked:
            return "No question was asked yet."
        if revealed == asked:
            return (
                f"{asked} questions, and all of them were shown to you."
                if asked != 1
                else "1 question, and it was shown to you."
            )
        return f"{self.right} of {asked} right" + (f", {revealed} shown." if revealed else ".")


class Player:
    """Plays one lesson.

    Args:
        show: shows a line.
        ask: asks for a line; None: there is no reader to answer, so every answer is shown and nothing is waited for.
        width: of a line, in columns.
        waits: whether a page without a question waits for Enter.
    """

    def __init__(self, show: Show, ask: Ask | None, width: int, waits: bool) -> None:
        self._show, self._ask, self._width, self._waits = show, ask, width, waits
        self.score = Score()

    def play(self, lesson: Lesson, pages: Sequence[LessonPage], narration: RunNarration) -> Score:
        """Play the whole lesson. It ends early when the input has ended."""
        self._heading(lesson, pages)
        for place, page in enumerate(pages):
            is_last = place + 1 == len(pages)
            if not self._page(page, narration, is_last):
                self._line("")
                self._line(f"Until next time. {self.score}", Style.HEADING)
                return self.score
        self._end(lesson)
        return self.score

    def _heading(self, lesson: Lesson, pages: Sequence[LessonPage]) -> None:
        questions = sum(page.question is not None for page in pages)
        number = f"Lesson {lesson.number}: " if lesson.number else ""
        self._lines(paragraphs(f"{number}{lesson.title}", self._width), Style.HEADING)
        self._lines(paragraphs(f"{lesson.you_will_know} ({lesson.minutes} minutes, {questions} questions)", self._width))

    def _page(self, page: LessonPage, narration: RunNarration, is_last: bool) -> bool:
        """Show a page and its question. Return whether to continue: False when the input has ended."""
        self._line("")
        if page.shown:
            self._lines(event_lines(page.shown, narration, self._width), Style.EVENT)
            self._line("")
        self._lines(paragraphs(page.text, self._width))
        if page.question is not None:
            return self._question(page.question, narration, is_last)
        return self._wait(is_last)

    def _wait(self, is_last: bool) -> bool:
        if self._ask is None or not self._waits or is_last:
            return True
        self._line("")
        return self._ask(GO_ON) is not None

    # --- a question

    def _question(self, question: Question, narration: RunNarration, is_last: bool) -> bool:
        self._line("")
        self._lines(paragraphs(f"? {question.text}", self._width), Style.ASKED)
        self._lines(choice_lines(question, self._width), Style.ASKED)
        if self._ask is not None:
            self._line("")
        is_there, given = self._answer(question)
        if not is_there:
            return False
        self.score.given.append(given)
        self._outcome(question, given, narration)
        return self._wait(is_last)

    def _answer(self, question: Question) -> tuple[bool, str | None]:
        """Ask for an answer. Return whether the input continues, and the answer; None: the reader wants to see it."""
        if self._ask is None:
            return True, None
        for _ in range(TRIES):
            typed = self._ask(YOUR_ANSWER)
            if typed is None:
                return False, None
            if not typed.strip():
                return True, None
            meant = parse_answer(typed, question.right.kind, question.choices)
            if meant is not None:
                return True, meant
            hint = f"That is no answer to this. Type a letter, or the answer itself, as {question.choices[0]}."
            self._lines(paragraphs(hint, self._width))
        return True, None

    def _outcome(self, question: Question, given: str | None, narration: RunNarration) -> None:
        right = question.right.text
        self._line("")
        if given is None:
            self._lines(paragraphs(f"It is: {right}", self._width), Style.RIGHT)
        elif given == right:
            self.score.right += 1
            self._lines(paragraphs(f"Right: {right}", self._width), Style.RIGHT)
        else:
            self._lines(
                paragraphs(f"Not right. Your answer was {given}; the right answer is: {right}", self._width), Style.WRONG
            )
        if question.shown:
            self._lines(event_lines(question.shown, narration, self._width), Style.EVENT)
        self._line("")
        self._lines(paragraphs(question.because, self._width))
        reasons = list(reason_lines(question, narration, self._width))
        if reasons:
            self._line("")
            self._lines(reasons, Style.REASON)

    def _end(self, lesson: Lesson) -> None:
        self._line("")
        self._line(f"That was it. {self.score}", Style.HEADING)
        if lesson.try_next:
            self._line("")
            self._line("Try next:")
            self._lines(f"  {command}" for command in lesson.try_next)

    # --- lines

    def _line(self, line: str, style: Style = Style.PROSE) -> None:
        self._show(line, style)

    def _lines(self, lines: Iterator[str] | Sequence[str], style: Style = Style.PROSE) -> None:
        for line in lines:
            self._show(line, style)
