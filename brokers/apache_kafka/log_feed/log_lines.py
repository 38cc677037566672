"""Patterns that turn a line of a broker's log into events: how they are written and looked up.

A message is looked up by its first word, as in the importer of whole histories (log_import/patterns.py). That importer
extracts what was written to ZooKeeper; here ZooKeeper's own log supplies that, and the lines supply everything else.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from kcsim.eventlog.events import EventFields, EventKind
from kcsim.vocabulary import TopicPartition

By = TypeVar("By")
Found = re.Match[str]

STOP_STATE = re.compile(r"leaderEpoch=(?P<epoch>-?\d+), deletePartition=(?P<delete>true|false)")
"""The part of a StopReplica request's text that describes one partition."""

JAVA_EXCEPTION = re.compile(r"(?:[\w$]+\.)*(?:\w+\$)?(\w+)(?:: (.*))?")


class ParsedEvent(NamedTuple):
    """An event without its time and node: the node is the broker that wrote the log."""

    kind: EventKind
    fields: EventFields


@dataclass(frozen=True, slots=True)
class LinePattern(Generic[By]):
    """Messages of one form. `to_events` takes the reader that keeps state, the match, and the exception after it, if any."""

    begins: str
    regex: "re.Pattern[str]"
    to_events: Callable[[By, Found, str], Iterable[ParsedEvent]]


def says(begins: str, rest: str, to_events: Callable[[By, Found, str], Iterable[ParsedEvent]]) -> LinePattern[By]:
    """Return the pattern of messages that start with this text and match this regular expression from there to their end."""
    return LinePattern(begins, re.compile(re.escape(begins) + rest, re.DOTALL), to_events)


class PatternTable(Generic[By]):
    """A table of patterns; a message is compared with them in their order."""

    def __init__(self, *patterns: LinePattern[By]) -> None:
        self._by_word: dict[str, list[LinePattern[By]]] = {}
        for pattern in patterns:
            self._by_word.setdefault(pattern.begins.partition(" ")[0], []).append(pattern)

    def read(self, by: By, message: str, exception: str = "") -> list[ParsedEvent]:
        """Return a message's events; none if no pattern matches, or if its values are not as in any version that we know."""
        for pattern in self._by_word.get(message.partition(" ")[0], ()):
            if message.startswith(pattern.begins) and (found := pattern.regex.fullmatch(message)) is not None:
                try:
                    return list(pattern.to_events(by, found, exception))
                except ValueError:
                    return []
        return []


@dataclass
class ControllerTerm:
    """What a broker's log has shown so far of its term as controller; the readers of both log files share it.

    Attributes:
        epoch: None while the broker is not the controller.
        imbalanced: the broker whose leader imbalance the controller checked last.
        alive: the brokers that the controller considers alive, including those that are shutting down.
        partitions: how many the controller found when it took over.
        shutting_down: the broker whose controlled shutdown the controller is processing.
        deleting: topics whose deletion the controller has started and not completed.
        replica_counts: per partition of which the controller has sent a LeaderAndIsr request.
    """

    epoch: int | None = field(init=False, default=None)
    alive: set[int] = field(init=False, default_factory=set)
    partitions: int = field(init=False, default=0)
    shutting_down: int | None = field(init=False, default=None)
    imbalanced: int | None = field(init=False, default=None)
    deleting: set[str] = field(init=False, default_factory=set)
    replica_counts: dict[TopicPartition, int] = field(init=False, default_factory=dict)

    def begin(self, epoch: int) -> None:
        """Begin a term as controller and discard what is known of an earlier term."""
        self.epoch, self.partitions, self.shutting_down, self.imbalanced = epoch, 0, None, None
        self.alive.clear()
        self.deleting.clear()
        self.replica_counts.clear()


def exception_of(continuation: str) -> tuple[str, str]:
    """Return the simple name and the message of a Java exception, from its stack trace. Both are empty if there is none."""
    found = JAVA_EXCEPTION.fullmatch(continuation.partition("\n")[0].strip())
    return (found[1], found[2] or "") if found else ("", "")
