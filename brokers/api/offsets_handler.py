"""A leader's answers to offset queries: the start and end of its log, and the end of a leader epoch.

Source: Kafka 2.8, Partition.fetchOffsetForTimestamp, lastOffsetForLeaderEpoch; docs/kafka/requests.md 7.2, 7.3, 8.
"""

from kcsim.brokers.api.epoch_checks import client_error
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.brokers.record_batches import BrokenRecordsError, first_record_since
from kcsim.brokers.replication.hosted_partitions import HostedPartitions
from kcsim.brokers.replication.partition import Partition
from kcsim.brokers.requests import (
    CONSUMER,
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    EpochEnd,
    EpochQuery,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetQuery,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
)
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import TopicPartition


class OffsetsHandler:
    """Answers offset queries from the logs of one broker."""

    def __init__(self, hosted: HostedPartitions, metadata: MetadataCache) -> None:
        self._hosted = hosted
        self._metadata = metadata

    def list_offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        """Return the start or end offsets of logs, or the offsets of the first records since a time.

        The end is the log end offset for a replica, and the high watermark for a consumer.
        """
        is_replica = request.replica_id != CONSUMER
        return ListOffsetsResponse({tp: self._listed(tp, query, is_replica) for tp, query in request.partitions.items()})

    def _listed(self, tp: TopicPartition, query: OffsetQuery, is_replica: bool) -> ListedOffset:
        partition = self._hosted.get(tp)
        error = self._absence(tp, partition) or client_error(partition, query.current_leader_epoch)
        if error:
            return ListedOffset(error)
        assert partition is not None
        log = partition.written_log
        if query.timestamp == EARLIEST_TIMESTAMP:
            return ListedOffset(ErrorCode.NONE, log.log_start_offset, partition.leader_epoch)
        if is_replica and query.timestamp == LATEST_TIMESTAMP:
            return ListedOffset(ErrorCode.NONE, log.log_end_offset, partition.leader_epoch)
        # Until a new leader has committed up to the start of its epoch, its high watermark may be behind offsets that
        # clients have read.
        if log.high_watermark < (partition.leader_epoch_start_offset or 0):
            return ListedOffset(ErrorCode.OFFSET_NOT_AVAILABLE)
        if query.timestamp == LATEST_TIMESTAMP:
            return ListedOffset(ErrorCode.NONE, log.high_watermark, partition.leader_epoch)
        found = _first_since(query.timestamp, log)
        if found is None or found[0] >= (log.log_end_offset if is_replica else log.high_watermark):
            return ListedOffset()
        offset, timestamp = found
        return ListedOffset(ErrorCode.NONE, offset, partition.leader_epoch, timestamp)

    def ends_of_epochs(self, request: OffsetsForLeaderEpochRequest) -> OffsetsForLeaderEpochResponse:
        """Return the end offsets of leader epochs."""
        return OffsetsForLeaderEpochResponse({tp: self._end(tp, query) for tp, query in request.partitions.items()})

    def _end(self, tp: TopicPartition, query: EpochQuery) -> EpochEnd:
        partition = self._hosted.get(tp)
        error = self._absence(tp, partition) or client_error(partition, query.current_leader_epoch)
        if error:
            return EpochEnd(error)
        assert partition is not None
        end = partition.written_log.end_offset_for(query.leader_epoch)
        return EpochEnd(ErrorCode.NONE, end.leader_epoch, end.end_offset)

    def _absence(self, tp: TopicPartition, partition: Partition | None) -> ErrorCode:
        if tp in self._hosted.offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if partition is None and tp not in self._metadata:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return ErrorCode.NONE


def _first_since(timestamp: int, log: ReplicaLog) -> tuple[int, int] | None:
    """Return offset and timestamp of the first record that is not older; None if all are."""
    for run in log.runs:
        if run.timestamp_ms < timestamp:
            continue
        if run.batch is None:
            return run.base_offset, run.timestamp_ms
        try:
            found = first_record_since(run.batch, timestamp)
        except BrokenRecordsError:
            continue
        if found is not None:
            return max(found[0], run.base_offset), found[1]
    return None
