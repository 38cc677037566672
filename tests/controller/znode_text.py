"""Short descriptions of a znode's content, and of the change by a write."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kcsim.znodes import paths


def data_text(path: str, data: bytes | None) -> str:
    """Return ` leader 1, isr [1,2]`; nothing for null data."""
    if data is None:
        return ""
    content = _parsed(path, data)
    if not isinstance(content, dict):
        return f" {content}"
    return " " + ", ".join(f"{name} {_compact(value)}" for name, value in content.items())


def changed(path: str, before: bytes | None, after: bytes | None) -> str:
    """Return ` leader 1 -> 2`: the changed fields."""
    old, new = _parsed(path, before), _parsed(path, after)
    if isinstance(old, dict) and isinstance(new, dict):
        differences = list(_differences("", old, new))
        return " " + (", ".join(differences) or "as it was")
    return f" {_compact(old)} -> {_compact(new)}"


def _differences(prefix: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys([*old, *new]):
        before, after = old.get(name), new.get(name)
        if isinstance(before, dict) and isinstance(after, dict):
            yield from _differences(f"{prefix}{name}.", before, after)
        elif before != after:
            yield f"{prefix}{name} {_compact(before)} -> {_compact(after)}"


def _parsed(path: str, data: bytes | None) -> Any:
    """Return the JSON in the data, or the text. A controller znode's timestamp is left out."""
    if data is None:
        return None
    text = data.decode()
    try:
        content = json.loads(text)
    except ValueError:
        return text
    if isinstance(content, dict):
        content.pop("version", None)
        if path == paths.CONTROLLER:
            content.pop("timestamp", None)
    return content


def _compact(value: Any) -> str:
    return "nothing" if value is None else json.dumps(value, separators=(",", ":"))
