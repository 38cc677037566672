"""A leader's handling of produce requests: appends records and acknowledges them once enough replicas have them.

Source: Kafka 2.8, KafkaApis.handleProduceRequest, ReplicaManager.appendRecords, Partition.appendRecordsToLeader,
DelayedProduce; docs/kafka/requests.md 8.
"""

from collections.abc import Iterable
from functools import partial

from kcsim.brokers.api.leader_append import LeaderAppend
from kcsim.brokers.api.partition_reads import PartitionReads
from kcsim.brokers.ports import BoundsRecords
from kcsim.brokers.replication.min_isr import MinIsr
from kcsim.brokers.replication.purgatory import Purgatory
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
from kcsim.controller.requests import ErrorCode
from kcsim.errors import TimedOutError
from kcsim.runtime.ports import Runtime
from kcsim.vocabulary import TopicPartition


class ProduceHandler:
    """Appends records to the partitions that a broker leads, including the broker's own records of internal topics.

    Args:
        memory: bounds the records of clients from outside the run, whose batches have bytes.
    """

    def __init__(
        self,
        runtime: Runtime,
        reads: PartitionReads,
        leader_append: LeaderAppend,
        purgatory: Purgatory,
        min_isr: MinIsr,
        memory: BoundsRecords | None = None,
    ) -> None:
        self._runtime = runtime
        self._reads = reads
        self._leader_append = leader_append
        self._purgatory = purgatory
        self._min_isr = min_isr
        self._memory = memory

    async def handle(self, request: ProduceRequest, cause: int) -> ProduceResponse:
        """Append each batch or return its error; with acks all, answer when each batch is committed or the time is up."""
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
        log = partition.written_log
        refused = partial(ProduceResult, log_start_offset=log.log_start_offset)
        if acks == ACKS_ALL and not self._min_isr.is_met(partition):
            return refused(ErrorCode.NOT_ENOUGH_REPLICAS)
        if batch.error is ErrorCode.CORRUPT_MESSAGE:
            return ProduceResult(batch.error)
        if batch.batch is not None and len(batch.batch) > log.config.max_message_bytes:
            return ProduceResult(ErrorCode.MESSAGE_TOO_LARGE)
        if batch.error:
            return refused(batch.error)
        admission = partition.producers.admit(batch, lambda: log.runs)
        if admission.error:
            return refused(admission.error)
        if admission.duplicate_of is not None:
            timestamp_ms, epoch = admission.timestamp_ms, admission.leader_epoch
            return ProduceResult(ErrorCode.NONE, admission.duplicate_of, log.log_start_offset, timestamp_ms, epoch)
        if self._memory is not None and batch.batch is not None:
            why = self._memory.refusal(len(batch.batch))
            if why is not None:
                return refused(ErrorCode.POLICY_VIOLATION, message=why)
        return self._leader_append.append(partition, batch, cause)

    # --- acknowledgement

    async def _committed(self, ends: dict[TopicPartition, int], deadline_ms: int) -> dict[TopicPartition, ErrorCode]:
        """Wait until each partition is committed up to its offset, or until no further wait helps.

        A partition that this broker does not lead any more, or whose time is up, gets an error.
        """
        outcomes: dict[TopicPartition, ErrorCode] = {}
        while True:
            changed = self._purgatory.watch(tp for tp in ends if tp not in outcomes)
            outcomes.update(self._outcomes((tp, end) for tp, end in ends.items() if tp not in outcomes))
            left_ms = deadline_ms - self._runtime.now_ms()
            if len(outcomes) == len(ends) or left_ms <= 0:
                changed.forget()
                return {tp: outcomes.get(tp, ErrorCode.REQUEST_TIMED_OUT) for tp in ends}
            try:
                await changed.wait(left_ms)
            except TimedOutError:
                continue  # check once more after the time is up

    def _outcomes(self, ends: Iterable[tuple[TopicPartition, int]]) -> dict[TopicPartition, ErrorCode]:
        """Return the outcomes of the partitions that have one now."""
        outcomes = {}
        for tp, end in ends:
            partition = self._reads.led(tp)
            if partition is None:
                outcomes[tp] = ErrorCode.NOT_LEADER_OR_FOLLOWER
            elif partition.high_watermark >= end:
                is_enough = self._min_isr.is_met(partition)
                outcomes[tp] = ErrorCode.NONE if is_enough else ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return outcomes
