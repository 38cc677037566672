"""What a lesson can look up in its run as of a moment: `leader of orders-0`, `controller-epoch`, `session of broker-2`.

The same words stand in a narration, in braces, and are the answer to a question. They are a small closed vocabulary, so that
a mistyped one is found before anything runs.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated

from pydantic import PlainSerializer, PlainValidator, ValidationInfo, WithJsonSchema

from kcsim.scenarios.language.words import check_broker, check_partition, did_you_mean, known_names, listed, wrong

OF = " of "
IN = " in "
WAS = "was "
ANSWER = "answer"
BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")


class Subject(StrEnum):
    """What a phrase is about."""

    NOTHING = "nothing"
    PARTITION = "a partition"
    BROKER = "a broker"
    CONSUMED = "a partition, or a partition in a group"
    CONSUMER = "a consumer"
    GROUP = "a consumer group"
    PATH = "the path of a znode"


SUBJECT_OF: Mapping[str, Subject] = MappingProxyType(
    {
        "controller": Subject.NOTHING,
        "controller-epoch": Subject.NOTHING,
        "registered": Subject.NOTHING,
        "offline-partitions": Subject.NOTHING,
        "under-replicated": Subject.NOTHING,
        "time": Subject.NOTHING,
        "leader": Subject.PARTITION,
        "leader-epoch": Subject.PARTITION,
        "isr": Subject.PARTITION,
        "stored-isr": Subject.PARTITION,
        "replicas": Subject.PARTITION,
        "preferred": Subject.PARTITION,
        "owner": Subject.CONSUMED,
        "session": Subject.BROKER,
        "process": Subject.BROKER,
        "broker-epoch": Subject.BROKER,
        "name": Subject.BROKER,
        "owned": Subject.CONSUMER,
        "generation": Subject.GROUP,
        "group-state": Subject.GROUP,
        "existence": Subject.PATH,
        "data": Subject.PATH,
        "version": Subject.PATH,
        "children": Subject.PATH,
    }
)
"""The words, and what each is about. Source of what they mean: answering.py, which looks them up."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A word and its subject, which is empty where the word has none."""

    word: str
    subject: str = ""

    def __str__(self) -> str:
        return f"{self.word}{OF}{self.subject}" if self.subject else self.word


def parse_phrase(value: object, info: ValidationInfo) -> Phrase:
    """Read a phrase, checked against the names of the scenario. Raises: PydanticCustomError."""
    if not isinstance(value, str):
        raise wrong(f"{value!r} is no phrase; write one as leader of orders-0")
    word, _, subject = (part.strip() for part in " ".join(value.split()).partition(OF))
    wanted = SUBJECT_OF.get(word)
    if wanted is None:
        raise wrong(f"unknown phrase {value!r}{did_you_mean(word, SUBJECT_OF) or f'; there are {listed(SUBJECT_OF)}'}")
    if wanted is Subject.NOTHING:
        if subject:
            raise wrong(f"{value!r}: {word} is of nothing in particular; write {word}")
        return Phrase(word)
    if not subject:
        raise wrong(f"{value!r}: {word} of what? It is of {wanted.value}")
    _CHECKS[wanted](subject, info)
    return Phrase(word, subject)


def _check_consumer(value: str, info: ValidationInfo) -> None:
    _check_among("consumer", value, known_names(info).consumers)


def _check_group(value: str, info: ValidationInfo) -> None:
    _check_among("consumer group", value, known_names(info).groups)


def _check_among(what: str, value: str, known: tuple[str, ...] | None) -> None:
    if known is not None and value not in known:
        hint = did_you_mean(value, known) or f"; there are {listed(known) or 'none'}"
        raise wrong(f"unknown {what} {value!r}{hint}")


def _check_partition(value: str, info: ValidationInfo) -> None:
    check_partition(value, info)


def _check_consumed(value: str, info: ValidationInfo) -> None:
    partition, _, group = value.partition(IN)
    check_partition(partition, info)
    if group:
        _check_group(group, info)


def _check_broker(value: str, info: ValidationInfo) -> None:
    check_broker(value, info)


def _check_path(value: str, info: ValidationInfo) -> None:
    if not value.startswith("/"):
        raise wrong(f"{value!r} is no path of a znode; write one as /controller")


_CHECKS: Mapping[Subject, Callable[[str, ValidationInfo], None]] = {
    Subject.PARTITION: _check_partition,
    Subject.CONSUMED: _check_consumed,
    Subject.BROKER: _check_broker,
    Subject.CONSUMER: _check_consumer,
    Subject.GROUP: _check_group,
    Subject.PATH: _check_path,
}


# --- in a narration --------------------------------------------------------------------------------------------------------


def filled(text: str, tell: Callable[[str], str]) -> str:
    """A narration with what stands in braces replaced by what is told of it; {{ and }} are braces of the text itself."""

    def replaced(found: re.Match[str]) -> str:
        return found[0][0] if found[1] is None else tell(" ".join(found[1].split()))

    return BRACES.sub(replaced, text)


def _check_braces(value: object, info: ValidationInfo, may_say_answer: bool) -> str:
    if not isinstance(value, str) or not value.strip():
        raise wrong(f"{value!r} is no text")
    for found in BRACES.finditer(value):
        said = " ".join((found[1] or "").split())  # it may stand on two lines
        if found[1] is None:
            continue
        if said == ANSWER and may_say_answer:
            continue
        if said == ANSWER:
            raise wrong("{answer} is for because: here it would give the answer away")
        parse_phrase(said.removeprefix(WAS), info)
    return value.strip()


def _narration(value: object, info: ValidationInfo) -> str:
    return _check_braces(value, info, may_say_answer=False)


def _reason(value: object, info: ValidationInfo) -> str:
    return _check_braces(value, info, may_say_answer=True)


PhraseText = Annotated[
    Phrase,
    PlainValidator(parse_phrase),
    PlainSerializer(str),
    WithJsonSchema({"type": "string", "pattern": "^[a-z-]+( of .+)?$"}),
]
"""A phrase by itself."""

_TEXT = WithJsonSchema({"type": "string", "minLength": 1})

Narration = Annotated[str, PlainValidator(_narration), _TEXT]
"""A text with phrases in braces: {leader of orders-0}."""

Reason = Annotated[str, PlainValidator(_reason), _TEXT]
"""The same, told after a question: {answer} is the right one, {was isr of orders-0} what was so when it was asked."""
