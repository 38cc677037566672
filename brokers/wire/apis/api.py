"""What an API is to the wire: its versions, and what its request and its response are to the broker.

A broker sees the same requests whether they come over TCP or from a simulated client (brokers/requests.py).

Source: Kafka 2.8, ApiKeys, KafkaApis; docs/kafka/requests.md 14.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from itertools import groupby
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from kcsim.brokers.requests import ANY_LEADER_EPOCH
from kcsim.brokers.wire.frames import RequestFrame
from kcsim.controller.decisions.topic_ids import number_of, topic_id_of
from kcsim.vocabulary import LeaderEpoch, TopicPartition

V = TypeVar("V")

Values = Mapping[str, Any]
"""The fields of a message: see message_of."""


class ConnectionRefusedByApiError(Exception):
    """The request has no answer, and the broker closes the connection because of it. The message says why."""


class AnsweredRequestError(Exception):
    """A request whose answer is known without the broker. Attributes: values: the fields of the response."""

    def __init__(self, values: Values) -> None:
        super().__init__("answered without the broker")
        self.values = values


class Api(NamedTuple):
    """One API.

    Attributes:
        versions: those that are served and named in ApiVersions, as by a 2.8 broker.
        request: from a frame to the broker's request. Raises: MalformedFrameError, AnsweredRequestError.
        values: from the broker's response, and the frame of the request, to the fields of the response; None: the client
            expects no answer. Raises: ConnectionRefusedByApiError.
        of_newer_brokers: further versions that are served, each from the release on that brought it; newer brokers use them
            without looking whether they are named.
        named_from: the first version that ApiVersions names, if it is one that is not served.
    """

    versions: range
    request: Callable[[RequestFrame], Any]
    values: Callable[[Any, RequestFrame], Values | None]
    of_newer_brokers: Mapping[int, str] = MappingProxyType({})
    named_from: int | None = None

    @property
    def first_named(self) -> int:
        """The first version that ApiVersions names."""
        return self.versions[0] if self.named_from is None else self.named_from


def by_topic(partitions: Mapping[TopicPartition, V]) -> Iterator[tuple[str, list[tuple[int, V]]]]:
    """Yield each topic with its partitions, by their numbers, and what belongs to each; consecutive ones of a topic."""
    for topic, items in groupby(partitions.items(), key=lambda item: item[0].topic):
        yield topic, [(tp.partition, value) for tp, value in items]


def sorted_by_topic(partitions: Mapping[TopicPartition, V]) -> Iterator[tuple[str, list[tuple[int, V]]]]:
    """Yield the same with topics and partitions in order, and each topic once."""
    return by_topic(dict(sorted(partitions.items(), key=lambda item: item[0])))


def milliseconds(span: timedelta) -> int:
    """Return a span of time of a message in ms."""
    return round(span.total_seconds() * 1000)


def known_epoch(leader_epoch: int) -> LeaderEpoch:
    """Return the leader epoch that a client knows; negative numbers mean that it knows none."""
    return LeaderEpoch(leader_epoch) if leader_epoch >= 0 else ANY_LEADER_EPOCH


def uuid_of(topic_id: str | None) -> UUID | None:
    """Return a topic's id as a field of a message has it."""
    return None if topic_id is None else UUID(bytes=number_of(topic_id))


def topic_id_in(field: UUID | None) -> str | None:
    """Return the topic's id in a field of a message."""
    return None if field is None else topic_id_of(field.bytes)
