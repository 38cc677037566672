"""A failover of 100,000 partitions at inter.broker.protocol.version 2.6 and 3.9, in one run, and the first at 3.9.

The first one finds topics without ids, and writes an id into each; Apache Kafka 3.9.1, where it was fetched (`make kafka
KAFKA=3.9.1`), does the same in the same ZooKeeper, from the same znodes. Both are timed by the server's own clock, from the
creation of /controller to the last topic that got its id.

The ten brokers are registered by a session of their own and only acknowledge; one controller after the other takes the role,
of either version in turn, and is elected again twice when it is warm.
"""

import gc
import json
import random
import statistics
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple

from kazoo.client import KazooClient

from kcsim.brokers.apache_kafka.installation import KafkaInstallation, find_kafka
from kcsim.brokers.apache_kafka.properties import KafkaBrokerSpec, Value
from kcsim.controller.config import ControllerConfig
from kcsim.controller.kafka_controller import KafkaController
from kcsim.controller.ports import ControllerPorts
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.sink import Cause
from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.scenarios.cli.app import OBJECTS_BEFORE_COLLECTION
from kcsim.vocabulary import BrokerId, BrokerInfo, Endpoint
from kcsim.zk.kafka.kafka_zk import gateways_on
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.operations import Delete
from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from kcsim.zk.servers.errors import ServerError
from kcsim.znodes import paths
from tests.bench.failover import BROKERS, PARTITIONS_PER_TOPIC, Work, open_session, placed
from tests.bench.kafka_processes import kafka_controller
from tests.controller.stub_brokers import FIRST_PORT, StubBrokers
from tests.requirements import KAFKA_3_9_1

SIZE = 100_000
OLD, NEW = "2.6", "3.9"
ROUNDS = 3
WARM = 2
"""Failovers of each controller that are counted, after that which elects it."""
KAFKAS_ID = 100
WITHIN_S = 300.0


class Taken(NamedTuple):
    """What a failover took, until the last answer of a broker: seconds of the clock and of the processor."""

    wall_s: float
    cpu_s: float


def main(size: str | None = None) -> None:
    """Print the times of both versions. Args: size: how many partitions; None: SIZE."""
    gc.set_threshold(OBJECTS_BEFORE_COLLECTION)  # as the command does
    partitions = int(size or SIZE)
    with EmbeddedZooKeeper(settings=ServerSettings(heap_mb=2048, tick_time_ms=2000)) as server:
        bench = Bench(server.connect_string, partitions)
        bench.run()
        old, new = (bench.taken[version] for version in (OLD, NEW))
        print(f"\n{partitions:,} partitions on {BROKERS} brokers: /controller deleted until the last answer, medians")
        for version, times in bench.taken.items():
            wall_s, cpu_s = (statistics.median(column) for column in zip(*times, strict=True))
            print(f"  {version} {wall_s:6.2f} s, processor time {cpu_s:6.2f} s")
        ratio = statistics.median(t.cpu_s for t in new) / statistics.median(t.cpu_s for t in old)
        print(f"  {NEW} against {OLD}: {ratio:.2f} of its processor time")
        print(f"  first failover at {NEW}: every topic had its id {bench.ids_s * 1000:.0f} ms after /controller was there")
        try:
            kafka = find_kafka(KAFKA_3_9_1, {})
        except ServerError as error:
            print(f"  not with Apache Kafka: {error}")
            return
        print(f"  that of Apache Kafka {kafka.version}: {ids_by_kafka_s(server.connect_string, kafka) * 1000:.0f} ms")


class Bench:
    """One ZooKeeper, ten registered brokers, and one controller after the other.

    Attributes:
        taken: the warm failovers by protocol version.
        ids_s: the time within which the first controller of NEW gave every topic its id.
    """

    def __init__(self, connect_string: str, size: int) -> None:
        self._runtime = WallClockRuntime()
        self._connect_string = connect_string
        self._zookeeper = LiveZooKeeper(connect_string)
        self._size = size
        self._log = EventLog(self._runtime.now_ms)
        self._work = Work(self._runtime, self._log)
        self._stubs = StubBrokers(BROKERS)
        self.taken: dict[str, list[Taken]] = {OLD: [], NEW: []}
        self.ids_s = 0.0

    def run(self) -> None:
        self._runtime.run(self._main())

    async def _main(self) -> None:
        self._admin = await open_session(self._runtime, self._zookeeper, self._log, "admin")
        zk = gateways_on(self._admin)
        await zk.cluster.create_top_level_paths()
        for n in range(1, BROKERS + 1):
            endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", FIRST_PORT + n)
            await zk.brokers.register(BrokerInfo(BrokerId(n), (endpoint,)))
        async with self._controller(OLD):
            began_s = self._work.last_s
            for t in range(self._size // PARTITIONS_PER_TOPIC):
                await zk.topics.create(f"topic-{t:03}", placed(PARTITIONS_PER_TOPIC, t))
            await self._work.is_done(began_s)
        for number in range(ROUNDS):
            for version in (OLD, NEW):
                async with self._controller(version):
                    if (number, version) == (0, NEW):
                        self.ids_s = given_ids_after_s(self._connect_string)
                    self.taken[version].extend([await self._failover() for _ in range(WARM)])
        await self._admin.close()

    @asynccontextmanager
    async def _controller(self, version: str) -> AsyncIterator[None]:
        """Let a controller of this version be elected, and end with its session."""
        before_s = self._work.last_s
        client = await open_session(self._runtime, self._zookeeper, self._log, "broker-1")

        async def register(_: Cause) -> None:
            return

        config = ControllerConfig(inter_broker_protocol_version=version, auto_leader_rebalance_enable=False)
        ports = ControllerPorts(self._runtime, self._stubs, self._log.sink("broker-1"), random.Random(1))
        KafkaController(BrokerId(1), config, ports, client, gateways_on(client), register).startup(None)
        await self._work.is_done(before_s)
        yield
        await client.close()

    async def _failover(self) -> Taken:
        self._log.forget()
        gc.collect()
        before_s, began_s, cpu_s = self._work.last_s, time.perf_counter(), time.process_time()
        await self._admin.request([Delete(paths.CONTROLLER)])
        await self._work.is_done(before_s)
        return Taken(self._work.last_s - began_s, time.process_time() - cpu_s)


def given_ids_after_s(connect_string: str) -> float:
    """Return the seconds from the creation of /controller to the last topic that got its id, once all have one."""
    client = KazooClient(connect_string)
    client.start()
    try:
        began_s = time.monotonic()
        while time.monotonic() - began_s < WITHIN_S:
            topics = [client.get(paths.topic(name)) for name in client.get_children(paths.BROKER_TOPICS)]
            if all("topic_id" in json.loads(data) for data, _ in topics):
                _, controller = client.get(paths.CONTROLLER)
                took_ms: int = max(stat.mtime for _, stat in topics) - controller.ctime
                return took_ms / 1000
            time.sleep(0.2)
        raise TimeoutError("topics without ids")
    finally:
        client.stop()
        client.close()


def ids_by_kafka_s(connect_string: str, kafka: KafkaInstallation) -> float:
    """Take the ids from the topics, and return the seconds within which Kafka's first failover at NEW gave them new ones."""
    client = KazooClient(connect_string)
    client.start()
    for name in client.get_children(paths.BROKER_TOPICS):
        content = json.loads(client.get(paths.topic(name))[0])
        del content["topic_id"]
        client.set(paths.topic(name), json.dumps(content).encode())
    client.stop()
    client.close()
    settings: Mapping[str, Value] = {"auto.leader.rebalance.enable": False, "inter.broker.protocol.version": NEW}
    with kafka_controller(KafkaBrokerSpec(KAFKAS_ID, connect_string, settings), kafka):
        return given_ids_after_s(connect_string)
