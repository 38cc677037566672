"""The points of a run to which the pages of a lesson are bound."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Discriminator, PlainSerializer, PlainValidator, Tag, WithJsonSchema

from kcsim.scenarios.language.event_pattern import EventPattern, Pattern
from kcsim.scenarios.language.value_types import duration_text, parse_duration, validation_error

START: Literal["start"] = "start"
END: Literal["end"] = "end"
LATER = r"^\S+ later$"


@dataclass(frozen=True, slots=True)
class LaterPoint:
    """This many milliseconds after the point before: the last event of that time."""

    after_ms: int

    def __str__(self) -> str:
        return f"{duration_text(self.after_ms)} later"


def _word(value: object) -> Literal["start", "end"] | LaterPoint:
    match value:
        case "start":
            return START
        case "end":
            return END
        case str() if re.fullmatch(LATER, value):
            return LaterPoint(parse_duration(value.removesuffix(" later")))
        case LaterPoint():
            return value
    raise validation_error(
        f"{value!r} is no point of a run; write start, end, an event as {{kind: ElectionWon}}, or 500ms later"
    )


RunPointWord = Annotated[
    Any,
    PlainValidator(_word),
    PlainSerializer(str),
    WithJsonSchema({"type": "string", "pattern": rf"^(start|end)$|{LATER}"}),
]

RunPoint = Annotated[
    Annotated[RunPointWord, Tag("<word>")] | Annotated[Pattern, Tag("<event>")],
    Discriminator(lambda value: "<event>" if isinstance(value, Mapping | EventPattern) else "<word>"),
]
"""`start`, `end`, the first matching event after the point before, or a time after it (`500ms later`)."""

AnyRunPoint = Literal["start", "end"] | LaterPoint | EventPattern
