"""Reads from a partition's leader, for followers and consumers, or the error that refuses them.

Source: Kafka 2.8, ReplicaManager.readFromLocalLog, Partition.readRecords; docs/kafka/requests.md 4.2-5, 7.1, 8.
"""

from kcsim.brokers.api.epoch_checks import client_error, fetch_error
from kcsim.brokers.log.replica_log import OffsetOutOfRangeError
from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.brokers.replication.hosted_partitions import HostedPartitions
from kcsim.brokers.replication.partition import Partition, ReplicaRole
from kcsim.brokers.requests import (
    UNDEFINED_EPOCH,
    UNDEFINED_OFFSET,
    DivergingEpoch,
    FetchedPartition,
    FetchPartition,
)
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import BrokerId, LeaderEpoch, TopicPartition


class Budget:
    """The number of bytes for which a response still has room. The record that exceeds it may be larger than the rest.

    The first record is in the response in any case.
    """

    def __init__(self, max_bytes: int) -> None:
        self.left = max_bytes
        self.spent = 0

    @property
    def is_spent(self) -> bool:
        return self.left <= 0 and self.spent > 0

    def spend(self, size: int) -> None:
        self.left -= size
        self.spent += size


class PartitionReads:
    """Reads for followers and consumers."""

    def __init__(self, hosted: HostedPartitions, metadata: MetadataCache) -> None:
        self._hosted = hosted
        self._metadata = metadata

    async def settled(self, tp: TopicPartition) -> None:
        """Wait until no ISR write of the partition is under way, if it is hosted here.

        The partition is neither read nor written during an ISR write.
        """
        partition = self._hosted.get(tp)
        while partition is not None and partition.isr_write is not None:
            await partition.isr_write.wait()

    def led(self, tp: TopicPartition) -> Partition | None:
        """Return the partition if this broker leads it."""
        partition = self._hosted.get(tp)
        return partition if partition is not None and partition.is_leader else None

    def offsets(self, tp: TopicPartition, follower: BrokerId) -> tuple[int, int] | None:
        """Return high watermark and log start offset of a partition that this broker leads, for one of its replicas."""
        partition = self.led(tp)
        if partition is None or follower not in partition.followers:
            return None
        return partition.high_watermark, partition.written_log.log_start_offset

    def unavailable(self, tp: TopicPartition) -> ErrorCode:
        """Return the error that refuses any request for a partition here; NONE if there is none."""
        if tp not in self._metadata:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION  # even if this broker leads it
        return ErrorCode.KAFKA_STORAGE_ERROR if tp in self._hosted.offline else ErrorCode.NONE

    def for_follower(
        self, tp: TopicPartition, fetch: FetchPartition, follower: BrokerId, budget: Budget
    ) -> FetchedPartition:
        """Return the records for a follower's fetch, up to the end of the log; nothing if the broker is not a replica."""
        error = self.unavailable(tp) or fetch_error(self._hosted.get(tp), fetch)
        if error:
            return FetchedPartition(error)
        partition = self._hosted.get(tp)
        assert partition is not None
        if follower not in partition.followers:
            return FetchedPartition()
        return _diverging(partition, fetch) or _read(partition, fetch, partition.log_end_offset, budget)

    def for_consumer(
        self, tp: TopicPartition, fetch: FetchPartition, budget: Budget, *, may_follow: bool = False
    ) -> FetchedPartition:
        """Return the records for a consumer's fetch, up to the high watermark.

        Args:
            may_follow: whether a follower may answer, with what it knows to be committed.
        """
        partition = self._hosted.get(tp)
        error = self.client_error(tp, fetch.leader_epoch)
        is_followers = partition is not None and partition.log is not None and partition.role is ReplicaRole.FOLLOWER
        if error and not (error is ErrorCode.NOT_LEADER_OR_FOLLOWER and may_follow and is_followers):
            return FetchedPartition(error)
        assert partition is not None
        return _read(partition, fetch, partition.high_watermark, budget)

    def client_error(self, tp: TopicPartition, leader_epoch: LeaderEpoch) -> ErrorCode:
        """Return the error for a client, which may not know the leader epoch."""
        return self.unavailable(tp) or client_error(self._hosted.get(tp), leader_epoch)


def _diverging(partition: Partition, fetch: FetchPartition) -> FetchedPartition | None:
    """Return where the logs diverge, or the error if that cannot be found out; None if they agree up to the fetch offset.

    Source: Kafka 2.8, Partition.readRecords.
    """
    if fetch.last_fetched_epoch == UNDEFINED_EPOCH:
        return None
    log = partition.written_log
    end = log.end_offset_for(fetch.last_fetched_epoch)
    if end.end_offset == UNDEFINED_OFFSET or fetch.fetch_offset < log.log_start_offset:
        return FetchedPartition(ErrorCode.OFFSET_OUT_OF_RANGE)
    if end.leader_epoch == fetch.last_fetched_epoch and end.end_offset >= fetch.fetch_offset:
        return None
    diverging = DivergingEpoch(end.leader_epoch, end.end_offset)
    return FetchedPartition(ErrorCode.NONE, log.high_watermark, log.log_start_offset, diverging=diverging)


def _read(partition: Partition, fetch: FetchPartition, upper: int, budget: Budget) -> FetchedPartition:
    log = partition.written_log
    try:
        runs = log.read(fetch.fetch_offset, min(fetch.max_bytes, budget.left), upper) if not budget.is_spent else ()
    except OffsetOutOfRangeError:
        return FetchedPartition(ErrorCode.OFFSET_OUT_OF_RANGE)
    budget.spend(sum(run.size for run in runs))
    return FetchedPartition(ErrorCode.NONE, log.high_watermark, log.log_start_offset, runs)
