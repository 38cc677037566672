"""What is followed: an event log that grows, in files or in a topic of Kafka."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from kcsim.scenarios.analysis.streaming.event_chunk import EventChunk

LogPlaces = Mapping[str, Any]
"""How far each file, or each partition of the topic, has been read. Spark keeps it as JSON."""


class LogError(Exception):
    """The log cannot be read, or is not the one that was read before. The message says why."""


class LogPart(Protocol):
    """A part of the log that one task reads. It is sent to the task."""

    def chunks(self, slots: int) -> list[EventChunk]:
        """Read the part, and divide its events among the slots."""
        ...


class FollowedLog(Protocol):
    """A log that grows."""

    @property
    def name(self) -> str:
        """Its name for people."""
        ...

    @property
    def awaited(self) -> str:
        """What must come before anything can be read, for people."""
        ...

    @property
    def unit(self) -> str:
        """What `amount` and `left` count: bytes or records."""
        ...

    def beginning(self) -> dict[str, Any]:
        """Return the places from which it is read. Raises: LogError."""
        ...

    def further(self, places: LogPlaces, most_bytes: int) -> dict[str, Any]:
        """Return how far it can be read now, at most about so many bytes more. Raises: LogError, OSError."""
        ...

    def limited(self, places: LogPlaces, target: LogPlaces) -> dict[str, Any]:
        """Return the same places, but none beyond the target."""
        ...

    def parts(self, start: LogPlaces, end: LogPlaces, batch: str, part_bytes: int) -> Sequence[LogPart]:
        """Return what lies between two places, in parts of about `part_bytes`; the same ones whenever it is called."""
        ...

    def amount(self, places: LogPlaces) -> int:
        """Return how much has been read."""
        ...

    def left(self, places: LogPlaces) -> int:
        """Return how much has been written that is not read."""
        ...
