"""The content of znodes in a canonical form: znodes with equivalent content have equal text."""

import json
from collections.abc import Collection
from typing import Any

from kcsim.zk.capture.write_comparison.allowed_differences import WHERE_BROKERS_LISTEN, allowed_keys
from kcsim.zk.capture.write_comparison.writes import is_below

TOPIC_ID = "topic_id"
UNORDERED = ("/admin",)
"""Below these znodes the order of a list of partitions has no meaning."""


def content(path: str, data: str | None, leave_out: Collection[str] = ()) -> str:
    """Return data as canonical JSON, without what always differs between two runs: times, ids, where brokers listen.

    Args:
        leave_out: further keys that are left out.

    Returns: data that is not JSON unchanged, marked as text.
    """
    value = json_of(data)
    if value is None:
        return f"text {data!r}"
    if isinstance(value, dict):
        value = _lasting(path, {key: item for key, item in value.items() if key not in leave_out})
    return "json " + json.dumps(value, sort_keys=True)


def json_of(data: str | None) -> Any:
    """Return the data's JSON value; None if the data is not JSON, or null."""
    try:
        return None if data is None else json.loads(data)
    except ValueError:
        return None


def _lasting(path: str, value: dict[str, Any]) -> dict[str, Any]:
    kept = {key: item for key, item in value.items() if key != "timestamp"}
    if is_below(path, UNORDERED) and isinstance(kept.get("partitions"), list):
        kept["partitions"] = sorted(kept["partitions"], key=lambda item: json.dumps(item, sort_keys=True))
    if TOPIC_ID in kept:
        kept[TOPIC_ID] = "drawn"
    listening = allowed_keys(WHERE_BROKERS_LISTEN, path)
    return {key: _listeners(item) if key in listening else item for key, item in kept.items()}


def _listeners(value: Any) -> Any:
    """Return the listener names of endpoints; None for a host or a port."""
    return [str(endpoint).partition("://")[0] for endpoint in value] if isinstance(value, list) else None
