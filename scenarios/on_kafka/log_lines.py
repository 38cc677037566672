"""What a line of a broker's own log says, as events: how the patterns of it are written and looked up.

A message is looked up by its first word, as by the importer of whole histories (imported/kafka_logs/patterns.py). That one
asks what was written to ZooKeeper; here ZooKeeper's own log tells that, and the lines are asked for everything else.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from kcsim.zk.events import EventFields, EventKind
from kcsim.zk.vocabulary import TopicPartition

By = TypeVar("By")
Found = re.Match[str]

STOP_STATE = re.compile(r"leaderEpoch=(?P<epoch>-?\d+), deletePartition=(?P<delete>true|false)")
"""In what a StopReplica request says of a partition."""

JAVA_EXCEPTION = re.compile(r"(?:[\w$]+\.)*(?:\w+\$)?(\w+)(?:: (.*))?")


class Fact(NamedTuple):
    """An event but for when, and where: the node is the broker whose log it is."""

    kind: EventKind
    fields: EventFields


@dataclass(frozen=True, slots=True)
class Pattern(Generic[By]):
    """Messages of one form. `tell` is given who remembers, what was found, and the exception that follows, if any."""

    begins: str
    regex: "re.Pattern[str]"
    tell: Callable[[By, Found, str], Iterable[Fact]]


def says(begins: str, rest: str, tell: Callable[[By, Found, str], Iterable[Fact]]) -> Pattern[By]:
    """A message that begins with this text and goes on like this regular expression, to its end."""
    return Pattern(begins, re.compile(re.escape(begins) + rest, re.DOTALL), tell)


class Lines(Generic[By]):
    """A table of patterns; a message is looked for in their order."""

    def __init__(self, *patterns: Pattern[By]) -> None:
        self._by_word: dict[str, list[Pattern[By]]] = {}
        for pattern in patterns:
            self._by_word.setdefault(pattern.begins.partition(" ")[0], []).append(pattern)

    def read(self, by: By, message: str, exception: str = "") -> list[Fact]:
        """What a message says; nothing if it is none of the table, or not as it is in any version that we know."""
        for pattern in self._by_word.get(message.partition(" ")[0], ()):
            if message.startswith(pattern.begins) and (found := pattern.regex.fullmatch(message)) is not None:
                try:
                    return list(pattern.tell(by, found, exception))
                except ValueError:
                    return []
        return []


@dataclass
class Term:
    """What a broker's log has shown so far of its time as controller; its two log files share it.

    Attributes:
        epoch: None while it is not the controller.
        imbalanced: the broker whose share of leaders it has looked at last.
        alive: the brokers that it takes for alive, those that are shutting down included.
        partitions: how many it found when it took over.
        shutting_down: the broker that it is just letting go.
        deleting: topics whose deletion it has started and not completed.
        replica_counts: of the partitions that it has told brokers of.
    """

    epoch: int | None = None
    alive: set[int] = field(default_factory=set)
    partitions: int = 0
    shutting_down: int | None = None
    imbalanced: int | None = None
    deleting: set[str] = field(default_factory=set)
    replica_counts: dict[TopicPartition, int] = field(default_factory=dict)

    def begin(self, epoch: int) -> None:
        """It is the controller now; what it knew of an earlier term is void."""
        self.epoch, self.partitions, self.shutting_down, self.imbalanced = epoch, 0, None, None
        self.alive.clear()
        self.deleting.clear()
        self.replica_counts.clear()


def exception_of(continuation: str) -> tuple[str, str]:
    """The simple name and the message of a Java exception, from its stack trace. Both empty if there is none."""
    found = JAVA_EXCEPTION.fullmatch(continuation.partition("\n")[0].strip())
    return (found[1], found[2] or "") if found else ("", "")
