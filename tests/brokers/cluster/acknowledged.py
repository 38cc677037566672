"""A producer from outside the run that keeps what it was acknowledged."""

import asyncio

from confluent_kafka import KafkaError, Message, Producer

from tests.brokers.cluster.environments import WITHIN_MS


class Acknowledged:
    """A producer with acks=all, and the values that it was acknowledged, per partition in the order of their offsets."""

    def __init__(self, bootstrap_servers: str, *, idempotent: bool = True) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "acks": "all",
                "enable.idempotence": idempotent,
                "client.id": "app",
                "log_level": 0,
                "message.timeout.ms": WITHIN_MS,
            }
        )
        self._by_offset: dict[int, dict[int, bytes]] = {}
        self._sent = 0

    def values(self, partition: int = 0) -> list[bytes]:
        return [value for _, value in sorted(self._by_offset.get(partition, {}).items())]

    def by_offset(self, partition: int = 0) -> dict[int, bytes]:
        """Return the values of a partition by their offsets."""
        return dict(self._by_offset.get(partition, {}))

    async def produce(self, topic: str, count: int, partitions: int = 1) -> None:
        """Write records to each partition in turn, and wait until all are acknowledged."""
        for number in range(count):
            value = f"{self._sent}"
            self._producer.produce(topic, value, partition=number % partitions, on_delivery=self._delivered)
            self._sent += 1
        assert await asyncio.to_thread(self._producer.flush, WITHIN_MS / 1000) == 0

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        partition, offset, value = message.partition(), message.offset(), message.value()
        assert partition is not None
        assert offset is not None
        assert value is not None
        self._by_offset.setdefault(partition, {})[offset] = value
