"""Messages of the protocol in the form in which answers of admin clients are recorded."""

from dataclasses import fields, is_dataclass
from datetime import timedelta
from typing import Any

from kio.schema.errors import ErrorCode


def plain(value: Any) -> Any:
    """Return a message as mappings, lists, names of errors and numbers of ms."""
    if isinstance(value, ErrorCode):
        return value.name
    if isinstance(value, timedelta):
        return value // timedelta(milliseconds=1)
    if is_dataclass(value):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    return [plain(one) for one in value] if isinstance(value, tuple) else value
