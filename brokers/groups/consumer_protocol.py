"""The bytes in which consumers exchange subscriptions and assignments through their coordinator.

Simulated consumers have values instead; these functions translate where the two meet. A subscription of the sticky assignor
has what its member owned in its user data, all others have it in the field for owned partitions.

Source: Kafka 2.8, ConsumerProtocol version 1, StickyAssignor (its user data, version 1).
"""

import struct
from collections.abc import Iterable
from itertools import groupby

from kcsim.brokers.groups.assignors.assignors import AssignmentStrategy
from kcsim.brokers.groups.requests import AssignmentData, Subscription, SubscriptionData
from kcsim.vocabulary import TopicPartition

VERSION = 1
NULL = -1
INT16, INT32 = struct.Struct(">h"), struct.Struct(">i")
Partitions = tuple[TopicPartition, ...]


class ConsumerProtocolError(Exception):
    """Bytes that are no subscription, or no assignment, of a consumer."""


# --- values to bytes -------------------------------------------------------------------------------------------------------


def subscription_bytes(given: SubscriptionData) -> bytes:
    """Return a subscription as a consumer sends it."""
    if isinstance(given, bytes):
        return given
    is_in_user_data = given.generation is not None
    user_data = _partitions(given.owned) + INT32.pack(given.generation) if given.generation is not None else None
    owned = () if is_in_user_data else given.owned
    return INT16.pack(VERSION) + _array(map(string_bytes, given.topics)) + nullable_bytes(user_data) + _partitions(owned)


def assignment_bytes(given: AssignmentData) -> bytes:
    """Return an assignment as the group's leader sends it."""
    if isinstance(given, bytes):
        return given
    return INT16.pack(VERSION) + _partitions(given) + nullable_bytes(None)


def _partitions(partitions: Partitions) -> bytes:
    by_topic = groupby(sorted(partitions), key=lambda tp: tp.topic)
    return _array(string_bytes(topic) + _array(INT32.pack(tp.partition) for tp in group) for topic, group in by_topic)


def _array(elements: Iterable[bytes]) -> bytes:
    encoded = list(elements)
    return INT32.pack(len(encoded)) + b"".join(encoded)


def string_bytes(text: str | None) -> bytes:
    """Return a string of Kafka's protocol, which may be null."""
    if text is None:
        return INT16.pack(NULL)
    encoded = text.encode()
    return INT16.pack(len(encoded)) + encoded


def nullable_bytes(content: bytes | None) -> bytes:
    """Return bytes of Kafka's protocol, with their length; they may be null."""
    return INT32.pack(NULL) if content is None else INT32.pack(len(content)) + content


# --- bytes to values -------------------------------------------------------------------------------------------------------


def subscription_of(given: SubscriptionData, protocol: str | None = None) -> Subscription:
    """Return a subscription that was sent for this assignor. Raises: ConsumerProtocolError."""
    if isinstance(given, Subscription):
        return given
    reader = ByteReader(given)
    version = reader.version()
    topics = tuple(sorted(reader.strings()))
    user_data = reader.nullable_bytes()
    owned = reader.partitions() if version >= 1 else ()
    if protocol == AssignmentStrategy.STICKY.value and user_data:
        sticky = ByteReader(user_data)
        return Subscription(topics, sticky.partitions(), sticky.number(INT32) if sticky.is_more else None)
    return Subscription(topics, owned)


def assignment_of(given: AssignmentData) -> Partitions:
    """Return the partitions of an assignment; none if there are no bytes at all. Raises: ConsumerProtocolError."""
    if not isinstance(given, bytes):
        return given
    if not given:
        return ()
    reader = ByteReader(given)
    reader.version()
    return reader.partitions()


class ByteReader:
    """Reads values one after the other. Each method raises ConsumerProtocolError."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    @property
    def is_more(self) -> bool:
        return self._at < len(self._content)

    def version(self) -> int:
        """Read the version. Later versions add to the end, which is not read."""
        version = self.number(INT16)
        if version < 0:
            raise ConsumerProtocolError(f"version {version}")
        return version

    def number(self, of: struct.Struct) -> int:
        (number,) = of.unpack(self._take(of.size))
        return int(number)

    def strings(self) -> list[str]:
        return [self.string_bytes() for _ in range(self._length())]

    def partitions(self) -> Partitions:
        found: list[TopicPartition] = []
        for _ in range(self._length()):
            topic = self.string_bytes()
            found += (TopicPartition(topic, self.number(INT32)) for _ in range(self._length()))
        return tuple(sorted(found))

    def nullable_bytes(self) -> bytes | None:
        length = self.number(INT32)
        return None if length == NULL else self._take(length)

    def nullable_string(self) -> str | None:
        length = self.number(INT16)
        return None if length == NULL else self._text(length)

    def string_bytes(self) -> str:
        return self._text(self.number(INT16))

    def _text(self, length: int) -> str:
        try:
            return self._take(length).decode()
        except UnicodeDecodeError as error:
            raise ConsumerProtocolError(f"text that is no UTF-8: {error.reason}") from error

    def _length(self) -> int:
        length = self.number(INT32)
        if length > len(self._content) - self._at:
            raise ConsumerProtocolError(f"{length} elements in the {len(self._content) - self._at} bytes that are left")
        return length

    def _take(self, count: int) -> bytes:
        end = self._at + count
        if count < 0 or end > len(self._content):
            raise ConsumerProtocolError(f"{count} bytes, {len(self._content) - self._at} are left")
        taken, self._at = self._content[self._at : end], end
        return taken
