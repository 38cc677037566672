"""A lesson set against its run: for each page what is shown, told and asked, and what the run answers.

Pure. Whoever plays a lesson, prints it or hands it to a program takes it from here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kcsim.scenarios.language.event_pattern import EventPattern
from kcsim.scenarios.lessons.answering import NoAnswerError, answer
from kcsim.scenarios.lessons.answers import Answer
from kcsim.scenarios.lessons.choices import choices
from kcsim.scenarios.lessons.lesson import Lesson, Page
from kcsim.scenarios.lessons.lesson_run import LessonRun, NoSuchMomentError
from kcsim.scenarios.lessons.looking_up import look_up
from kcsim.scenarios.lessons.phrases import OF, WAS, Phrase, filled
from kcsim.scenarios.lessons.retelling import Retelling
from kcsim.scenarios.telling.causes import Causes
from kcsim.zk.events import Event


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and all that is told once it is answered.

    Attributes:
        number: from 1, within the lesson.
        asked: the seq at which it is asked: what decided before that is no news.
        right: what the run says.
        shown: events on the way to the answer that are worth a line.
        chain: from a fault, an admin act or the start down to the event that made it so; empty if nothing did.
        because: why, in words.
    """

    number: int
    asked: int
    text: str
    choices: tuple[str, ...]
    right: Answer
    shown: tuple[Event, ...]
    chain: tuple[Event, ...]
    because: str


@dataclass(frozen=True, slots=True)
class Scene:
    """One page: events that led here, then words, then perhaps a question. `at`: the event where the run stands."""

    at: Event
    shown: tuple[Event, ...]
    text: str
    question: Question | None


class LessonError(Exception):
    """A lesson does not fit its run: says which page, and why."""


def scenes(lesson: Lesson, run: LessonRun) -> list[Scene]:
    """Set a lesson against a run of its scenario. Raises: LessonError, naming the page."""
    stage = _Stage(lesson, run)
    set_up: list[Scene] = []
    for number, page in enumerate(lesson.pages, 1):
        try:
            set_up.append(stage.scene(page))
        except (NoSuchMomentError, NoAnswerError) as error:
            raise LessonError(f"page {number} ({page.say.splitlines()[0][:40]} …): {error}") from None
    return set_up


class _Stage:
    """Where the run stands, from page to page."""

    def __init__(self, lesson: Lesson, run: LessonRun) -> None:
        self._lesson, self._run = lesson, run
        self._retelling = Retelling(run)
        self._causes = Causes(run.events)
        self._at = 0
        self._shown_up_to = -1
        self._questions = 0

    def scene(self, page: Page) -> Scene:
        if page.at is not None:
            self._at = max(self._run.find(page.at, self._at), self._at)
        asked = self._at
        shown = self._show(page.show, asked)
        text = self._filled(page.say, asked, asked, None)
        return Scene(self._run.events[asked], shown, text, self._question(page, asked))

    def _question(self, page: Page, asked: int) -> Question | None:
        if page.ask is None or page.answer is None or page.because is None:
            return None
        self._questions += 1
        if page.once is not None:
            self._at = max(self._run.find(page.once, asked), asked)
        first = 0 if page.since == "start" else asked + 1 if page.once is not None else 0
        right = answer(self._run, page.answer, asked, first, self._at)
        seed = f"{self._lesson.name} {self._questions}"
        return Question(
            self._questions,
            asked,
            self._filled(page.ask, asked, asked, None),
            choices(self._run, page.answer, right, asked, page.choices, seed),
            right,
            self._show(page.then_show, self._at),
            self._causes.story(right.evidence.seq, 0).chain if right.evidence else (),
            self._filled(page.because, asked, self._at, right),
        )

    def _show(self, patterns: Sequence[EventPattern] | None, up_to: int) -> tuple[Event, ...]:
        """Events that have not been shown before: those that are wanted, or else those of note."""
        first, self._shown_up_to = self._shown_up_to + 1, max(up_to, self._shown_up_to)
        if patterns is None:
            return self._retelling.of_note(first, up_to)
        wanted = {event.seq for pattern in patterns for event in self._run.matching(pattern, first, up_to)}
        return tuple(self._run.events[seq] for seq in sorted(wanted))

    def _filled(self, text: str, before: int, now: int, right: Answer | None) -> str:
        def tell(told: str) -> str:
            if right is not None and told == "answer":
                return right.text
            word, _, subject = told.removeprefix(WAS).partition(OF)
            seq = before if told.startswith(WAS) else now
            return look_up(self._run, Phrase(word.strip(), subject.strip()), seq).text

        return filled(text, tell)
