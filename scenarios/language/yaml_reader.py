"""Read a file of YAML as a tree that knows the line of each of its parts. A problem names its file and line.

A problem is one line: FILE:LINE: the problem, with the offending value and the nearest valid word.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedBase
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from kcsim.scenarios.language.yaml_error_messages import explain_yaml_error

MOST_NODES = 100_000
"""Values in a text of YAML. The largest scenario of the library has a few hundred."""


class FileProblem(NamedTuple):
    """A problem in a file. `line` counts from 1; None if the problem is about the whole file."""

    file: str
    line: int | None
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}" if self.line else f"{self.file}: {self.message}"


class FileError(Exception):
    """A file that cannot be used. `problems` are sorted by line; the message has one line per problem."""

    def __init__(self, problems: Sequence[FileProblem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


def read_text(path: Path, error: type[FileError]) -> str:
    """Return the text of a file. Raises: `error`, if the file cannot be read or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as bad:
        raise error([FileProblem(str(path), None, f"not text in UTF-8 (byte {bad.start})")]) from None
    except OSError as failure:
        raise error([FileProblem(str(path), None, f"cannot be read: {failure.strerror}")]) from None


def read_yaml(
    text: str,
    file: str,
    error: type[FileError],
    noun: str,
    explain: Callable[[MarkedYAMLError, str], tuple[int | None, str]] = explain_yaml_error,
) -> Any:
    """Return the content of a text in YAML, of which `line_of` and `known_line_of` know the lines.

    Args:
        file: the name of the text in problems.
        noun: what the text should contain, such as `scenario`.
        explain: returns the line and the description of an error of syntax in the text.

    Raises: `error`, if the text is not YAML, has a key twice, is nested too deeply or too large.
    """
    try:
        content = YAML(typ="rt").load(text)
        _refuse_large(content, file, error, noun)
        return content
    except RecursionError:
        raise error([FileProblem(file, None, f"not a {noun}: lists within lists without end")]) from None
    except DuplicateKeyError as twice:
        key = (twice.problem or "").partition('"')[2].partition('"')[0]
        line = int(twice.problem_mark.line) + 1 if twice.problem_mark is not None else None
        raise error([FileProblem(file, line, f"key {key!r} is there twice")]) from None
    except MarkedYAMLError as bad:
        raise error([FileProblem(file, *explain(bad, text))]) from None
    except YAMLError as bad:
        raise error([FileProblem(file, None, f"not YAML: {' '.join(str(bad).split())}")]) from None


def _refuse_large(content: Any, file: str, error: type[FileError], noun: str) -> None:
    """Raise `error` if a text has too many nodes, each counted as often as an alias (*name) repeats it.

    A few lines of aliases of aliases stand for billions of nodes. Only the count is kept for a node that was seen before.
    """
    counted: dict[int, int] = {}

    def count(node: Any) -> int:
        if not isinstance(node, dict | list):
            return 1
        if id(node) not in counted:
            counted[id(node)] = 0  # an alias within the node itself, which is another problem
            inner = node.values() if isinstance(node, dict) else node
            counted[id(node)] = 1 + sum(map(count, inner))
        return counted[id(node)]

    if count(content) > MOST_NODES:
        raise error([FileProblem(file, None, f"not a {noun}: more than {MOST_NODES} keys and items, with those of aliases")])


def line_of(node: Any, part: object) -> int | None:
    """Return the line, from 1, of a key or an item, or of the whole node if it is missing; None if that is unknown, too."""
    line = known_line_of(node, part)
    if line is not None or not isinstance(node, CommentedBase):
        return line
    return int(node.lc.line) + 1 if node.lc.line is not None else None


def known_line_of(node: Any, part: object) -> int | None:
    """Return the line, from 1, of a key or an item; None if it is missing, or merged in from another mapping (<<)."""
    if not isinstance(node, CommentedBase):
        return None
    try:
        row = node.lc.key(part)[0] if isinstance(node, dict) else node.lc.item(part)[0]
    except (KeyError, IndexError, TypeError):
        return None
    return int(row) + 1 if row is not None else None
