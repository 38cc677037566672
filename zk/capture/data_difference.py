"""The difference between a znode's data before and after a write, as one line; JSON objects are compared by field."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kcsim.eventlog.events import data_text

NULL = "null"
SAME = "(the same data)"


def change_text(before: bytes | None, after: bytes | None) -> str:
    """Return the difference as "leader 1 → 2, isr [1, 2] → [2]"; the whole data of both sides if one is no JSON object."""
    old, new = _object(before), _object(after)
    if old is not None and new is not None:
        return ", ".join(_differences(old, new, "")) or SAME
    return SAME if before == after else f"{shown(before)} → {shown(after)}"


def shown(data: bytes | None) -> str:
    """Return a znode's data as one line of text."""
    text = data_text(data)
    return NULL if text is None else json.dumps(text) if text == "" or "\n" in text else text


def _object(data: bytes | None) -> Mapping[str, Any] | None:
    try:
        content = json.loads(data or b"")
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


def _differences(old: Mapping[str, Any], new: Mapping[str, Any], below: str) -> Iterator[str]:
    for name in (*new, *(name for name in old if name not in new)):
        place = f"{below}{name}"
        if name not in new:
            yield f"{place} {_short(old[name])} → gone"
        elif name not in old:
            yield f"{place} {_short(new[name])} is new"
        elif isinstance(old[name], dict) and isinstance(new[name], dict):
            yield from _differences(old[name], new[name], f"{place}.")
        elif old[name] != new[name]:
            yield f"{place} {_short(old[name])} → {_short(new[name])}"


def _short(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
