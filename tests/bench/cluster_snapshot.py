"""A snapshot of a synthetic cluster on one real ZooKeeper: 3,000 brokers, 200,000 partitions.

The command runs in a process of its own, without a limit of its rate, and once more with the default limit; its time and its
largest memory are those of the whole process.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kcsim import znodes
from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.vocabulary import (
    BrokerId,
    BrokerInfo,
    ControllerEpoch,
    ControllerNode,
    Endpoint,
    LeaderAndIsr,
    LeaderEpoch,
    PartitionState,
    ReplicaAssignment,
    TopicPartition,
    TopicState,
    ZkVersion,
)
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.operations import Create, Created, Request
from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from kcsim.znodes import paths

SIZE = 200_000
BROKERS = 3_000
PARTITIONS_PER_TOPIC = 100
REPLICATION_FACTOR = 3
BATCH = 5_000
UNLIMITED = "1000000000"


def main(size: str | None) -> None:
    """Print time and memory of a snapshot of so many partitions."""
    partitions = int(size or SIZE)
    settings = ServerSettings(heap_mb=2048, tick_time_ms=2000)
    with EmbeddedZooKeeper(settings=settings) as server, tempfile.TemporaryDirectory() as directory:
        WallClockRuntime().run(_create(server.connect_string, partitions))
        file = Path(directory) / "cluster.json"
        print(f"\nsnapshot of {BROKERS} brokers and {partitions} partitions")
        for what, rate in (("as fast as possible", UNLIMITED), ("at 20,000 znodes per s", "20000")):
            print(f"  {what}: {_measured(server.connect_string, file, rate)}")


def _measured(connect: str, file: Path, rate: str) -> str:
    command = [sys.executable, "-m", "kcsim.scenarios", "snapshot", connect, "-o", str(file), "--rate", rate]
    began_s = time.monotonic()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, status
    taken_s = time.monotonic() - began_s
    return f"{taken_s:.1f} s, {usage.ru_maxrss / 1024:.0f} MB of memory, a file of {file.stat().st_size / 1e6:.1f} MB"


async def _create(connect: str, partitions: int) -> None:
    """Create the znodes of the cluster; its brokers are registered for ever."""
    session = await LiveZooKeeper(connect).open_session(30_000, lambda _: None, 60_000)
    requests = list(_creates(partitions))
    for begin in range(0, len(requests), BATCH):
        replies = await session.call(requests[begin : begin + BATCH])
        assert all(isinstance(reply, Created) for reply in replies)
    await session.close()


def _creates(partitions: int) -> list[Request]:
    tops = dict.fromkeys(above for top in paths.TOP_LEVEL_PATHS for above in paths.lineage(top))
    found: dict[str, bytes | None] = dict.fromkeys(tops)
    found[paths.CONTROLLER] = znodes.encode_controller(ControllerNode(BrokerId(1), 0))
    found[paths.CONTROLLER_EPOCH] = b"7"
    for broker in map(BrokerId, range(1, BROKERS + 1)):
        endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", f"broker-{broker}.example.org", 9092)
        found[paths.broker_id(broker)] = znodes.encode_broker(BrokerInfo(broker, (endpoint,), f"rack-{broker % 9}"))
    for number in range(partitions // PARTITIONS_PER_TOPIC):
        topic = f"topic-{number:04}"
        placed = {index: _replicas(number * PARTITIONS_PER_TOPIC + index) for index in range(PARTITIONS_PER_TOPIC)}
        assignments = {index: ReplicaAssignment(replicas) for index, replicas in placed.items()}
        found[paths.topic_config(topic)] = znodes.encode_config({"min.insync.replicas": "2"})
        found[paths.topic(topic)] = znodes.encode_topic(TopicState(assignments))
        found[paths.topic_partitions(topic)] = None
        for index, replicas in placed.items():
            state = LeaderAndIsr(replicas[0], LeaderEpoch(3), replicas, ZkVersion(0))
            tp = TopicPartition(topic, index)
            found[paths.topic_partition(tp)] = None
            found[paths.topic_partition_state(tp)] = znodes.encode_partition_state(PartitionState(state, ControllerEpoch(7)))
    return [Create(path, data) for path, data in found.items()]


def _replicas(number: int) -> tuple[BrokerId, ...]:
    return tuple(BrokerId((number * 7 + step * 11) % BROKERS + 1) for step in range(REPLICATION_FACTOR))
