"""Patterns of Kafka's messages, and tables of those patterns that a reader of log lines wants.

There is one list of patterns for each log file. Each reader makes tables of its own of them, with the types of the messages
that it uses; so no line is parsed further than its reader needs. A message is looked up by its first word, then by the text
that it starts with, so that most lines need no regular expression.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

from kcsim.brokers.apache_kafka.log_lines.log_value_parsers import (
    assignment_in,
    assignments_in,
    broker_epochs_in,
    broker_set_in,
    ids_in,
    leader_and_isr_in,
    names_in,
    partition_in,
    partitions_in,
)
from kcsim.brokers.apache_kafka.log_lines.messages import Message, NoMessage
from kcsim.vocabulary import BrokerId, ControllerEpoch

M = TypeVar("M", bound=Message)
Found = re.Match[str]
UNKNOWN_BROKER = BrokerId(-1)
NO_EPOCH = ControllerEpoch(-1)


class Speaker(NamedTuple):
    """The broker that prints a message, from the prefix in brackets, and its controller epoch if the prefix has one.

    `continuation` is the exception that follows the message, if any.
    """

    broker: BrokerId
    epoch: ControllerEpoch = NO_EPOCH
    continuation: str = ""

    @property
    def error(self) -> str:
        """The exception's first line; empty if there is no exception."""
        return self.continuation.partition("\n")[0]


MakeMessage = Callable[[Found, Speaker], Message]


class MessagePattern(NamedTuple):
    """Messages that start with `begins` and continue as `regex` requires, or in any way if `regex` is None.

    `makes` is the type of the message that `make` returns; None: a known line without a message. `is_lax`: the wording need
    not be known in full, so a reader that does not want the message does not know the line by it.
    """

    begins: str
    regex: "re.Pattern[str] | None" = None
    makes: type[Message] | None = None
    make: MakeMessage | None = None
    is_lax: bool = False


def reads(begins: str, rest: str, makes: type[Message], make: MakeMessage | None = None) -> MessagePattern:
    """Return the pattern of messages that start with this text and match this regular expression from there to their end.

    Args:
        make: makes the message; None: each named group becomes the field of that name (see VALUES), and fields called
            controller, controller_epoch and error are filled from the speaker. A group that takes no part in the match
            leaves the field's default.
    """
    return MessagePattern(begins, _regex(begins, rest), makes, make or _filled(makes))


def reads_laxly(begins: str, rest: str, makes: type[Message], make: MakeMessage | None = None) -> MessagePattern:
    """Return the pattern of a message that is made even if a version, or damage, has changed a part of its line.

    The feed reads such messages: it follows brokers of any version, whose lines are whole. The importer does not: it takes
    nothing from a line that it does not understand in full, because files may be damaged.
    """
    return reads(begins, rest, makes, make)._replace(is_lax=True)


def knows(begins: str, rest: str = "") -> MessagePattern:
    """Return a pattern without a message that also needs the rest of the text: a message starts the same."""
    return MessagePattern(begins, _regex(begins, rest))


def knows_by_start(*begins: str) -> tuple[MessagePattern, ...]:
    """Return patterns without a message of lines that are recognized by how they start."""
    return tuple(MessagePattern(text) for text in begins)


def _regex(begins: str, rest: str) -> "re.Pattern[str]":
    return re.compile(f"{re.escape(begins)}(?:{rest})", re.DOTALL)


class PatternTable(Generic[M]):
    """The patterns that one reader uses.

    The other patterns of the list stay in the table without their message. They are recognized by how they start, and by
    their regular expression only if a wanted message starts the same.
    """

    def __init__(self, patterns: Iterable[MessagePattern], wanted: tuple[type[M], ...]) -> None:
        """Make the table.

        Args:
            wanted: types of messages; subclasses are wanted, too.
        """
        every = tuple(patterns)
        beginnings = [pattern.begins for pattern in every if pattern.makes and issubclass(pattern.makes, wanted)]
        found: dict[str, list[tuple[str, re.Pattern[str] | None, Callable[[Found, Speaker], M] | None]]] = {}
        for begins, regex, makes, make, is_lax in every:
            is_wanted = makes is not None and issubclass(makes, wanted)
            if is_lax and not is_wanted:
                continue
            needs_regex = is_wanted or any(beginning.startswith(begins) for beginning in beginnings)
            row = (begins, regex if needs_regex else None, make if is_wanted else None)
            found.setdefault(begins.partition(" ")[0], []).append(row)  # type: ignore[arg-type]  # makes is a subclass of M
        self._by_word = {word: tuple(sorted(rows, key=_rank)) for word, rows in found.items()}

    def read(self, text: str, speaker: Speaker) -> M | NoMessage:
        """Return the message of a text. Text that starts like a known message but does not continue like one is unknown."""
        for begins, regex, make in self._by_word.get(text.partition(" ")[0], ()):
            if not text.startswith(begins):
                continue
            if regex is None:
                return NoMessage.IGNORED
            if (found := regex.fullmatch(text)) is not None:
                if make is None:
                    return NoMessage.IGNORED
                try:
                    return make(found, speaker)
                except ValueError:
                    return NoMessage.UNKNOWN
        return NoMessage.UNKNOWN


def _rank(row: tuple[object, ...]) -> tuple[bool, bool]:
    """Return the sort key: wanted messages, then other patterns with a regular expression, then those without."""
    _, regex, make = row
    return regex is None, make is None


def broker_in(text: str) -> BrokerId:
    return BrokerId(int(text))


VALUES: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {
        **dict.fromkeys(("controller_epoch", "leader_epoch", "zk_version", "count", "offset", "utc_ms"), int),
        **dict.fromkeys(("broker", "receiver", "replica", "leader", "holder"), broker_in),
        **dict.fromkeys(("added", "deleted", "bounced", "alive"), ids_in),
        **dict.fromkeys(("topics", "new_topics", "deleted_topics"), names_in),
        "deletes": "true".__eq__,
        "replicas": ids_in,
        "brokers": broker_set_in,
        "receivers": broker_set_in,
        "epochs": broker_epochs_in,
        "tp": partition_in,
        "partitions": partitions_in,
        "state": leader_and_isr_in,
        "assignment": assignment_in,
        "assignments": assignments_in,
    }
)
"""Group of a regular expression -> the parser of its text; the text of any other group is taken as it is."""


def _filled(makes: type[Message]) -> MakeMessage:
    """Return the function that fills a message's fields from the groups of the same names, and from the speaker."""
    fields = makes.__struct_fields__

    def make(found: Found, by: Speaker) -> Message:
        spoken = {"controller": by.broker, "controller_epoch": by.epoch, "error": by.error}
        values: dict[str, object] = {name: value for name, value in spoken.items() if name in fields}
        for name, text in found.groupdict().items():
            if text is not None:
                values[name] = VALUES.get(name, str)(text)
        return makes(**values)

    return make
