"""JSON as Kafka reads and writes it in znodes.

Kafka's parser takes the first JSON value of the data and ignores what follows it; the last of several equal keys counts;
unknown fields are ignored. Types are not bent: an int is a JSON int of 32 bits, never "1", 1.0 or true.

Source: Kafka 2.8, kafka.utils.Json and kafka.utils.json.DecodeJson.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

import msgspec

JsonObject = Mapping[str, Any]

INT_MIN, INT_MAX = -(2**31), 2**31 - 1


class NotJsonError(ValueError):
    """The data is no JSON at all: many of Kafka's readers take it for absent."""


class WrongJsonError(ValueError):
    """The data is JSON, but not of the form wanted, or null or empty: Kafka's readers throw."""


class _Missing:
    """What is read out of empty data; Kafka prints it as nothing."""


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
    """Data as text for a message: whatever is no UTF-8 is marked."""
    return data.decode("utf-8", "replace")


def encode(value: Any) -> bytes:
    """Write JSON without spaces, keys in the order given, text as UTF-8."""
    return msgspec.json.encode(value)


# --- typed access ------------------------------------------------------------------------------------------------------


def _printed(value: Any) -> str:
    return "" if value is MISSING else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def as_object(value: Any) -> JsonObject:
    """Raises: WrongJsonError."""
    if not isinstance(value, dict):
        raise WrongJsonError(f"Expected JSON object, received {_printed(value)}")
    return value


def as_array(value: Any) -> Sequence[Any]:
    """Raises: WrongJsonError."""
    if not isinstance(value, list):
        raise WrongJsonError(f"Expected JSON array, received {_printed(value)}")
    return value


def as_int(value: Any) -> int:
    """Raises: WrongJsonError."""
    if type(value) is not int or not INT_MIN <= value <= INT_MAX:
        raise WrongJsonError(f"Expected `Int` value, received {_printed(value)}")
    return value


def as_string(value: Any) -> str:
    """Raises: WrongJsonError."""
    if not isinstance(value, str):
        raise WrongJsonError(f"Expected `String` value, received {_printed(value)}")
    return value.encode("utf-8", "replace").decode()  # half a surrogate pair cannot be written again: as Java, "?"


def as_ints(value: Any) -> tuple[int, ...]:
    """Raises: WrongJsonError."""
    return tuple(as_int(item) for item in as_array(value))


def field(json_object: JsonObject, name: str) -> Any:
    """Raises: WrongJsonError if there is none."""
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
