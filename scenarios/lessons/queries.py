"""The questions that a run can be asked, as they stand in a lesson: a phrase, or something about its events.

A small closed vocabulary. Each has one key by which it is told from the others; answering.py answers them.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    PlainSerializer,
    PlainValidator,
    Tag,
    WithJsonSchema,
    model_validator,
)

from kcsim.scenarios.language.event_pattern import COLUMNS, Pattern
from kcsim.scenarios.language.model import Model
from kcsim.scenarios.language.words import did_you_mean, listed, wrong
from kcsim.scenarios.lessons.phrases import Phrase, PhraseText

KEYS = ("count", "happened", "value", "first", "order", "write", "seconds", "rise")


class Count(Model):
    """How often it happened."""

    count: Pattern


class Happened(Model):
    """Whether it happened: yes or no."""

    happened: Pattern


def _column(value: object) -> str:
    column = str(value).replace("-", "_")
    if column not in COLUMNS:
        raise wrong(f"unknown column {value!r}{did_you_mean(value, [name.replace('_', '-') for name in COLUMNS])}")
    return column


Column = Annotated[
    str,
    PlainValidator(_column),
    PlainSerializer(lambda column: column.replace("_", "-")),
    WithJsonSchema({"enum": [name.replace("_", "-") for name in COLUMNS]}),
]


class Value(Model):
    """What the first such event has in a column: which node it was (`node`), which watch fired (`path`), by which `rule`."""

    value: Column
    of: Pattern


Labelled = Annotated[dict[Annotated[str, Field(min_length=1)], Pattern], Field(min_length=2)]


class First(Model):
    """Which of these happened first; the names are the choices."""

    first: Labelled


class Order(Model):
    """In which order these happened first; those that did not are left out."""

    order: Labelled


class Write(Model):
    """What became of the first such write to ZooKeeper (a ZkWrite): applied, refused or unanswered."""

    write: Pattern


class Span(Model):
    from_: Pattern
    to: Pattern


class Seconds(Model):
    """How many whole seconds, rounded, it was from one event to the first of the other kind after it."""

    seconds: Span


class Rise(Model):
    """By how much a number has risen since the question was asked."""

    rise: PhraseText

    @model_validator(mode="after")
    def _of_a_number(self) -> "Rise":
        if self.rise.word not in NUMBERS:
            raise wrong(f"{self.rise.word} is no number; there are {listed(NUMBERS)}", "rise")
        return self


NUMBERS = (
    *("controller-epoch", "leader-epoch", "broker-epoch", "generation", "version", "children"),
    *("offline-partitions", "under-replicated"),
)
"""Phrases whose values are numbers."""

Query = Phrase | Count | Happened | Value | First | Order | Write | Seconds | Rise


def _one_key(value: object) -> object:
    if isinstance(value, str | Phrase | Model):
        return value
    if not isinstance(value, Mapping):
        raise wrong(f"{value!r} asks for nothing; write a phrase, as leader of orders-0, or one of {listed(KEYS)}")
    given = [key for key in KEYS if key in value]
    if len(given) > 1:
        raise wrong(f"one thing is asked for, and not {' and '.join(given)}", given[1])
    if not given:
        key = next(iter(value), None)
        raise wrong(f"unknown query {key!r}{did_you_mean(key, KEYS) or f'; there are {listed(KEYS)}'}", str(key))
    return value


def _tag(value: object) -> str:
    if isinstance(value, Mapping):
        return f"<{next(key for key in KEYS if key in value)}>"
    return "<phrase>" if isinstance(value, str | Phrase) else f"<{type(value).__name__.lower()}>"


AnyQuery = Annotated[
    Annotated[PhraseText, Tag("<phrase>")]
    | Annotated[Count, Tag("<count>")]
    | Annotated[Happened, Tag("<happened>")]
    | Annotated[Value, Tag("<value>")]
    | Annotated[First, Tag("<first>")]
    | Annotated[Order, Tag("<order>")]
    | Annotated[Write, Tag("<write>")]
    | Annotated[Seconds, Tag("<seconds>")]
    | Annotated[Rise, Tag("<rise>")],
    Discriminator(_tag),
    BeforeValidator(_one_key),
]

Since = Literal["here", "start"]
"""From where on events count: since the question was asked, or since the run began."""
