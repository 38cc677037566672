"""Write a scenario, given as the mapping of its file, as the text of that file, in the layout that people use."""

import io
from collections.abc import Mapping
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import FoldedScalarString

WIDTH = 125
"""A value that does not fit on one line of this width is written on several lines."""
FOLDED_WIDTH = WIDTH - 10
APART = frozenset({"timetable", "afterwards", "expect", "invariants", "workload", "cluster"})
"""Parts that have an empty line before them."""


def yaml_text(tree: Mapping[str, Any]) -> str:
    """Return the text of the file.

    A value that fits on one line is written on one line; but each part of a scenario, of a step and of an expectation has
    its own line.
    """
    yaml = YAML()
    yaml.width = 10 * WIDTH
    yaml.indent(mapping=2, sequence=4, offset=2)
    whole = CommentedMap()
    for key, part in tree.items():
        match part:
            case dict() if part:
                whole[key] = CommentedMap((name, _fitted(item, 2 + len(str(name)) + 2)) for name, item in part.items())
            case list() if part and isinstance(part[0], dict):
                whole[key] = CommentedSeq(_item(item) for item in part)
            case _:
                whole[key] = _fitted(part, len(str(key)) + 2)
        if key in APART:
            whole.yaml_set_comment_before_after_key(key, before="\n")
    file = io.StringIO()
    yaml.dump(whole, file)
    return "\n".join("" if line.strip() == "#" else line for line in file.getvalue().splitlines()) + "\n"


def _item(item: Mapping[str, Any]) -> CommentedMap:
    """Return a step or an expectation with a line for each of its keys."""
    return CommentedMap((key, _fitted(value, 4 + len(str(key)) + 2)) for key, value in item.items())


def _fitted(value: Any, column: int) -> Any:
    """Return the value in one line if it fits there from this column on, otherwise with a line for each of its parts."""
    if isinstance(value, str):
        return _folded(value) if len(value) > WIDTH - column and value == " ".join(value.split()) else value
    if not isinstance(value, dict | list) or not value or len(_on_a_line(value)) <= WIDTH - column:
        return _in_flow(value)
    if isinstance(value, dict):
        return CommentedMap((key, _fitted(item, column + 2)) for key, item in value.items())
    return CommentedSeq(_fitted(item, column + 2) for item in value)


def _in_flow(value: Any) -> Any:
    if isinstance(value, dict):
        return _flowing(CommentedMap((key, _in_flow(item)) for key, item in value.items()))
    if isinstance(value, list):
        return _flowing(CommentedSeq(_in_flow(item) for item in value))
    return value


def _flowing(node: Any) -> Any:
    node.fa.set_flow_style()
    return node


def _on_a_line(value: Any) -> str:
    """Return the value approximately as it will be written; quotes may be missing."""
    match value:
        case dict():
            return "{" + ", ".join(f"{key}: {_on_a_line(item)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_on_a_line, value)) + "]"
        case _:
            return str(value)


def _folded(text: str) -> FoldedScalarString:
    """Return text that is written on several lines and read as one."""
    lines, places = [""], list[int]()
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + len(word) > FOLDED_WIDTH:
            lines.append("")
        lines[-1] += f"{' ' if lines[-1] else ''}{word}"
    folded: FoldedScalarString = FoldedScalarString(" ".join(lines))
    for line in lines[:-1]:
        places.append((places[-1] + 1 if places else 0) + len(line))
    folded.fold_pos = places  # type: ignore[attr-defined]  # where the emitter breaks the line
    return folded
