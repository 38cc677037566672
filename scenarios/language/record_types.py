"""Types of values in a scenario file about numbers of records: a number, and the topics or partitions it is about."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import eq, ge, gt, le, lt
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, ValidationInfo, WithJsonSchema

from kcsim.scenarios.language.topic_types import check_under_key
from kcsim.scenarios.language.value_types import PARTITION, check_partition, check_topic, known_names, validation_error
from kcsim.text import comma_separated
from kcsim.vocabulary import TopicPartition

COMPARISONS: Mapping[str, Callable[[int, int], bool]] = MappingProxyType({">=": ge, "<=": le, ">": gt, "<": lt})
AMOUNT = r"^(>=|<=|>|<) ?[0-9]+$"
TOPIC_OR_PARTITION = r"^[A-Za-z0-9._-]+$"


@dataclass(frozen=True, slots=True)
class Amount:
    """An expected number. `comparison` is one of COMPARISONS, or empty: exactly this number."""

    comparison: str
    number: int

    def holds(self, count: int) -> bool:
        is_so = COMPARISONS[self.comparison] if self.comparison else eq
        return is_so(count, self.number)

    def as_in_file(self) -> int | str:
        """Return the amount as it is written in a file."""
        return str(self) if self.comparison else self.number

    def __str__(self) -> str:
        return f"{self.comparison} {self.number}".strip()


@dataclass(frozen=True, slots=True)
class RecordScope:
    """The records that are counted together: those of a topic, of a partition or, if neither is given, all."""

    topic: str | None = None
    partition: TopicPartition | None = None

    def includes(self, tp: TopicPartition) -> bool:
        return self.topic in (None, tp.topic) and self.partition in (None, tp)

    def __str__(self) -> str:
        return str(self.partition or self.topic or "all")


ALL_RECORDS = RecordScope()


@dataclass(frozen=True, slots=True)
class CountExpectation:
    """The expected numbers of records."""

    of: tuple[tuple[RecordScope, Amount], ...]

    def __str__(self) -> str:
        return comma_separated(f"{whose} {amount}" if whose != ALL_RECORDS else str(amount) for whose, amount in self.of)


def amount(value: object, what: str) -> Amount:
    """Return the amount that a number or comparison stands for. Raises: PydanticCustomError, whose message names `what`."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return Amount("", value)
    if isinstance(value, str) and re.fullmatch(AMOUNT, value):
        found = re.fullmatch(r"([<>]=?) ?([0-9]+)", value)
        assert found is not None
        return Amount(found[1], int(found[2]))
    raise validation_error(f"{value!r} is no {what}; write 120, or a comparison in quotes, as '>= 120'")


def _records(value: object, _: ValidationInfo) -> Amount:
    return amount(value, "number of records")


def _whose(name: object, info: ValidationInfo) -> RecordScope:
    at = name if isinstance(name, str | int) else None
    if isinstance(name, str) and re.fullmatch(PARTITION, name) and name not in (known_names(info).topics or ()):
        return RecordScope(partition=check_partition(name, info, at))
    return RecordScope(topic=check_topic(name, info, at))


def _wanted(value: object, info: ValidationInfo) -> CountExpectation:
    if not isinstance(value, dict):
        return CountExpectation(((ALL_RECORDS, _records(value, info)),))
    if not value:
        raise validation_error("no number is given; write a number, or {orders: 120}, or {orders-0: 120}")
    return CountExpectation(
        tuple((_whose(name, info), check_under_key(name, _records, item, info)) for name, item in value.items())
    )


def _as_in_file(counts: CountExpectation) -> Any:
    amounts = {str(whose): amount.as_in_file() for whose, amount in counts.of}
    return amounts[str(ALL_RECORDS)] if counts.of[0][0] == ALL_RECORDS else amounts


AMOUNT_SCHEMA = {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": AMOUNT}]}

Counts = Annotated[
    CountExpectation,
    PlainValidator(_wanted),
    PlainSerializer(_as_in_file),
    WithJsonSchema(
        {
            "anyOf": [
                *AMOUNT_SCHEMA["anyOf"],
                {
                    "type": "object",
                    "patternProperties": {TOPIC_OR_PARTITION: AMOUNT_SCHEMA},
                    "additionalProperties": False,
                    "minProperties": 1,
                },
            ]
        }
    ),
]
"""A number of records, in total or for each given topic or partition: 120, '>= 120', {orders: 120, clicks-0: 0}."""
