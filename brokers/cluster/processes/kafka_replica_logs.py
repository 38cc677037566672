"""The records in a real broker's log directories, read from its segment files, whether or not the broker runs.

Only records of this run's producers are identified, by their keys (kafka_producer.py); others keep their offsets. A batch
that is not complete yet ends the log. Left out: high watermarks and log start offsets, which are written now and then only.

Source: Kafka 2.8, LogSegment and DefaultRecordBatch.
"""

import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

from kcsim.brokers.cluster.processes.kafka_producer import read_key
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.brokers.record_batches import (
    MAGIC,
    NO_TIMESTAMP,
    BatchHeader,
    BrokenRecordsError,
    Codec,
    header_of,
    keys_of,
)
from kcsim.brokers.records import Run
from kcsim.brokers.wire.runs_of_batches import CorruptRecordsError, batches_in
from kcsim.vocabulary import LeaderEpoch, TopicPartition

OTHERS = "(others)"
"""The writer of records that no producer of the run has made."""


def read_replica_log(log_dirs: Sequence[Path], tp: TopicPartition) -> ReplicaLog | None:
    """Return a partition's log from the first log directory that has it; None if none has."""
    directory = next((found for each in log_dirs if (found := each / str(tp)).is_dir()), None)
    if directory is None:
        return None
    log = ReplicaLog(tp)
    for segment in sorted(directory.glob("*.log")):
        with suppress(FileNotFoundError):  # deleted meanwhile, with the topic or by retention
            for header, batch in _batches(segment.read_bytes()):
                for run in _runs(header, batch):
                    if run.base_offset > log.log_end_offset and not log.log_end_offset:
                        log.log_start_offset = log.log_end_offset = run.base_offset
                    log.append_as_follower([run], now_ms=0)
    return log


def _batches(data: bytes) -> Iterator[tuple[BatchHeader, bytes]]:
    """Yield each complete batch with its header, up to the first that is not of format 2."""
    with suppress(CorruptRecordsError):
        for batch in batches_in(data):
            if (header := header_of(batch)).magic != MAGIC:
                return
            yield header, batch


def _runs(header: BatchHeader, batch: bytes) -> Iterator[Run]:
    """Yield the records of a batch, consecutive ones of one writer as one run."""
    found: Run | None = None
    for offset, (writer, sequence) in zip(count(header.base_offset), _writers(header, batch), strict=False):
        run = Run(offset, 1, LeaderEpoch(header.leader_epoch), writer, sequence, NO_TIMESTAMP, 1)
        if found is not None and found.can_be_followed_by(run):
            found = found.followed_by(run)
            continue
        if found is not None:
            yield found
        found = run
    if found is not None:
        yield found


def _writers(header: BatchHeader, batch: bytes) -> list[tuple[str, int]]:
    """Return writer and sequence of each record. Those of others have their offsets as sequences."""
    others = [(OTHERS, header.base_offset + place) for place in range(header.last_offset_delta + 1)]
    if header.codec != Codec.NONE or header.is_control or header.record_count != len(others):
        return others
    try:
        return [(key and read_key(key)) or other for key, other in zip(keys_of(batch), others, strict=True)]
    except (BrokenRecordsError, struct.error):
        return others
