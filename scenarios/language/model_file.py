"""Read a file into a pydantic model, and report every problem in it with its line: all problems together."""

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from kcsim.scenarios.language.yaml_reader import FileError, FileProblem, line_of, read_yaml
from kcsim.text import did_you_mean, suggestion

M = TypeVar("M", bound=BaseModel)


class ModelFile:
    """One text and the problems found in it; keeps the tree as it was read, which knows the line of each part.

    Args:
        file: the name of the text in problems.
        error: the type of the error to raise for an unusable text.
        noun: what the file should contain, such as `scenario`; used in problems.
        begins_with: the first keys of such a file.

    Attributes:
        tree: the file's content, a mapping.

    Raises: `error`, if the text is not a mapping in YAML.
    """

    def __init__(self, text: str, file: str, error: type[FileError], noun: str, begins_with: str) -> None:
        self._file = file
        self._error = error
        self._noun = noun
        self._problems: list[FileProblem] = []
        self._reported: list[tuple[Any, str]] = []  # problems that pydantic does not report, and the mapping of each
        self.tree: dict[str, Any] = self._mapping(text, begins_with)

    def _mapping(self, text: str, begins_with: str) -> dict[str, Any]:
        tree = read_yaml(text, self._file, self._error, self._noun)
        if isinstance(tree, dict):
            return tree
        what = "the file is empty" if tree is None else f"{_shown(tree)} is no {self._noun}"
        raise self._error([FileProblem(self._file, 1, f"{what}; a {self._noun} begins with {begins_with}")])

    def aliased_to_itself(self) -> FileError:
        """Return the error for a tree that contains itself, so that following it never ends."""
        return self._error([FileProblem(self._file, 1, "an alias (*) refers to what it stands in")])

    def validated(self, model: type[M], context: Any) -> M | None:
        """Return the tree as a model; None if it is invalid: its problems are then recorded."""
        try:
            return model.model_validate(self.tree, context=context)
        except ValidationError as error:
            for detail in error.errors(include_url=False):
                self._add_detail(self.tree, detail)
            return None

    def report(self, mapping: Any, key: str, message: str) -> None:
        """Record a problem that pydantic does not find: the mapping in the tree, the key in it, and the message."""
        self._problems.append(FileProblem(self._file, line_of(mapping, key), message))
        self._reported.append((mapping, message))

    def check(self) -> None:
        """Raise the error, if any problem was recorded."""
        if self._problems:
            raise self._error(list(dict.fromkeys(sorted(self._problems, key=lambda problem: problem.line or 0))))

    # --- what pydantic found

    def _add_detail(self, tree: Any, detail: ErrorDetails) -> None:
        place: list[str | int] = [part for part in detail["loc"] if not str(part).startswith(("<", "[key]"))]
        context = detail.get("ctx", {})
        if detail["type"] == "kcsim" and context["at"] is not None:
            place.append(context["at"])
        line, here, parent = 1, tree, None
        for part in place:
            if isinstance(here, dict | list):
                line = line_of(here, part) or line
                here, parent = _child(here, part), here
        if isinstance(parent, dict) and here is None and detail["input"] is None:
            return  # a key without a value: recorded as such already
        key = next((part for part in reversed(place) if isinstance(part, str)), "")
        if detail["type"] == "missing" and self._is_mistyped(parent, key):
            return  # recorded for the mistyped key that stands in its place
        self._problems.append(FileProblem(self._file, line, _sentence(detail, key)))

    def _is_mistyped(self, mapping: Any, key: str) -> bool:
        return any(where is mapping and message.endswith(suggestion(key)) for where, message in self._reported)


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
            return f"{key}: {given} is not one of {expected}{hint}"
        case "string_pattern_mismatch":
            return f"{key}: {given} does not match {context['pattern']}"
        case "too_short" | "string_too_short":
            return (
                f"{key} is empty" if context["min_length"] == 1 else f"{key} has fewer than {context['min_length']} entries"
            )
        case _:
            return f"{key}: {given}: {detail['msg'][0].lower()}{detail['msg'][1:]}"


def _child(node: Any, part: str | int) -> Any:
    try:
        return node[part]
    except (KeyError, IndexError, TypeError):
        return None


def _shown(value: object) -> str:
    text = repr(value) if isinstance(value, str | int | float | bool | None) else str(value)
    text = {"None": "nothing", "True": "true", "False": "false"}.get(text, text)
    return text if len(text) <= 60 else f"{text[:57]}..."
