"""Answers of brokers in a form that can be compared: without what differs from cluster to cluster."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from typing import Any

from crc32c import crc32c

from kcsim.brokers.record_batches import CHECKSUM_STARTS_AT, HEADER, header_of

HIDDEN = frozenset(
    {"cluster_id", "host", "port", "session_id", "throttle_time", "throttle_time_ms", "topic_id", "producer_id"}
)
"""Fields with ids, addresses and times of one cluster: only whether they are set is compared."""
RECENT = datetime(2025, 6, 1, tzinfo=UTC)
"""Later times than this are those of a cluster's clock: scripts use earlier ones."""
RECENT_MS = RECENT.timestamp() * 1000
UNORDERED = {"brokers": "node_id", "topics": "name", "partitions": "partition_index", "api_keys": "api_key"}
"""Arrays whose order is no part of the protocol, and the field by which they are sorted here, if their elements have it."""


def comparable(value: Any, name: str = "") -> Any:
    """Return a message as mappings, lists, numbers and text."""
    if is_dataclass(value):
        return {one.name: comparable(getattr(value, one.name), one.name) for one in fields(value)}
    if name in HIDDEN:
        return "unset" if value in (None, -1, "") or (name == "session_id" and not value) else "set"
    if isinstance(value, datetime) and value > RECENT:
        return "the present time"
    if name == "timestamp" and isinstance(value, int) and value > RECENT_MS:
        return "the present time"
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
        is_stamped = header.max_timestamp > RECENT_MS
        is_right = header.checksum == crc32c(records[CHECKSUM_STARTS_AT:size])
        checksum = f"{header.checksum:08x}" if not is_stamped else "right" if is_right else "wrong"
        yield (
            f"offset {header.base_offset}, epoch {header.leader_epoch}, {header.record_count} records, "
            f"checksum {checksum}, {size} bytes, attributes {header.attributes:x}, base time {header.base_timestamp}"
        )
        records = records[size:]
