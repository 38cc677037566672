"""An answer, as text: what the run says, what can be chosen, what a reader has typed."""

import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from kcsim.zk.events import Event
from kcsim.zk.vocabulary import NO_LEADER

NOBODY = "nobody"
YES, NO = "yes", "no"
THEN = " → "
"""Between what comes one after the other."""
LETTERS = string.ascii_lowercase


class AnswerKind(StrEnum):
    """What an answer is; so what may be typed for it."""

    BROKER = "broker"
    BROKERS = "brokers"  # a set: [1, 3]
    REPLICAS = "replicas"  # in order: [3, 1]
    NUMBER = "number"
    YES_NO = "yes or no"
    SECONDS = "seconds"
    ORDER = "order"  # names with arrows between
    WORD = "word"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a run says.

    Attributes:
        text: as it is shown; two answers are the same if their texts are.
        evidence: the event that made it so; None if there is none, as of what never happened.
    """

    kind: AnswerKind
    text: str
    evidence: Event | None = None


def broker(holder: int | None, evidence: Event | None = None) -> Answer:
    """Who it is, or nobody."""
    return Answer(AnswerKind.BROKER, NOBODY if holder in (None, NO_LEADER) else f"broker-{holder}", evidence)


def brokers(ids: Iterable[int], evidence: Event | None = None) -> Answer:
    """Which ones, in no order."""
    return Answer(AnswerKind.BROKERS, str(sorted(map(int, ids))), evidence)


def replicas(ids: Iterable[int], evidence: Event | None = None) -> Answer:
    """Which ones, in this order."""
    return Answer(AnswerKind.REPLICAS, str(list(map(int, ids))), evidence)


def number(value: int | None, evidence: Event | None = None) -> Answer:
    """How many, or which epoch."""
    return Answer(AnswerKind.NUMBER, "none" if value is None else str(value), evidence)


def yes_or_no(value: bool, evidence: Event | None = None) -> Answer:
    return Answer(AnswerKind.YES_NO, YES if value else NO, evidence)


def seconds(milliseconds: int, evidence: Event | None = None) -> Answer:
    """How long, in whole seconds."""
    return Answer(AnswerKind.SECONDS, f"{round(milliseconds / 1000)} s", evidence)


def in_order(labels: Iterable[str]) -> str:
    """Names one after the other, as an answer has them."""
    return THEN.join(labels)


def word(text: str, evidence: Event | None = None) -> Answer:
    return Answer(AnswerKind.WORD, text, evidence)


# --- what a reader types ---------------------------------------------------------------------------------------------------


def understood(typed: str, kind: AnswerKind, choices: Sequence[str]) -> str | None:
    """The answer that is meant: a choice by its letter, or the answer itself as people write it; None if neither.

    `2` is broker-2, epoch 2 or 2 s; `1,2` is [1, 2]. It need not be among the choices.
    """
    text = " ".join(typed.split()).casefold().rstrip(").")
    if len(text) == 1 and text in LETTERS[: len(choices)]:
        return choices[LETTERS.index(text)]
    for choice in choices:
        if text == choice.casefold():
            return choice
    return _READERS[kind](text, choices)


def _broker(text: str, choices: Sequence[str]) -> str | None:
    if text in (NOBODY, "none", "no one", "noone", "-1"):
        return NOBODY
    found = re.fullmatch(r"(?:broker|b)?[ -]?([0-9]+)", text)
    return f"broker-{int(found[1])}" if found else None


def _ids(text: str) -> list[int] | None:
    if text in ("none", NOBODY, "empty", "[]", "{}"):
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
