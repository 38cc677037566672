"""The words of a scenario file that count records: how many, of which topics or partitions."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import eq, ge, gt, le, lt
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, ValidationInfo, WithJsonSchema

from kcsim.scenarios.language.topic_words import under
from kcsim.scenarios.language.words import PARTITION, check_partition, check_topic, known_names, listed, wrong
from kcsim.zk.vocabulary import TopicPartition

COMPARISONS: Mapping[str, Callable[[int, int], bool]] = MappingProxyType({">=": ge, "<=": le, ">": gt, "<": lt})
AMOUNT = r"^(>=|<=|>|<) ?[0-9]+$"
TOPIC_OR_PARTITION = r"^[A-Za-z0-9._-]+$"


@dataclass(frozen=True, slots=True)
class Amount:
    """How many are wanted. `comparison` is one of COMPARISONS, or empty: exactly so many."""

    comparison: str
    number: int

    def holds(self, count: int) -> bool:
        is_so = COMPARISONS[self.comparison] if self.comparison else eq
        return is_so(count, self.number)

    def as_said(self) -> int | str:
        """As a file has it."""
        return str(self) if self.comparison else self.number

    def __str__(self) -> str:
        return f"{self.comparison} {self.number}".strip()


@dataclass(frozen=True, slots=True)
class RecordsOf:
    """Whose records are counted together: those of a topic, of a partition, or, if neither is named, all."""

    topic: str | None = None
    partition: TopicPartition | None = None

    def includes(self, tp: TopicPartition) -> bool:
        return self.topic in (None, tp.topic) and self.partition in (None, tp)

    def __str__(self) -> str:
        return str(self.partition or self.topic or "all")


ALL_RECORDS = RecordsOf()


@dataclass(frozen=True, slots=True)
class WantedCounts:
    """What is said of numbers of records."""

    of: tuple[tuple[RecordsOf, Amount], ...]

    def __str__(self) -> str:
        return listed(f"{whose} {amount}" if whose != ALL_RECORDS else str(amount) for whose, amount in self.of)


def amount(value: object, what: str) -> Amount:
    """Return what is said of a number: 120, or a comparison. Raises: PydanticCustomError, which says what it is no …"""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return Amount("", value)
    if isinstance(value, str) and re.fullmatch(AMOUNT, value):
        found = re.fullmatch(r"([<>]=?) ?([0-9]+)", value)
        assert found is not None
        return Amount(found[1], int(found[2]))
    raise wrong(f"{value!r} is no {what}; write 120, or a comparison in quotes, as '>= 120'")


def _records(value: object, _: ValidationInfo) -> Amount:
    return amount(value, "number of records")


def _whose(name: object, info: ValidationInfo) -> RecordsOf:
    at = name if isinstance(name, str | int) else None
    if isinstance(name, str) and re.fullmatch(PARTITION, name) and name not in (known_names(info).topics or ()):
        return RecordsOf(partition=check_partition(name, info, at))
    return RecordsOf(topic=check_topic(name, info, at))


def _wanted(value: object, info: ValidationInfo) -> WantedCounts:
    if not isinstance(value, dict):
        return WantedCounts(((ALL_RECORDS, _records(value, info)),))
    if not value:
        raise wrong("nothing is counted; write a number, or {orders: 120}, or {orders-0: 120}")
    return WantedCounts(tuple((_whose(name, info), under(name, _records, item, info)) for name, item in value.items()))


def _said(counts: WantedCounts) -> Any:
    said = {str(whose): amount.as_said() for whose, amount in counts.of}
    return said[str(ALL_RECORDS)] if counts.of[0][0] == ALL_RECORDS else said


AMOUNT_SCHEMA = {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": AMOUNT}]}

Counts = Annotated[
    WantedCounts,
    PlainValidator(_wanted),
    PlainSerializer(_said),
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
"""A number of records, in all, or of each topic or partition that is named: 120, '>= 120', {orders: 120, clicks-0: 0}."""
