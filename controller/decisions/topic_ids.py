"""The ids of topics (KIP-516).

Source: Kafka 2.8, Uuid.randomUuid and toString.
"""

import base64
from dataclasses import dataclass
from uuid import UUID

from kcsim.controller.decisions.placement import RandomNumbers

BYTES = 16
"""The length of an id's number."""


def new_topic_id(numbers: RandomNumbers) -> str:
    """Draw the id of a topic: a UUID of version 4, in base64 of 22 characters for URLs."""
    return topic_id_of(UUID(int=numbers.randrange(1 << 128), version=4).bytes)


def topic_id_of(number: bytes) -> str:
    """Return the id with this number of 16 bytes."""
    return base64.urlsafe_b64encode(number).decode("ascii").rstrip("=")


def number_of(topic_id: str) -> bytes:
    """Return the 16 bytes of an id. Raises: ValueError for a text that is no id."""
    number = base64.b64decode(f"{topic_id}==", altchars=b"-_", validate=True)
    if len(number) != BYTES:
        raise ValueError(f"{topic_id!r} is no topic id")
    return number


@dataclass(frozen=True, slots=True)
class TopicNumbers:
    """The random numbers of new topics: for their placement, and for their ids where topics have ids."""

    numbers: RandomNumbers
    has_ids: bool

    def randrange(self, stop: int, /) -> int:
        """Draw a number for a placement."""
        return self.numbers.randrange(stop)

    def topic_id(self) -> str | None:
        """Return the id of a new topic; None where topics have none."""
        return new_topic_id(self.numbers) if self.has_ids else None
