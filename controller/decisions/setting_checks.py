"""Checks of the values of settings, by type, with the messages of Kafka's ConfigDef.

Source: Kafka 2.8, ConfigDef.
"""

import re
from collections.abc import Callable

INT_BITS, LONG_BITS = 32, 64

Check = Callable[[str], str | None]
"""Takes a value and returns what is wrong with it; None if it is valid."""


def _number(text: str, bits: int) -> int | None:
    digits = re.fullmatch(r"[+-]?[0-9]{1,30}", text.strip())
    value = int(digits[0]) if digits else None
    return value if value is not None and -(2 ** (bits - 1)) <= value < 2 ** (bits - 1) else None


def whole_number(bits: int, at_least: int | None = None) -> Check:
    """Return the check of a number of type INT or LONG, without an upper limit of its own."""

    def check(text: str) -> str | None:
        value = _number(text, bits)
        if value is None:
            return f"Not a number of type {'INT' if bits == INT_BITS else 'LONG'}"
        return f"Value must be at least {at_least}" if at_least is not None and value < at_least else None

    return check


def ratio(text: str) -> str | None:
    """Check a number from 0 to 1."""
    try:
        value = float(text)
    except ValueError:
        return "Not a number of type DOUBLE"
    return "Value must be at least 0" if value < 0 else "Value must be no more than 1" if value > 1 else None


def boolean(text: str) -> str | None:
    """Check a truth value."""
    return None if text.strip().lower() in ("true", "false") else "Expected value to be either true or false"


def one_of(*allowed: str) -> Check:
    """Return the check of a value that is one of these."""
    return lambda text: None if text.strip() in allowed else f"String must be one of: {', '.join(allowed)}"


def some_of(*allowed: str) -> Check:
    """Return the check of a list of these values."""
    return lambda text: None if set(listed(text)) <= set(allowed) else f"String must be one of: {', '.join(allowed)}"


def listed(text: str) -> list[str]:
    """Return the elements of a list, which are separated by commas."""
    return re.split(r"\s*,\s*", text.strip()) if text.strip() else []
