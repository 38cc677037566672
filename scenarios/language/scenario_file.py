"""Reads a scenario from its file, or from the library. What is wrong in it is told as model_file.py says."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from kcsim.scenarios.language.model_file import FileError, ModelFile, Problem, line_of
from kcsim.scenarios.language.names_in_file import misnamed, names_known
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.words import did_you_mean, listed

LIBRARY = Path(__file__).parent.parent / "library"
SUFFIXES = (".yaml", ".yml")


class ScenarioFileError(FileError):
    """A scenario that cannot be used."""


def library_names() -> list[str]:
    """The names of the scenarios that come with the simulator, sorted."""
    return sorted(path.stem for path in LIBRARY.glob("*.yaml"))


def find_scenario(name: str) -> Path:
    """Return the file meant by a path or by a name in the library; a file comes first.

    Raises: ScenarioFileError when there is neither, with the nearest one.
    """
    path = Path(name)
    if not name:
        raise ScenarioFileError([Problem("''", None, "names no scenario")])
    if path.exists() and not path.is_dir():  # also a pipe, as in kcsim run <(…)
        return path
    if name in library_names():
        return LIBRARY / f"{name}.yaml"
    if path.is_dir():
        raise ScenarioFileError([Problem(name, None, "is a directory, not a scenario file")])
    if path.suffix in SUFFIXES or len(path.parts) > 1:
        beside = sorted(p.name for p in path.parent.glob("*.y*ml")) if path.parent.is_dir() else []
        near = get_close_matches(path.name, beside, n=1, cutoff=0.5)
        hint = f"; did you mean {path.parent / near[0]}?" if near else did_you_mean(path.stem, library_names())
        raise ScenarioFileError([Problem(name, None, f"no such file{hint}")])
    known = did_you_mean(name, library_names()) or f"; the library has {listed(library_names())}"
    raise ScenarioFileError([Problem(name, None, f"neither a file nor a scenario of the library{known}")])


class LoadedScenario(NamedTuple):
    """A scenario, and where its steps stand: the line, from 1, of each step of the timetable."""

    file: str
    scenario: Scenario
    step_lines: tuple[int, ...]


def load_scenario(path: Path) -> LoadedScenario:
    """Read a scenario file. Raises: ScenarioFileError with every problem found in it."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ScenarioFileError([Problem(str(path), None, f"not text in UTF-8 (byte {error.start})")]) from None
    except OSError as error:
        raise ScenarioFileError([Problem(str(path), None, f"cannot be read: {error.strerror}")]) from None
    return load_text(text, str(path))


def load_text(text: str, file: str) -> LoadedScenario:
    """Read a scenario. Raises: ScenarioFileError with every problem found in it.

    Args:
        file: what problems, and steps that cannot be done, call the text.
    """
    read = ModelFile(text, file, ScenarioFileError, "scenario", "name:, description:, cluster:")
    try:
        scenario = read.validated(Scenario, names_known(read.tree, read.report))
        for mapping, key, message in misnamed(read.tree.get("timetable")):
            read.report(mapping, key, message)
    except RecursionError:
        raise read.aliased_to_itself() from None
    read.check()
    assert scenario is not None
    return LoadedScenario(file, scenario, step_lines(read.tree["timetable"]))


def step_lines(timetable: Sequence[object]) -> tuple[int, ...]:
    """The line, from 1, of each step of a timetable as it was read."""
    return tuple(line_of(timetable, place) or 1 for place in range(len(timetable)))
