"""Reads a scenario from its file, or from the library, and says of everything wrong in it where it stands.

A problem is one line: FILE:LINE: what, with the offending value and the nearest valid word. All problems are told at once.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedBase
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from kcsim.scenarios.language.names_in_file import misnamed, names_known
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.words import did_you_mean, listed, meant
from kcsim.scenarios.language.yaml_mistakes import mistake

LIBRARY = Path(__file__).parent.parent / "library"
SUFFIXES = (".yaml", ".yml")


class Problem(NamedTuple):
    """Something wrong in a file. `line` counts from 1; None when it is about the file as a whole."""

    file: str
    line: int | None
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}" if self.line else f"{self.file}: {self.message}"


class ScenarioFileError(Exception):
    """A scenario that cannot be used. `problems` are sorted by line; the message has one line for each."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


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
    return _Loader(text, file).load()


class _Loader:
    """Loads one text; keeps the tree as it was read, which knows the line of everything."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._problems: list[Problem] = []
        self._reported: list[tuple[Any, str]] = []  # what was found beside pydantic's own, and in which mapping

    def load(self) -> LoadedScenario:
        tree = self._read()
        if not isinstance(tree, dict):
            what = "the file is empty" if tree is None else f"{_shown(tree)} is no scenario"
            raise ScenarioFileError(
                [Problem(self._file, 1, f"{what}; a scenario begins with name:, description:, cluster:")]
            )
        scenario = None
        try:
            try:
                scenario = Scenario.model_validate(tree, context=names_known(tree, self._report))
            except ValidationError as error:
                for detail in error.errors(include_url=False):
                    self._add_detail(tree, detail)
            for mapping, key, message in misnamed(tree.get("timetable")):
                self._report(mapping, key, message)
        except RecursionError:
            raise ScenarioFileError([Problem(self._file, 1, "an alias (*) refers to what it stands in")]) from None
        if self._problems or scenario is None:
            unique = dict.fromkeys(sorted(self._problems, key=lambda problem: problem.line or 0))
            raise ScenarioFileError(list(unique))
        timetable = tree["timetable"]
        lines = (_line(timetable, place) or 1 for place in range(len(timetable)))
        return LoadedScenario(self._file, scenario, tuple(lines))

    def _read(self) -> Any:
        try:
            return YAML(typ="rt").load(self._text)
        except RecursionError:
            raise ScenarioFileError([Problem(self._file, None, "not a scenario: lists within lists without end")]) from None
        except DuplicateKeyError as error:
            key = (error.problem or "").partition('"')[2].partition('"')[0]
            line = int(error.problem_mark.line) + 1 if error.problem_mark is not None else None
            raise ScenarioFileError([Problem(self._file, line, f"key {key!r} is there twice")]) from None
        except MarkedYAMLError as error:
            raise ScenarioFileError([Problem(self._file, *mistake(error, self._text))]) from None
        except YAMLError as error:
            raise ScenarioFileError([Problem(self._file, None, f"not YAML: {' '.join(str(error).split())}")]) from None

    def _report(self, mapping: Any, key: str, message: str) -> None:
        self._problems.append(Problem(self._file, _line(mapping, key), message))
        self._reported.append((mapping, message))

    # --- what pydantic found

    def _add_detail(self, tree: Any, detail: ErrorDetails) -> None:
        place: list[str | int] = [part for part in detail["loc"] if not str(part).startswith(("<", "[key]"))]
        context = detail.get("ctx", {})
        if detail["type"] == "kcsim" and context["at"] is not None:
            place.append(context["at"])
        line, here, parent = 1, tree, None
        for part in place:
            if isinstance(here, dict | list):
                line = _line(here, part) or line
                here, parent = _child(here, part), here
        if isinstance(parent, dict) and here is None and detail["input"] is None:
            return  # a key without a value: reported as such already
        key = next((part for part in reversed(place) if isinstance(part, str)), "")
        if detail["type"] == "missing" and self._is_mistyped(parent, key):
            return  # the key that stands there instead is reported
        self._problems.append(Problem(self._file, line, _sentence(detail, key)))

    def _is_mistyped(self, mapping: Any, key: str) -> bool:
        return any(where is mapping and message.endswith(meant(key)) for where, message in self._reported)


def _sentence(detail: ErrorDetails, key: str) -> str:
    given, context = _shown(detail["input"]), detail.get("ctx", {})
    match detail["type"]:
        case "kcsim":
            return str(context["message"])
        case "missing":
            return f"{key} is missing"
        case "int_type":
            return f"{key}: {given} is no whole number"
        case "string_type":
            return f"{key}: {given} is no text"
        case "bool_type":
            return f"{key}: {given} is neither true nor false{did_you_mean(given, ('true', 'false'))}"
        case "list_type":
            return f"{key}: {given} is no list"
        case "model_type" | "model_attributes_type" | "dict_type":
            return f"{key}: {given} is no mapping of keys to values"
        case "literal_error":
            expected = str(context["expected"]).replace("'", "")
            hint = did_you_mean(detail["input"], expected.replace(" or ", ", ").split(", "))
            return f"{key}: {given} is none of {expected}{hint}"
        case "string_pattern_mismatch":
            return f"{key}: {given} does not match {context['pattern']}"
        case "too_short" | "string_too_short":
            return (
                f"{key} is empty" if context["min_length"] == 1 else f"{key} has fewer than {context['min_length']} entries"
            )
        case _:
            return f"{key}: {given}: {detail['msg'][0].lower()}{detail['msg'][1:]}"


# --- the tree as it was read ---------------------------------------------------------------------------------------------


def _line(node: Any, part: object) -> int | None:
    """The line, from 1, of a key or an item; that of the whole when it is not there; None if that is unknown as well."""
    if not isinstance(node, CommentedBase):
        return None
    lc = node.lc
    try:
        row = lc.key(part)[0] if isinstance(node, dict) else lc.item(part)[0]
    except (KeyError, IndexError, TypeError):  # missing, or merged in from elsewhere
        row = lc.line
    return int(row) + 1 if row is not None else None


def _child(node: Any, part: str | int) -> Any:
    try:
        return node[part]
    except (KeyError, IndexError, TypeError):
        return None


def _shown(value: object) -> str:
    text = repr(value) if isinstance(value, str | int | float | bool | None) else str(value)
    text = {"None": "nothing", "True": "true", "False": "false"}.get(text, text)
    return text if len(text) <= 60 else f"{text[:57]}..."
