"""Random faults on three live brokers to whose topic `orders` a real producer writes, and what is in the topic at the end.

The faults come one after the other, and at most one broker suffers at a time; after each of them all replicas are in sync
again. The topic has three replicas, and asks for two in sync.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable

from confluent_kafka import Consumer, TopicPartition

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.network.link_conditions import CLIENTS, Links
from kcsim.controller.admin.topics import NewTopic
from kcsim.vocabulary import TopicPartition as Partition
from tests.brokers.cluster.environments import WITHIN_MS, kill_and_expire, start_and_elect
from tests.brokers.cluster.test_client_ports import WITHIN_S, client_of, until_seen

PARTITIONS = 3
FAULTS = 5


async def with_orders(cluster: Cluster, numbers: random.Random) -> str:
    """Start the brokers, create the topic, and return the bootstrap servers once clients see its leaders."""
    await start_and_elect(cluster)
    await cluster.topics.create(NewTopic("orders", PARTITIONS, 3, config={"min.insync.replicas": "2"}), numbers)
    async with asyncio.timeout(WITHIN_S):
        await until_seen(client_of(cluster), cluster)
    assert cluster.bootstrap_servers is not None
    return cluster.bootstrap_servers


async def inject_faults(cluster: Cluster, numbers: random.Random) -> None:
    """Draw faults and the brokers that they are for, and wait after each until all replicas are in sync."""
    for _ in range(FAULTS):
        await asyncio.sleep(numbers.uniform(0.1, 0.6))
        await numbers.choice(ACTS)(cluster, numbers.choice(cluster.broker_names))
        await until_in_sync(cluster)


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


async def restart_all(cluster: Cluster, name: str) -> None:
    """Restart every broker in turn, this one first."""
    for each in sorted(cluster.broker_names, key=lambda each: (each != name, each)):
        await restart(cluster, each)
        await until_in_sync(cluster)


async def cut_off_from_brokers(cluster: Cluster, name: str) -> None:
    """Expire the session of a broker that does not learn of its successors, while clients still reach it."""
    others = frozenset(cluster.broker_names) - {name}
    cluster.network_faults.partition(Links(frozenset({name}), others, both_ways=True))
    await cluster.expire(name)
    await asyncio.sleep(1)
    cluster.network_faults.heal()


async def cut_off_from_clients(cluster: Cluster, name: str) -> None:
    cluster.network_faults.partition(Links(frozenset({name}), frozenset({CLIENTS}), both_ways=True))
    await asyncio.sleep(1)
    cluster.network_faults.heal()


ACTS: list[Callable[[Cluster, str], Awaitable[None]]] = [
    kill,
    freeze,
    expire,
    restart,
    restart_all,
    cut_off_from_brokers,
    cut_off_from_clients,
]


async def until_in_sync(cluster: Cluster) -> None:
    """Wait until every partition has a leader and all of its replicas in sync."""

    def missing() -> str | None:
        isrs = {tp: state.leader_and_isr.isr for tp, state in cluster.state.of_topics.states.items() if tp.topic == "orders"}
        short = [f"{tp}: ISR {list(isr)}" for tp, isr in isrs.items() if len(isr) < 3]
        return ", ".join(short) or None

    await cluster.wait_until(missing, WITHIN_MS)


async def read_all(cluster: Cluster, servers: str) -> dict[tuple[int, int], int]:
    """Return the number that each record has as its value, by the record's partition and offset.

    A former leader may have to truncate its log first, so this waits until all replicas of a partition end alike.
    """

    def ends() -> dict[int, set[int]]:
        logs = {p: cluster.replica_logs(Partition("orders", p)).values() for p in range(PARTITIONS)}
        return {p: {log.log_end_offset for log in of} for p, of in logs.items()}

    await cluster.wait_until(lambda: f"logs end at {ends()}" if max(map(len, ends().values())) > 1 else None, WITHIN_MS)
    return await asyncio.to_thread(_read, servers, {p: max(of) for p, of in ends().items()})


def _read(servers: str, ends: dict[int, int]) -> dict[tuple[int, int], int]:
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
