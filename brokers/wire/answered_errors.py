"""The errors in the response to a client, whatever the API.

The names of fields are those of Kafka's messages: an error stands beside the partition, topic or group that it is about, in
one of the arrays of the response, or in the response itself. It is read from every response: finding none is fast.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from kio.schema.errors import ErrorCode as KafkaErrorCode

from kcsim.brokers.wire.apis.api import Values
from kcsim.controller.requests import ErrorCode

_ERROR = "error_code"
_ARRAYS = frozenset(
    (
        *("topics", "responses", "results", "groups", "replica_election_results"),
        *("partitions", "partition_responses", "partition_result", "members"),
    )
)
_TOPIC, _GROUP = ("topic", "name"), ("group_id",)
_PARTITION = ("index", "partition_index", "partition", "partition_id")


class ErrorSubject(NamedTuple):
    """What an error is about; None: what the response does not name."""

    topic: str | None = None
    partition: int | None = None
    group: str | None = None


def errors_in(values: Values, group: str | None = None) -> list[tuple[str, ErrorSubject]]:
    """Return Kafka's name of each error in the fields of a response, with what it is about.

    Args:
        group: the one that the request is about.
    """
    found: list[tuple[str, ErrorSubject]] = []
    _collect(values, (), group, found)
    return found


def error_name(code: int) -> str:
    """Return Kafka's name of an error."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return KafkaErrorCode(code).name.upper()


def _collect(values: Values, outer: tuple[Values, ...], group: str | None, found: list[tuple[str, ErrorSubject]]) -> None:
    """Add the errors of a structure and of those in its arrays. Args: outer: the elements around it, the innermost last."""
    for name, value in values.items():
        if name == _ERROR:
            if value:
                found.append((error_name(value), _subject((*outer, values), group)))
        elif name in _ARRAYS and value.__class__ in (list, tuple):
            for one in value:
                if one.__class__ is dict:
                    _collect(one, (*outer, values), group, found)


def _subject(structures: Sequence[Values], group: str | None) -> ErrorSubject:
    """Return what an error in the last of nested structures is about. The first one is the response itself."""
    subject = ErrorSubject(group=group)
    for element in structures[1:]:
        partition, topic, named_group = (_first(element, names) for names in (_PARTITION, _TOPIC, _GROUP))
        if topic is not None:
            subject = subject._replace(topic=topic)
        if partition is not None:
            subject = subject._replace(partition=partition)
        if named_group is not None:
            subject = subject._replace(group=named_group)
    return subject


def _first(element: Values, names: tuple[str, ...]) -> Any:
    return next((element[name] for name in names if element.get(name) is not None), None)
