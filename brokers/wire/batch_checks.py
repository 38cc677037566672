"""What a broker checks in the bytes of a client's records before it appends them, and the batch that they are to it.

Source: Kafka 2.8, ProduceRequest.validateRecords, Log.analyzeAndValidateRecords, LogValidator.validateBatch.
"""

from crc32c import crc32c

from kcsim.brokers.record_batches import (
    CHECKSUM_STARTS_AT,
    HEADER,
    LENGTH_STARTS_AT,
    MAGIC,
    NO_PRODUCER_ID,
    BatchHeader,
    Codec,
    header_of,
)
from kcsim.brokers.requests import NO_SEQUENCE, ProduceBatch
from kcsim.controller.requests import ErrorCode

FIRST_VERSION_WITH_ZSTD = 7
_SEQUENCE_BITS = 31


def produced_batch(records: bytes | None, client: str, address: str, version: int) -> ProduceBatch:
    """Return the batch in the records of one partition of a request; with an error if a broker refuses it.

    The sequence of an idempotent producer begins anew with each of its epochs; here the numbers of an epoch follow those of
    the epoch before, so that each record of a producer has a number of its own.

    Args:
        client: the client id.
        address: host and port of the client, which tell producers without an id apart.
        version: of the request.
    """
    if records is None or len(records) < HEADER.size:
        return _refused(ErrorCode.INVALID_RECORD)
    header = header_of(records)
    error = _error(records, header, version)
    if error:
        return _refused(error)
    is_idempotent = header.producer_id != NO_PRODUCER_ID
    sequence = (header.producer_epoch << _SEQUENCE_BITS) + header.base_sequence if is_idempotent else NO_SEQUENCE
    return ProduceBatch(
        f"{client}#{header.producer_id}" if is_idempotent else f"{client}@{address}",
        sequence,
        header.record_count,
        -(-len(records) // header.record_count),
        header.max_timestamp,
        is_idempotent,
        header.producer_epoch if is_idempotent else 0,
        batch=records,
    )


def _refused(error: ErrorCode) -> ProduceBatch:
    return ProduceBatch("", NO_SEQUENCE, 1, 1, 0, is_idempotent=False, batch=b"", error=error)


def _error(records: bytes, header: BatchHeader, version: int) -> ErrorCode:
    if header.magic < MAGIC:
        return ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
    if header.magic > MAGIC or header.length != len(records) - LENGTH_STARTS_AT:  # more than one batch, or less
        return ErrorCode.INVALID_RECORD
    if header.codec == Codec.ZSTD and version < FIRST_VERSION_WITH_ZSTD:
        return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    if header.checksum != crc32c(memoryview(records)[CHECKSUM_STARTS_AT:]):
        return ErrorCode.CORRUPT_MESSAGE
    is_numbered = header.producer_id == NO_PRODUCER_ID or (header.base_sequence >= 0 and header.producer_epoch >= 0)
    is_counted = header.record_count > 0 and header.record_count == header.last_offset_delta + 1
    if header.is_control or header.codec > Codec.ZSTD or not is_counted or not is_numbered:
        return ErrorCode.INVALID_RECORD
    return ErrorCode.INVALID_TXN_STATE if header.is_transactional else ErrorCode.NONE
