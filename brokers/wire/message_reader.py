"""Reads messages of Kafka's protocol from bytes that may come from anybody.

The messages are described by kio's classes. kio's own reader is not used: it trusts the lengths that it reads, so that a
damaged one makes it allocate hundreds of gigabytes, which ends the process; and it refuses tagged fields that it does not
know, which Kafka passes over.

Source: Kafka's protocol guide, "Protocol Primitive Types" and "Tagged Fields" (KIP-482).
"""

import struct
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from types import NoneType, UnionType
from typing import Any, NoReturn, get_args, get_origin
from uuid import UUID

from kio.schema.errors import ErrorCode
from kio.static.constants import EntityType

Read = Callable[[bytes, int], tuple[Any, int]]
"""From a frame and the offset of a value in it to the value, and the offset after it."""

MOST_VARINT_BYTES = 5
NULL_UUID = bytes(16)
NOT_NULL, NULL = 1, -1
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class MalformedFrameError(Exception):
    """A frame that is no message of Kafka's protocol. The message says why."""


@cache
def message_reader(schema: Any) -> Read:
    """Return a function that reads a message, or a header, of one of kio's classes.

    It raises MalformedFrameError. It never allocates more than a small multiple of the frame's size.
    """
    in_order: list[tuple[str, Read]] = []
    tagged: dict[int, tuple[str, Read]] = {}
    defaults: dict[str, Any] = {}
    is_flexible: bool = schema.__flexible__
    for one in fields(schema):
        # The client id in a header is a string of the old form in every version, so that any version can be answered.
        read = _field_reader(one, is_flexible and schema.__type__ is not EntityType.header)
        if "tag" in one.metadata:
            tagged[one.metadata["tag"]] = one.name, read
            defaults[one.name] = _default(one)
        else:
            in_order.append((one.name, read))

    def read_message(frame: bytes, at: int) -> tuple[Any, int]:
        values = dict(defaults)
        for name, read in in_order:
            values[name], at = read(frame, at)
        if is_flexible:
            at = _read_tagged(frame, at, tagged, values)
        return schema(**values), at

    return read_message


def _default(one: Field[Any]) -> Any:
    """Return the value of a tagged field that is not sent: where its definition names none, that of its type."""
    if one.default is not MISSING:
        return one.default
    kind, is_nullable = without_none(one.type)
    if get_origin(kind) is tuple:
        return ()
    if is_structure(kind):
        return None if is_nullable else kind(**{inner.name: _default(inner) for inner in fields(kind)})
    name = one.metadata["kafka_type"]
    if name in CONVERTED:
        of, convert = CONVERTED[name]
        return convert(*of.unpack(bytes(of.size)))
    return 0 if name in NUMBERS else "" if name == "string" else b""


def pass_over_tagged(frame: bytes, at: int) -> int:
    """Return the offset after the tagged fields of a structure that has no known ones. Raises: MalformedFrameError."""
    return _read_tagged(frame, at, {}, {})


def _read_tagged(frame: bytes, at: int, known: Mapping[int, tuple[str, Read]], values: dict[str, Any]) -> int:
    count, at = read_varint(frame, at)
    for _ in range(count):
        tag, at = read_varint(frame, at)
        size, at = read_varint(frame, at)
        end = at + size
        if end > len(frame):
            _fail(f"tagged field {tag} of {size} bytes, {len(frame) - at} are left")
        if tag in known:
            name, read = known[tag]
            values[name], _ = read(frame[:end], at)
        at = end
    return at


# --- fields ----------------------------------------------------------------------------------------------------------------


def _field_reader(one: Field[Any], is_flexible: bool) -> Read:
    kind, is_nullable = without_none(one.type)
    if get_origin(kind) is not tuple:
        return _value_reader(kind, one, is_nullable, is_flexible)
    element, has_nulls = without_none(get_args(kind)[0])
    return _array_reader(_element_reader(element, one, has_nulls, is_flexible), is_nullable, is_flexible)


def is_structure(kind: Any) -> bool:
    """Return whether a field's type is one of kio's classes."""
    return is_dataclass(kind)


def without_none(kind: Any) -> tuple[Any, bool]:
    """Return a field's type, and whether the field may be null."""
    if get_origin(kind) is not UnionType:
        return kind, False
    (inner,) = (one for one in get_args(kind) if one is not NoneType)
    return inner, True


def _element_reader(kind: Any, one: Field[Any], is_nullable: bool, is_flexible: bool) -> Read:
    return message_reader(kind) if is_structure(kind) else _value_reader(kind, one, is_nullable, is_flexible)


def _value_reader(kind: Any, one: Field[Any], is_nullable: bool, is_flexible: bool) -> Read:
    if is_structure(kind):
        return _nullable_message_reader(message_reader(kind)) if is_nullable else message_reader(kind)
    name: str = one.metadata["kafka_type"]
    if name in NUMBERS:
        return _number_reader(NUMBERS[name])
    if name == "string":
        return _bytes_reader(_text, is_nullable, is_flexible, short=True)
    if name in ("bytes", "records"):
        return _bytes_reader(bytes, is_nullable, is_flexible, short=False)
    return _converted(*CONVERTED[name])


def _number_reader(of: struct.Struct) -> Read:
    size = of.size

    def read(frame: bytes, at: int) -> tuple[Any, int]:
        try:
            (number,) = of.unpack_from(frame, at)
        except struct.error:
            _fail(f"{size} bytes of a number, {len(frame) - at} are left")
        return number, at + size

    return read


def _converted(of: struct.Struct, convert: Callable[[Any], Any]) -> Read:
    read_number = _number_reader(of)

    def read(frame: bytes, at: int) -> tuple[Any, int]:
        number, at = read_number(frame, at)
        try:
            return convert(number), at
        except (ValueError, OverflowError) as error:
            raise MalformedFrameError(str(error)) from error

    return read


def _bytes_reader(convert: Callable[[bytes], Any], is_nullable: bool, is_flexible: bool, short: bool) -> Read:
    read_length = _varint_less_one if is_flexible else _number_reader(NUMBERS["int16" if short else "int32"])

    def read(frame: bytes, at: int) -> tuple[Any, int]:
        length, at = read_length(frame, at)
        if length < 0:
            if not is_nullable:
                _fail(f"a length of {length}")
            return None, at
        end = at + length
        if end > len(frame):
            _fail(f"{length} bytes, {len(frame) - at} are left")
        return convert(frame[at:end]), end

    return read


def _array_reader(read_element: Read, is_nullable: bool, is_flexible: bool) -> Read:
    read_length = _varint_less_one if is_flexible else _number_reader(NUMBERS["int32"])

    def read(frame: bytes, at: int) -> tuple[Any, int]:
        length, at = read_length(frame, at)
        if length < 0:
            if not is_nullable:
                _fail(f"an array of {length} elements")
            return None, at
        if length > len(frame) - at:  # an element has at least one byte
            _fail(f"an array of {length} elements, {len(frame) - at} bytes are left")
        elements = []
        for _ in range(length):
            element, at = read_element(frame, at)
            elements.append(element)
        return tuple(elements), at

    return read


def _nullable_message_reader(read_message: Read) -> Read:
    read_marker = _number_reader(NUMBERS["int8"])

    def read(frame: bytes, at: int) -> tuple[Any, int]:
        marker, at = read_marker(frame, at)
        if marker == NULL:
            return None, at
        if marker != NOT_NULL:
            _fail(f"{marker} before a structure that may be null")
        return read_message(frame, at)

    return read


# --- primitive types -------------------------------------------------------------------------------------------------------


def read_varint(frame: bytes, at: int) -> tuple[int, int]:
    """Read an unsigned number of variable length. Raises: MalformedFrameError."""
    number = 0
    for place, byte in enumerate(frame[at : at + MOST_VARINT_BYTES]):
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return number, at + place + 1
    raise MalformedFrameError(f"a number of variable length that does not end within {MOST_VARINT_BYTES} bytes")


def _varint_less_one(frame: bytes, at: int) -> tuple[int, int]:
    """Read the length of something that may be null: null is 0."""
    number, at = read_varint(frame, at)
    return number - 1, at


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise MalformedFrameError(f"text that is no UTF-8: {error.reason}") from error


def _uuid(content: bytes) -> UUID | None:
    return None if content == NULL_UUID else UUID(bytes=content)


def moment_of(ms: int) -> datetime | None:
    """Return a point of time of a message, given in ms since 1970; -1: there is none."""
    return None if ms == -1 else EPOCH + timedelta(milliseconds=ms)


def _fail(why: str) -> NoReturn:
    raise MalformedFrameError(why)


NUMBERS = {
    "bool": struct.Struct(">?"),
    "int8": struct.Struct(">b"),
    "int16": struct.Struct(">h"),
    "uint16": struct.Struct(">H"),
    "int32": struct.Struct(">i"),
    "int64": struct.Struct(">q"),
    "float64": struct.Struct(">d"),
}
CONVERTED: Mapping[str, tuple[struct.Struct, Callable[[Any], Any]]] = {
    "error_code": (struct.Struct(">h"), ErrorCode),
    "timedelta_i32": (struct.Struct(">i"), lambda ms: timedelta(milliseconds=ms)),
    "timedelta_i64": (struct.Struct(">q"), lambda ms: timedelta(milliseconds=ms)),
    "datetime_i64": (struct.Struct(">q"), moment_of),
    "uuid": (struct.Struct(">16s"), _uuid),
}
