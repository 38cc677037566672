"""docs/reference/event-log.md: the columns of the event log, and the kinds of event with the columns that each has."""

from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import fields as struct_fields

from kcsim.eventlog.event_log import arrow_schema
from kcsim.eventlog.event_reference import ALWAYS, column_meanings, columns_of, kinds_by_section, sentence
from kcsim.eventlog.event_reference import sections as sections_of
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


def page() -> str:
    sections = kinds_by_section()
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
        *(part for section, kinds in sections.items() for part in _kinds(section, kinds)),
    )


# --- columns ---------------------------------------------------------------------------------------------------------------


def _columns() -> Iterator[str]:
    """Yield the tables of the columns: those of every event, and then those of some kinds, under the code's headings."""
    types = {field.name: str(field.type).replace("item: ", "") for field in arrow_schema()}
    assert [*types] == [field.name for field in struct_fields(Event)]
    yield "### Columns: every event"
    meanings = column_meanings()
    yield _column_table(types, meanings, ALWAYS)
    for section, names in sections_of(EventFields.__name__).items():
        yield f"### Columns: {section[:1].lower()}{section[1:]}"
        yield _column_table(types, meanings, names)


def _column_table(types: Mapping[str, str], meanings: Mapping[str, str], names: tuple[str, ...]) -> str:
    rows = ((code(name), JSON_TYPES[types[name]], code(types[name]), meanings[name]) for name in names)
    return table(("column", "in JSON", "in Parquet", "meaning"), rows)


# --- kinds -----------------------------------------------------------------------------------------------------------------


def _kinds(section: str, kinds: tuple[EventKind, ...]) -> Iterator[str]:
    heading, _, note = section.partition(" (")
    yield f"### {heading}"
    if note:
        yield sentence(note.replace(")", ""))
    rows = []
    for kind in kinds:
        columns = ", ".join(map(code, columns_of(kind)))
        rows.append((code(kind.value), kind.meaning, columns or "none"))
    yield table(("kind", "meaning", "columns it may have"), rows)
