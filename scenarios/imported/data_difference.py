"""What a write changed in a znode, in one line: field by field where both are JSON objects."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kcsim.zk.events import data_text

NULL = "null"
SAME = "(the same data)"


def change_text(before: bytes | None, after: bytes | None) -> str:
    """leader 1 → 2, isr [1, 2] → [2]; or the whole data on both sides, where that is not JSON."""
    old, new = _object(before), _object(after)
    if old is not None and new is not None:
        return ", ".join(_differences(old, new, "")) or SAME
    return SAME if before == after else f"{shown(before)} → {shown(after)}"


def shown(data: bytes | None) -> str:
    """A znode's data on one line."""
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
