"""The terms that a lesson can look up in its run: `leader of orders-0`, `controller-epoch`, `session of broker-2`.

The same terms are used in a narration, in braces, and as answers of questions. They are a small closed vocabulary, so that
a mistyped term is found before anything runs.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated

from pydantic import PlainSerializer, PlainValidator, ValidationInfo, WithJsonSchema

from kcsim.scenarios.language.value_types import check_broker, check_partition, known_names, validation_error
from kcsim.text import comma_separated, did_you_mean

OF = " of "
IN = " in "
WAS = "was "
ANSWER = "answer"
BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")


class TermSubject(StrEnum):
    """The kinds of subjects that a term can have."""

    NOTHING = "nothing"
    PARTITION = "a partition"
    BROKER = "a broker"
    CONSUMED = "a partition, or a partition in a group"
    CONSUMER = "a consumer"
    GROUP = "a consumer group"
    PATH = "the path of a znode"


SUBJECT_OF: Mapping[str, TermSubject] = MappingProxyType(
    {
        "controller": TermSubject.NOTHING,
        "controller-epoch": TermSubject.NOTHING,
        "registered": TermSubject.NOTHING,
        "offline-partitions": TermSubject.NOTHING,
        "under-replicated": TermSubject.NOTHING,
        "time": TermSubject.NOTHING,
        "leader": TermSubject.PARTITION,
        "leader-epoch": TermSubject.PARTITION,
        "isr": TermSubject.PARTITION,
        "stored-isr": TermSubject.PARTITION,
        "replicas": TermSubject.PARTITION,
        "preferred": TermSubject.PARTITION,
        "owner": TermSubject.CONSUMED,
        "session": TermSubject.BROKER,
        "process": TermSubject.BROKER,
        "broker-epoch": TermSubject.BROKER,
        "name": TermSubject.BROKER,
        "owned": TermSubject.CONSUMER,
        "generation": TermSubject.GROUP,
        "group-state": TermSubject.GROUP,
        "existence": TermSubject.PATH,
        "data": TermSubject.PATH,
        "version": TermSubject.PATH,
        "children": TermSubject.PATH,
    }
)
"""Word -> the kind of its subject. lookup.py defines the meaning of each word."""


@dataclass(frozen=True, slots=True)
class LookupTerm:
    """A word and its subject, which is empty if the word has none."""

    word: str
    subject: str = ""

    def __str__(self) -> str:
        return f"{self.word}{OF}{self.subject}" if self.subject else self.word


def parse_lookup_term(value: object, info: ValidationInfo) -> LookupTerm:
    """Read a term and check it against the names of the scenario. Raises: PydanticCustomError."""
    if not isinstance(value, str):
        raise validation_error(f"{value!r} is no phrase; write one as leader of orders-0")
    word, _, subject = (part.strip() for part in " ".join(value.split()).partition(OF))
    wanted = SUBJECT_OF.get(word)
    if wanted is None:
        raise validation_error(
            f"unknown phrase {value!r}{did_you_mean(word, SUBJECT_OF) or f'; there are {comma_separated(SUBJECT_OF)}'}"
        )
    if wanted is TermSubject.NOTHING:
        if subject:
            raise validation_error(f"{value!r}: {word} has no argument; write {word}")
        return LookupTerm(word)
    if not subject:
        raise validation_error(f"{value!r}: {word} of what? It is of {wanted.value}")
    _CHECKS[wanted](subject, info)
    return LookupTerm(word, subject)


def _check_consumer(value: str, info: ValidationInfo) -> None:
    _check_among("consumer", value, known_names(info).consumers)


def _check_group(value: str, info: ValidationInfo) -> None:
    _check_among("consumer group", value, known_names(info).groups)


def _check_among(what: str, value: str, known: tuple[str, ...] | None) -> None:
    if known is not None and value not in known:
        hint = did_you_mean(value, known) or f"; there are {comma_separated(known) or 'none'}"
        raise validation_error(f"unknown {what} {value!r}{hint}")


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
        raise validation_error(f"{value!r} is no path of a znode; write one as /controller")


_CHECKS: Mapping[TermSubject, Callable[[str, ValidationInfo], None]] = {
    TermSubject.PARTITION: _check_partition,
    TermSubject.CONSUMED: _check_consumed,
    TermSubject.BROKER: _check_broker,
    TermSubject.CONSUMER: _check_consumer,
    TermSubject.GROUP: _check_group,
    TermSubject.PATH: _check_path,
}


# --- in a narration --------------------------------------------------------------------------------------------------------


def fill_in(text: str, resolve: Callable[[str], str]) -> str:
    """Return a narration whose terms in braces are replaced by their values; {{ and }} stand for braces in the text."""

    def replacement(found: re.Match[str]) -> str:
        return found[0][0] if found[1] is None else resolve(" ".join(found[1].split()))

    return BRACES.sub(replacement, text)


def _check_braces(value: object, info: ValidationInfo, may_say_answer: bool) -> str:
    if not isinstance(value, str) or not value.strip():
        raise validation_error(f"{value!r} is no text")
    for found in BRACES.finditer(value):
        term = " ".join((found[1] or "").split())  # a term may span two lines
        if found[1] is None:
            continue
        if term == ANSWER and may_say_answer:
            continue
        if term == ANSWER:
            raise validation_error("{answer} is for because: here it would give the answer away")
        parse_lookup_term(term.removeprefix(WAS), info)
    return value.strip()


def _narration(value: object, info: ValidationInfo) -> str:
    return _check_braces(value, info, may_say_answer=False)


def _reason(value: object, info: ValidationInfo) -> str:
    return _check_braces(value, info, may_say_answer=True)


LookupTermText = Annotated[
    LookupTerm,
    PlainValidator(parse_lookup_term),
    PlainSerializer(str),
    WithJsonSchema({"type": "string", "pattern": "^[a-z-]+( of .+)?$"}),
]
"""A single term."""

_TEXT = WithJsonSchema({"type": "string", "minLength": 1})

NarrationText = Annotated[str, PlainValidator(_narration), _TEXT]
"""A text with terms in braces: {leader of orders-0}."""

ReasonText = Annotated[str, PlainValidator(_reason), _TEXT]
"""A text shown after a question: {answer} is the right answer, {was isr of orders-0} a value as of when it was asked."""
