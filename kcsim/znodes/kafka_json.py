"""JSON as Kafka reads and writes it in znodes.

Kafka's parser takes the first JSON value of the data and ignores what follows it; the last of several equal keys counts;
unknown fields are ignored. Types are not converted: an int is a JSON int of 32 bits, never "1", 1.0 or true.

Source: Kafka 2.8, kafka.utils.Json and kafka.utils.json.DecodeJson.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

import msgspec

from kcsim.vocabulary import FailureReason

JsonObject = Mapping[str, Any]

INT_MIN, INT_MAX = -(2**31), 2**31 - 1


class NotJsonError(ValueError):
    """The data is not JSON: many of Kafka's readers treat it as absent."""


class WrongJsonError(ValueError):
    """The data is JSON, but does not have the expected form, or is null or empty: Kafka's readers throw."""

    def __init__(self, message: str, failure: FailureReason | None = None) -> None:
        super().__init__(message)
        self.failure = failure


class _Missing:
    """The result of parsing empty data; Kafka prints it as empty text."""


MISSING: Final = _Missing()


def _no_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
_WHITESPACE = " \t\r\n"


def parse(data: bytes | None) -> Any:
    """Read the first JSON value of a znode's data; MISSING if there is only white space.

    Raises: NotJsonError; WrongJsonError for null data.
    """
    if data is None:
        raise WrongJsonError("null data, which is no JSON")
    try:
        text = data.decode("utf-8-sig").lstrip(_WHITESPACE)
        return _DECODER.raw_decode(text)[0] if text else MISSING
    except (ValueError, RecursionError) as error:
        raise NotJsonError(f"not JSON ({error}): {shown(data)}") from None


def shown(data: bytes) -> str:
    """Return data as text for a message: bytes that are not UTF-8 become replacement characters."""
    return data.decode("utf-8", "replace")


def encode(value: Any) -> bytes:
    """Return a value as JSON without spaces, keys in the order given, text as UTF-8."""
    return msgspec.json.encode(value)


# --- typed access ------------------------------------------------------------------------------------------------------


def _printed(value: Any) -> str:
    return "" if value is MISSING else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def as_object(value: Any) -> JsonObject:
    """Return the value as a JSON object. Raises: WrongJsonError if it is not an object."""
    if not isinstance(value, dict):
        raise WrongJsonError(f"Expected JSON object, received {_printed(value)}", FailureReason.NO_JSON_OBJECT)
    return value


def as_array(value: Any) -> Sequence[Any]:
    """Return the value as a JSON array. Raises: WrongJsonError if it is not an array."""
    if not isinstance(value, list):
        raise WrongJsonError(f"Expected JSON array, received {_printed(value)}", FailureReason.NO_JSON_ARRAY)
    return value


def as_int(value: Any) -> int:
    """Return the value as an int. Raises: WrongJsonError if it is not a JSON int of 32 bits."""
    if type(value) is not int or not INT_MIN <= value <= INT_MAX:
        raise WrongJsonError(f"Expected `Int` value, received {_printed(value)}")
    return value


def as_string(value: Any) -> str:
    """Return the value as a string. Raises: WrongJsonError if it is not a string."""
    if not isinstance(value, str):
        raise WrongJsonError(f"Expected `String` value, received {_printed(value)}")
    return value.encode("utf-8", "replace").decode()  # an unpaired surrogate cannot be encoded: it becomes "?", as in Java


def as_ints(value: Any) -> tuple[int, ...]:
    """Return the value as a tuple of ints. Raises: WrongJsonError if it is not an array of JSON ints of 32 bits."""
    return tuple(as_int(item) for item in as_array(value))


def field(json_object: JsonObject, name: str) -> Any:
    """Return a field of a JSON object. Raises: WrongJsonError if the object does not have it."""
    if name not in json_object:
        raise WrongJsonError(f"No such field exists: `{name}`")
    return json_object[name]


def parse_java_int(text: str) -> int:
    """Read decimal digits as Java's Integer.parseInt does: a sign is allowed, white space and an empty text are not.

    Raises: WrongJsonError.
    """
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 30 and INT_MIN <= int(text) <= INT_MAX):
        raise WrongJsonError(f'For input string: "{text}"')
    return int(text)
