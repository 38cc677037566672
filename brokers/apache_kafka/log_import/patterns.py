"""Tables of patterns: the known messages, and how each is turned into a Message.

A message is looked up by its first word, then by the text that it starts with, so that most lines need no regular
expression. A pattern without a regular expression stands for a known message without history.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

from kcsim.brokers.apache_kafka.log_import.messages import BrokerNamed, Message, NoMessage
from kcsim.vocabulary import BrokerId, ControllerEpoch

Found = re.Match[str]
UNKNOWN_BROKER = BrokerId(-1)
NO_EPOCH = ControllerEpoch(-1)


class Speaker(NamedTuple):
    """The broker that prints a message, from the prefix in brackets, and its controller epoch if the prefix has one.

    `continuation` is the exception that follows the message, if any.
    """

    broker: BrokerId
    epoch: ControllerEpoch
    continuation: str = ""


class MessagePattern(NamedTuple):
    """Messages that start with `begins` and continue as `regex` requires, or in any way if `regex` is None.

    `reads` makes the message; None: the text contains no history.
    """

    begins: str
    regex: "re.Pattern[str] | None" = None
    reads: Callable[[Found, Speaker], Message] | None = None


Table = dict[str, tuple[MessagePattern, ...]]


def reads(begins: str, rest: str, make: Callable[[Found, Speaker], Message]) -> MessagePattern:
    """Return the pattern of messages that start with this text and match this regular expression from there to their end."""
    return MessagePattern(begins, re.compile(f"{re.escape(begins)}(?:{rest})", re.DOTALL), make)


def knows(begins: str, rest: str = "") -> MessagePattern:
    """Return a pattern without history that also needs the rest of the text: a message with history starts the same."""
    return MessagePattern(begins, re.compile(f"{re.escape(begins)}(?:{rest})", re.DOTALL))


def without_history(*begins: str) -> tuple[MessagePattern, ...]:
    """Return patterns of messages without history that are recognized by how they start."""
    return tuple(MessagePattern(text) for text in begins)


def table(patterns: Iterable[MessagePattern]) -> Table:
    """Group patterns by their first word, those with a regular expression before those without."""
    found: dict[str, list[MessagePattern]] = {}
    for pattern in patterns:
        found.setdefault(first_word(pattern.begins), []).append(pattern)
    return {word: tuple(sorted(of_word, key=lambda pattern: pattern.regex is None)) for word, of_word in found.items()}


def first_word(text: str) -> str:
    return text.partition(" ")[0]


@lru_cache(1_000)
def named(broker: BrokerId) -> BrokerNamed:
    """Return the message of a line that only shows which broker wrote it."""
    return BrokerNamed(broker)


def look_up(patterns: Table, text: str, speaker: Speaker) -> Message | NoMessage:
    """Return what a message says. Text that starts like a known message but does not continue like one is unknown."""
    for begins, regex, read in patterns.get(first_word(text), ()):
        if not text.startswith(begins):
            continue
        if regex is None:
            return NoMessage.NO_HISTORY
        if (found := regex.fullmatch(text)) is not None:
            if read is None:
                return NoMessage.NO_HISTORY
            try:
                return read(found, speaker)
            except ValueError:
                return NoMessage.UNKNOWN
    return NoMessage.UNKNOWN
