"""A consumer's subscription: a list of topics, or a pattern that its client matches against the topics that it knows."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from kcsim.brokers.groups.assignors.errors import BadPatternError
from kcsim.vocabulary import INTERNAL_TOPICS


@dataclass(frozen=True, slots=True)
class TopicList:
    """Topics by name, in no particular order. A topic that does not exist is ignored until it exists."""

    topics: tuple[str, ...]

    def topics_among(self, known: Iterable[str]) -> tuple[str, ...]:
        """Return the topics that the client reports as its subscription: all of them, whether or not they exist."""
        return tuple(dict.fromkeys(self.topics))


@dataclass(frozen=True, slots=True)
class TopicPattern:
    """A regular expression in Python's syntax that must match a topic's whole name. It never matches Kafka's own topics.

    The group's coordinator and leader never see the pattern: each client matches it, and rejoins when the set of matched
    topics has changed.

    Raises: BadPatternError.

    Source: Kafka 2.8, KafkaConsumer.subscribe(Pattern) with exclude.internal.topics at its default.
    """

    pattern: str

    def __post_init__(self) -> None:
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise BadPatternError(self.pattern, error.msg, error.pos) from None
        except (OverflowError, RecursionError):
            raise BadPatternError(self.pattern, "it is too large", None) from None

    def topics_among(self, known: Iterable[str]) -> tuple[str, ...]:
        """Return the known topics that the pattern matches, sorted."""
        matches = re.compile(self.pattern).fullmatch
        return tuple(sorted(topic for topic in known if topic not in INTERNAL_TOPICS and matches(topic)))


Subscription = TopicList | TopicPattern
