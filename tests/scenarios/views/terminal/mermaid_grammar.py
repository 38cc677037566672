"""A strict small grammar of the part of Mermaid's sequence diagrams that kcsim writes.

The grammar is narrower than Mermaid's own, so that Mermaid accepts every text that the grammar accepts.
"""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

NAME = r"p_[A-Za-z0-9_]+"
TEXT = r"(?:[^#;%<>&${}\\`\n]|#\d+;)+"
PARTICIPANT = re.compile(rf"    participant ({NAME}) as ({TEXT})")
MESSAGE = re.compile(rf"    ({NAME})(->>|-->>|-\)|-x)({NAME}): ({TEXT})")
NOTE = re.compile(rf"    Note over ({NAME}(?:,{NAME})?): ({TEXT})")
ENTITY = re.compile(r"#(\d+);")


class Message(NamedTuple):
    source: str
    arrow: str
    target: str
    text: str


class Note(NamedTuple):
    over: tuple[str, ...]
    text: str


@dataclass
class Diagram:
    """The content of a diagram; participants have the names that a reader sees."""

    participants: list[str] = field(default_factory=list)
    items: list[Message | Note] = field(default_factory=list)


def parse(lines: list[str]) -> Diagram:
    """Parse a diagram.

    Raises:
        AssertionError: at the first line that is not part of the grammar.
    """
    first, *rest = lines
    assert first == "sequenceDiagram"
    diagram = Diagram()
    names: dict[str, str] = {}
    for line in rest:
        if found := PARTICIPANT.fullmatch(line):
            assert not diagram.items, f"{line!r} comes too late"
            assert found[1] not in names, f"{line!r} is there twice"
            names[found[1]] = _read(found[2])
            diagram.participants.append(names[found[1]])
        elif found := MESSAGE.fullmatch(line):
            diagram.items.append(Message(names[found[1]], found[2], names[found[3]], _read(found[4])))
        elif found := NOTE.fullmatch(line):
            diagram.items.append(Note(tuple(names[name] for name in found[1].split(",")), _read(found[2])))
        else:
            raise AssertionError(f"{line!r} is no line of a sequence diagram")
    return diagram


def _read(text: str) -> str:
    """Return a text as a browser shows it."""
    return ENTITY.sub(lambda found: chr(int(found[1])), text)
