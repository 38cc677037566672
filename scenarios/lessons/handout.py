"""A lesson as a handout in Markdown, its answers at the end; and as JSON, for programs."""

from collections.abc import Iterator, Sequence
from typing import Any

from kcsim.scenarios.lessons.answers import LETTERS
from kcsim.scenarios.lessons.lesson import Lesson
from kcsim.scenarios.lessons.page_text import event_lines, rule_of
from kcsim.scenarios.lessons.retelling import Retelling
from kcsim.scenarios.lessons.scenes import Question, Scene

EVENT_WIDTH = 100


def handout(lesson: Lesson, scenes: Sequence[Scene], retelling: Retelling) -> Iterator[str]:
    """The lines of a Markdown text: pages with their questions, then the answers."""
    yield f"# {lesson.title}"
    yield ""
    yield f"{lesson.you_will_know} ({lesson.minutes} minutes)"
    for scene in scenes:
        yield ""
        if scene.shown:
            yield from _fenced(event_lines(scene.shown, retelling, EVENT_WIDTH))
            yield ""
        yield scene.text
        if scene.question is not None:
            yield from _asked(scene.question)
    yield ""
    yield "## Answers"
    for scene in scenes:
        if scene.question is not None:
            yield from _answered(scene.question, retelling)
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


def _answered(question: Question, retelling: Retelling) -> Iterator[str]:
    yield ""
    letter = LETTERS[question.choices.index(question.right.text)]
    yield f"**{question.number}.** {letter}) {question.right.text}"
    yield ""
    if question.shown:
        yield from _fenced(event_lines(question.shown, retelling, EVENT_WIDTH))
        yield ""
    yield question.because
    if (rule := rule_of(question)) is not None:
        yield ""
        yield f"{rule}."


def _fenced(lines: Iterator[str] | Sequence[str]) -> Iterator[str]:
    yield "```"
    yield from lines
    yield "```"


def lesson_json(lesson: Lesson, scenes: Sequence[Scene], retelling: Retelling) -> dict[str, Any]:
    """Pages and questions with their right answers and what made them so."""
    return {
        "name": lesson.name,
        "number": lesson.number,
        "title": lesson.title,
        "minutes": lesson.minutes,
        "you_will_know": lesson.you_will_know,
        "pages": [_page(scene, retelling) for scene in scenes],
        "try_next": list(lesson.try_next or ()),
    }


def _page(scene: Scene, retelling: Retelling) -> dict[str, Any]:
    question = scene.question
    return {
        "seq": scene.at.seq,
        "t_ms": scene.at.t_ms,
        "text": scene.text,
        "question": None if question is None else _question(question, retelling),
    }


def _question(question: Question, retelling: Retelling) -> dict[str, Any]:
    return {
        "number": question.number,
        "text": question.text,
        "kind": question.right.kind.value,
        "choices": list(question.choices),
        "right": question.right.text,
        "because": question.because,
        "rule": rule_of(question),
        "evidence": None if question.right.evidence is None else question.right.evidence.seq,
        "chain": [{"seq": event.seq, "node": event.node, "says": retelling.of(event)} for event in question.chain],
    }
