"""The runs of records that a follower appends, from the batches that its leader has sent.

A batch is a run of its own, with its bytes. A batch that batches_of_runs.py has made for simulated records becomes such
records again, so that all replicas have the same.

Source: Kafka 2.8, MemoryRecords, Log.analyzeAndValidateRecords and appendAsFollower.
"""

from collections.abc import Iterator

from crc32c import crc32c

from kcsim.brokers.record_batches import (
    CHECKSUM_STARTS_AT,
    HEADER,
    LENGTH_STARTS_AT,
    MAGIC,
    NO_PRODUCER_ID,
    BatchHeader,
    BrokenRecordsError,
    header_of,
    numbered,
    values_of,
)
from kcsim.brokers.records import Run, producer_in
from kcsim.vocabulary import LeaderEpoch


class CorruptRecordsError(ValueError):
    """Records that are no batches of format 2, or are damaged."""


def runs_of(records: bytes, fetch_offset: int) -> tuple[Run, ...]:
    """Return the records from an offset on. What is left of a batch at the end is dropped. Raises: CorruptRecordsError."""
    runs = (_run_of(batch) for batch in _batches_in(records))
    return tuple(run.from_offset(max(fetch_offset, run.base_offset)) for run in runs if run.end_offset > fetch_offset)


def _batches_in(records: bytes) -> Iterator[bytes]:
    at = 0
    while len(records) - at >= HEADER.size:
        length = int.from_bytes(records[at + LENGTH_STARTS_AT - 4 : at + LENGTH_STARTS_AT], "big", signed=True)
        end = at + LENGTH_STARTS_AT + length
        if end - at < HEADER.size:
            raise CorruptRecordsError(f"a batch of {end - at} bytes")
        if end > len(records):
            return
        yield records[at:end]
        at = end


def _run_of(batch: bytes) -> Run:
    header = header_of(batch)
    if header.magic != MAGIC or header.last_offset_delta < 0:
        raise CorruptRecordsError(f"a batch of format {header.magic}, with {header.last_offset_delta + 1} records")
    if header.checksum != crc32c(memoryview(batch)[CHECKSUM_STARTS_AT:]):
        raise CorruptRecordsError(f"the batch at offset {header.base_offset} does not fit its checksum")
    if header.producer_id == NO_PRODUCER_ID and header.base_sequence > 0:
        simulated = _simulated(batch, header)
        if simulated is not None:
            return simulated
    is_idempotent = header.producer_id != NO_PRODUCER_ID
    count = header.last_offset_delta + 1  # not the number of records, some of which a cleaner may have removed
    return Run(
        header.base_offset,
        count,
        LeaderEpoch(header.leader_epoch),
        producer_in(f"#{header.producer_id}" if is_idempotent else ""),
        numbered(header.producer_epoch, header.base_sequence) if is_idempotent else header.base_offset,
        header.max_timestamp,
        -(-len(batch) // count),
        batch=batch,
    )


def _simulated(batch: bytes, header: BatchHeader) -> Run | None:
    """Return the simulated records for which a batch was made; None if a client has sent it."""
    try:
        value = next(values_of(batch), None)
    except BrokenRecordsError:
        return None
    writer, _, number = (value or b"").rstrip(b" ").decode(errors="replace").rpartition(" ")
    if not writer or not number.isdecimal():
        return None
    return Run(
        header.base_offset,
        header.record_count,
        LeaderEpoch(header.leader_epoch),
        writer,
        int(number),
        header.max_timestamp,
        header.base_sequence,
    )
