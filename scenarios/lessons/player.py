"""Plays a lesson to a reader: tells, asks, waits for an answer, says how it was and why, and keeps the score.

Pure but for the two functions that it is given: one that shows lines, one that asks for a line.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from kcsim.scenarios.lessons.answers import understood
from kcsim.scenarios.lessons.lesson import Lesson
from kcsim.scenarios.lessons.page_text import choice_lines, event_lines, paragraphs, reason_lines
from kcsim.scenarios.lessons.retelling import Retelling
from kcsim.scenarios.lessons.scenes import Question, Scene

TRIES = 3
"""So often somebody who types what is no answer is asked again."""
GO_ON = "Enter goes on "
YOUR_ANSWER = "Your answer (Enter: tell me) "


class Style(StrEnum):
    """What a line is, for a terminal to colour; the words say the same without."""

    HEADING = "heading"
    PROSE = "prose"
    EVENT = "event"
    ASKED = "asked"
    RIGHT = "right"
    WRONG = "wrong"
    REASON = "reason"


Show = Callable[[str, Style], None]
Ask = Callable[[str], str | None]
"""Shows a prompt and returns what was typed; None when nothing will be typed any more."""


@dataclass
class Score:
    """How it went. `given`: for each question so far what was answered, None where it was told."""

    right: int = 0
    given: list[str | None] = field(default_factory=list)

    def __str__(self) -> str:
        asked, told = len(self.given), self.given.count(None)
        if not asked:
            return "No question was asked yet."
        if told == asked:
            return f"{asked} questions, and you had all of them told." if asked != 1 else "1 question, and you had it told."
        return f"{self.right} of {asked} right" + (f", {told} told." if told else ".")


class Player:
    """Plays one lesson.

    Args:
        show: shows a line.
        ask: asks for a line; None: nobody is there to answer, so everything is told and nothing is waited for.
        width: of a line, in columns.
        waits: whether a page without a question waits for Enter.
    """

    def __init__(self, show: Show, ask: Ask | None, width: int, waits: bool) -> None:
        self._show, self._ask, self._width, self._waits = show, ask, width, waits
        self.score = Score()

    def play(self, lesson: Lesson, scenes: Sequence[Scene], retelling: Retelling) -> Score:
        """Play all of it. It ends early when nothing will be typed any more."""
        self._heading(lesson, scenes)
        for place, scene in enumerate(scenes):
            is_last = place + 1 == len(scenes)
            if not self._scene(scene, retelling, is_last):
                self._line("")
                self._line(f"Until next time. {self.score}", Style.HEADING)
                return self.score
        self._end(lesson)
        return self.score

    def _heading(self, lesson: Lesson, scenes: Sequence[Scene]) -> None:
        questions = sum(scene.question is not None for scene in scenes)
        number = f"Lesson {lesson.number}: " if lesson.number else ""
        self._lines(paragraphs(f"{number}{lesson.title}", self._width), Style.HEADING)
        self._lines(paragraphs(f"{lesson.you_will_know} ({lesson.minutes} minutes, {questions} questions)", self._width))

    def _scene(self, scene: Scene, retelling: Retelling, is_last: bool) -> bool:
        """Returns: whether there is somebody to go on for."""
        self._line("")
        if scene.shown:
            self._lines(event_lines(scene.shown, retelling, self._width), Style.EVENT)
            self._line("")
        self._lines(paragraphs(scene.text, self._width))
        if scene.question is not None:
            return self._question(scene.question, retelling, is_last)
        return self._wait(is_last)

    def _wait(self, is_last: bool) -> bool:
        if self._ask is None or not self._waits or is_last:
            return True
        self._line("")
        return self._ask(GO_ON) is not None

    # --- a question

    def _question(self, question: Question, retelling: Retelling, is_last: bool) -> bool:
        self._line("")
        self._lines(paragraphs(f"? {question.text}", self._width), Style.ASKED)
        self._lines(choice_lines(question, self._width), Style.ASKED)
        if self._ask is not None:
            self._line("")
        is_there, given = self._answer(question)
        if not is_there:
            return False
        self.score.given.append(given)
        self._outcome(question, given, retelling)
        return self._wait(is_last)

    def _answer(self, question: Question) -> tuple[bool, str | None]:
        """Returns: whether somebody is there, and what is meant; None: they want to be told."""
        if self._ask is None:
            return True, None
        for _ in range(TRIES):
            typed = self._ask(YOUR_ANSWER)
            if typed is None:
                return False, None
            if not typed.strip():
                return True, None
            meant = understood(typed, question.right.kind, question.choices)
            if meant is not None:
                return True, meant
            hint = f"That is no answer to this. Type a letter, or the answer itself, as {question.choices[0]}."
            self._lines(paragraphs(hint, self._width))
        return True, None

    def _outcome(self, question: Question, given: str | None, retelling: Retelling) -> None:
        right = question.right.text
        self._line("")
        if given is None:
            self._lines(paragraphs(f"It is: {right}", self._width), Style.RIGHT)
        elif given == right:
            self.score.right += 1
            self._lines(paragraphs(f"Right: {right}", self._width), Style.RIGHT)
        else:
            self._lines(paragraphs(f"Not so. You said {given}; it is: {right}", self._width), Style.WRONG)
        if question.shown:
            self._lines(event_lines(question.shown, retelling, self._width), Style.EVENT)
        self._line("")
        self._lines(paragraphs(question.because, self._width))
        reasons = list(reason_lines(question, retelling, self._width))
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
