"""Reads a lesson from its file, or from those that come with the simulator; what is wrong in it is told line by line."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML

from kcsim.scenarios.language.model_file import FileError, ModelFile, Problem
from kcsim.scenarios.language.names_in_file import misnamed, names_known
from kcsim.scenarios.language.scenario_file import (
    SUFFIXES,
    LoadedScenario,
    ScenarioFileError,
    find_scenario,
    load_scenario,
    step_lines,
)
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.words import did_you_mean, listed
from kcsim.scenarios.lessons.lesson import Lesson

LESSONS = Path(__file__).parent


class LessonFileError(FileError):
    """A lesson that cannot be used."""


class LoadedLesson(NamedTuple):
    """A lesson, and its scenario as it was loaded. `library`: the scenario's name in the library, if it is from there."""

    file: str
    lesson: Lesson
    scenario: LoadedScenario
    library: str | None


def course() -> list[LoadedLesson]:
    """The lessons that come with the simulator, in their order. Raises: LessonFileError."""
    lessons = [load_lesson(path) for path in sorted(LESSONS.glob("*.yaml"))]
    return sorted(lessons, key=lambda loaded: (loaded.lesson.number or 0, loaded.lesson.name))


def lesson_names() -> list[str]:
    """The names of the lessons that come with the simulator, sorted."""
    return sorted(path.stem for path in LESSONS.glob("*.yaml"))


def find_lesson(wanted: str) -> Path:
    """Return the file meant by a path, a lesson's name or its number; a file comes first. Raises: LessonFileError."""
    path = Path(wanted)
    if wanted and path.is_file():
        return path
    if wanted in lesson_names():
        return LESSONS / f"{wanted}.yaml"
    if wanted.isdecimal():
        numbered = dict(map(_numbered, LESSONS.glob("*.yaml")))
        if int(wanted) in numbered:
            return numbered[int(wanted)]
        raise LessonFileError([Problem(wanted, None, f"there is no lesson of this number; there are 1 to {len(numbered)}")])
    if path.suffix in SUFFIXES or len(path.parts) > 1:
        raise LessonFileError([Problem(wanted, None, "no such file")])
    known = did_you_mean(wanted, lesson_names()) or f"; there are {listed(lesson_names())}"
    raise LessonFileError([Problem(wanted or "''", None, f"neither a file nor a lesson{known}")])


def _numbered(path: Path) -> tuple[int, Path]:
    """The number of one of our own lessons, without reading all of it."""
    found = re.search(r"^number: (\d+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return int(found[1]) if found else 0, path


def load_lesson(path: Path) -> LoadedLesson:
    """Read a lesson file. Raises: LessonFileError with every problem found in it."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise LessonFileError([Problem(str(path), None, f"not text in UTF-8 (byte {error.start})")]) from None
    except OSError as error:
        raise LessonFileError([Problem(str(path), None, f"cannot be read: {error.strerror}")]) from None
    return load_lesson_text(text, str(path))


def load_lesson_text(text: str, file: str) -> LoadedLesson:
    """Read a lesson. Raises: LessonFileError with every problem found in it, its scenario included.

    Args:
        file: what problems call the text; a scenario that is named is looked for beside it.
    """
    read = ModelFile(text, file, LessonFileError, "lesson", "name:, title:, scenario:")
    try:
        scenario, tree = _scenario_of(read, Path(file).parent)
        lesson = read.validated(Lesson, names_known(tree, read.report))
        if scenario is None:
            for mapping, key, message in misnamed(tree.get("timetable")):
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
    """The scenario that a lesson names, None if it holds one itself; and the tree that has its names."""
    said = read.tree.get("scenario")
    if isinstance(said, dict):
        return None, said
    if not isinstance(said, str):
        return None, {}
    beside = folder / said
    try:
        loaded = load_scenario(beside if beside.is_file() else find_scenario(said))
    except ScenarioFileError as error:
        for problem in error.problems:
            read.report(read.tree, "scenario", str(problem))
        return None, {}
    return loaded, YAML(typ="safe").load(Path(loaded.file).read_text(encoding="utf-8"))
