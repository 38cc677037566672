"""The records of __consumer_offsets in Kafka's format, for clients, tools and followers that get them as bytes.

Simulated coordinators store values, not bytes, unless followers get the records as bytes. Keys are written in version 1
(offsets) and 2 (groups), values in version 3; older ones are read.

Source: Kafka 2.8, GroupMetadataManager; its messages OffsetCommitKey, OffsetCommitValue, GroupMetadataKey and
GroupMetadataValue.
"""

import struct
from typing import NamedTuple, assert_never

from kcsim.brokers.groups.consumer_protocol import (
    INT16,
    INT32,
    ByteReader,
    ConsumerProtocolError,
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
from kcsim.brokers.groups.requests import OffsetDetails
from kcsim.vocabulary import LeaderEpoch, TopicPartition

OFFSET_KEY_VERSION, GROUP_KEY_VERSION, VALUE_VERSION = 1, 2, 3
FIRST_OFFSET_VERSION_WITH_EPOCH = 3
FIRST_GROUP_VERSION_WITH_REBALANCE_TIMEOUT, FIRST_GROUP_VERSION_WITH_TIMESTAMP, FIRST_GROUP_VERSION_WITH_INSTANCES = 1, 2, 3
_INT64 = struct.Struct(">q")


class EncodedRecord(NamedTuple):
    """A record as bytes. Attributes: value: None: it is a tombstone."""

    key: bytes
    value: bytes | None


# --- records to bytes ------------------------------------------------------------------------------------------------------


def key_and_value(record: StoredRecord, timestamp_ms: int) -> EncodedRecord:
    """Return key and value of a record. Args: timestamp_ms: when it was stored, ms since 1970."""
    match record:
        case OffsetRecord() | OffsetTombstone():
            tp = record.partition
            key = (
                INT16.pack(OFFSET_KEY_VERSION)
                + string_bytes(record.group_id)
                + string_bytes(tp.topic)
                + INT32.pack(tp.partition)
            )
            return EncodedRecord(key, _offset(record, timestamp_ms) if isinstance(record, OffsetRecord) else None)
        case GroupRecord() | GroupTombstone():
            key = INT16.pack(GROUP_KEY_VERSION) + string_bytes(record.group_id)
            return EncodedRecord(key, _group(record, timestamp_ms) if isinstance(record, GroupRecord) else None)
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


# --- bytes to records ------------------------------------------------------------------------------------------------------


def stored_record(key: bytes, value: bytes | None) -> StoredRecord | None:
    """Return the record with this key and value; None if it is none of a group or offset. Raises: ConsumerProtocolError."""
    reader = ByteReader(key)
    version = reader.version()
    if version > GROUP_KEY_VERSION:
        return None
    group = reader.string_bytes()
    if version == GROUP_KEY_VERSION:
        return GroupTombstone(group) if value is None else _read_group(group, ByteReader(value))
    tp = TopicPartition(reader.string_bytes(), reader.number(INT32))
    return OffsetTombstone(group, tp) if value is None else _read_offset(group, tp, ByteReader(value))


def _read_offset(group: str, tp: TopicPartition, reader: ByteReader) -> OffsetRecord:
    version = _known_version(reader)
    offset = reader.number(_INT64)
    epoch = reader.number(INT32) if version >= FIRST_OFFSET_VERSION_WITH_EPOCH else -1
    return OffsetRecord(group, tp, offset, OffsetDetails(LeaderEpoch(epoch), reader.string_bytes()))


def _read_group(group: str, reader: ByteReader) -> GroupRecord:
    version = _known_version(reader)
    protocol_type, generation = reader.string_bytes(), reader.number(INT32)
    protocol, leader = reader.nullable_string(), reader.nullable_string()
    if version >= FIRST_GROUP_VERSION_WITH_TIMESTAMP:
        reader.number(_INT64)
    members = tuple(_read_member(reader, version, protocol) for _ in range(reader.number(INT32)))
    return GroupRecord(group, generation, protocol, leader, members, protocol_type or None)


def _read_member(reader: ByteReader, version: int, protocol: str | None) -> MemberMetadata:
    member_id = reader.string_bytes()
    instance_id = reader.nullable_string() if version >= FIRST_GROUP_VERSION_WITH_INSTANCES else None
    client_id, client_host = reader.string_bytes(), reader.string_bytes()
    rebalance_timeout_ms = reader.number(INT32) if version >= FIRST_GROUP_VERSION_WITH_REBALANCE_TIMEOUT else None
    session_timeout_ms = reader.number(INT32)
    subscription, assignment = reader.nullable_bytes() or b"", reader.nullable_bytes() or b""
    return MemberMetadata(
        member_id,
        instance_id,
        session_timeout_ms,
        session_timeout_ms if rebalance_timeout_ms is None else rebalance_timeout_ms,
        () if protocol is None else ((protocol, subscription),),
        assignment,
        client_id,
        client_host,
    )


def _known_version(reader: ByteReader) -> int:
    version = reader.version()
    if version > VALUE_VERSION:
        raise ConsumerProtocolError(f"a value of version {version}; known are those up to {VALUE_VERSION}")
    return version
