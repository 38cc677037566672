"""A producer: makes records, sends them to the leaders, and retries until they are acknowledged or given up.

One task checks what can be sent, whenever something has arrived or is due; each request is sent by a task of its own, one at
a time to each broker. Source: Kafka 2.8, KafkaProducer and Sender; docs/kafka/requests.md 8, 14. Left out: transactions,
compression, more than one request in flight to a broker, and the expiry of a batch while its request is in flight: the
response is waited for, at most request.timeout.ms. An idempotent producer asks for an id once, and until it has one it sends
nothing (InitProducerId). It asks again after every error; after some, Kafka's producer fails for good.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from kcsim.brokers.clients.batches import PartitionBuffer, ProducerBatch
from kcsim.brokers.clients.clients import UNREACHABLE, ClientProcess, ClusterClient, is_about_leadership
from kcsim.brokers.clients.ledger import NO_OFFSET, Ledger
from kcsim.brokers.clients.producer_config import ProducerConfig
from kcsim.brokers.clients.reports import ProducerReports
from kcsim.brokers.clients.spread import pattern_of, spread
from kcsim.brokers.requests import (
    ACKS_NONE,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProduceBatch,
    ProduceRequest,
    ProduceResponse,
    ProduceResult,
)
from kcsim.controller.ports import BrokerConnectionError
from kcsim.controller.requests import ErrorCode
from kcsim.errors import TimedOutError
from kcsim.runtime.ports import Mailbox, Promise
from kcsim.vocabulary import BrokerId, TopicPartition

DISCONNECTED = "NETWORK_EXCEPTION"
"""Kafka's name for the error of a request whose connection broke."""
FINAL = frozenset(
    {
        ErrorCode.INVALID_REQUIRED_ACKS,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)
"""Errors after which a batch is not sent again."""
NOTHING_APPENDED = frozenset(
    {
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.INVALID_REQUIRED_ACKS,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.RECORD_LIST_TOO_LARGE,
    }
)
"""Errors after which the records are certainly not in the log. NOT_LEADER_OR_FOLLOWER is not one of them: with acks=all it
is also the response to records that were appended before the leadership was lost."""


@dataclass(frozen=True, slots=True)
class ProducerSpec:
    """The description of a producer.

    Attributes:
        topics: it writes to all their partitions, in turn unless `shares` are given.
        rate: records per second; None: as fast as they are acknowledged.
        records: how many records each time it is started; None: until it is stopped.
        shares: partition -> its share of the records; empty: equal shares for all partitions of the topics.
    """

    name: str
    topics: tuple[str, ...]
    rate: int | None = None
    records: int | None = None
    record_bytes: int = 1_000
    shares: Mapping[TopicPartition, int] = field(default_factory=dict)
    config: ProducerConfig = field(default_factory=ProducerConfig)

    @property
    def node(self) -> str:
        return f"producer-{self.name}"


@dataclass(slots=True)
class _Work:
    """The work of one start.

    Attributes:
        goal: how many records to make; None: no end.
        made: how many were made so far.
    """

    goal: int | None
    began_ms: int
    reports: ProducerReports
    done: "Promise[None]"
    made: int = 0


class Producer:
    """One producer, from its first start to the end of the run. Between starts it keeps its metadata and sequences.

    Args:
        epoch_ms: wall-clock time of the run's start, in ms since 1970.
    """

    def __init__(
        self, spec: ProducerSpec, process: ClientProcess, client: ClusterClient, ledger: Ledger, epoch_ms: int
    ) -> None:
        self.spec = spec
        self._process = process
        self._client = client
        self._ledger = ledger
        self._epoch_ms = epoch_ms
        self._config = spec.config
        self._batch_records = max(1, spec.config.batch_size // spec.record_bytes)
        self._buffer_records = max(1, spec.config.buffer_memory // spec.record_bytes)
        # The interval at which records of a rate are made and sent: linger.ms, or one record's time if that is longer.
        self._tick_ms = max(1, spec.config.linger_ms, 1_000 // spec.rate if spec.rate is not None else 0)
        self._producer_epoch = 0
        self._made = 0
        self._pattern: Sequence[TopicPartition] = ()
        self._buffers: dict[TopicPartition, PartitionBuffer] = {}
        self._busy: set[BrokerId] = set()
        self._is_refreshing = False
        self._refresh_not_before_ms = 0
        self._needs_id = spec.config.enable_idempotence
        self._is_asking_for_id = False
        self._ask_for_id_not_before_ms = 0
        self._wake: Mailbox[None] = process.mailbox()
        self._work: _Work | None = None

    @property
    def reports(self) -> ProducerReports | None:
        """The reports of the present work; None between starts."""
        return self._work.reports if self._work else None

    async def begin(self, records: int | None, reports: ProducerReports) -> "Promise[None]":
        """Start to write. Return a promise that is resolved when all records are acknowledged or given up.

        Raises: TimedOutError when no broker has sent metadata of all its topics within max.block.ms.
        """
        assert self._work is None, f"{self.spec.node} is at work"
        await self._learn_partitions(reports.cause)
        work = self._work = _Work(records, self._process.now_ms(), reports, self._process.promise())
        begun = self._process.promise()
        self._process.spawn("sender", self._run(work, begun))
        await begun.wait()  # wait until the task runs, so that a run that ends at once contains a producer that has begun
        return work.done

    def stop(self) -> None:
        """Make no more records; records already made are still sent."""
        if self._work is not None:
            self._work.goal = self._work.made
            self._wake.put(None)

    # --- partitions

    async def _learn_partitions(self, cause: int) -> None:
        deadline_ms = self._process.now_ms() + self._config.max_block_ms
        while missing := [topic for topic in self.spec.topics if not self._client.partitions_of(topic)]:
            if self._process.now_ms() >= deadline_ms:
                waited = f"within max.block.ms, {self._config.max_block_ms} ms"
                raise TimedOutError(f"{self.spec.node}: no broker has metadata of topic {', '.join(missing)} {waited}")
            with suppress(*UNREACHABLE):
                await self._client.refresh(cause)
            if not all(self._client.partitions_of(topic) for topic in missing):
                await self._process.sleep_ms(max(1, self._config.retry_backoff_ms))
        everywhere = {tp: 1 for topic in self.spec.topics for tp in self._client.partitions_of(topic)}
        self._pattern = pattern_of(self.spec.shares or everywhere)

    def _buffer(self, tp: TopicPartition) -> PartitionBuffer:
        buffer = self._buffers.get(tp)
        if buffer is None:
            buffer = self._buffers[tp] = PartitionBuffer()
        return buffer

    # --- the loop

    async def _run(self, work: _Work, begun: "Promise[None]") -> None:
        begun.resolve(None)
        while True:
            now_ms = self._process.now_ms()
            self._make_records(work, now_ms)
            self._give_up_late(work, now_ms)
            if work.made == work.goal and all(buffer.is_empty for buffer in self._buffers.values()):
                break
            self._dispatch(work, now_ms)
            with suppress(TimedOutError):
                await self._wake.get(self._due_in_ms(work, now_ms))
            self._wake.drain()
        work.reports.finish()
        self._work = None
        work.done.resolve(None)

    def _make_records(self, work: _Work, now_ms: int) -> None:
        """Make the records that are due by now, as far as the buffer has room."""
        room = self._buffer_records - sum(buffer.held for buffer in self._buffers.values())
        left = room if work.goal is None else work.goal - work.made
        count = min(room, left, self._due(work, now_ms))
        if count <= 0:
            return
        for tp, share in spread(self._pattern, self._made, count).items():
            self._buffer(tp).add(share, now_ms)
            self._ledger.account(tp, self.spec.name).written += share
        self._made += count
        work.made += count

    def _due(self, work: _Work, now_ms: int) -> int:
        if self.spec.rate is None:
            return self._buffer_records
        ticks = (now_ms - work.began_ms) // self._tick_ms
        return ticks * self._tick_ms * self.spec.rate // 1_000 - work.made

    def _due_in_ms(self, work: _Work, now_ms: int) -> int | None:
        """Return after how many ms to check again even if nothing has arrived; None: only when something arrives."""
        due: list[int] = []
        if self.spec.rate is not None and work.made != work.goal:
            due.append(self._tick_ms - (now_ms - work.began_ms) % self._tick_ms)
        for buffer in self._buffers.values():
            oldest_ms = buffer.oldest_ms()
            if oldest_ms is not None:
                due.append(oldest_ms + self._config.delivery_timeout_ms - now_ms)
            if buffer.batch is not None and not buffer.batch.is_under_way and buffer.batch.not_before_ms > now_ms:
                due.append(buffer.batch.not_before_ms - now_ms)
        for not_before_ms in (self._refresh_not_before_ms, self._ask_for_id_not_before_ms):
            if not_before_ms > now_ms:
                due.append(not_before_ms - now_ms)
        return max(1, min(due)) if due else None

    # --- sending

    def _dispatch(self, work: _Work, now_ms: int) -> None:
        """Send what can be sent; request the producer's id if it needs one, and metadata if a leader is unknown."""
        if self._needs_id:
            if not self._is_asking_for_id and self._ask_for_id_not_before_ms <= now_ms:
                self._is_asking_for_id = True
                self._process.spawn("producer id", self._ask_for_id(work))
            return
        ready: dict[BrokerId, list[TopicPartition]] = {}
        is_leader_missing = False
        for tp, buffer in self._buffers.items():
            if not buffer.is_ready(now_ms):
                continue
            leader = self._client.known_leader(tp)
            if leader is None:
                is_leader_missing = True
            elif leader not in self._busy:
                ready.setdefault(leader, []).append(tp)
        for leader, tps in ready.items():
            self._busy.add(leader)
            batches = {tp: self._buffers[tp].take(self._batch_records) for tp in tps}
            for batch in batches.values():
                batch.is_under_way, batch.attempts = True, batch.attempts + 1
            self._process.spawn(f"produce to {leader}", self._ask(work, leader, batches))
        if is_leader_missing and not self._is_refreshing and self._refresh_not_before_ms <= now_ms:
            self._is_refreshing = True
            self._process.spawn("metadata", self._refresh(work))

    async def _ask_for_id(self, work: _Work) -> None:
        """Ask any broker for the producer's id. The id itself is not kept: brokers know the producer by its name."""
        response = InitProducerIdResponse(ErrorCode.BROKER_NOT_AVAILABLE)
        with suppress(BrokerConnectionError):
            response = await self._client.any_broker(InitProducerIdRequest(None), work.reports.cause)
        self._is_asking_for_id = False
        self._needs_id = response.error is not ErrorCode.NONE
        self._ask_for_id_not_before_ms = self._process.now_ms() + self._config.retry_backoff_ms if self._needs_id else 0
        self._wake.put(None)

    async def _refresh(self, work: _Work) -> None:
        with suppress(BrokerConnectionError):
            await self._client.refresh(work.reports.cause)
        self._is_refreshing = False
        self._refresh_not_before_ms = self._process.now_ms() + self._config.retry_backoff_ms
        self._wake.put(None)

    async def _ask(self, work: _Work, leader: BrokerId, batches: Mapping[TopicPartition, ProducerBatch]) -> None:
        timestamp_ms = self._epoch_ms + self._process.now_ms()
        request = ProduceRequest(
            client_id=self.spec.node,
            acks=self._config.acks,
            timeout_ms=self._config.request_timeout_ms,
            batches={tp: self._batch_of(batch, timestamp_ms) for tp, batch in batches.items()},
        )
        response: ProduceResponse | None = None
        with suppress(*UNREACHABLE):
            response = await self._client.send_to(leader, request, work.reports.cause)
        self._busy.discard(leader)
        for tp, batch in batches.items():
            batch.is_under_way = False
            self._process_answer(work, tp, batch, leader, response)
        self._wake.put(None)

    def _batch_of(self, batch: ProducerBatch, timestamp_ms: int) -> ProduceBatch:
        return ProduceBatch(
            writer=self.spec.name,
            first_sequence=batch.first,
            count=batch.count,
            record_bytes=self.spec.record_bytes,
            timestamp_ms=timestamp_ms,
            is_idempotent=self._config.enable_idempotence,
            producer_epoch=self._producer_epoch,
        )

    # --- responses

    def _process_answer(
        self, work: _Work, tp: TopicPartition, batch: ProducerBatch, leader: BrokerId, response: ProduceResponse | None
    ) -> None:
        if response is None:
            self._client.forget(tp)
            batch.may_be_there = True
            self._retry(work, tp, batch, leader, DISCONNECTED)
            return
        result = response.results.get(tp, ProduceResult(ErrorCode.UNKNOWN_SERVER_ERROR))
        error, offset = result.error, result.base_offset
        if is_about_leadership(error):
            self._client.forget(tp)
        if self._config.acks == ACKS_NONE:
            error, offset = ErrorCode.NONE, NO_OFFSET  # the producer gets no result; an error breaks the connection
        if error in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            self._acknowledge(work, tp, batch, leader, offset if error is ErrorCode.NONE else NO_OFFSET)
            return
        batch.may_be_there |= error not in NOTHING_APPENDED
        if error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            self._producer_epoch += 1  # the leader has lost earlier records: under a new epoch it accepts the next ones
        if error in FINAL:
            batch.attempts = self._config.retries + 1
        self._retry(work, tp, batch, leader, error.name)

    def _acknowledge(self, work: _Work, tp: TopicPartition, batch: ProducerBatch, leader: BrokerId, offset: int) -> None:
        self._ledger.account(tp, self.spec.name).acknowledge(batch.first, batch.count, offset)
        self._buffers[tp].finish()
        work.reports.note_acknowledged(tp, batch.count, leader)

    def _retry(self, work: _Work, tp: TopicPartition, batch: ProducerBatch, leader: BrokerId, error: str) -> None:
        batch.last_error = error
        work.reports.note_refused(tp, batch.count, leader, error)
        now_ms = self._process.now_ms()
        is_late = now_ms - batch.created_ms >= self._config.delivery_timeout_ms
        if batch.attempts > self._config.retries or is_late:
            self._buffers[tp].finish()
            self._give_up(work, tp, [batch])
        else:
            batch.not_before_ms = now_ms + self._config.retry_backoff_ms

    def _give_up_late(self, work: _Work, now_ms: int) -> None:
        """Give up the records that were not delivered within delivery.timeout.ms."""
        for tp, buffer in self._buffers.items():
            if late := buffer.give_up_before(now_ms - self._config.delivery_timeout_ms):
                self._give_up(work, tp, late)

    def _give_up(self, work: _Work, tp: TopicPartition, batches: Iterable[ProducerBatch]) -> None:
        account = self._ledger.account(tp, self.spec.name)
        for batch in batches:
            account.give_up(batch.first, batch.count)
            work.reports.note_given_up(tp, batch.count, batch.last_error, batch.may_be_there)
        self._producer_epoch += 1  # the next records do not continue the sequence that the broker knows
