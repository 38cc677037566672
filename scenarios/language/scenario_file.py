"""Read a scenario from its file or from the library. Problems are reported as described in yaml_reader.py."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from kcsim.scenarios.language.known_names import alias_problems, collect_known_names
from kcsim.scenarios.language.library import library_file, library_names
from kcsim.scenarios.language.model_file import ModelFile
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.yaml_reader import FileError, FileProblem, line_of, read_text
from kcsim.text import comma_separated, did_you_mean

SUFFIXES = (".yaml", ".yml")


class ScenarioFileError(FileError):
    """A scenario that cannot be used."""


def find_scenario(name: str) -> Path:
    """Return the file that a path or a name in the library stands for; a file takes precedence.

    Raises: ScenarioFileError when neither exists; its message suggests the nearest name.
    """
    path = Path(name)
    if not name:
        raise ScenarioFileError([FileProblem("''", None, "names no scenario")])
    if path.exists() and not path.is_dir():  # also a pipe, as in kcsim run <(…)
        return path
    if name in library_names():
        return library_file(name)
    if path.is_dir():
        raise ScenarioFileError([FileProblem(name, None, "is a directory, not a scenario file")])
    if path.suffix in SUFFIXES or len(path.parts) > 1:
        beside = sorted(p.name for p in path.parent.glob("*.y*ml")) if path.parent.is_dir() else []
        near = get_close_matches(path.name, beside, n=1, cutoff=0.5)
        hint = f"; did you mean {path.parent / near[0]}?" if near else did_you_mean(path.stem, library_names())
        raise ScenarioFileError([FileProblem(name, None, f"no such file{hint}")])
    known = did_you_mean(name, library_names()) or f"; the library has {comma_separated(library_names())}"
    raise ScenarioFileError([FileProblem(name, None, f"neither a file nor a scenario of the library{known}")])


class LoadedScenario(NamedTuple):
    """A scenario with the line, from 1, of each step of its timetable, and its text; None if it has no text of its own."""

    file: str
    scenario: Scenario
    step_lines: tuple[int, ...]
    text: str | None = None


def load_scenario(path: Path) -> LoadedScenario:
    """Read a scenario file. Raises: ScenarioFileError with every problem found in it."""
    return load_text(read_text(path, ScenarioFileError), str(path))


def load_text(text: str, file: str) -> LoadedScenario:
    """Read a scenario. Raises: ScenarioFileError with every problem found in it.

    Args:
        file: the name of the text in problems and in failures of steps.
    """
    read = ModelFile(text, file, ScenarioFileError, "scenario", "name:, description:, cluster:")
    try:
        scenario = read.validated(Scenario, collect_known_names(read.tree, read.report))
        for mapping, key, message in alias_problems(read.tree.get("timetable")):
            read.report(mapping, key, message)
    except RecursionError:
        raise read.aliased_to_itself() from None
    read.check()
    assert scenario is not None
    return LoadedScenario(file, scenario, step_lines(read.tree["timetable"]), text)


def step_lines(timetable: Sequence[object]) -> tuple[int, ...]:
    """Return the line, from 1, of each step of a timetable as it was read."""
    return tuple(line_of(timetable, place) or 1 for place in range(len(timetable)))
