"""A failover with requests over TCP: Apache Kafka's controller and ours, in one run, with the same ten brokers.

The brokers only acknowledge, in a process of their own. The time is from the deletion of /controller until the last answer
of a broker. Kafka's controller is that of an eleventh broker without replicas, with the options of Kafka's own start script;
ours are ten, one of which is elected. As in failover.py, the best of the second and the third failover counts.
"""

import asyncio
import gc
import random
import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

from kcsim.brokers.apache_kafka.properties import KafkaBrokerSpec
from kcsim.brokers.wire.control_plane import TcpControlPlane
from kcsim.brokers.wire.request_causes import RequestCauses
from kcsim.controller.config import ControllerConfig
from kcsim.controller.kafka_controller import KafkaController
from kcsim.controller.ports import ControllerPorts
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.sink import Cause
from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.scenarios.cli.app import OBJECTS_BEFORE_COLLECTION
from kcsim.vocabulary import BrokerId, BrokerInfo, Endpoint
from kcsim.zk.kafka.kafka_zk import gateways_on
from kcsim.zk.kafka.zookeeper_client import ZooKeeperClient
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.operations import Delete
from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from kcsim.zk.servers.free_ports import free_ports
from kcsim.znodes import paths
from tests.bench.acknowledging_brokers import HOST, Acknowledged, AcknowledgingBrokers
from tests.bench.failover import (
    BROKERS,
    PARTITIONS_PER_TOPIC,
    REPLICATION_FACTOR,
    SIZES,
    open_session,
    placed,
)
from tests.bench.kafka_processes import kafka_controller

KAFKAS_ID = 100
WARM_UP, MEASURED = 1, 2
QUIET_S = 2.0
"""How long the brokers must have got nothing, once they have acknowledged all that is expected, until a failover is over."""
REQUESTS = 3 * BROKERS
"""Each gets UpdateMetadata with the live brokers, LeaderAndIsr with its replicas, and UpdateMetadata with everything."""
WITHIN_S = 600.0
POLL_S = 0.02


class Taken(NamedTuple):
    """What a failover took. Attributes: cpu_s, brokers_cpu_s: processor time of the controller and of the brokers."""

    wall_s: float
    cpu_s: float
    brokers_cpu_s: float
    requests: int
    request_bytes: int


def main() -> None:
    """Print the times for each number of partitions, each in a process of its own."""
    for size in SIZES:
        subprocess.run([sys.executable, "-m", __name__, str(size)], check=True)


def measure(size: int) -> None:
    """Print the times for one number of partitions."""
    gc.set_threshold(OBJECTS_BEFORE_COLLECTION)  # as the command does
    settings = ServerSettings(heap_mb=2048, tick_time_ms=2000)
    with EmbeddedZooKeeper(settings=settings) as server, AcknowledgingBrokers(free_ports(BROKERS)) as brokers:
        bench = Bench(server.connect_string, size, brokers)
        ours, kafkas = bench.run()
    print(f"\n{size:,} partitions on {BROKERS} brokers over TCP: /controller deleted until the last answer")
    for whose, taken in (("Kafka 2.8.2", kafkas), ("ours", ours)):
        print(
            f"  {whose:<12} {taken.wall_s:6.2f} s, processor time {taken.cpu_s:6.2f} s, of the brokers"
            f" {taken.brokers_cpu_s:5.2f} s; {taken.requests} requests, {taken.request_bytes / 1e6:.1f} MB"
        )
    print(f"  ratio {ours.wall_s / kafkas.wall_s:.2f}; of processor time {ours.cpu_s / kafkas.cpu_s:.2f}")


class Bench:
    """One ZooKeeper, ten brokers that acknowledge, and the controllers of one kind after the other."""

    def __init__(self, connect_string: str, size: int, brokers: AcknowledgingBrokers) -> None:
        self._runtime = WallClockRuntime()
        self._connect_string = connect_string
        self._zookeeper = LiveZooKeeper(connect_string)
        self._size = size
        self._brokers = brokers
        self._log = EventLog(self._runtime.now_ms)

    def run(self) -> tuple[Taken, Taken]:
        """Return what a failover of ours took, and one of Kafka's."""
        found: list[Taken] = []

        async def work() -> None:
            self._admin = await open_session(self._runtime, self._zookeeper, self._log, "admin")
            self._zk = gateways_on(self._admin)
            await self._zk.cluster.create_top_level_paths()
            for number, port in enumerate(self._brokers.ports, start=1):
                endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", HOST, port)
                await self._zk.brokers.register(BrokerInfo(BrokerId(number), (endpoint,)))
            found.append(await self._of_ours())
            found.append(await self._of_kafka())
            await self._admin.close()

        self._runtime.run(work())
        ours, kafkas = found
        return ours, kafkas

    # --- ours

    async def _of_ours(self) -> Taken:
        before = self._brokers.acknowledged()
        clients, control_planes = [], []
        for number in range(1, BROKERS + 1):
            client, control_plane = await self._start(BrokerId(number))
            clients.append(client)
            control_planes.append(control_plane)
        for t in range(self._size // PARTITIONS_PER_TOPIC):
            await self._zk.topics.create(f"topic-{t:03}", placed(PARTITIONS_PER_TOPIC, t))
        await self._until_led(before)
        best = await self._best(time.process_time)
        controller = await self._zk.controller.read_id()
        assert controller is not None
        # The controller last: the loss of the others, whose brokers stay registered, is none to it.
        clients.append(clients.pop(controller - 1))
        for client in clients:
            await client.close()
        for control_plane in control_planes:
            control_plane.close()
        return best

    async def _start(self, broker: BrokerId) -> tuple[ZooKeeperClient, TcpControlPlane]:
        client = await open_session(self._runtime, self._zookeeper, self._log, f"broker-{broker}")
        control_plane = TcpControlPlane(self._runtime, str(broker), RequestCauses())
        ports = ControllerPorts(self._runtime, control_plane, self._log.sink(f"broker-{broker}"), random.Random(broker))

        async def register(_: Cause) -> None:
            return

        config = ControllerConfig(auto_leader_rebalance_enable=False)
        KafkaController(broker, config, ports, client, gateways_on(client), register).startup(None)
        return client, control_plane

    # --- Kafka's

    async def _of_kafka(self) -> Taken:
        before = self._brokers.acknowledged()
        spec = KafkaBrokerSpec(KAFKAS_ID, self._connect_string, {"auto.leader.rebalance.enable": False})
        with kafka_controller(spec) as process:
            await self._until_led(before)
            return await self._best(process.cpu_s)

    # --- both

    async def _until_led(self, before: Acknowledged) -> None:
        """Wait until the brokers have acknowledged all requests of a controller, and then got nothing for a while."""
        replicas, began_s = self._size * REPLICATION_FACTOR, time.monotonic()
        while True:
            done = self._brokers.acknowledged()
            led, requests = done.partitions - before.partitions, done.requests - before.requests
            if led >= replicas and requests >= REQUESTS and time.monotonic() - done.last_s > QUIET_S:
                return
            if time.monotonic() - began_s > WITHIN_S:
                raise TimeoutError(f"{led} of {replicas} replicas, {requests} requests")
            await asyncio.sleep(POLL_S)

    async def _best(self, cpu_s: Callable[[], float]) -> Taken:
        times = [await self._failover(cpu_s) for _ in range(WARM_UP + MEASURED)]
        print(f"  {', '.join(f'{taken.wall_s:.2f}' for taken in times)} s", file=sys.stderr)
        return min(times[WARM_UP:])

    async def _failover(self, cpu_s: Callable[[], float]) -> Taken:
        self._log.forget()
        gc.collect()
        before, cpu_before_s, began_s = self._brokers.acknowledged(), cpu_s(), time.monotonic()
        await self._admin.request([Delete(paths.CONTROLLER)])
        await self._until_led(before)
        after = self._brokers.acknowledged()
        return Taken(
            after.last_s - began_s,
            cpu_s() - cpu_before_s,
            after.cpu_s - before.cpu_s,
            after.requests - before.requests,
            after.request_bytes - before.request_bytes,
        )


if __name__ == "__main__":
    measure(int(sys.argv[1]))
