"""The bytes of the records that a consumer or a follower fetches.

Batches of real producers are sent as they came. For records of simulated producers, which have no bytes, batches are made.
The value of such a record is its writer and its number there, filled up with blanks to the size that the producer gives its
records: `producer-a 17`. The records of __consumer_offsets are as Kafka's coordinators write them. A batch that is made has
this size as its base sequence, which has no meaning without a producer id: runs_of_batches.py knows it by that.

Source: Kafka 2.8, DefaultRecordBatch and DefaultRecord.
"""

from collections.abc import Iterable, Iterator

from crc32c import crc32c

from kcsim.brokers.groups.group_metadata import StoredRecord
from kcsim.brokers.groups.offsets_topic_records import EncodedRecord, key_and_value
from kcsim.brokers.record_batches import (
    CHECKSUM_STARTS_AT,
    HEADER,
    LENGTH_STARTS_AT,
    MAGIC,
    NO_PRODUCER_ID,
)
from kcsim.brokers.records import Run

_NULL = b"\x01"
_NO_HEADERS = b"\x00"


def batches_of(runs: Iterable[Run]) -> bytes:
    """Return the batches of these runs, one after the other."""
    return b"".join(run.batch if run.batch is not None else _batch_of(run) for run in runs)


def _batch_of(run: Run) -> bytes:
    records = b"".join(_record(delta, key, value) for delta, (key, value) in enumerate(_keys_and_values(run)))
    size, timestamp = HEADER.size + len(records), run.timestamp_ms
    # Nobody reads a sequence without a producer id. Here it tells followers that these are records without bytes.
    producer = NO_PRODUCER_ID, -1, run.record_bytes

    def header(checksum: int) -> bytes:
        place = run.base_offset, size - LENGTH_STARTS_AT, run.leader_epoch, MAGIC, checksum
        return HEADER.pack(*place, 0, run.count - 1, timestamp, timestamp, *producer, run.count)

    checksum = crc32c(header(0)[CHECKSUM_STARTS_AT:] + records)
    return header(checksum) + records


def _keys_and_values(run: Run) -> Iterator[tuple[bytes | None, bytes | None]]:
    for index in range(run.count):
        payload = run.payloads[index] if run.payloads else None
        if isinstance(payload, EncodedRecord):
            yield payload
        elif isinstance(payload, StoredRecord):
            yield key_and_value(payload, run.timestamp_ms)
        else:
            text = f"{run.writer} {run.first_sequence + index}".encode()
            yield None, text.ljust(run.record_bytes)


def _record(offset_delta: int, key: bytes | None, value: bytes | None) -> bytes:
    content = b"\x00\x00" + _varint(offset_delta) + _sized(key) + _sized(value) + _NO_HEADERS
    return _varint(len(content)) + content


def _sized(content: bytes | None) -> bytes:
    return _NULL if content is None else _varint(len(content)) + content


def _varint(number: int) -> bytes:
    """Return a number that is not negative, zigzag encoded."""
    number <<= 1
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
