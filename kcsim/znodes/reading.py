"""Errors and reports for malformed znode content, shared by the decoders of all kinds of znode."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from kcsim.vocabulary import BrokerId, FailureReason, NoBrokerId
from kcsim.znodes import kafka_json
from kcsim.znodes.kafka_json import JsonObject, NotJsonError, WrongJsonError, as_ints, as_object

Report = Callable[[str, str], None]
"""Called with the path and the reason when malformed content is treated as absent or empty."""


class BadZnodeError(Exception):
    """A znode holds content that Kafka cannot read: the operation that needed it fails, as it does in Kafka."""

    def __init__(self, path: str, reason: str, failure: FailureReason | None = None) -> None:
        super().__init__(f"{path}: {reason}")
        self.path, self.reason, self.failure = path, reason, failure


@contextmanager
def reading(path: str) -> Iterator[None]:
    try:
        yield
    except WrongJsonError as error:
        raise BadZnodeError(path, str(error), error.failure) from None
    except NotJsonError as error:
        raise BadZnodeError(path, str(error)) from None


def object_in(path: str, data: bytes | None) -> JsonObject:
    """Return the JSON object in the data. Raises: BadZnodeError, also if the data are not JSON."""
    with reading(path):
        return as_object(kafka_json.parse(data))


def object_or_report(path: str, data: bytes | None, report: Report) -> JsonObject | None:
    """Return the JSON object in the data; data that are not JSON are reported, and the result is None.

    Raises: BadZnodeError for JSON that is not an object.
    """
    try:
        return as_object(kafka_json.parse(data))
    except NotJsonError as error:
        report(path, str(error))
        return None
    except WrongJsonError as error:
        raise BadZnodeError(path, str(error), error.failure) from None


def timestamp_in(content: JsonObject) -> int:
    """Return the content's `timestamp` in ms since 1970; 0 if it is missing or invalid, because nothing depends on it."""
    timestamp = str(content.get("timestamp", ""))
    return int(timestamp) if timestamp.isascii() and timestamp.isdigit() and len(timestamp) < 20 else 0


def broker_ids_in(value: Any) -> tuple[BrokerId, ...]:
    """Return the value as a tuple of broker ids. Raises: WrongJsonError if it is not an array of JSON ints of 32 bits."""
    return tuple(map(BrokerId, as_ints(value)))


def replica_list(replicas: Sequence[BrokerId]) -> Sequence[Any]:
    """Return replicas in a form that kafka_json.encode takes."""
    if all(type(replica) is int for replica in replicas):
        return replicas
    return [msgspec.Raw(replica.json.encode()) if isinstance(replica, NoBrokerId) else replica for replica in replicas]
