"""Builds messages of Kafka's protocol from plain values, for whichever version they are sent in."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import timedelta
from functools import cache, partial
from typing import Any, get_args, get_origin

from kio.schema.errors import ErrorCode

from kcsim.brokers.wire.message_reader import is_structure, moment_of, without_none

Convert = Callable[[Any], Any]


def message_of(schema: Any, values: Mapping[str, Any]) -> Any:
    """Return a message of one of kio's classes.

    Args:
        values: by the names of fields, of all versions: those that this version does not have are left out. Structures are
            mappings again, arrays are iterables, spans and points of time are in ms, errors are numbers. A field with a
            default may be missing.

    Raises: TypeError if a value is missing.
    """
    return schema(**{name: convert(values[name]) for name, convert in _fields_of(schema).items() if name in values})


@cache
def _fields_of(schema: Any) -> dict[str, Convert]:
    return {one.name: _conversion(one.type, one.metadata.get("kafka_type")) for one in fields(schema)}


def _conversion(declared: Any, kafka_type: str | None) -> Convert:
    kind, is_nullable = without_none(declared)
    if get_origin(kind) is tuple:
        convert = _each(_conversion(get_args(kind)[0], kafka_type))
    elif is_structure(kind):
        convert = partial(message_of, kind)
    elif kafka_type == "error_code":
        convert = ErrorCode
    elif kafka_type in ("timedelta_i32", "timedelta_i64"):
        convert = _milliseconds
    elif kafka_type == "datetime_i64":
        convert = moment_of
    else:
        return _unchanged
    return _or_none(convert) if is_nullable else convert


def _each(convert: Convert) -> Convert:
    return tuple if convert is _unchanged else lambda elements: tuple(map(convert, elements))


def _or_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _milliseconds(ms: int) -> timedelta:
    return timedelta(milliseconds=ms)


def _unchanged(value: Any) -> Any:
    return value
