"""docs/reference/event-log.md: the columns of the event log, and the kinds of event with the columns that each has."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec.structs import fields as struct_fields

from kcsim.eventlog import events
from kcsim.eventlog.event_log import arrow_schema
from kcsim.eventlog.events import EVENT_SCHEMA_VERSION, Event, EventFields, EventKind
from tests.documents.markdown import bullets, code, fenced, link, paragraph, table
from tests.documents.markdown import page as page_of

INTRODUCTION = """Everything that happens in a run is one row of the event log. `--trace FILE` keeps it: as JSON lines, or
as Parquet if
the name ends in `.parquet`. Both have the same columns. The page describes version {version} of the schema, which the
first event
of a log names in `schema_version`. Columns are only added, and no column changes its meaning; a trace of an older version
can be
read, a trace of a newer version is refused."""

JSON_TYPES: Mapping[str, str] = {
    "int64": "whole number",
    "string": "text",
    "bool": "true or false",
    "list<int64>": "list of whole numbers",
    "list<string>": "list of texts",
}
"""Type in Parquet -> type in JSON."""

READING = """In JSON lines an absent column is left out; in Parquet it is null. Values of `_ms` are milliseconds, `t_ms`
those since
the run began. An example in JSON lines:"""

EXAMPLE = Event(
    seq=311,
    t_ms=6_042,
    node="broker-2",
    kind=EventKind.LEADER_ELECTION,
    cause=306,
    topic="orders",
    partition=0,
    leader=3,
    leader_epoch=1,
    isr=[3, 1],
)

KINDS_NOTE = paragraph(
    "An event of a kind has the columns of every event, and some or all of those that are named beside the kind."
)

ALWAYS = ("seq", "t_ms", "node", "kind", "cause")


def page() -> str:
    sections = _sections(EventKind.__name__)
    return page_of(
        "event-log.md",
        "Event log",
        INTRODUCTION.format(version=EVENT_SCHEMA_VERSION),
        bullets(
            link(heading) for heading in ("Columns", "Kinds of event", *(section.partition(" (")[0] for section in sections))
        ),
        "## Columns",
        paragraph(READING),
        fenced(msgspec.json.encode(EXAMPLE).decode(), "json"),
        *_columns(),
        "## Kinds of event",
        KINDS_NOTE,
        *(part for section, names in sections.items() for part in _kinds(section, names)),
    )


# --- columns ---------------------------------------------------------------------------------------------------------------


def _columns() -> Iterator[str]:
    """Yield the tables of the columns: those of every event, and then those of some kinds, under the code's headings."""
    types = {field.name: str(field.type).replace("item: ", "") for field in arrow_schema()}
    assert [*types] == [field.name for field in struct_fields(Event)]
    yield "### Columns: every event"
    yield _column_table(types, _attributes(), ALWAYS)
    meanings = _comments(EventFields.__name__)
    for section, names in _sections(EventFields.__name__).items():
        yield f"### Columns: {section[:1].lower()}{section[1:]}"
        yield _column_table(types, meanings, names)


def _column_table(types: Mapping[str, str], meanings: Mapping[str, str], names: tuple[str, ...]) -> str:
    rows = ((code(name), JSON_TYPES[types[name]], code(types[name]), meanings[name]) for name in names)
    return table(("column", "in JSON", "in Parquet", "meaning"), rows)


def _attributes() -> Mapping[str, str]:
    """Return the meaning of the columns that every event has: they are the attributes in the docstring of Event."""
    found = re.findall(r"^ {4,8}(\w+): (.+?)$", Event.__doc__ or "", flags=re.MULTILINE)
    return {name: _sentence(text) for name, text in found}


# --- kinds -----------------------------------------------------------------------------------------------------------------


def _kinds(section: str, names: tuple[str, ...]) -> Iterator[str]:
    heading, _, note = section.partition(" (")
    yield f"### {heading}"
    if note:
        yield _sentence(note.replace(")", ""))
    order = [field.name for field in struct_fields(Event)]
    rows = []
    for kind in (EventKind[name] for name in names):
        columns = ", ".join(map(code, sorted(kind.columns, key=order.index)))
        rows.append((code(kind.value), kind.meaning, columns or "none"))
    yield table(("kind", "meaning", "columns it may have"), rows)


# --- the headings and comments in the code ---------------------------------------------------------------------------------


def _sections(name: str) -> Mapping[str, tuple[str, ...]]:
    """Return the members of a class of events.py, under the comments that stand above them as headings."""
    sections: dict[str, list[str]] = {}
    for line in _body(name):
        if heading := re.fullmatch(r"    # (.+)", line):
            sections[_capitalized(heading[1])] = []
        elif sections and (member := re.match(r"    (\w+)(?:: \S| = )", line)):
            sections[[*sections][-1]].append(member[1])
    return {heading: tuple(members) for heading, members in sections.items()}


def _comments(name: str) -> Mapping[str, str]:
    """Return the comment at the end of the line of each member of a class of events.py; every member has one."""
    found = {}
    for line in _body(name):
        if member := re.match(r"    (\w+): [^#]+(?:# (.+))?", line):
            assert member[2], f"events.py, {name}: {member[1]} needs a comment that explains it: docs/reference shows it"
            found[member[1]] = _sentence(member[2])
    return found


def _body(name: str) -> list[str]:
    source = Path(events.__file__).read_text(encoding="utf-8")
    return source.partition(f"\nclass {name}(")[2].partition("\n\n\n")[0].splitlines()


def _sentence(text: str) -> str:
    return _capitalized(text.rstrip(".")) + "."


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]
