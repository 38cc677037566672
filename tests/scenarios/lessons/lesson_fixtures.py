"""Lessons with runs of their scenarios, each run once: most tests of this folder use them."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from kcsim.scenarios.language.scenario_file import load_text
from kcsim.scenarios.lessons.lesson import Lesson
from kcsim.scenarios.lessons.lesson_file import LoadedLesson, course, find_lesson, load_lesson
from kcsim.scenarios.lessons.lesson_pages import LessonPage, Question, lesson_pages
from kcsim.scenarios.lessons.lesson_run import LessonRun, run_lesson
from kcsim.scenarios.lessons.run_narration import RunNarration


class Played(NamedTuple):
    """A lesson with its run, and the pages and the narration made from both."""

    loaded: LoadedLesson
    run: LessonRun
    scenes: list[LessonPage]
    narration: RunNarration

    @property
    def lesson(self) -> Lesson:
        return self.loaded.lesson

    @property
    def questions(self) -> list[Question]:
        return [scene.question for scene in self.scenes if scene.question is not None]

    def answer(self, number: int) -> str:
        """Return the right answer to the question with this number."""
        return self.questions[number - 1].right.text


@cache
def the_course() -> list[LoadedLesson]:
    """Return the lessons that come with the simulator, in order, read once: that takes a second."""
    return course()


@cache
def played(name: str, seed: int = 1) -> Played:
    """Return a lesson that comes with the simulator, with its run."""
    loaded = load_lesson(find_lesson(name))
    run = run_lesson(loaded.scenario, seed=seed)
    return Played(loaded, run, lesson_pages(loaded.lesson, run), RunNarration(run))


def played_otherwise(name: str, *changes: tuple[str, str]) -> Played:
    """Return the lesson's pages on a changed scenario: each first text is replaced by the second one wherever it occurs."""
    loaded = load_lesson(find_lesson(name))
    text = loaded.scenario.scenario.to_yaml()
    for before, after in changes:
        assert before in text, before
        text = text.replace(before, after)
    run = run_lesson(load_text(text, "changed.yaml"))
    return Played(loaded, run, lesson_pages(loaded.lesson, run), RunNarration(run))


def lesson_text(name: str) -> str:
    """Return the text of a lesson's file."""
    return Path(find_lesson(name)).read_text(encoding="utf-8")
