"""What the kinds of event and their columns mean, as events.py says it: for the reference page and `kcsim events`.

Headings and the meanings of columns are comments of events.py, beside what they are about; they are read from its source.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from kcsim.eventlog import events
from kcsim.eventlog.events import Event, EventFields, EventKind

ALWAYS = ("seq", "t_ms", "node", "kind", "cause")
"""The columns of every event."""


def sections(class_name: str) -> Mapping[str, tuple[str, ...]]:
    """Return heading -> the members of a class of events.py that stand below that comment."""
    found: dict[str, list[str]] = {}
    for line in _body(class_name):
        if heading := re.fullmatch(r"    # (.+)", line):
            found[_capitalized(heading[1])] = []
        elif found and (member := re.match(r"    (\w+)(?:: \S| = )", line)):
            found[[*found][-1]].append(member[1])
    return {heading: tuple(members) for heading, members in found.items()}


def kinds_by_section() -> Mapping[str, tuple[EventKind, ...]]:
    """Return heading -> the kinds of event below it."""
    return {heading: tuple(EventKind[name] for name in names) for heading, names in sections(EventKind.__name__).items()}


def column_meanings() -> Mapping[str, str]:
    """Return column -> its meaning, in one sentence. Every column has one."""
    found = dict(_attributes())
    for line in _body(EventFields.__name__):
        if member := re.match(r"    (\w+): [^#]+(?:# (.+))?", line):
            assert member[2], f"events.py: {member[1]} needs a comment that explains it: the reference shows it"
            found[member[1]] = sentence(member[2])
    return found


def columns_of(kind: EventKind) -> list[str]:
    """Return the columns that events of a kind may have beside those of every event, in the order of the schema."""
    order = Event.__struct_fields__
    return sorted(kind.columns, key=order.index)


def sentence(text: str) -> str:
    """Return a comment as a sentence."""
    return _capitalized(text.rstrip(".")) + "."


def _attributes() -> Mapping[str, str]:
    """Return the meaning of the columns that every event has: they are the attributes in the docstring of Event."""
    found = re.findall(r"^ {4,8}(\w+): (.+?)$", Event.__doc__ or "", flags=re.MULTILINE)
    return {name: sentence(text) for name, text in found}


def _body(class_name: str) -> list[str]:
    source = Path(events.__file__).read_text(encoding="utf-8")
    return source.partition(f"\nclass {class_name}(")[2].partition("\n\n\n")[0].splitlines()


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]
