"""A lesson that is read on pages: where it stands, how far its run may be seen, and what was answered.

Pure: the server sends what is returned here. Alone, an answer shows the right one at once. With a class the teacher's page
goes on and shows the answers, and the pupils' pages follow; until then nobody sees more of the run than its question.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from kcsim.scenarios.lessons.lesson import Lesson
from kcsim.scenarios.lessons.lesson_pages import LessonPage, Question
from kcsim.scenarios.lessons.page_text import rule_of

TEACHER = ""
"""Who reads alone, or leads a class; pupils have other names."""


class LessonSession:
    """One lesson.

    Args:
        pages: the lesson's pages, applied to its run.
        has_class: whether pupils answer; then the teacher shows the right answers.
    """

    def __init__(self, lesson: Lesson, pages: Sequence[LessonPage], has_class: bool) -> None:
        self._lesson, self._pages, self._has_class = lesson, pages, has_class
        self._place = 0
        self._answers: dict[int, dict[str, str]] = {}  # number of a question -> who -> the answer
        self._shown: set[int] = set()  # numbers of the questions whose answer is shown

    @property
    def until_seq(self) -> int:
        """The seq of the last event of the run that may be seen."""
        until = self._pages[self._place].at.seq
        for page in self._pages[: self._place + 1]:
            if page.question is not None and page.question.number in self._shown:
                until = max(until, _end_of(page.question))
        return until

    # --- what is done

    def go_on(self) -> None:
        """Turn to the next page, or show the answer to the question first. Nothing happens at the end."""
        question = self._question
        if question is not None and question.number not in self._shown:
            self._shown.add(question.number)
        elif self._place + 1 < len(self._pages):
            self._place += 1

    def answer(self, who: str, choice: str) -> None:
        """Answer the present question. What was shown cannot be answered any more, nor with what is no choice."""
        question = self._question
        if question is None or question.number in self._shown or choice not in question.choices:
            return
        self._answers.setdefault(question.number, {})[who] = choice
        if not self._has_class:
            self._shown.add(question.number)

    @property
    def _question(self) -> Question | None:
        return self._pages[self._place].question

    # --- what is shown

    def seen_by(self, who: str, pupils: int) -> dict[str, Any]:
        """Return what a page shows of the lesson. Args: pupils: how many pages of pupils are open."""
        right = self._right(who)
        return {
            "title": self._lesson.title,
            "number": self._lesson.number,
            "you_will_know": self._lesson.you_will_know,
            "try_next": list(self._lesson.try_next or ()),
            "place": self._place,
            "count": len(self._pages),
            "leads": who == TEACHER,
            "class": {"pupils": pupils} if self._has_class else None,
            "pages": [self._page(page, who) for page in self._pages[: self._place + 1]],
            "score": right,
        }

    def _page(self, page: LessonPage, who: str) -> dict[str, Any]:
        question = page.question
        return {"seq": page.at.seq, "text": page.text, "question": None if question is None else self._asked(question, who)}

    def _asked(self, question: Question, who: str) -> dict[str, Any]:
        answers = self._answers.get(question.number, {})
        asked: dict[str, Any] = {
            "number": question.number,
            "text": question.text,
            "choices": list(question.choices),
            "given": answers.get(who),
            "answered": None,
            "spread": None,
        }
        if self._has_class and (who == TEACHER or question.number in self._shown):
            counted = Counter(choice for one, choice in answers.items() if one != TEACHER)
            asked["spread"] = {choice: counted[choice] for choice in question.choices}
        if question.number in self._shown:
            asked["answered"] = {
                "right": question.right.text,
                "because": question.because,
                "rule": rule_of(question),
                "chain": [event.seq for event in question.chain],
                "shown": [event.seq for event in question.shown],
                "until": _end_of(question),
            }
        return asked

    def _right(self, who: str) -> dict[str, int]:
        """Return how many of the shown questions somebody has answered, and how many of these right."""
        questions = [page.question for page in self._pages if page.question is not None]
        given = [
            (question, self._answers[question.number][who])
            for question in questions
            if question.number in self._shown and who in self._answers.get(question.number, {})
        ]
        right = sum(choice == question.right.text for question, choice in given)
        return {"right": right, "asked": len(given), "questions": len(questions)}


def _end_of(question: Question) -> int:
    """Return the seq of the last event that the answer to a question names."""
    named = [question.asked, question.answered, *(event.seq for event in (*question.shown, *question.chain))]
    return max(named)
