"""An event that the text of a log line yields, before its time and node are known."""

import re
from typing import NamedTuple

from kcsim.eventlog.events import EventFields, EventKind

JAVA_EXCEPTION = re.compile(r"(?:[\w$]+\.)*(?:\w+\$)?(\w+)(?:: (.*))?")


class ParsedEvent(NamedTuple):
    """An event without its time and node: the node is the broker that wrote the log."""

    kind: EventKind
    fields: EventFields


def exception_of(error: str) -> tuple[str, str]:
    """Return the simple name and the message of a Java exception, from its first line. Both are empty if there is none."""
    found = JAVA_EXCEPTION.fullmatch(error.strip())
    return (found[1], found[2] or "") if found else ("", "")
