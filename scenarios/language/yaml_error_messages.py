"""Messages about a file that is not YAML: which line has to be corrected, and how.

The YAML reader's own messages are about tokens and blocks, which do not help the author of a file to find a typing error.
"""

import re
from collections.abc import Sequence

from ruamel.yaml.error import MarkedYAMLError

INDENTED = "its indentation does not fit the lines above it: what belongs together begins in the same column"
UNQUOTED = "put the text in quotes"

_EXPLANATIONS: Sequence[tuple[str, str, bool]] = (
    (r"character '\\t'", "there is a tab in it; YAML is indented with spaces only", False),
    (r"could not find expected ':'", "a key needs a colon after it, and a space after the colon", True),
    (
        r"mapping values are not allowed",
        f"a second colon: {INDENTED}; or, if the colon is part of a text, {UNQUOTED}",
        False,
    ),
    (r"expected <block end>, but found '-'", f"a list item: {INDENTED}", False),
    (r"expected <block end>, but found", INDENTED, False),
    (r"expected ',' or '([}\]])'", "a bracket that is opened here is not closed", True),
    (r"unexpected end of stream", "a quote that is opened here is not closed", True),
    (r"expected chomping or indentation", f"a text cannot begin with > or |: {UNQUOTED}, as '>= 120'", False),
    (r"cannot start any token", f"a text cannot begin with this: {UNQUOTED}", False),
    (r"undefined alias|expected alphabetic or numeric", f"a text cannot begin with * or &: {UNQUOTED}", False),
)
"""The reader's message, our message, and whether to name the line where the construct began instead of the error's line."""


def explain_yaml_error(error: MarkedYAMLError, text: str) -> tuple[int | None, str]:
    """Return the line of the problem, from 1, and a sentence about it."""
    problem = _problem(error)
    if (line := _dash_without_space(_line(error, False), text)) is not None:
        return line, f"not YAML: a - needs a space after it{_quoted(text, line)}"
    for pattern, sentence, is_at_its_beginning in _EXPLANATIONS:
        if re.search(pattern, problem):
            line = _line(error, is_at_its_beginning)
            return line, f"not YAML: {sentence}{_quoted(text, line)}"
    return quote_yaml_error(error, text)


def quote_yaml_error(error: MarkedYAMLError, _text: str) -> tuple[int | None, str]:
    """Return the line of the problem, from 1, and the YAML reader's own message."""
    return _line(error, False), f"not YAML: {_problem(error)}"


def _problem(error: MarkedYAMLError) -> str:
    return " ".join(f"{error.context or ''} {error.problem or ''}".split())


def _line(error: MarkedYAMLError, is_at_its_beginning: bool) -> int | None:
    marks = (error.context_mark, error.problem_mark) if is_at_its_beginning else (error.problem_mark, error.context_mark)
    mark = next((mark for mark in marks if mark is not None), None)
    return None if mark is None else int(mark.line) + 1


def _dash_without_space(line: int | None, text: str) -> int | None:
    """Return the line of a list item whose dash lacks a space, if it is just above this line; None otherwise."""
    above = [n for n, words in enumerate(text.splitlines()[: (line or 1) - 1], 1) if words.strip()]
    return above[-1] if above and re.match(r"\s*-[A-Za-z]", text.splitlines()[above[-1] - 1]) else None


def _quoted(text: str, line: int | None) -> str:
    lines = text.splitlines()
    if line is None or line > len(lines):
        return ""
    without_comment = re.sub(r"(^|\s)#.*", "", lines[line - 1])
    return f": {without_comment.strip()}"
