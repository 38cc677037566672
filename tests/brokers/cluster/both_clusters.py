"""Work of clients on three of our brokers and on three of Kafka's, to compare what they see."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from kcsim.brokers.apache_kafka.installation import find_kafka
from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.processes.kafka_environment import run_on_kafka
from kcsim.brokers.cluster.processes.process_cluster import ProcessCluster
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.brokers.wire.apis.metadata import METADATA
from tests.brokers.cluster.environments import WITHIN_MS, Settings, spec_of, start_and_elect
from tests.brokers.cluster.test_client_ports import play_with_ports
from tests.brokers.differential.raw_client import ALL_BROKERS, RawClient

Work = Callable[[Cluster | ProcessCluster, str], Awaitable[None]]
"""Gets a cluster whose three brokers and controller are up, and its bootstrap servers."""

Topics = Mapping[str, Sequence[Any]]
"""The partitions of each topic, as in the answer to a Metadata request."""

SETTINGS: Settings = {
    "offsets.topic.num.partitions": 1,
    "offsets.topic.replication.factor": 3,
    "group.initial.rebalance.delay.ms": 0,
    "auto.create.topics.enable": False,
    "auto.leader.rebalance.enable": False,
}
"""Groups have one coordinator, which outlives a broker; only the work itself makes topics and moves leaders."""

METADATA_VERSION = 8
WITHIN_S = 180.0
COMMANDS_AT_ONCE = 4
"""Each command of Kafka starts a JVM, with some 150 MB."""

Outcome = TypeVar("Outcome")


def on_our_brokers(work: Work, settings: Settings) -> None:
    """Do some work on three of our brokers."""

    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        await work(cluster, ",".join(f"{host}:{port}" for host, port in cluster.bootstrap))

    play_with_ports(script, settings=settings)


def on_kafkas_brokers(work: Work, settings: Settings) -> None:
    """Do some work on three real brokers."""

    async def script(cluster: ProcessCluster) -> None:
        await cluster.start(cluster.broker_names)
        await cluster.wait_until(lambda: None if cluster.state.controller_id else "no controller", WITHIN_MS)
        await work(cluster, cluster.bootstrap())

    spec = spec_of((1, 2, 3), settings, "embedded")
    run_on_kafka(find_kafka(None), ZooKeeperChoice.parse("embedded"), spec, RunInfo("test", 0, "embedded"), script, ())


async def until_known(servers: str, holds: Callable[[Topics], bool]) -> None:
    """Wait until this holds for the topics as each of these brokers ("host:port,…") knows them. Raises: TimeoutError."""
    client = RawClient()
    for number, address in enumerate(servers.split(",")):
        host, port = address.rsplit(":", 1)
        client.addresses[number] = host, int(port)
    try:
        async with asyncio.timeout(WITHIN_S):
            for broker in client.addresses:
                await _until_broker_knows(client, broker, holds)
    finally:
        client.close()


async def _until_broker_knows(client: RawClient, broker: int, holds: Callable[[Topics], bool]) -> None:
    while True:
        response = await client.call(broker, METADATA, METADATA_VERSION, **{**ALL_BROKERS, "topics": None})
        if holds({topic.name: topic.partitions for topic in response.topics}):
            return
        await asyncio.sleep(0.1)


def in_sync(topics: Topics) -> dict[str, list[int]]:
    """Return the number of replicas in sync of each partition."""
    return {topic: [len(partition.isr_nodes) for partition in partitions] for topic, partitions in topics.items()}


async def run_together(commands: Iterable[Awaitable[Outcome]]) -> list[Outcome]:
    """Await commands that do not depend on each other, a few at a time, and return their outcomes in this order."""
    limit = asyncio.Semaphore(COMMANDS_AT_ONCE)

    async def limited(command: Awaitable[Outcome]) -> Outcome:
        async with limit:
            return await command

    return await asyncio.gather(*map(limited, commands))
