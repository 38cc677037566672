"""The errors in the response to a client, whatever the API.

The names of fields are those of Kafka's messages: an error stands beside the partition, topic or group that it is about, in
one of the arrays of the response, or in the response itself.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kio.schema.errors import ErrorCode as KafkaErrorCode

from kcsim.brokers.wire.apis.api import Values
from kcsim.controller.requests import ErrorCode

_ARRAYS = (
    *("topics", "responses", "results", "groups", "replica_election_results"),
    *("partitions", "partition_responses", "partition_result", "members"),
)
_TOPIC, _GROUP = ("topic", "name"), ("group_id",)
_PARTITION = ("index", "partition_index", "partition", "partition_id")


class ErrorSubject(NamedTuple):
    """What an error is about; None: what the response does not name."""

    topic: str | None = None
    partition: int | None = None
    group: str | None = None


NOTHING_NAMED = ErrorSubject()


def errors_in(values: Values, subject: ErrorSubject = NOTHING_NAMED) -> Iterator[tuple[str, ErrorSubject]]:
    """Yield Kafka's name of each error in the fields of a response, with what it is about.

    Args:
        subject: what the response as a whole is about.
    """
    error = values.get("error_code")
    if error:
        yield error_name(error), subject
    for name in _ARRAYS:
        elements = values.get(name)
        if elements and isinstance(elements, list | tuple):
            for one in elements:
                if isinstance(one, Mapping):
                    yield from errors_in(one, _narrowed(subject, one))


def error_name(code: int) -> str:
    """Return Kafka's name of an error."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return KafkaErrorCode(code).name.upper()


def _narrowed(subject: ErrorSubject, element: Values) -> ErrorSubject:
    partition, topic, group = (_first(element, names) for names in (_PARTITION, _TOPIC, _GROUP))
    if partition is not None and subject.topic is not None:
        return subject._replace(partition=partition)
    return ErrorSubject(
        subject.topic if topic is None else topic, subject.partition, subject.group if group is None else group
    )


def _first(element: Values, names: tuple[str, ...]) -> Any:
    return next((element[name] for name in names if element.get(name) is not None), None)
