"""Plays a lesson to a reader: shows pages, asks questions, waits for answers, explains the result, and keeps the score.

Pure but for the functions that it is given: they show lines, ask for a line, and write the page of the run.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum, auto

from kcsim.scenarios.lessons.answers import parse_answer
from kcsim.scenarios.lessons.lesson import Lesson
from kcsim.scenarios.lessons.lesson_pages import LessonPage, Question
from kcsim.scenarios.lessons.page_picture import picture_lines
from kcsim.scenarios.lessons.page_text import (
    choice_lines,
    event_lines,
    page_heading,
    paragraphs,
    reason_lines,
    where_events_are,
)
from kcsim.scenarios.lessons.run_narration import RunNarration

TRIES = 3
"""How often a question is repeated if the reader types something that is not an answer."""
GO_ON = "Enter goes on (b: back, p: page of the run) "
YOUR_ANSWER = "Your answer (Enter: show it) "
YOUR_ANSWER_OR_MOVE = "Your answer (Enter: show it; or back, page) "
BACK = ("back", "b")
PAGE = ("page", "p")
"""What a reader types to go one page back, and to get the page of the run. At a question a letter is an answer first."""


class Move(StrEnum):
    """Where the reader goes from a page."""

    NEXT = auto()
    BACK = auto()
    LEAVE = auto()


class Style(StrEnum):
    """The role of a line, for a terminal to colour; the text is complete without colour."""

    HEADING = "heading"
    PICTURE = "picture"
    PROSE = "prose"
    EVENT = "event"
    ASKED = "asked"
    RIGHT = "right"
    WRONG = "wrong"
    REASON = "reason"


Show = Callable[[str, Style], None]
Ask = Callable[[str], str | None]
"""Shows a prompt and returns what was typed; None when the input has ended."""
ShowRunPage = Callable[[int], str]
"""Writes the page of the run, and returns a line that says where it shows the event with this seq."""


@dataclass
class Score:
    """The result of a lesson.

    Attributes:
        given: the first answer to each question so far, None where the answer was shown instead.
        right: number of right answers among these.
        asked_again, right_again: number of questions that were asked a second time, and of right answers to these.
    """

    right: int = 0
    given: list[str | None] = field(default_factory=list)
    asked_again: int = 0
    right_again: int = 0

    def __str__(self) -> str:
        again = f" When asked again: {self.right_again} of {self.asked_again} right." if self.asked_again else ""
        return self._first_answers() + again

    def _first_answers(self) -> str:
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
        waits: whether there is a reader who turns the pages: a page waits for Enter, and questions that were answered
            wrong are asked again at the end.
        show_run_page: shows the run's page on request; None: it cannot be requested.
    """

    def __init__(
        self, show: Show, ask: Ask | None, width: int, waits: bool, show_run_page: ShowRunPage | None = None
    ) -> None:
        self._show, self._ask, self._width, self._waits = show, ask, width, waits
        self._show_run_page = show_run_page
        self._given: dict[int, str | None] = {}  # number of a question -> its first answer
        self.score = Score()

    def play(self, lesson: Lesson, pages: Sequence[LessonPage], narration: RunNarration) -> Score:
        """Play the whole lesson. It ends early when the input has ended. Ctrl-C ends it as well, and is passed on."""
        try:
            self._heading(lesson, pages)
            is_complete = self._pages(pages, narration) and self._ask_again(pages, narration)
        except KeyboardInterrupt:
            self._leave()
            raise
        if is_complete:
            self._end(lesson)
        else:
            self._leave()
        return self.score

    def _pages(self, pages: Sequence[LessonPage], narration: RunNarration) -> bool:
        """Show the pages as the reader turns them. Return whether the last one was reached."""
        place = 0
        while place < len(pages):
            match self._page(pages[place], narration, place + 1 == len(pages)):
                case Move.NEXT:
                    place += 1
                case Move.BACK:
                    place = max(place - 1, 0)
                case Move.LEAVE:
                    return False
        return True

    def _leave(self) -> None:
        self._line("")
        self._lines(paragraphs(f"Until next time. {self.score}", self._width), Style.HEADING)

    def _heading(self, lesson: Lesson, pages: Sequence[LessonPage]) -> None:
        questions = sum(page.question is not None for page in pages)
        number = f"Lesson {lesson.number}: " if lesson.number else ""
        self._lines(paragraphs(f"{number}{lesson.title}", self._width), Style.HEADING)
        self._lines(paragraphs(f"{lesson.you_will_know} ({lesson.minutes} minutes, {questions} questions)", self._width))
        self._lines(paragraphs(where_events_are(lesson.name), self._width), Style.REASON)

    def _page(self, page: LessonPage, narration: RunNarration, is_last: bool) -> Move:
        """Show a page and its question. Return where the reader goes."""
        self._scene(page, narration)
        if page.question is not None:
            return self._question(page.question, narration, is_last)
        return self._wait(page.at.seq, is_last)

    def _scene(self, page: LessonPage, narration: RunNarration) -> None:
        """Show what happened up to a page, the picture of the cluster, and the text."""
        self._line("")
        if page.shown:
            self._lines(event_lines(page.shown, narration, self._width), Style.EVENT)
            self._line("")
        self._line(page_heading(page), Style.PICTURE)
        self._lines(picture_lines(page.picture, self._width), Style.PICTURE)
        self._line("")
        self._lines(paragraphs(page.text, self._width))

    def _wait(self, seq: int, is_last: bool) -> Move:
        if self._ask is None or not self._waits or is_last:
            return Move.NEXT
        self._line("")
        while (typed := self._ask(GO_ON)) is not None:
            match typed.strip().casefold():
                case word if word in BACK:
                    return Move.BACK
                case word if word in PAGE:
                    self._run_page(seq)
                case _:
                    return Move.NEXT
        return Move.LEAVE

    def _run_page(self, seq: int) -> None:
        here = "This lesson has no page of its run." if self._show_run_page is None else self._show_run_page(seq)
        self._line(here)

    # --- a question

    def _question(self, question: Question, narration: RunNarration, is_last: bool) -> Move:
        """Ask a question, or show the given answer if it was answered before. Return where the reader goes."""
        self._asked(question)
        if question.number not in self._given:
            move, given = self._answer(question, may_go_back=True)
            if move is not Move.NEXT:
                return move
            self._given[question.number] = given
            self.score.given.append(given)
            self.score.right += given == question.right.text
        self._outcome(question, self._given[question.number], narration)
        return self._wait(question.asked, is_last)

    def _asked(self, question: Question) -> None:
        self._line("")
        self._lines(paragraphs(f"? {question.text}", self._width), Style.ASKED)
        self._lines(choice_lines(question, self._width), Style.ASKED)

    def _answer(self, question: Question, may_go_back: bool) -> tuple[Move, str | None]:
        """Ask for an answer. Return where the reader goes, and the answer; None: the reader wants to see it."""
        if self._ask is None:
            return Move.NEXT, None
        self._line("")
        tries = 0
        while tries < TRIES:
            typed = self._ask(YOUR_ANSWER_OR_MOVE if self._waits else YOUR_ANSWER)
            if typed is None:
                return Move.LEAVE, None
            if not typed.strip():
                return Move.NEXT, None
            if self._waits and may_go_back and typed.strip().casefold() == BACK[0]:
                return Move.BACK, None
            meant = parse_answer(typed, question.right.kind, question.choices)
            if meant is not None:
                return Move.NEXT, meant
            if self._waits and typed.strip().casefold() in PAGE:
                self._run_page(question.asked)
                continue
            tries += 1
            hint = f"That is no answer to this. Type a letter, or the answer itself, as {question.choices[0]}."
            self._lines(paragraphs(hint, self._width))
        return Move.NEXT, None

    def _ask_again(self, pages: Sequence[LessonPage], narration: RunNarration) -> bool:
        """Ask once more what a reader answered wrong, with the choices in another order. Return whether all were asked."""
        wrong = [page for page in pages if page.question is not None and self._is_wrong(page.question)]
        if not self._waits or not wrong:
            return True
        self._line("")
        self._line("Once more, what was not right.", Style.HEADING)
        for page in wrong:
            assert page.question is not None
            choices = page.question.choices
            question = replace(page.question, choices=(*choices[1:], *choices[:1]), shown=())
            self._scene(replace(page, shown=()), narration)
            self._asked(question)
            move, given = self._answer(question, may_go_back=False)
            if move is Move.LEAVE:
                return False
            self.score.asked_again += 1
            self.score.right_again += given == question.right.text
            self._outcome(question, given, narration)
        return True

    def _is_wrong(self, question: Question) -> bool:
        given = self._given.get(question.number)
        return given is not None and given != question.right.text

    def _outcome(self, question: Question, given: str | None, narration: RunNarration) -> None:
        right = question.right.text
        self._line("")
        if given is None:
            self._lines(paragraphs(f"It is: {right}", self._width), Style.RIGHT)
        elif given == right:
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
        self._lines(paragraphs(f"That was it. {self.score}", self._width), Style.HEADING)
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
