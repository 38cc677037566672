"""100,000 partition states on one real server: read all at once, and written under the controller's fence.

The baselines are what a client can do without multi-read and without batches: kazoo's pipelined get_async, and one
conditional write per request, also pipelined; then Kafka's own way of fencing: one multi of check and write for each state.
"""

from collections.abc import Sequence

from kazoo.client import KazooClient

from kcsim import znodes
from kcsim.eventlog.event_log import EventLog
from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.vocabulary import (
    BrokerId,
    ControllerEpoch,
    ControllerEpochZkVersion,
    LeaderAndIsr,
    LeaderEpoch,
    PartitionState,
    TopicPartition,
    ZkVersion,
)
from kcsim.zk.kafka.kafka_zk import gateways_on
from kcsim.zk.kafka.zookeeper_client import ZooKeeperClient
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.operations import Check, Multi, MultiDone, SetData
from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from kcsim.znodes import paths
from tests.bench.report import measure, measure_async, print_table

TOPICS, PARTITIONS = 100, 1000
COUNT = TOPICS * PARTITIONS
IN_FLIGHT = 5000
"""Number of requests that a pipelining baseline has in flight at once."""
FENCE = ControllerEpochZkVersion(0)


def main() -> None:
    """Print the ratios of reading and of writing."""
    with EmbeddedZooKeeper(settings=ServerSettings(heap_mb=2048, tick_time_ms=2000)) as server:
        Bench(server.connect_string).run()


class Bench:
    """One client of ours and one plain kazoo client, on the same server."""

    def __init__(self, connect_string: str) -> None:
        self._runtime = WallClockRuntime()
        self._connect_string = connect_string
        self._partitions = [TopicPartition(f"topic-{t:03}", p) for t in range(TOPICS) for p in range(PARTITIONS)]
        self._version = 0

    def run(self) -> None:
        self._runtime.run(self._main())

    async def _main(self) -> None:
        log = EventLog(self._runtime.now_ms)
        client = ZooKeeperClient(self._runtime, LiveZooKeeper(self._connect_string), log.sink("bench"), 40_000, 40_000)
        await client.connect()
        self._kafka_zk = gateways_on(client)
        self._client = client
        await self._kafka_zk.cluster.create_top_level_paths()
        await self._kafka_zk.znodes.create_recursively(paths.CONTROLLER_EPOCH, b"1")
        for topic in dict.fromkeys(tp.topic for tp in self._partitions):
            await self._kafka_zk.znodes.create_recursively(paths.topic(topic), None)
        await self._kafka_zk.partition_states.create(self._states(), FENCE)
        kazoo = KazooClient(self._connect_string, timeout=40)
        kazoo.start()
        try:
            await self._read(kazoo)
            await self._write(kazoo)
        finally:
            kazoo.stop()
            kazoo.close()
            await client.close()

    def _states(self) -> dict[TopicPartition, PartitionState]:
        isr = (BrokerId(1), BrokerId(2), BrokerId(3))
        state = LeaderAndIsr(BrokerId(1), LeaderEpoch(self._version), isr, ZkVersion(self._version))
        return dict.fromkeys(self._partitions, PartitionState(state, ControllerEpoch(1)))

    async def _read(self, kazoo: KazooClient) -> None:
        state_paths = [paths.topic_partition_state(tp) for tp in self._partitions]

        def one_by_one() -> None:
            for start in range(0, COUNT, IN_FLIGHT):
                for asked in [kazoo.get_async(path) for path in state_paths[start : start + IN_FLIGHT]]:
                    asked.get()

        pipelined = measure("kazoo, get_async, pipelined, not decoded", COUNT, one_by_one)
        batched = await measure_async("multi-read in batches, decoded", COUNT, self._read_all)
        print_table(f"Reading {COUNT:,} partition states", pipelined, batched)

    async def _read_all(self) -> None:
        states = await self._kafka_zk.partition_states.read(self._partitions)
        assert len(states) == COUNT

    async def _write(self, kazoo: KazooClient) -> None:
        encoded = {paths.topic_partition_state(tp): znodes.encode_partition_state(s) for tp, s in self._states().items()}

        def single() -> None:
            items = list(encoded.items())
            for start in range(0, COUNT, IN_FLIGHT):
                batch = items[start : start + IN_FLIGHT]
                for asked in [kazoo.set_async(path, data, version=self._version) for path, data in batch]:
                    asked.get()
            self._version += 1

        singles = measure("kazoo, set_async, conditional, pipelined, unfenced", COUNT, single)
        kafka_s = await measure_async("as Kafka does: a multi of check and write each, pipelined", COUNT, self._multi_each)
        batched = await measure_async("fenced batches", COUNT, self._write_all)
        print_table(f"Writing {COUNT:,} partition states, each only at its version", singles, kafka_s, batched)

    async def _multi_each(self) -> None:
        check = Check(paths.CONTROLLER_EPOCH, ZkVersion(FENCE))
        requests = [
            Multi(
                (check, SetData(paths.topic_partition_state(tp), znodes.encode_partition_state(s), ZkVersion(self._version)))
            )
            for tp, s in self._states().items()
        ]
        for start in range(0, COUNT, IN_FLIGHT):
            replies: Sequence[object] = await self._client.request(requests[start : start + IN_FLIGHT])
            assert all(isinstance(reply, MultiDone) and reply.error is None for reply in replies)
        self._version += 1

    async def _write_all(self) -> None:
        results = await self._kafka_zk.partition_states.set(self._states(), FENCE)
        self._version += 1
        assert set(results.values()) == {self._version}
