"""Lessons set against runs of their scenarios, each made once: they are what most tests here look at."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from kcsim.scenarios.language.scenario_file import load_text
from kcsim.scenarios.lessons.lesson import Lesson
from kcsim.scenarios.lessons.lesson_file import LoadedLesson, find_lesson, load_lesson
from kcsim.scenarios.lessons.lesson_run import LessonRun, run_lesson
from kcsim.scenarios.lessons.retelling import Retelling
from kcsim.scenarios.lessons.scenes import Question, Scene, scenes


class Played(NamedTuple):
    """A lesson with its run, and what they come to."""

    loaded: LoadedLesson
    run: LessonRun
    scenes: list[Scene]
    retelling: Retelling

    @property
    def lesson(self) -> Lesson:
        return self.loaded.lesson

    @property
    def questions(self) -> list[Question]:
        return [scene.question for scene in self.scenes if scene.question is not None]

    def answer(self, number: int) -> str:
        """The right answer to a question, by its number."""
        return self.questions[number - 1].right.text


@cache
def played(name: str, seed: int = 1) -> Played:
    """A lesson that comes with the simulator."""
    loaded = load_lesson(find_lesson(name))
    run = run_lesson(loaded.scenario, seed=seed)
    return Played(loaded, run, scenes(loaded.lesson, run), Retelling(run))


def played_otherwise(name: str, *changes: tuple[str, str]) -> Played:
    """The same pages on a scenario that has been changed: each text replaced by the other, wherever it stands."""
    loaded = load_lesson(find_lesson(name))
    text = loaded.scenario.scenario.to_yaml()
    for before, after in changes:
        assert before in text, before
        text = text.replace(before, after)
    run = run_lesson(load_text(text, "changed.yaml"))
    return Played(loaded, run, scenes(loaded.lesson, run), Retelling(run))


def lesson_text(name: str) -> str:
    """The file of a lesson."""
    return Path(find_lesson(name)).read_text(encoding="utf-8")
