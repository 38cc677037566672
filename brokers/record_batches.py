"""Kafka's format of a batch of records, version 2: what a broker reads from one, and what it writes into it.

A broker keeps a batch as the bytes that its producer has sent, but for 12 of them: base offset and leader epoch, which the
checksum does not cover. With message.timestamp.type=LogAppendTime it writes its own time, too, and a new checksum. It reads
the header only, unless a client asks for an offset by time.

Source: Kafka 2.8, DefaultRecordBatch and DefaultRecord; docs/kafka/requests.md 8.
"""

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from crc32c import crc32c

MAGIC = 2
NO_PRODUCER_ID = -1
NO_TIMESTAMP = -1
HEADER = struct.Struct(">qiibIhiqqqhii")
_PLACE = struct.Struct(">qii")
_SEQUENCE_BITS = 31
_CODEC_BITS, _LOG_APPEND_TIME_BIT, _TRANSACTIONAL_BIT, _CONTROL_BIT = 0x07, 0x08, 0x10, 0x20
_CHECKSUM = struct.Struct(">I")
_CHECKSUM_AT = 17
LENGTH_STARTS_AT = 12
"""The length in a batch's header counts the bytes from here on."""
CHECKSUM_STARTS_AT = 21
"""The checksum in a batch's header is that of all bytes from here on."""


class Codec(IntEnum):
    """How the records of a batch are compressed."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class BatchHeader(NamedTuple):
    """The header of a batch. Times in ms since 1970; the producer id is NO_PRODUCER_ID if the producer is not idempotent."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    checksum: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def end_offset(self) -> int:
        """The offset after the last record."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec(self) -> int:
        """One of Codec, or a number that Kafka does not have."""
        return self.attributes & _CODEC_BITS

    @property
    def has_append_time(self) -> bool:
        """Whether the leader's time, which is the largest timestamp, is that of all records."""
        return bool(self.attributes & _LOG_APPEND_TIME_BIT)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & _TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        """Whether the records are marks of transactions."""
        return bool(self.attributes & _CONTROL_BIT)


def header_of(batch: bytes) -> BatchHeader:
    """Return the header of a batch. Raises: struct.error if the bytes are too few for one."""
    return BatchHeader(*HEADER.unpack_from(batch))


def placed_at(batch: bytes, base_offset: int, leader_epoch: int) -> bytes:
    """Return the batch as a leader appends it."""
    _, length, _ = _PLACE.unpack_from(batch)
    return _PLACE.pack(base_offset, length, leader_epoch) + batch[_PLACE.size :]


def stamped(batch: bytes, append_time_ms: int) -> bytes:
    """Return the batch with a leader's time, in ms since 1970, as the time of all its records."""
    header = header_of(batch)
    changed = HEADER.pack(
        *header._replace(attributes=header.attributes | _LOG_APPEND_TIME_BIT, max_timestamp=append_time_ms)
    )
    covered = changed[CHECKSUM_STARTS_AT:] + batch[HEADER.size :]
    return changed[:_CHECKSUM_AT] + _CHECKSUM.pack(crc32c(covered)) + covered


def numbered(producer_epoch: int, sequence: int) -> int:
    """Return a record's number among all of its producer, whose sequence begins anew with each epoch."""
    return (producer_epoch << _SEQUENCE_BITS) + sequence


def epoch_of(number: int) -> int:
    """Return the producer's epoch in the number of a record."""
    return number >> _SEQUENCE_BITS


def first_record_since(batch: bytes, timestamp: int) -> tuple[int, int] | None:
    """Return offset and timestamp of the first record that is not older; None if all are.

    In a compressed batch that is its first record, with the largest timestamp of the batch: it is not unpacked.

    Args:
        timestamp: ms since 1970.

    Raises: BrokenRecordsError.
    """
    header = header_of(batch)
    if header.max_timestamp < timestamp:
        return None
    if header.codec != Codec.NONE or header.has_append_time:
        return header.base_offset, header.max_timestamp
    for offset_delta, timestamp_delta in _deltas(batch, header.record_count):
        if header.base_timestamp + timestamp_delta >= timestamp:
            return header.base_offset + offset_delta, header.base_timestamp + timestamp_delta
    return None


class BrokenRecordsError(ValueError):
    """The records of a batch cannot be read, though its checksum fits: the producer has sent it so."""


def keys_of(batch: bytes) -> Iterator[bytes | None]:
    """Yield the key of each record of a batch that is not compressed; None for a record without one.

    Raises: BrokenRecordsError.
    """
    return (key for key, _ in _keys(batch))


def values_of(batch: bytes) -> Iterator[bytes | None]:
    """Yield the value of each record of a batch that is not compressed; None for a record without one.

    Raises: BrokenRecordsError.
    """
    return (_sized(batch, at)[0] for _, at in _keys(batch))


def _keys(batch: bytes) -> Iterator[tuple[bytes | None, int]]:
    """Yield the key of each record, and the position after it."""
    for at in _timestamp_deltas_in(batch, header_of(batch).record_count):
        _, at_offset = _varint(batch, at)
        _, at_key = _varint(batch, at_offset)
        yield _sized(batch, at_key)


def _deltas(batch: bytes, count: int) -> Iterator[tuple[int, int]]:
    """Yield what each record adds to the batch's base offset and timestamp."""
    for at in _timestamp_deltas_in(batch, count):
        timestamp_delta, at_offset = _varint(batch, at)
        offset_delta, _ = _varint(batch, at_offset)
        yield offset_delta, timestamp_delta


def _timestamp_deltas_in(batch: bytes, count: int) -> Iterator[int]:
    """Yield the position of each record's first number after its length and attributes, the timestamp delta."""
    position = HEADER.size
    for _ in range(count):
        length, start = _varint(batch, position)
        yield start + 1
        position = start + length
        if not start < position <= len(batch):
            raise BrokenRecordsError(f"a record of {length} bytes at byte {start} of {len(batch)}")


def _sized(batch: bytes, position: int) -> tuple[bytes | None, int]:
    """Return the bytes behind their length at a position, None for a negative length, and the position after them."""
    length, at = _varint(batch, position)
    return None if length < 0 else batch[at : at + length], at + max(length, 0)


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """Return the number at a position, which is zigzag encoded, and the position after it. Raises: BrokenRecordsError."""
    number = shift = 0
    while True:
        if position >= len(data):
            raise BrokenRecordsError(f"the batch of {len(data)} bytes ends within a record")
        byte = data[position]
        number |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), position
        if shift > 63:
            raise BrokenRecordsError(f"a number of more than ten bytes ends at byte {position}")
