"""Answers of brokers in a form that can be compared: without what differs from cluster to cluster."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from kcsim.brokers.record_batches import HEADER, header_of

HIDDEN = frozenset(
    {"cluster_id", "host", "port", "session_id", "throttle_time", "throttle_time_ms", "topic_id", "producer_id"}
)
"""Fields with ids, addresses and times of one cluster: only whether they are set is compared."""
UNORDERED = {"brokers": "node_id", "topics": "name", "partitions": "partition_index", "api_keys": "api_key"}
"""Arrays whose order is no part of the protocol, and the field by which they are sorted here, if their elements have it."""


def comparable(value: Any, name: str = "") -> Any:
    """Return a message as mappings, lists, numbers and text."""
    if is_dataclass(value):
        return {one.name: comparable(getattr(value, one.name), one.name) for one in fields(value)}
    if name in HIDDEN:
        return "unset" if value in (None, -1, "") or (name == "session_id" and not value) else "set"
    if name == "records":
        return list(_batches(value or b""))
    if isinstance(value, tuple):
        elements = [comparable(element) for element in value]
        key = UNORDERED.get(name)
        has_key = key is not None and all(isinstance(element, dict) and key in element for element in elements)
        return sorted(elements, key=lambda element: element[key]) if has_key else elements
    return getattr(value, "name", value)


def _batches(records: bytes) -> Iterator[str]:
    """Yield a line for each batch; a broker may cut off the last one, which the client then ignores."""
    while len(records) >= HEADER.size:
        header = header_of(records)
        size = header.length + 12
        if size > len(records):
            return
        yield (
            f"offset {header.base_offset}, epoch {header.leader_epoch}, {header.record_count} records, "
            f"checksum {header.checksum:08x}, {size} bytes"
        )
        records = records[size:]
