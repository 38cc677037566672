"""The queries that a lesson's question can make to a run: a term, or a query about events.

They are a small closed vocabulary. Each has one key that distinguishes it from the others; answering.py answers them.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
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
from kcsim.scenarios.language.value_types import validation_error
from kcsim.scenarios.lessons.lookup_terms import LookupTerm, LookupTermText
from kcsim.text import comma_separated, did_you_mean

KEYS = ("count", "happened", "value", "first", "order", "write", "seconds", "rise")


class CountQuery(Model):
    """How often it happened."""

    count: Pattern


class HappenedQuery(Model):
    """Whether it happened: yes or no."""

    happened: Pattern


def _column(value: object) -> str:
    column = str(value).replace("-", "_")
    if column not in COLUMNS:
        raise validation_error(
            f"unknown column {value!r}{did_you_mean(value, [name.replace('_', '-') for name in COLUMNS])}"
        )
    return column


Column = Annotated[
    str,
    PlainValidator(_column),
    PlainSerializer(lambda column: column.replace("_", "-")),
    WithJsonSchema({"enum": [name.replace("_", "-") for name in COLUMNS]}),
]


class ValueQuery(Model):
    """What the first such event has in a column: which node it was (`node`), which watch fired (`path`), by which `rule`."""

    value: Column
    of: Pattern


LabelledPatterns = Annotated[dict[Annotated[str, Field(min_length=1)], Pattern], Field(min_length=2)]


class FirstQuery(Model):
    """Which of these happened first; the names are the choices."""

    first: LabelledPatterns


class OrderQuery(Model):
    """In which order these happened first; those that did not are left out."""

    order: LabelledPatterns


class WriteQuery(Model):
    """What became of the first such write to ZooKeeper (a ZkWrite): applied, refused or unanswered."""

    write: Pattern


class EventSpan(Model):
    from_: Pattern
    to: Pattern


class SecondsQuery(Model):
    """How many whole seconds, rounded, it was from one event to the first of the other kind after it."""

    seconds: EventSpan


class RiseQuery(Model):
    """By how much a number has risen since the question was asked."""

    rise: LookupTermText

    @model_validator(mode="after")
    def _of_a_number(self) -> "RiseQuery":
        if self.rise.word not in NUMBERS:
            raise validation_error(f"{self.rise.word} is no number; there are {comma_separated(NUMBERS)}", "rise")
        return self


NUMBERS = (
    *("controller-epoch", "leader-epoch", "broker-epoch", "generation", "version", "children"),
    *("offline-partitions", "under-replicated"),
)
"""Terms whose values are numbers."""

Query = (
    LookupTerm | CountQuery | HappenedQuery | ValueQuery | FirstQuery | OrderQuery | WriteQuery | SecondsQuery | RiseQuery
)


def _one_key(value: object) -> object:
    if isinstance(value, str | LookupTerm | Model):
        return value
    if not isinstance(value, Mapping):
        raise validation_error(
            f"{value!r} is no query; write a phrase, as leader of orders-0, or one of {comma_separated(KEYS)}"
        )
    given = [key for key in KEYS if key in value]
    if len(given) > 1:
        raise validation_error(f"one thing is asked for, and not {' and '.join(given)}", given[1])
    if not given:
        key = next(iter(value), None)
        raise validation_error(
            f"unknown query {key!r}{did_you_mean(key, KEYS) or f'; there are {comma_separated(KEYS)}'}", str(key)
        )
    return value


def _tag(value: object) -> str:
    if isinstance(value, Mapping):
        return f"<{next(key for key in KEYS if key in value)}>"
    if isinstance(value, str | LookupTerm):
        return "<phrase>"
    assert isinstance(value, BaseModel)
    return f"<{next(iter(type(value).model_fields))}>"  # its first field is the key that names the query


AnyQuery = Annotated[
    Annotated[LookupTermText, Tag("<phrase>")]
    | Annotated[CountQuery, Tag("<count>")]
    | Annotated[HappenedQuery, Tag("<happened>")]
    | Annotated[ValueQuery, Tag("<value>")]
    | Annotated[FirstQuery, Tag("<first>")]
    | Annotated[OrderQuery, Tag("<order>")]
    | Annotated[WriteQuery, Tag("<write>")]
    | Annotated[SecondsQuery, Tag("<seconds>")]
    | Annotated[RiseQuery, Tag("<rise>")],
    Discriminator(_tag),
    BeforeValidator(_one_key),
]

Since = Literal["here", "start"]
"""The first event that counts: the one at which the question is asked, or the first of the run."""
