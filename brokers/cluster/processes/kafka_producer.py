"""A producer of a scenario on real brokers: librdkafka, with the producer's settings, beside the cluster.

It reports what librdkafka reports of each record: acknowledged at an offset, or failed. The attempts before that, and the
leader that has answered, are not known. Each record's key identifies it, so that it can be found in the brokers' logs.

Left out: max.block.ms of a full buffer; a record is made when there is room.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from kcsim.brokers.clients.ledger import NO_OFFSET, Ledger
from kcsim.brokers.clients.producer import ProducerSpec
from kcsim.brokers.clients.producer_config import ProducerConfig
from kcsim.brokers.clients.reports import ProducerReports
from kcsim.brokers.clients.spread import pattern_of, spread
from kcsim.brokers.config import Value
from kcsim.errors import TimedOutError
from kcsim.eventlog.run_actions import ClusterError
from kcsim.extras import install_command
from kcsim.runtime.ports import Promise, Runtime, Task
from kcsim.vocabulary import TopicPartition

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

POLL_MS = 10
MAX_WAITING = 10_000
"""Records made and neither acknowledged nor given up; with as many, none is made."""
RANGES: Mapping[str, tuple[int, int]] = {
    "retry.backoff.ms": (1, 300_000),
    "retry.backoff.max.ms": (1, 300_000),
    "request.timeout.ms": (1, 900_000),
    "socket.timeout.ms": (1_000, 300_000),
    "linger.ms": (0, 900_000),
    "batch.size": (1, 2_147_483_647),
    "queue.buffering.max.kbytes": (1, 2_097_151),
}
"""Setting of librdkafka -> its least and its largest value. Source: librdkafka, CONFIGURATION.md."""
PARTITIONS_LOOK_MS = 100


@dataclass(slots=True)
class _DeliveryWork:
    """The work of one start.

    Attributes:
        goal: how many records to make; None: no end.
        waiting: how many records are neither acknowledged nor given up.
        answered: (partition, error or None) -> how many records the present poll has reported.
    """

    goal: int | None
    began_ms: int
    reports: ProducerReports
    client: "Producer"
    done: "Promise[None]"
    made: int = 0
    waiting: int = 0
    answered: dict[tuple[TopicPartition, str | None], int] = field(default_factory=dict)


class KafkaProducer:
    """One producer, from its first start to the end of the run.

    Args:
        bootstrap_servers: host:port,… of all brokers.
        partitions: returns the partitions of a topic, in order; none while the topic is unknown.
    """

    def __init__(
        self,
        spec: ProducerSpec,
        runtime: Runtime,
        bootstrap_servers: str,
        partitions: Callable[[str], Sequence[TopicPartition]],
        ledger: Ledger,
    ) -> None:
        self.spec = spec
        self._runtime = runtime
        self._settings = client_settings(spec, bootstrap_servers)
        self._partitions = partitions
        self._ledger = ledger
        self._made = 0
        self._pattern: Sequence[TopicPartition] = ()
        self._work: _DeliveryWork | None = None
        self._task: Task | None = None

    @property
    def reports(self) -> ProducerReports | None:
        """The reports of the present work; None between starts."""
        return self._work.reports if self._work else None

    async def begin(self, records: int | None, reports: ProducerReports) -> "Promise[None]":
        """Start to write. Return a promise that is resolved when all records are acknowledged or given up.

        Raises: ClusterError without confluent-kafka; TimedOutError if a topic is unknown for max.block.ms.
        """
        assert self._work is None, f"{self.spec.node} is at work"
        client = _open_client(self._settings)
        await self._learn_partitions()
        work = self._work = _DeliveryWork(records, self._runtime.now_ms(), reports, client, self._runtime.promise())
        self._task = self._runtime.spawn(self.spec.node, self._run(work))
        return work.done

    def stop(self) -> None:
        """Make no more records; records already made are still sent."""
        if self._work is not None:
            self._work.goal = self._work.made

    def close(self) -> None:
        """Drop what has not been sent, and stop. Idempotent."""
        work, self._work = self._work, None
        if self._task is not None:
            self._task.kill()
        if work is not None:
            work.client.purge()

    async def _learn_partitions(self) -> None:
        deadline_ms = self._runtime.now_ms() + self.spec.config.max_block_ms
        while missing := [topic for topic in self.spec.topics if not self._partitions(topic)]:
            if self._runtime.now_ms() >= deadline_ms:
                waited = f"within max.block.ms, {self.spec.config.max_block_ms} ms"
                raise TimedOutError(f"{self.spec.node}: no topic {', '.join(missing)} {waited}")
            await self._runtime.sleep_ms(PARTITIONS_LOOK_MS)
        everywhere = {tp: 1 for topic in self.spec.topics for tp in self._partitions(topic)}
        self._pattern = pattern_of(self.spec.shares or everywhere)

    # --- the loop

    async def _run(self, work: _DeliveryWork) -> None:
        while True:
            self._make_records(work)
            work.client.poll(0)
            self._report(work)
            if work.made == work.goal and not work.waiting:
                break
            await self._runtime.sleep_ms(POLL_MS)
        work.reports.finish()
        self._work = None
        work.done.resolve(None)

    def _make_records(self, work: _DeliveryWork) -> None:
        """Make the records that are due by now, as far as there is room."""
        room = MAX_WAITING - work.waiting
        left = room if work.goal is None else work.goal - work.made
        count = min(room, left, self._due(work))
        if count <= 0:
            return
        for tp, share in spread(self._pattern, self._made, count).items():
            account = self._ledger.account(tp, self.spec.name)
            for sequence in range(account.written, account.written + share):
                self._send(work, tp, sequence)
            account.written += share
        self._made += count
        work.made += count

    def _due(self, work: _DeliveryWork) -> int:
        if self.spec.rate is None:
            return MAX_WAITING
        return (self._runtime.now_ms() - work.began_ms) * self.spec.rate // 1_000 - work.made

    def _send(self, work: _DeliveryWork, tp: TopicPartition, sequence: int) -> None:
        work.waiting += 1
        work.client.produce(
            tp.topic,
            key=record_key(self.spec.name, sequence),
            value=bytes(self.spec.record_bytes),
            partition=tp.partition,
            on_delivery=partial(self._note, work, tp, sequence),
        )

    # --- responses

    def _note(
        self, work: _DeliveryWork, tp: TopicPartition, sequence: int, error: "KafkaError | None", message: "Message"
    ) -> None:
        work.waiting -= 1
        account = self._ledger.account(tp, self.spec.name)
        if error is None:
            offset = message.offset()
            account.acknowledge(sequence, 1, NO_OFFSET if offset is None or offset < 0 else offset)
        else:
            account.give_up(sequence, 1)
        what = tp, None if error is None else error.name()
        work.answered[what] = work.answered.get(what, 0) + 1

    def _report(self, work: _DeliveryWork) -> None:
        for (tp, error), count in work.answered.items():
            if error is None:
                work.reports.note_acknowledged(tp, count)
            else:
                work.reports.note_given_up(tp, count, error, may_be_there=True)  # librdkafka does not report it
        work.answered.clear()


def record_key(writer: str, sequence: int) -> bytes:
    """Return the key of a record: its writer and its number in the writer's sequence of that partition."""
    return f"{writer} {sequence}".encode()


def read_key(key: bytes) -> tuple[str, int] | None:
    """Return writer and sequence of a record; None if the key is not one of record_key."""
    writer, _, sequence = key.decode(errors="replace").rpartition(" ")
    return (writer, int(sequence)) if writer and sequence.isdecimal() else None


def client_settings(spec: ProducerSpec, bootstrap_servers: str) -> Mapping[str, Value]:
    """Return the settings of librdkafka for a producer: those of the scenario, and one request in flight to a broker.

    A value beyond librdkafka's range, which is narrower than Kafka's, becomes the nearest in it.
    """
    config: ProducerConfig = spec.config
    numbers = {
        "retry.backoff.ms": config.retry_backoff_ms,
        "retry.backoff.max.ms": config.retry_backoff_ms,
        "request.timeout.ms": config.request_timeout_ms,
        "socket.timeout.ms": config.request_timeout_ms,
        "linger.ms": config.linger_ms,
        "batch.size": config.batch_size,
        "queue.buffering.max.kbytes": config.buffer_memory // 1_024,
    }
    return {
        "bootstrap.servers": bootstrap_servers,
        "client.id": spec.node,
        "acks": config.acks,
        "enable.idempotence": config.enable_idempotence,
        "retries": config.retries,
        "delivery.timeout.ms": config.delivery_timeout_ms,
        **{name: min(max(number, RANGES[name][0]), RANGES[name][1]) for name, number in numbers.items()},
        "max.in.flight.requests.per.connection": 1,
        "reconnect.backoff.max.ms": 1_000,
        "broker.address.family": "v4",
        "log_level": 0,
    }


def _open_client(settings: Mapping[str, Value]) -> "Producer":
    try:
        from confluent_kafka import Producer
    except ModuleNotFoundError:
        needed = f"producers on real brokers need the package confluent-kafka: {install_command('kafka')} brings it"
        raise ClusterError(needed) from None
    return Producer(dict(settings))
