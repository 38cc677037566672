"""Reads a lesson from its file or from the built-in course. Problems of a file are reported line by line."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML

from kcsim.scenarios.language.known_names import alias_problems, collect_known_names
from kcsim.scenarios.language.model_file import ModelFile
from kcsim.scenarios.language.scenario_file import (
    SUFFIXES,
    LoadedScenario,
    ScenarioFileError,
    find_scenario,
    load_scenario,
    step_lines,
)
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.yaml_reader import FileError, FileProblem, read_text
from kcsim.scenarios.lessons.lesson import Lesson
from kcsim.scenarios.lessons.lesson_names import LESSONS, lesson_names
from kcsim.text import comma_separated, did_you_mean


class LessonFileError(FileError):
    """A lesson that cannot be used."""


class LoadedLesson(NamedTuple):
    """A lesson with its loaded scenario. `library` is the scenario's name in the library, if it comes from there."""

    file: str
    lesson: Lesson
    scenario: LoadedScenario
    library: str | None


def course() -> list[LoadedLesson]:
    """Return the built-in lessons, in their order. Raises: LessonFileError."""
    lessons = [load_lesson(path) for path in sorted(LESSONS.glob("*.yaml"))]
    return sorted(lessons, key=lambda loaded: (loaded.lesson.number or 0, loaded.lesson.name))


def find_lesson(wanted: str) -> Path:
    """Return the file that a path, a lesson's name or its number denotes; a file has priority. Raises: LessonFileError."""
    path = Path(wanted)
    if wanted and path.is_file():
        return path
    if wanted in lesson_names():
        return LESSONS / f"{wanted}.yaml"
    if wanted.isdecimal():
        numbered = dict(map(_numbered, LESSONS.glob("*.yaml")))
        if int(wanted) in numbered:
            return numbered[int(wanted)]
        raise LessonFileError(
            [FileProblem(wanted, None, f"there is no lesson of this number; there are 1 to {len(numbered)}")]
        )
    if path.suffix in SUFFIXES or len(path.parts) > 1:
        raise LessonFileError([FileProblem(wanted, None, "no such file")])
    known = did_you_mean(wanted, lesson_names()) or f"; there are {comma_separated(lesson_names())}"
    raise LessonFileError([FileProblem(wanted or "''", None, f"neither a file nor a lesson{known}")])


def _numbered(path: Path) -> tuple[int, Path]:
    """Return the number and path of a built-in lesson, without parsing the whole file."""
    found = re.search(r"^number: (\d+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return int(found[1]) if found else 0, path


def load_lesson(path: Path) -> LoadedLesson:
    """Read a lesson file. Raises: LessonFileError with every problem of the file."""
    return load_lesson_text(read_text(path, LessonFileError), str(path))


def load_lesson_text(text: str, file: str) -> LoadedLesson:
    """Read a lesson. Raises: LessonFileError with every problem of the text, including those of its scenario.

    Args:
        file: the name of the text in problems; a scenario that is given by name is first looked for beside this file.
    """
    read = ModelFile(text, file, LessonFileError, "lesson", "name:, title:, scenario:")
    try:
        scenario, tree = _scenario_of(read, Path(file).parent)
        lesson = read.validated(Lesson, collect_known_names(tree, read.report))
        if scenario is None:
            for mapping, key, message in alias_problems(tree.get("timetable")):
                read.report(mapping, key, message)
    except RecursionError:
        raise read.aliased_to_itself() from None
    read.check()
    assert lesson is not None
    named = lesson.scenario if isinstance(lesson.scenario, str) else None
    if scenario is None:
        assert isinstance(lesson.scenario, Scenario)
        scenario = LoadedScenario(file, lesson.scenario, step_lines(tree["timetable"]))
    return LoadedLesson(file, lesson, scenario, named if named is not None and Path(scenario.file).stem == named else None)


def _scenario_of(read: ModelFile, folder: Path) -> tuple[LoadedScenario | None, Mapping[str, Any]]:
    """Return the scenario that a lesson names, or None if it contains one; and the tree with the scenario's names."""
    given = read.tree.get("scenario")
    if isinstance(given, dict):
        return None, given
    if not isinstance(given, str):
        return None, {}
    beside = folder / given
    try:
        loaded = load_scenario(beside if beside.is_file() else find_scenario(given))
    except ScenarioFileError as error:
        for problem in error.problems:
            read.report(read.tree, "scenario", str(problem))
        return None, {}
    return loaded, YAML(typ="safe").load(Path(loaded.file).read_text(encoding="utf-8"))
