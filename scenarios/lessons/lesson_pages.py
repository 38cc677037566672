"""A lesson applied to its run: for each page the shown events, the text and the question, with the run's answer.

Pure. The player, the handout and the JSON output are all made from these pages.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kcsim.eventlog.events import Event
from kcsim.scenarios.language.event_pattern import EventPattern
from kcsim.scenarios.lessons.answering import NoAnswerError, answer
from kcsim.scenarios.lessons.answers import LessonAnswer
from kcsim.scenarios.lessons.choices import choices
from kcsim.scenarios.lessons.lesson import Lesson, PageModel
from kcsim.scenarios.lessons.lesson_run import LessonRun, NoSuchRunPointError
from kcsim.scenarios.lessons.lookup import look_up
from kcsim.scenarios.lessons.lookup_terms import OF, WAS, LookupTerm, fill_in
from kcsim.scenarios.lessons.page_picture import PagePicture, page_picture
from kcsim.scenarios.lessons.run_narration import RunNarration
from kcsim.scenarios.views.narration.causes import Causes


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and everything that is shown after it was answered.

    Attributes:
        number: from 1, within the lesson.
        asked: the seq at which the question is asked: an earlier decision is no news.
        right: the run's answer.
        answered: the seq up to which the run goes on to show the answer.
        shown: events on the way to the answer that are worth a line.
        chain: from a fault, an admin act or the start down to the event behind the answer; empty if there is none.
        because: the reason, in words.
    """

    number: int
    asked: int
    text: str
    choices: tuple[str, ...]
    right: LessonAnswer
    answered: int
    shown: tuple[Event, ...]
    chain: tuple[Event, ...]
    because: str


@dataclass(frozen=True, slots=True)
class LessonPage:
    """One page: events that lead to this point, the cluster at this point, then a text, then an optional question.

    `at`: the event where the run stands.
    """

    at: Event
    shown: tuple[Event, ...]
    picture: PagePicture
    text: str
    question: Question | None


class LessonError(Exception):
    """A lesson does not fit its run. The message names the page and the reason."""


def lesson_pages(lesson: Lesson, run: LessonRun) -> list[LessonPage]:
    """Apply a lesson to a run of its scenario. Raises: LessonError, naming the page."""
    builder = _PageBuilder(lesson, run)
    built: list[LessonPage] = []
    for number, page in enumerate(lesson.pages, 1):
        try:
            built.append(builder.build(page))
        except (NoSuchRunPointError, NoAnswerError) as error:
            raise LessonError(f"page {number} ({page.say.splitlines()[0][:40]} …): {error}") from None
    return built


class _PageBuilder:
    """Builds the pages, and keeps the point of the run from page to page."""

    def __init__(self, lesson: Lesson, run: LessonRun) -> None:
        self._lesson, self._run = lesson, run
        self._narration = RunNarration(run)
        self._causes = Causes(run.events)
        self._at = 0
        self._shown_up_to = -1
        self._questions = 0

    def build(self, page: PageModel) -> LessonPage:
        if page.at is not None:
            self._at = max(self._run.find(page.at, self._at), self._at)
        asked = self._at
        shown = self._show(page.show, asked)
        text = self._filled(page.say, asked, asked, None)
        selection = page.picture or self._lesson.picture
        picture = page_picture(self._run.events, asked, selection, self._asked_about_the_picture(page))
        return LessonPage(self._run.events[asked], shown, picture, text, self._question(page, asked))

    def _question(self, page: PageModel, asked: int) -> Question | None:
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
            self._at,
            self._show(page.then_show, self._at),
            self._causes.story(right.evidence.seq, 0).chain if right.evidence else (),
            self._filled(page.because, asked, self._at, right),
        )

    def _asked_about_the_picture(self, page: PageModel) -> LookupTerm | None:
        """Return the term that a page asks for at its own point of the run: its picture must not answer the question."""
        if page.once is not None or not isinstance(page.answer, LookupTerm):
            return None
        term = page.answer
        return LookupTerm(term.word, self._run.aliases.get(term.subject, term.subject))

    def _show(self, patterns: Sequence[EventPattern] | None, up_to: int) -> tuple[Event, ...]:
        """Return events that were not shown before: those that match the patterns or, without patterns, the notable ones."""
        first, self._shown_up_to = self._shown_up_to + 1, max(up_to, self._shown_up_to)
        if patterns is None:
            return self._narration.notable_events(first, up_to)
        wanted = {event.seq for pattern in patterns for event in self._run.matching(pattern, first, up_to)}
        return tuple(self._run.events[seq] for seq in sorted(wanted))

    def _filled(self, text: str, before: int, now: int, right: LessonAnswer | None) -> str:
        def resolve(term: str) -> str:
            if right is not None and term == "answer":
                return right.text
            word, _, subject = term.removeprefix(WAS).partition(OF)
            seq = before if term.startswith(WAS) else now
            return look_up(self._run, LookupTerm(word.strip(), subject.strip()), seq).text

        return fill_in(text, resolve)
