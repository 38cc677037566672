"""kafka-python and aiokafka, each through the whole of its work: records, groups, offsets, topics; also after a failure.

They have their own implementations of the protocol. librdkafka (confluent-kafka) is in the other modules beside this one.
"""

import asyncio
import itertools
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any

import aiokafka
import kafka
import kafka.admin
import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin import NewTopic as AioTopic

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.controller.admin.topics import NewTopic
from kcsim.vocabulary import TopicPartition
from tests.brokers.cluster.environments import WITHIN_MS, kill_and_expire, start_and_elect, until_idle
from tests.brokers.cluster.test_client_ports import WITHIN_S, client_of, play_with_ports, until_seen

VALUES = [b"order %d" % number for number in range(200)]
GROUP = "readers"

pytestmark = pytest.mark.live


def through_a_failure(work: Callable[[str, int], Awaitable[None]]) -> None:
    """Run a client's work twice on three brokers: with all of them, and after the leader of a partition has died.

    Args:
        work: gets the bootstrap servers, and how often it has run before.
    """

    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        await cluster.topics.create(NewTopic("orders", 2, 3), random.Random(1))
        async with asyncio.timeout(WITHIN_S):
            await until_seen(client_of(cluster), cluster)
        servers = cluster.bootstrap_servers
        assert servers is not None
        await work(servers, 0)
        leader = cluster.state.of_topics.states[TopicPartition("orders", 0)].leader_and_isr.leader
        await kill_and_expire(cluster, f"broker-{leader}")
        await cluster.wait_until(until_idle(cluster.log), WITHIN_MS)
        await work(servers, 1)

    play_with_ports(script)


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_kafka_python(compression: str | None) -> None:
    def work(servers: str, round_: int) -> None:
        producer = kafka.KafkaProducer(bootstrap_servers=servers, acks="all", compression_type=compression)
        sent = [producer.send("orders", value, key=value) for value in VALUES]
        producer.flush(WITHIN_S)
        places = {(one.get(WITHIN_S).partition, one.get(WITHIN_S).offset) for one in sent}
        assert len(places) == len(VALUES)
        producer.close()
        consumer = kafka.KafkaConsumer(
            "orders",
            bootstrap_servers=servers,
            group_id=GROUP,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            consumer_timeout_ms=WITHIN_MS,
        )
        found = [next(consumer).value for _ in VALUES]
        assert sorted(found) == sorted(VALUES)
        consumer.commit()
        ends = consumer.end_offsets([kafka.TopicPartition("orders", partition) for partition in (0, 1)])
        assert sum(ends.values()) == (round_ + 1) * len(VALUES)
        consumer.close()
        admin = kafka.admin.KafkaAdminClient(bootstrap_servers=servers)
        name = f"made-{round_}"
        admin.create_topics([kafka.admin.NewTopic(name, 3, 2)])
        for attempt in itertools.count():  # another broker than the controller learns of it a little later
            assert attempt < WITHIN_S * 10, f"{name} is not there"
            if name in admin.list_topics():
                break
            time.sleep(0.1)
        committed = admin.list_group_offsets(GROUP)[GROUP]
        assert sum(one.offset for one in committed.values()) == (round_ + 1) * len(VALUES)
        admin.close()

    through_a_failure(lambda servers, round_: asyncio.to_thread(work, servers, round_))


def test_aiokafka() -> None:
    async def work(servers: str, round_: int) -> None:
        producer = aiokafka.AIOKafkaProducer(bootstrap_servers=servers, acks="all", enable_idempotence=True)
        await producer.start()
        try:
            sent = [await producer.send("orders", value, key=value) for value in VALUES]
            places = {(one.partition, one.offset) for one in await asyncio.gather(*sent)}
        finally:
            await producer.stop()
        assert len(places) == len(VALUES)
        consumer = aiokafka.AIOKafkaConsumer(
            "orders", bootstrap_servers=servers, group_id=GROUP, auto_offset_reset="earliest", enable_auto_commit=False
        )
        await consumer.start()
        try:
            async with asyncio.timeout(WITHIN_S):
                found = [(await consumer.getone()).value for _ in VALUES]
            assert sorted(found) == sorted(VALUES)
            await consumer.commit()
        finally:
            await consumer.stop()
        admin = AIOKafkaAdminClient(bootstrap_servers=servers)
        await admin.start()
        try:
            name = f"made-{round_}"
            await admin.create_topics([AioTopic(name, 3, 2)])
            for attempt in itertools.count():  # another broker than the controller learns of it a little later
                assert attempt < WITHIN_S * 10, f"{name} is not there"
                if name in await admin.list_topics():
                    break
                await asyncio.sleep(0.1)
            offsets: dict[Any, Any] = await admin.list_consumer_group_offsets(GROUP)
            assert sum(one.offset for one in offsets.values()) == (round_ + 1) * len(VALUES)
        finally:
            await admin.close()

    through_a_failure(work)
