"""A real idempotent producer through random faults: whatever was acknowledged by all replicas is there, once, in order."""

import asyncio
import random
import threading
from typing import Any

import pytest
from confluent_kafka import Message, Producer

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.workload import Workload
from tests.brokers.cluster.environments import WITHIN_MS
from tests.brokers.cluster.random_faults import PARTITIONS, inject_faults, read_all, with_orders
from tests.brokers.cluster.test_client_ports import WITHIN_S, play_with_ports

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


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(n, marks=pytest.mark.nightly) for n in range(3, 50))])
def test_what_was_acknowledged_is_there_once_and_in_order(seed: int) -> None:
    numbers = random.Random(seed)

    async def script(cluster: Cluster) -> None:
        servers = await with_orders(cluster, numbers)
        writer = Writer(servers)
        try:
            await inject_faults(cluster, numbers)
        finally:
            await asyncio.to_thread(writer.stop)
        assert writer.failed == []
        assert writer.acknowledged
        found = await read_all(cluster, servers)
        for number, place in writer.acknowledged.items():
            assert found[place] == number
        assert len(set(found.values())) == len(found), "a record is there twice"
        for partition in range(PARTITIONS):
            in_order = [number for (p, _), number in sorted(found.items()) if p == partition]
            assert in_order == sorted(in_order)
        assert sum(one.lost for one in Workload(cluster, {}).counts().values()) == 0

    play_with_ports(script)
