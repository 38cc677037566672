"""How a leader takes what clients write: appends it, and acknowledges it when as many have it as was asked for.

Source: Kafka 2.8, KafkaApis.handleProduceRequest, ReplicaManager.appendRecords, Partition.appendRecordsToLeader,
DelayedProduce; reference requests.md 8.
"""

from collections.abc import Callable, Iterable

from kcsim.brokers.committing import Committing
from kcsim.brokers.isr_expiration import IsrExpiration
from kcsim.brokers.log_events import LogEvents
from kcsim.brokers.log_segments import RecordBatchTooLargeError
from kcsim.brokers.partition import Partition
from kcsim.brokers.partition_reads import PartitionReads
from kcsim.brokers.records import Run
from kcsim.brokers.requests import (
    ACKS_ALL,
    ACKS_LEADER,
    ACKS_NONE,
    ANY_LEADER_EPOCH,
    ProduceBatch,
    ProduceRequest,
    ProduceResponse,
    ProduceResult,
)
from kcsim.brokers.retention_task import RetentionTask
from kcsim.controller.requests import ErrorCode
from kcsim.zk.errors import TimedOutError
from kcsim.zk.ports import Runtime
from kcsim.zk.vocabulary import TopicPartition

MinInSync = Callable[[str], int]
"""Topic -> min.insync.replicas."""


class ProduceHandler:
    """Takes records for the partitions that a broker leads; the broker's own too, of internal topics.

    Args:
        epoch_ms: wall-clock time of the run's beginning, in ms since 1970.
    """

    def __init__(
        self,
        runtime: Runtime,
        reads: PartitionReads,
        committing: Committing,
        expiration: IsrExpiration,
        retention: RetentionTask,
        events: LogEvents,
        min_in_sync: MinInSync,
        epoch_ms: int,
    ) -> None:
        self._runtime = runtime
        self._reads = reads
        self._committing = committing
        self._expiration = expiration
        self._retention = retention
        self._events = events
        self._min_in_sync = min_in_sync
        self._epoch_ms = epoch_ms

    async def handle(self, request: ProduceRequest, cause: int) -> ProduceResponse:
        """Append each batch, or say why not; with acks all, answer when each is committed or the time is up."""
        deadline_ms = self._runtime.now_ms() + request.timeout_ms
        results = {tp: await self._append(tp, batch, request.acks, cause) for tp, batch in request.batches.items()}
        if request.acks == ACKS_ALL:
            ends = {tp: result.base_offset + request.batches[tp].count for tp, result in results.items() if not result.error}
            for tp, error in (await self._committed(ends, deadline_ms)).items():
                results[tp] = results[tp] if error is ErrorCode.NONE else ProduceResult(error)
        return ProduceResponse(results)

    # --- appending

    async def _append(self, tp: TopicPartition, batch: ProduceBatch, acks: int, cause: int) -> ProduceResult:
        if acks not in (ACKS_ALL, ACKS_LEADER, ACKS_NONE):
            return ProduceResult(ErrorCode.INVALID_REQUIRED_ACKS)
        await self._reads.settled(tp)
        error = self._reads.client_error(tp, ANY_LEADER_EPOCH)
        if error:
            return ProduceResult(error)
        partition = self._reads.led(tp)
        assert partition is not None
        if acks == ACKS_ALL and len(partition.isr) < self._min_in_sync(tp.topic):
            return ProduceResult(ErrorCode.NOT_ENOUGH_REPLICAS)
        admission = partition.writers.admit(batch, lambda: partition.written_log.runs)
        if admission.error:
            return ProduceResult(admission.error)
        if admission.duplicate_of is not None:
            return ProduceResult(ErrorCode.NONE, admission.duplicate_of)
        return self._append_new(partition, batch, cause)

    def _append_new(self, partition: Partition, batch: ProduceBatch, cause: int) -> ProduceResult:
        self._committing.sessions.bring_up_to_date(partition)
        log, epoch = partition.written_log, partition.leader_epoch
        run = Run(
            log.log_end_offset,
            batch.count,
            epoch,
            batch.writer,
            batch.first_sequence,
            batch.timestamp_ms,
            batch.record_bytes,
            batch.payloads,
        )
        try:
            appended = log.append_as_leader((run,), epoch, self._epoch_ms + self._runtime.now_ms())
        except RecordBatchTooLargeError:
            return ProduceResult(ErrorCode.RECORD_LIST_TOO_LARGE)
        partition.writers.appended(batch)
        seq = self._events.appended(partition, batch, appended, cause)
        self._expiration.records_appended(partition, appended.first_offset, seq)
        self._retention.changed(log, seq)
        self._committing.advance(partition)
        self._committing.sessions.records_appended(partition)
        return ProduceResult(ErrorCode.NONE, appended.first_offset)

    # --- acknowledging

    async def _committed(self, ends: dict[TopicPartition, int], deadline_ms: int) -> dict[TopicPartition, ErrorCode]:
        """Wait until each partition is committed up to its offset, or it is certain that this broker will not see it."""
        outcomes: dict[TopicPartition, ErrorCode] = {}
        while True:
            changed = self._committing.wake_ups.of(tp for tp in ends if tp not in outcomes)
            outcomes.update(self._outcomes((tp, end) for tp, end in ends.items() if tp not in outcomes))
            left_ms = deadline_ms - self._runtime.now_ms()
            if len(outcomes) == len(ends) or left_ms <= 0:
                changed.forget()
                return {tp: outcomes.get(tp, ErrorCode.REQUEST_TIMED_OUT) for tp in ends}
            try:
                await changed.wait(left_ms)
            except TimedOutError:
                continue  # one last look

    def _outcomes(self, ends: Iterable[tuple[TopicPartition, int]]) -> dict[TopicPartition, ErrorCode]:
        """Of those that have one by now."""
        outcomes = {}
        for tp, end in ends:
            partition = self._reads.led(tp)
            if partition is None:
                outcomes[tp] = ErrorCode.NOT_LEADER_OR_FOLLOWER
            elif partition.high_watermark >= end:
                is_enough = len(partition.isr) >= self._min_in_sync(tp.topic)
                outcomes[tp] = ErrorCode.NONE if is_enough else ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return outcomes
