"""A lesson as a handout in Markdown with the answers at its end, and as JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

from kcsim.scenarios.lessons.answers import LETTERS
from kcsim.scenarios.lessons.lesson import Lesson
from kcsim.scenarios.lessons.lesson_pages import LessonPage, Question
from kcsim.scenarios.lessons.page_picture import picture_lines
from kcsim.scenarios.lessons.page_text import event_lines, page_heading, rule_of, where_events_are
from kcsim.scenarios.lessons.run_narration import RunNarration

EVENT_WIDTH = 100


def handout(lesson: Lesson, pages: Sequence[LessonPage], narration: RunNarration) -> Iterator[str]:
    """Yield the lines of a Markdown text: the pages with their questions, then the answers."""
    yield f"# {lesson.title}"
    yield ""
    yield f"{lesson.you_will_know} ({lesson.minutes} minutes)"
    yield ""
    yield where_events_are(lesson.name)
    for page in pages:
        yield ""
        if page.shown:
            yield from _fenced(event_lines(page.shown, narration, EVENT_WIDTH))
            yield ""
        yield from _fenced([page_heading(page), *picture_lines(page.picture, EVENT_WIDTH)])
        yield ""
        yield page.text
        if page.question is not None:
            yield from _asked(page.question)
    yield ""
    yield "## Answers"
    for page in pages:
        if page.question is not None:
            yield from _answered(page.question, narration)
    if lesson.try_next:
        yield ""
        yield "## Try next"
        yield ""
        yield from _fenced(lesson.try_next)


def _asked(question: Question) -> Iterator[str]:
    yield ""
    yield f"**Question {question.number}.** {question.text}"
    yield ""
    for letter, choice in zip(LETTERS, question.choices, strict=False):
        yield f"- [ ] {letter}) {choice}"


def _answered(question: Question, narration: RunNarration) -> Iterator[str]:
    yield ""
    letter = LETTERS[question.choices.index(question.right.text)]
    yield f"**{question.number}.** {letter}) {question.right.text}"
    yield ""
    if question.shown:
        yield from _fenced(event_lines(question.shown, narration, EVENT_WIDTH))
        yield ""
    yield question.because
    if (rule := rule_of(question)) is not None:
        yield ""
        yield f"{rule}."


def _fenced(lines: Iterator[str] | Sequence[str]) -> Iterator[str]:
    yield "```"
    yield from lines
    yield "```"


def lesson_json(lesson: Lesson, pages: Sequence[LessonPage], narration: RunNarration) -> dict[str, Any]:
    """Return the pages and questions with their right answers and the events behind these."""
    return {
        "name": lesson.name,
        "number": lesson.number,
        "title": lesson.title,
        "minutes": lesson.minutes,
        "you_will_know": lesson.you_will_know,
        "pages": [_page_json(page, narration) for page in pages],
        "try_next": list(lesson.try_next or ()),
    }


def _page_json(page: LessonPage, narration: RunNarration) -> dict[str, Any]:
    question = page.question
    return {
        "seq": page.at.seq,
        "t_ms": page.at.t_ms,
        "picture": list(picture_lines(page.picture, EVENT_WIDTH)),
        "text": page.text,
        "question": None if question is None else _question_json(question, narration),
    }


def _question_json(question: Question, narration: RunNarration) -> dict[str, Any]:
    return {
        "number": question.number,
        "text": question.text,
        "kind": question.right.kind.value,
        "choices": list(question.choices),
        "right": question.right.text,
        "because": question.because,
        "rule": rule_of(question),
        "evidence": None if question.right.evidence is None else question.right.evidence.seq,
        "chain": [{"seq": event.seq, "node": event.node, "says": narration.sentence(event)} for event in question.chain],
    }
