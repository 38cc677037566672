"""Tables of patterns: which messages there are, and what to make of each.

A message is looked up by its first word, then by the text that it begins with, so that most lines cost no regular
expression. A pattern without a regular expression is a message that is known and says nothing of history.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

from kcsim.scenarios.imported.kafka_logs.messages import BrokerNamed, Message, Silent
from kcsim.zk.vocabulary import BrokerId, ControllerEpoch

Found = re.Match[str]
NOBODY = BrokerId(-1)
NO_EPOCH = ControllerEpoch(-1)


class Speaker(NamedTuple):
    """Who prints a message, by the prefix in brackets: a broker, as a controller of this epoch if it gives one.

    `continuation` is the exception that follows the message, if any.
    """

    broker: BrokerId
    epoch: ControllerEpoch
    continuation: str = ""


class Pattern(NamedTuple):
    """Messages that begin with `begins`, and go on as `regex` has it, anyhow if that is None.

    `reads` makes a message; None: there is nothing of history in it.
    """

    begins: str
    regex: "re.Pattern[str] | None" = None
    reads: Callable[[Found, Speaker], Message] | None = None


Table = dict[str, tuple[Pattern, ...]]


def reads(begins: str, rest: str, make: Callable[[Found, Speaker], Message]) -> Pattern:
    """A message that begins with this text and goes on like this regular expression, to its end."""
    return Pattern(begins, re.compile(f"{re.escape(begins)}(?:{rest})", re.DOTALL), make)


def knows(begins: str, rest: str = "") -> Pattern:
    """A message without history of which not only the beginning is known, since another with history begins the same."""
    return Pattern(begins, re.compile(f"{re.escape(begins)}(?:{rest})", re.DOTALL))


def without_history(*begins: str) -> tuple[Pattern, ...]:
    """Messages that are known by how they begin."""
    return tuple(Pattern(text) for text in begins)


def table(patterns: Iterable[Pattern]) -> Table:
    """Order patterns by their first word, those that read before those that only know."""
    found: dict[str, list[Pattern]] = {}
    for pattern in patterns:
        found.setdefault(first_word(pattern.begins), []).append(pattern)
    return {word: tuple(sorted(of_word, key=lambda pattern: pattern.regex is None)) for word, of_word in found.items()}


def first_word(text: str) -> str:
    return text.partition(" ")[0]


@lru_cache(1_000)
def named(broker: BrokerId) -> BrokerNamed:
    """What a line says that is known to say nothing but whose it is."""
    return BrokerNamed(broker)


def look_up(patterns: Table, text: str, speaker: Speaker) -> Message | Silent:
    """What a message says. Text that begins as a known one and goes on as none is unknown."""
    for begins, regex, read in patterns.get(first_word(text), ()):
        if not text.startswith(begins):
            continue
        if regex is None:
            return Silent.NO_HISTORY
        if (found := regex.fullmatch(text)) is not None:
            if read is None:
                return Silent.NO_HISTORY
            try:
                return read(found, speaker)
            except ValueError:
                return Silent.UNKNOWN
    return Silent.UNKNOWN
