"""The runs of records that a follower appends, from the batches that its leader has sent.

A batch is a run of its own, with its bytes. A batch that batches_of_runs.py has made for simulated records becomes such
records again, so that all replicas have the same.

Source: Kafka 2.8, MemoryRecords, Log.analyzeAndValidateRecords and appendAsFollower.
"""

from collections.abc import Iterator

from crc32c import crc32c

from kcsim.brokers.groups.group_log import WRITER as GROUP_WRITER
from kcsim.brokers.groups.offsets_topic_records import EncodedRecord
from kcsim.brokers.record_batches import (
    CHECKSUM_STARTS_AT,
    HEADER,
    LENGTH_STARTS_AT,
    MAGIC,
    NO_PRODUCER_ID,
    BatchHeader,
    BrokenRecordsError,
    header_of,
    keys_of,
    numbered,
    values_of,
)
from kcsim.brokers.records import Run, producer_in
from kcsim.vocabulary import LeaderEpoch


class CorruptRecordsError(ValueError):
    """Records that are no batches of format 2, or are damaged."""


def runs_of(records: bytes, fetch_offset: int) -> tuple[Run, ...]:
    """Return the records from an offset on. What is left of a batch at the end is dropped. Raises: CorruptRecordsError."""
    runs = (run_of(batch) for batch in batches_in(records))
    return tuple(run.from_offset(max(fetch_offset, run.base_offset)) for run in runs if run.end_offset > fetch_offset)


def batches_in(records: bytes) -> Iterator[bytes]:
    """Yield each complete batch; what is left of one at the end is dropped. Raises: CorruptRecordsError."""
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


def run_of(batch: bytes) -> Run:
    """Return the records of a batch. Raises: CorruptRecordsError."""
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
    payloads: tuple[EncodedRecord, ...] = ()
    try:
        if next(keys_of(batch)) is not None:
            writer, first = GROUP_WRITER, header.base_offset
            keys = (key or b"" for key in keys_of(batch))
            payloads = tuple(map(EncodedRecord, keys, values_of(batch)))
        else:
            text = (next(values_of(batch)) or b"").rstrip(b" ").decode(errors="replace")
            writer, _, number = text.rpartition(" ")
            if not writer or not number.isdecimal():
                return None
            first = int(number)
    except (BrokenRecordsError, StopIteration):
        return None
    epoch, time_ms, size = LeaderEpoch(header.leader_epoch), header.max_timestamp, header.base_sequence
    return Run(header.base_offset, header.record_count, epoch, writer, first, time_ms, size, payloads)
