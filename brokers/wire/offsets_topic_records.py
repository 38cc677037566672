"""The records of __consumer_offsets in Kafka's format, for clients and tools that read this topic.

Simulated coordinators store values, not bytes. Keys are of version 1 (offsets) and 2 (groups), values of version 3.

Source: Kafka 2.8, GroupMetadataManager; its messages OffsetCommitKey, OffsetCommitValue, GroupMetadataKey and
GroupMetadataValue.
"""

import struct
from typing import assert_never

from kcsim.brokers.groups.consumer_protocol import (
    INT16,
    INT32,
    assignment_bytes,
    nullable_bytes,
    string_bytes,
    subscription_bytes,
)
from kcsim.brokers.groups.group_metadata import (
    GroupRecord,
    GroupTombstone,
    MemberMetadata,
    OffsetRecord,
    OffsetTombstone,
    StoredRecord,
)

OFFSET_KEY_VERSION, GROUP_KEY_VERSION, VALUE_VERSION = 1, 2, 3
_INT64 = struct.Struct(">q")


def key_and_value(record: StoredRecord, timestamp_ms: int) -> tuple[bytes, bytes | None]:
    """Return key and value of a record; a tombstone has no value. Args: timestamp_ms: when it was stored, ms since 1970."""
    match record:
        case OffsetRecord() | OffsetTombstone():
            tp = record.partition
            key = (
                INT16.pack(OFFSET_KEY_VERSION)
                + string_bytes(record.group_id)
                + string_bytes(tp.topic)
                + INT32.pack(tp.partition)
            )
            return key, _offset(record, timestamp_ms) if isinstance(record, OffsetRecord) else None
        case GroupRecord() | GroupTombstone():
            key = INT16.pack(GROUP_KEY_VERSION) + string_bytes(record.group_id)
            return key, _group(record, timestamp_ms) if isinstance(record, GroupRecord) else None
        case _:
            assert_never(record)


def _offset(record: OffsetRecord, timestamp_ms: int) -> bytes:
    details = record.details
    place = INT16.pack(VALUE_VERSION) + _INT64.pack(record.offset) + INT32.pack(details.leader_epoch)
    return place + string_bytes(details.metadata) + _INT64.pack(timestamp_ms)


def _group(record: GroupRecord, timestamp_ms: int) -> bytes:
    return b"".join(
        (
            INT16.pack(VALUE_VERSION),
            string_bytes(record.protocol_type or ""),
            INT32.pack(record.generation),
            string_bytes(record.protocol),
            string_bytes(record.leader),
            _INT64.pack(timestamp_ms),
            INT32.pack(len(record.members)),
            *(_member(member, record.protocol) for member in record.members),
        )
    )


def _member(member: MemberMetadata, protocol: str | None) -> bytes:
    subscription = b"" if protocol is None else subscription_bytes(member.subscription(protocol))
    return b"".join(
        (
            string_bytes(member.member_id),
            string_bytes(member.instance_id),
            string_bytes(member.client_id),
            string_bytes(member.client_host),
            INT32.pack(member.rebalance_timeout_ms),
            INT32.pack(member.session_timeout_ms),
            nullable_bytes(subscription),
            nullable_bytes(assignment_bytes(member.assignment)),
        )
    )
