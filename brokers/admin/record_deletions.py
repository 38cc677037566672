"""Records deleted for clients: the leader raises the log start offset of a partition, and waits for the live followers.

Segments below the log start offset are deleted by the next retention pass.

Source: Kafka 2.8, KafkaApis.handleDeleteRecordsRequest, ReplicaManager.deleteRecords, Partition.deleteRecordsOnLeader,
DelayedDeleteRecords.
"""

from kcsim.brokers.admin.change_requests import HIGH_WATERMARK, DeletedRecords, DeleteRecordsRequest, DeleteRecordsResponse
from kcsim.brokers.data_path import DataPath
from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.brokers.requests import ANY_LEADER_EPOCH
from kcsim.controller.requests import ErrorCode
from kcsim.errors import TimedOutError
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.sink import EventSink
from kcsim.runtime.ports import Runtime
from kcsim.vocabulary import INTERNAL_TOPICS, TopicPartition

DELETE = "delete"
"""The cleanup policy without which records are not deleted by offset."""


class RecordDeletions:
    """The deletions of records by one broker, of the partitions that it leads."""

    def __init__(self, runtime: Runtime, data: DataPath, metadata: MetadataCache, sink: EventSink) -> None:
        self._runtime = runtime
        self._data = data
        self._metadata = metadata
        self._sink = sink

    async def delete(self, request: DeleteRecordsRequest, cause: int) -> DeleteRecordsResponse:
        """Delete records, and answer when the live replicas of each partition have done so, or the time is up."""
        deadline_ms = self._runtime.now_ms() + request.timeout_ms
        results: dict[TopicPartition, DeletedRecords] = {}
        pending: dict[TopicPartition, int] = {}
        for tp, offset in request.offsets.items():
            await self._data.reads.settled(tp)
            error, start = self._delete(tp, offset, cause)
            if error:
                results[tp] = DeletedRecords(error)
            else:
                pending[tp] = start
        while True:
            changed = self._data.purgatory.watch(pending)
            for tp in list(pending):
                outcome = self._outcome(tp, pending[tp])
                results[tp] = outcome
                if outcome.error is not ErrorCode.REQUEST_TIMED_OUT:
                    del pending[tp]
            left_ms = deadline_ms - self._runtime.now_ms()
            if not pending or left_ms <= 0:
                changed.forget()
                return DeleteRecordsResponse({tp: results[tp] for tp in request.offsets})
            try:
                await changed.wait(left_ms)
            except TimedOutError:
                continue  # check once more after the time is up

    def _delete(self, tp: TopicPartition, offset: int, cause: int) -> tuple[ErrorCode, int]:
        """Raise the log start offset. Return an error, or the offset that all live replicas are to reach."""
        unavailable = self._data.reads.unavailable(tp)
        if unavailable or tp.topic in INTERNAL_TOPICS:
            return unavailable or ErrorCode.INVALID_TOPIC_EXCEPTION, HIGH_WATERMARK
        error = self._data.reads.client_error(tp, ANY_LEADER_EPOCH)
        if error:
            return error, HIGH_WATERMARK
        partition = self._data.reads.led(tp)
        assert partition is not None
        log = partition.written_log
        if DELETE not in log.config.cleanup_policy:
            return ErrorCode.POLICY_VIOLATION, HIGH_WATERMARK
        start = log.high_watermark if offset == HIGH_WATERMARK else offset
        if not 0 <= start <= log.high_watermark:
            return ErrorCode.OFFSET_OUT_OF_RANGE, HIGH_WATERMARK
        if start > log.log_start_offset:
            detail = f"records before offset {start}, requested by a client"
            requested = self._sink.emit(
                EventKind.ADMIN_ACT, cause, op="delete-records", topic=tp.topic, partition=tp.partition, detail=detail
            )
            log.increment_log_start_offset(start)
            self._data.retention.changed(log, requested)
            self._data.high_watermarks.sessions.offsets_moved(partition)
        return ErrorCode.NONE, start

    def _outcome(self, tp: TopicPartition, start: int) -> DeletedRecords:
        """Return the result for a partition now; REQUEST_TIMED_OUT while a live replica has not reached the offset."""
        partition = self._data.reads.led(tp)
        if partition is None:
            return DeletedRecords(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        low_watermark = partition.low_watermark(self._metadata.live_broker_ids)
        error = ErrorCode.NONE if low_watermark >= start else ErrorCode.REQUEST_TIMED_OUT
        return DeletedRecords(error, low_watermark)
