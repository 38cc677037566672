"""A real idempotent producer through random faults: whatever was acknowledged by all replicas is there, once, in order.

The faults are kills, freezes, expired sessions and restarts of brokers, one after the other; at most one broker suffers at a
time. The topic asks for two in-sync replicas of three.
"""

import asyncio
import random
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.workload import Workload
from kcsim.controller.admin.topics import NewTopic
from kcsim.vocabulary import TopicPartition as Partition
from tests.brokers.cluster.environments import WITHIN_MS, kill_and_expire, start_and_elect
from tests.brokers.cluster.test_client_ports import WITHIN_S, client_of, play_with_ports, until_seen

PARTITIONS = 3
FAULTS = 5
RATE = 200
"""Records a second."""

pytestmark = [pytest.mark.live, pytest.mark.slow]


class Writer:
    """Writes numbered records until it is stopped. Attributes: acknowledged: the place of each record, by its number."""

    def __init__(self, servers: str) -> None:
        self.acknowledged: dict[int, tuple[int, int]] = {}
        self.failed: list[Any] = []
        self._stop = threading.Event()
        config = {"acks": "all", "enable.idempotence": True, "message.timeout.ms": WITHIN_MS, "log_level": 0}
        self._producer = Producer({"bootstrap.servers": servers, **config})
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    def _write(self) -> None:
        number = 0
        while not self._stop.wait(1 / RATE):
            self._producer.produce("orders", b"%d" % number, partition=number % PARTITIONS, on_delivery=self._delivered)
            self._producer.poll(0)
            number += 1
        self._producer.flush(WITHIN_S)

    def _delivered(self, error: Any, message: Message) -> None:
        value, partition, offset = message.value(), message.partition(), message.offset()
        if error is not None:
            self.failed.append(error)
        elif value is not None and partition is not None and offset is not None:
            self.acknowledged[int(value)] = partition, offset

    def stop(self) -> None:
        """Write no more, and wait until all records are acknowledged or given up."""
        self._stop.set()
        self._thread.join()


async def kill(cluster: Cluster, name: str) -> None:
    await kill_and_expire(cluster, name)
    await asyncio.sleep(0.3)
    await cluster.start([name])


async def freeze(cluster: Cluster, name: str) -> None:
    await cluster.pause(name)
    await asyncio.sleep(0.5)
    await cluster.expire(name)
    await asyncio.sleep(0.5)
    await cluster.resume(name)


async def expire(cluster: Cluster, name: str) -> None:
    await cluster.expire(name)


async def restart(cluster: Cluster, name: str) -> None:
    await cluster.stop(name)
    await cluster.start([name])


ACTS: list[Callable[[Cluster, str], Awaitable[None]]] = [kill, freeze, expire, restart]


def read_all(servers: str, ends: dict[int, int]) -> dict[tuple[int, int], int]:
    """Return the number of each record, by its place, up to these offsets."""
    config = {"group.id": "reader", "enable.auto.commit": False, "enable.partition.eof": True, "log_level": 0}
    consumer = Consumer({"bootstrap.servers": servers, **config})
    consumer.assign([TopicPartition("orders", partition, 0) for partition in ends])
    found: dict[tuple[int, int], int] = {}
    left = {partition for partition, end in ends.items() if end}
    while left:
        message = consumer.poll(WITHIN_S)
        assert message is not None, f"nothing more of partitions {left}"
        partition, offset, value = message.partition(), message.offset(), message.value()
        assert partition is not None
        assert offset is not None
        if message.error() is None and value is not None:
            found[partition, offset] = int(value)
            if offset + 1 >= ends[partition]:
                left.discard(partition)
    consumer.close()
    return found


async def until_in_sync(cluster: Cluster) -> None:
    """Wait until every partition has a leader and all of its replicas in sync."""

    def missing() -> str | None:
        isrs = {tp: state.leader_and_isr.isr for tp, state in cluster.state.of_topics.states.items() if tp.topic == "orders"}
        short = [f"{tp}: ISR {list(isr)}" for tp, isr in isrs.items() if len(isr) < 3]
        return ", ".join(short) or None

    await cluster.wait_until(missing, WITHIN_MS)


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(n, marks=pytest.mark.nightly) for n in range(3, 50))])
def test_what_was_acknowledged_is_there_once_and_in_order(seed: int) -> None:
    numbers = random.Random(seed)

    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        await cluster.topics.create(NewTopic("orders", PARTITIONS, 3, config={"min.insync.replicas": "2"}), numbers)
        async with asyncio.timeout(WITHIN_S):
            await until_seen(client_of(cluster), cluster)
        servers = cluster.bootstrap_servers
        assert servers is not None
        writer = Writer(servers)
        try:
            for _ in range(FAULTS):
                await asyncio.sleep(numbers.uniform(0.1, 0.6))
                await numbers.choice(ACTS)(cluster, numbers.choice(cluster.broker_names))
                await until_in_sync(cluster)
        finally:
            await asyncio.to_thread(writer.stop)
        assert writer.failed == []
        assert writer.acknowledged
        logs = {p: cluster.replica_logs(Partition("orders", p)) for p in range(PARTITIONS)}
        ends = {p: max(log.log_end_offset for log in of.values()) for p, of in logs.items()}
        found = await asyncio.to_thread(read_all, servers, ends)
        for number, place in writer.acknowledged.items():
            assert found[place] == number
        assert len(set(found.values())) == len(found), "a record is there twice"
        for partition in range(PARTITIONS):
            in_order = [number for (p, _), number in sorted(found.items()) if p == partition]
            assert in_order == sorted(in_order)
        assert sum(one.lost for one in Workload(cluster, {}).counts().values()) == 0

    play_with_ports(script)
