"""What a znode says, in a form in which two that say the same are equal."""

import json
from collections.abc import Collection
from typing import Any

from kcsim.scenarios.comparing.by_design import WHERE_BROKERS_LISTEN, free
from kcsim.scenarios.comparing.writes import is_below

UNORDERED = ("/admin",)
"""Below these znodes a list of partitions may stand in any order."""


def content(path: str, data: str | None, leave_out: Collection[str] = ()) -> str:
    """Return data as canonical JSON, less what no two runs have in common: times, and where brokers listen.

    Args:
        leave_out: more keys that do not count.

    Returns: data that is no JSON as it is, marked as text.
    """
    value = json_of(data)
    if value is None:
        return f"text {data!r}"
    if isinstance(value, dict):
        value = _lasting(path, {key: item for key, item in value.items() if key not in leave_out})
    return "json " + json.dumps(value, sort_keys=True)


def json_of(data: str | None) -> Any:
    """The JSON value that data is; None if it is none, or null."""
    try:
        return None if data is None else json.loads(data)
    except ValueError:
        return None


def _lasting(path: str, value: dict[str, Any]) -> dict[str, Any]:
    kept = {key: item for key, item in value.items() if key != "timestamp"}
    if is_below(path, UNORDERED) and isinstance(kept.get("partitions"), list):
        kept["partitions"] = sorted(kept["partitions"], key=lambda item: json.dumps(item, sort_keys=True))
    listening = free(WHERE_BROKERS_LISTEN, path)
    return {key: _listeners(item) if key in listening else item for key, item in kept.items()}


def _listeners(value: Any) -> Any:
    """Of endpoints their listeners' names; of a host or a port nothing."""
    return [str(endpoint).partition("://")[0] for endpoint in value] if isinstance(value, list) else None
