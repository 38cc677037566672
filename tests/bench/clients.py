"""Real clients on three simulated brokers, and on three of Apache Kafka, side by side: the same work, in one run.

Each record is 1 KiB, and acknowledged by three replicas. The clients are a process of their own.
"""

import asyncio
import json
import resource
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kcsim.brokers.apache_kafka.installation import find_kafka
from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.cluster_spec import BrokerSpec, ClusterSpec
from kcsim.brokers.cluster.processes.process_cluster import ProcessCluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment, run_with_kafka
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.controller.admin.topics import NewTopic
from kcsim.controller.decisions.placement import Replicas
from kcsim.vocabulary import BrokerId
from tests.bench import client_work

EMBEDDED = ZooKeeperChoice.parse("embedded")
BROKERS = (1, 2, 3)
SPEC = ClusterSpec(tuple(map(BrokerSpec, BROKERS)), {}, tick_time_ms=1_000, max_session_timeout_ms=60_000)
WITHIN_MS = 120_000
ROTATED: list[Replicas] = [tuple(BrokerId(1 + (first + n) % 3) for n in range(3)) for first in range(client_work.PARTITIONS)]
ROWS: Mapping[str, str] = {
    "cluster_s": "start of the brokers until all are registered, s",
    "ready_s": "then the first record of a client, s",
    "produced_per_s": "records written a second",
    "consumed_per_s": "records read a second",
    "median_ms": "end to end at 1,000 records a second, median, ms",
    "p99_ms": "end to end, 99 %, ms",
    "memory_mb": "memory of the brokers, MB",
}


def main() -> None:
    """Print both columns."""
    theirs, mine = _on_kafka(), _on_ours()
    print(f"\n{'clients: 3 brokers, 1 KiB, acks=all':52} {'Kafka':>12} {'simulated':>12} {'ratio':>8}")
    for name, title in ROWS.items():
        print(f"{title:52} {theirs[name]:12,.2f} {mine[name]:12,.2f} {mine[name] / theirs[name]:8.2f}")


async def _measured(cluster: Cluster | ProcessCluster) -> dict[str, float]:
    began = time.monotonic()
    await cluster.start(cluster.broker_names)
    await cluster.wait_until(lambda: None if cluster.state.controller_id else "no controller", WITHIN_MS)
    taken = time.monotonic() - began
    await cluster.topics.create(NewTopic(client_work.TOPIC, assignment=ROTATED), _NoNumbers())
    servers = cluster.bootstrap_servers
    assert servers is not None
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", client_work.__name__, servers, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    assert process.returncode == 0
    results: dict[str, Any] = json.loads(output)
    return {"cluster_s": taken, **results}


class _NoNumbers:
    """Source of random numbers for a topic whose replicas are given."""

    def randrange(self, stop: int, /) -> int:
        raise AssertionError("the replicas are given")


def _on_ours() -> dict[str, float]:
    found: dict[str, float] = {}

    async def script(cluster: Cluster) -> None:
        found.update(await _measured(cluster))
        found["memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    run_in_environment(EMBEDDED, SPEC.with_free_client_ports(), RunInfo("bench", 0, "embedded"), script)
    return found


def _on_kafka() -> dict[str, float]:
    found: dict[str, float] = {}

    async def script(cluster: ProcessCluster) -> None:
        found.update(await _measured(cluster))
        found["memory_mb"] = _resident_mb_of_kafka()

    run_with_kafka(find_kafka(None), EMBEDDED, SPEC, RunInfo("bench", 0, "embedded"), script)
    return found


def _resident_mb_of_kafka() -> float:
    return sum(map(_resident_mb, Path("/proc").iterdir()))


def _resident_mb(process: Path) -> float:
    """Return the memory of a process if it is a broker of Kafka, in MB."""
    try:
        if b"kafka.Kafka" not in (process / "cmdline").read_bytes().split(b"\0"):
            return 0
        lines = (process / "status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024
