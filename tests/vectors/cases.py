"""Cases of vector files: the question, and the expected answer."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any, TypeVar

Answer = dict[str, Any]
"""Plain data, in the shape of a case's `expected`."""
E = TypeVar("E", bound=Enum)


class BadCaseError(Exception):
    """A file or a case cannot be understood."""


class Given(dict[str, Any]):
    """A JSON object whose error for a missing key names the key."""

    def __missing__(self, key: str) -> Any:
        raise BadCaseError(f"{key!r} is missing; there are {', '.join(self)}")

    def one_of(self, key: str, choices: type[E]) -> E:
        """Return the member of an enumeration whose value is stored under this key."""
        try:
            return choices(self[key])
        except ValueError:
            known = ", ".join(str(choice.value) for choice in choices)
            raise BadCaseError(f"{key} {self[key]!r} is none of {known}") from None


class Version(StrEnum):
    """The version of Kafka whose answer is asked for, where versions differ; the value is the key of the expected answer."""

    RECENT = "expected"
    KAFKA_2_8 = "expected_2_8"


@dataclass(frozen=True, slots=True)
class Case:
    """One question.

    Attributes:
        input: with `op`.
        expected: by version; without an entry of its own 2.8 answers as recent versions do. Empty: no answer is known.
    """

    source: Path
    name: str
    input: Given
    expected: Mapping[Version, Answer]

    def __str__(self) -> str:
        return f"{self.source}: {self.name}"


def read_cases(path: Path) -> Iterator[Case]:
    """Read the cases of a file. Raises: BadCaseError for an unreadable file, invalid JSON, or cases without name or op."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"), object_hook=Given)
    except (OSError, ValueError) as error:
        raise BadCaseError(f"{path}: {error}") from error
    if not isinstance(content, Given) or not isinstance(content.get("cases"), list):
        raise BadCaseError(f"{path}: a vector file is an object with a list of `cases`")
    for number, case in enumerate(content["cases"]):
        try:
            yield Case(path, case["name"], _input(case), {v: case[v] for v in Version if v in case})
        except (BadCaseError, TypeError) as error:
            raise BadCaseError(f"{path}: case {number}: {error}") from error


def _input(case: Given) -> Given:
    given = case["input"]
    if not isinstance(given, Given) or not isinstance(given["op"], str):
        raise BadCaseError("`input` is an object, and its `op` a string")
    return given
