"""The points of a run that pages of a lesson are bound to."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Discriminator, PlainSerializer, PlainValidator, Tag, WithJsonSchema

from kcsim.scenarios.language.event_pattern import EventPattern, Pattern
from kcsim.scenarios.language.words import duration_text, parse_duration, wrong

START: Literal["start"] = "start"
END: Literal["end"] = "end"
LATER = r"^\S+ later$"


@dataclass(frozen=True, slots=True)
class Later:
    """So many milliseconds after the point before: the last event of that time."""

    after_ms: int

    def __str__(self) -> str:
        return f"{duration_text(self.after_ms)} later"


def _word(value: object) -> Literal["start", "end"] | Later:
    match value:
        case "start":
            return START
        case "end":
            return END
        case str() if re.fullmatch(LATER, value):
            return Later(parse_duration(value.removesuffix(" later")))
        case Later():
            return value
    raise wrong(f"{value!r} is no point of a run; write start, end, an event as {{kind: ElectionWon}}, or 500ms later")


Word = Annotated[
    Any,
    PlainValidator(_word),
    PlainSerializer(str),
    WithJsonSchema({"type": "string", "pattern": rf"^(start|end)$|{LATER}"}),
]

Moment = Annotated[
    Annotated[Word, Tag("<word>")] | Annotated[Pattern, Tag("<event>")],
    Discriminator(lambda value: "<event>" if isinstance(value, Mapping | EventPattern) else "<word>"),
]
"""`start`, `end`, the first such event after the point before, or so much time after it (`500ms later`)."""

AnyMoment = Literal["start", "end"] | Later | EventPattern
