"""The records of __consumer_offsets in Kafka's format, for clients and tools that read this topic.

Simulated coordinators store values, not bytes. Keys are of version 1 (offsets) and 2 (groups), values of version 3.

Source: Kafka 2.8, GroupMetadataManager; its messages OffsetCommitKey, OffsetCommitValue, GroupMetadataKey and
GroupMetadataValue.
"""

import struct
from typing import assert_never

from kcsim.brokers.groups.consumer_protocol import assignment_bytes, subscription_bytes
from kcsim.brokers.groups.group_metadata import (
    GroupRecord,
    GroupTombstone,
    MemberMetadata,
    OffsetRecord,
    OffsetTombstone,
    StoredRecord,
)

OFFSET_KEY_VERSION, GROUP_KEY_VERSION, VALUE_VERSION = 1, 2, 3
_INT16, _INT32, _INT64 = struct.Struct(">h"), struct.Struct(">i"), struct.Struct(">q")
_NULL = -1


def key_and_value(record: StoredRecord, timestamp_ms: int) -> tuple[bytes, bytes | None]:
    """Return key and value of a record; a tombstone has no value. Args: timestamp_ms: when it was stored, ms since 1970."""
    match record:
        case OffsetRecord() | OffsetTombstone():
            tp = record.partition
            key = _INT16.pack(OFFSET_KEY_VERSION) + _string(record.group_id) + _string(tp.topic) + _INT32.pack(tp.partition)
            return key, _offset(record, timestamp_ms) if isinstance(record, OffsetRecord) else None
        case GroupRecord() | GroupTombstone():
            key = _INT16.pack(GROUP_KEY_VERSION) + _string(record.group_id)
            return key, _group(record, timestamp_ms) if isinstance(record, GroupRecord) else None
        case _:
            assert_never(record)


def _offset(record: OffsetRecord, timestamp_ms: int) -> bytes:
    details = record.details
    place = _INT16.pack(VALUE_VERSION) + _INT64.pack(record.offset) + _INT32.pack(details.leader_epoch)
    return place + _string(details.metadata) + _INT64.pack(timestamp_ms)


def _group(record: GroupRecord, timestamp_ms: int) -> bytes:
    return b"".join(
        (
            _INT16.pack(VALUE_VERSION),
            _string(record.protocol_type or ""),
            _INT32.pack(record.generation),
            _string(record.protocol),
            _string(record.leader),
            _INT64.pack(timestamp_ms),
            _INT32.pack(len(record.members)),
            *(_member(member, record.protocol) for member in record.members),
        )
    )


def _member(member: MemberMetadata, protocol: str | None) -> bytes:
    subscription = b"" if protocol is None else subscription_bytes(member.subscription(protocol))
    return b"".join(
        (
            _string(member.member_id),
            _string(member.instance_id),
            _string(member.client_id),
            _string(member.client_host),
            _INT32.pack(member.rebalance_timeout_ms),
            _INT32.pack(member.session_timeout_ms),
            _bytes(subscription),
            _bytes(assignment_bytes(member.assignment)),
        )
    )


def _string(text: str | None) -> bytes:
    if text is None:
        return _INT16.pack(_NULL)
    encoded = text.encode()
    return _INT16.pack(len(encoded)) + encoded


def _bytes(content: bytes) -> bytes:
    return _INT32.pack(len(content)) + content
