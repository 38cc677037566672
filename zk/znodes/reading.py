"""What all kinds of znode share: how malformed content is refused, or reported."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kcsim.zk import kafka_json
from kcsim.zk.kafka_json import JsonObject, NotJsonError, WrongJsonError, as_ints, as_object
from kcsim.zk.vocabulary import BrokerId

Report = Callable[[str, str], None]
"""Told the path and the reason when malformed content is taken for absent or empty."""


class BadZnodeError(Exception):
    """A znode holds what Kafka cannot read; whoever needed it gives up, as Kafka does there."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path, self.reason = path, reason


@contextmanager
def reading(path: str) -> Iterator[None]:
    try:
        yield
    except (WrongJsonError, NotJsonError) as error:
        raise BadZnodeError(path, str(error)) from None


def object_in(path: str, data: bytes | None) -> JsonObject:
    """The JSON object in the data. Raises: BadZnodeError, also if it is no JSON."""
    with reading(path):
        return as_object(kafka_json.parse(data))


def object_or_report(path: str, data: bytes | None, report: Report) -> JsonObject | None:
    """The JSON object in the data; None, and reported, if it is no JSON. Raises: BadZnodeError for other JSON."""
    try:
        return as_object(kafka_json.parse(data))
    except NotJsonError as error:
        report(path, str(error))
        return None
    except WrongJsonError as error:
        raise BadZnodeError(path, str(error)) from None


def timestamp_in(content: JsonObject) -> int:
    """The ms since 1970 that stand there as text; 0 if there is no such text: nothing depends on it."""
    timestamp = str(content.get("timestamp", ""))
    return int(timestamp) if timestamp.isascii() and timestamp.isdigit() and len(timestamp) < 20 else 0


def broker_ids_in(value: Any) -> tuple[BrokerId, ...]:
    """Raises: WrongJsonError."""
    return tuple(map(BrokerId, as_ints(value)))
