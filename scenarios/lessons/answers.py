"""Answers as text: from the run, as choices, and as a reader types them."""

import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from kcsim.eventlog.events import Event
from kcsim.vocabulary import NO_LEADER

NO_HOLDER = "nobody"
YES, NO = "yes", "no"
THEN = " → "
"""The separator between consecutive items."""
LETTERS = string.ascii_lowercase


class AnswerKind(StrEnum):
    """The kind of an answer, which determines what may be typed for it."""

    BROKER = "broker"
    BROKERS = "brokers"  # a set: [1, 3]
    REPLICAS = "replicas"  # in order: [3, 1]
    NUMBER = "number"
    YES_NO = "yes or no"
    SECONDS = "seconds"
    ORDER = "order"  # names with arrows between
    WORD = "word"


@dataclass(frozen=True, slots=True)
class LessonAnswer:
    """An answer that a run gives.

    Attributes:
        text: the answer as it is shown; two answers are equal if their texts are.
        evidence: the event that the answer is based on; None if there is none, as for something that never happened.
    """

    kind: AnswerKind
    text: str
    evidence: Event | None = None


def broker(holder: int | None, evidence: Event | None = None) -> LessonAnswer:
    """Return the answer that names a broker, or nobody."""
    return LessonAnswer(AnswerKind.BROKER, NO_HOLDER if holder in (None, NO_LEADER) else f"broker-{holder}", evidence)


def brokers(ids: Iterable[int], evidence: Event | None = None) -> LessonAnswer:
    """Return the answer that is a set of brokers."""
    return LessonAnswer(AnswerKind.BROKERS, str(sorted(map(int, ids))), evidence)


def replicas(ids: Iterable[int], evidence: Event | None = None) -> LessonAnswer:
    """Return the answer that is a list of brokers, in this order."""
    return LessonAnswer(AnswerKind.REPLICAS, str(list(map(int, ids))), evidence)


def number(value: int | None, evidence: Event | None = None) -> LessonAnswer:
    """Return the answer that is a number, such as a count or an epoch."""
    return LessonAnswer(AnswerKind.NUMBER, "none" if value is None else str(value), evidence)


def yes_or_no(value: bool, evidence: Event | None = None) -> LessonAnswer:
    return LessonAnswer(AnswerKind.YES_NO, YES if value else NO, evidence)


def seconds(milliseconds: int, evidence: Event | None = None) -> LessonAnswer:
    """Return the answer that is a duration, in whole seconds."""
    return LessonAnswer(AnswerKind.SECONDS, f"{round(milliseconds / 1000)} s", evidence)


def in_order(labels: Iterable[str]) -> str:
    """Return labels in order, as the text of an answer."""
    return THEN.join(labels)


def word(text: str, evidence: Event | None = None) -> LessonAnswer:
    return LessonAnswer(AnswerKind.WORD, text, evidence)


# --- what a reader types ---------------------------------------------------------------------------------------------------


def parse_answer(typed: str, kind: AnswerKind, choices: Sequence[str]) -> str | None:
    """Return the answer that a typed text denotes: a choice by its letter, or the answer itself; None if neither.

    `2` is broker-2, epoch 2 or 2 s; `1,2` is [1, 2]. The answer need not be among the choices.
    """
    text = " ".join(typed.split()).casefold().rstrip(").")
    if len(text) == 1 and text in LETTERS[: len(choices)]:
        return choices[LETTERS.index(text)]
    for choice in choices:
        if text == choice.casefold():
            return choice
    return _READERS[kind](text, choices)


def _broker(text: str, choices: Sequence[str]) -> str | None:
    if text in (NO_HOLDER, "none", "no one", "noone", "-1"):
        return NO_HOLDER
    found = re.fullmatch(r"(?:broker|b)?[ -]?([0-9]+)", text)
    return f"broker-{int(found[1])}" if found else None


def _ids(text: str) -> list[int] | None:
    if text in ("none", NO_HOLDER, "empty", "[]", "{}"):
        return []
    if not re.fullmatch(r"[\[{(]?(?:(?:broker-)?[0-9]+[ ,;]*)+[\]})]?", text):
        return None
    return [int(found) for found in re.findall(r"[0-9]+", text)]


def _brokers(text: str, choices: Sequence[str]) -> str | None:
    ids = _ids(text)
    return None if ids is None else str(sorted(set(ids)))


def _replicas(text: str, choices: Sequence[str]) -> str | None:
    ids = _ids(text)
    return None if ids is None else str(ids)


def _number(text: str, choices: Sequence[str]) -> str | None:
    found = re.fullmatch(r"\+?([0-9]+)", text)
    return str(int(found[1])) if found else None


def _yes_no(text: str, choices: Sequence[str]) -> str | None:
    return {"y": YES, "yes": YES, "true": YES, "n": NO, "no": NO, "false": NO}.get(text)


def _seconds(text: str, choices: Sequence[str]) -> str | None:
    found = re.fullmatch(r"([0-9]+) ?(?:s|sec|second|seconds)?", text)
    return f"{int(found[1])} s" if found else None


def _order(text: str, choices: Sequence[str]) -> str | None:
    wanted = [part.strip() for part in re.split(r"[,;>→]", text)]
    return next((c for c in choices if [part.casefold() for part in c.split(THEN)] == wanted), None)


def _word(text: str, choices: Sequence[str]) -> str | None:
    found = [choice for choice in choices if choice.casefold().startswith(text)] if text else []
    return found[0] if len(found) == 1 else None


_READERS: Mapping[AnswerKind, Callable[[str, Sequence[str]], str | None]] = {
    AnswerKind.BROKER: _broker,
    AnswerKind.BROKERS: _brokers,
    AnswerKind.REPLICAS: _replicas,
    AnswerKind.NUMBER: _number,
    AnswerKind.YES_NO: _yes_no,
    AnswerKind.SECONDS: _seconds,
    AnswerKind.ORDER: _order,
    AnswerKind.WORD: _word,
}
