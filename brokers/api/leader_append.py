"""The append of a batch to the log of a partition's leader, and what follows from it on the same broker.

Source: Kafka 2.8, Partition.appendRecordsToLeader; docs/kafka/requests.md 8.
"""

from collections.abc import Callable

from msgspec import structs

from kcsim.brokers.config import LOG_APPEND_TIME
from kcsim.brokers.log.log_segments import RecordBatchTooLargeError
from kcsim.brokers.log.retention_task import RetentionTask
from kcsim.brokers.record_batches import NO_TIMESTAMP, stamped
from kcsim.brokers.records import Run
from kcsim.brokers.replication.high_watermark_updater import HighWatermarkUpdater
from kcsim.brokers.replication.isr_expiration import IsrExpiration
from kcsim.brokers.replication.log_events import LogEvents
from kcsim.brokers.replication.partition import Partition
from kcsim.brokers.requests import NO_SEQUENCE, ProduceBatch, ProduceResult
from kcsim.controller.requests import ErrorCode


class LeaderAppend:
    """Appends batches to the partitions that a broker leads.

    Args:
        wall_clock_ms: returns the wall-clock time, in ms since 1970, which may decide when a segment is rolled.
    """

    def __init__(
        self,
        wall_clock_ms: Callable[[], int],
        events: LogEvents,
        expiration: IsrExpiration,
        retention: RetentionTask,
        high_watermarks: HighWatermarkUpdater,
    ) -> None:
        self._wall_clock_ms = wall_clock_ms
        self._events = events
        self._expiration = expiration
        self._retention = retention
        self._high_watermarks = high_watermarks

    def append(self, partition: Partition, batch: ProduceBatch, cause: int) -> ProduceResult:
        """Append a batch that was admitted. Returns: the offset of its first record, or RECORD_LIST_TOO_LARGE."""
        self._high_watermarks.sessions.bring_up_to_date(partition)
        log, epoch, now_ms = partition.written_log, partition.leader_epoch, self._wall_clock_ms()
        if batch.first_sequence == NO_SEQUENCE:
            batch = structs.replace(batch, first_sequence=log.log_end_offset)
        append_time_ms = NO_TIMESTAMP
        if log.config.message_timestamp_type == LOG_APPEND_TIME:
            append_time_ms = now_ms
            stamped_bytes = None if batch.batch is None else stamped(batch.batch, now_ms)
            batch = structs.replace(batch, timestamp_ms=now_ms, batch=stamped_bytes)
        run = Run(
            log.log_end_offset,
            batch.count,
            epoch,
            batch.writer,
            batch.first_sequence,
            batch.timestamp_ms,
            batch.record_bytes,
            batch.payloads,
            batch.batch,
        )
        try:
            appended = log.append_as_leader((run,), epoch, now_ms)
        except RecordBatchTooLargeError:
            return ProduceResult(ErrorCode.RECORD_LIST_TOO_LARGE)
        partition.producers.appended(batch)
        seq = self._events.appended(partition, batch, appended, cause)
        self._expiration.records_appended(partition, appended.first_offset, seq)
        self._retention.changed(log, seq)
        self._high_watermarks.advance(partition)
        self._high_watermarks.sessions.records_appended(partition)
        return ProduceResult(ErrorCode.NONE, appended.first_offset, log.log_start_offset, append_time_ms, epoch)
