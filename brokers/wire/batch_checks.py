"""What a broker checks in the bytes of a client's records before it appends them, and the batch that they are to it.

Source: Kafka 2.8, ProduceRequest.validateRecords, Log.analyzeAndValidateRecords, LogValidator.validateBatch.
"""

from typing import NamedTuple

from crc32c import crc32c

from kcsim.brokers.record_batches import (
    CHECKSUM_STARTS_AT,
    HEADER,
    LENGTH_STARTS_AT,
    MAGIC,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    BatchHeader,
    Codec,
    header_of,
    numbered,
)
from kcsim.brokers.requests import NO_SEQUENCE, ProduceBatch
from kcsim.controller.requests import ErrorCode

FIRST_VERSION_WITH_ZSTD = 7


class Refusal(NamedTuple):
    """Why a broker does not even try to append records. `message` is for people."""

    error: ErrorCode
    message: str | None = None


def refusal_of(records: bytes, version: int) -> Refusal | None:
    """Return why a broker does not take records of one partition for a batch; None: it does.

    Args:
        version: of the request.
    """
    if len(records) < HEADER.size:
        return Refusal(ErrorCode.INVALID_RECORD)
    header = header_of(records)
    if header.magic > MAGIC:
        return Refusal(ErrorCode.CORRUPT_MESSAGE, f"Invalid magic found in record: {header.magic}")
    if header.magic < MAGIC or header.length != len(records) - LENGTH_STARTS_AT:  # more than one batch, or less
        return Refusal(ErrorCode.INVALID_RECORD)
    if header.codec == Codec.ZSTD and version < FIRST_VERSION_WITH_ZSTD:
        return Refusal(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    return None


def produced_batch(records: bytes, client: str, address: str) -> ProduceBatch:
    """Return the batch of a client's records, which are one; with an error if the partition's leader refuses it.

    The sequence of an idempotent producer begins anew with each of its epochs; here the numbers of an epoch follow those of
    the epoch before, so that each record of a producer has a number of its own.

    Args:
        client: the client id.
        address: host and port of the client, which tell producers without an id apart.
    """
    header = header_of(records)
    error = _error(records, header)
    if error:
        return ProduceBatch(client, NO_SEQUENCE, 1, 1, NO_TIMESTAMP, is_idempotent=False, batch=records, error=error)
    is_idempotent = header.producer_id != NO_PRODUCER_ID
    return ProduceBatch(
        f"{client}#{header.producer_id}" if is_idempotent else f"{client}@{address}",
        numbered(header.producer_epoch, header.base_sequence) if is_idempotent else NO_SEQUENCE,
        header.record_count,
        -(-len(records) // header.record_count),
        header.max_timestamp,
        is_idempotent,
        header.producer_epoch if is_idempotent else 0,
        batch=records,
    )


def _error(records: bytes, header: BatchHeader) -> ErrorCode:
    if header.checksum != crc32c(memoryview(records)[CHECKSUM_STARTS_AT:]):
        return ErrorCode.CORRUPT_MESSAGE
    is_numbered = header.producer_id == NO_PRODUCER_ID or (header.base_sequence >= 0 and header.producer_epoch >= 0)
    is_counted = header.record_count > 0 and header.record_count == header.last_offset_delta + 1
    if header.is_control or header.codec > Codec.ZSTD or not is_counted or not is_numbered:
        return ErrorCode.INVALID_RECORD
    return ErrorCode.INVALID_TXN_STATE if header.is_transactional else ErrorCode.NONE
