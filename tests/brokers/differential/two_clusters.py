"""One cluster of ours and one of Apache Kafka, of three brokers each, that are asked the same."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from kcsim.brokers.apache_kafka.installation import find_kafka
from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.processes.process_cluster import ProcessCluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment, run_with_kafka
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.controller.capabilities import Release
from kcsim.zk.servers.free_ports import free_ports
from tests.brokers.cluster.environments import SETTINGS, WITHIN_MS, Settings, spec_of

A = TypeVar("A")
EMBEDDED = ZooKeeperChoice.parse("embedded")
BROKERS = (1, 2, 3)
Ask = Callable[[Cluster | ProcessCluster, str], Awaitable[A]]
"""A function that asks a cluster, whose first broker is the controller, at its bootstrap servers. Returns: the answers."""


async def _start(cluster: Cluster | ProcessCluster) -> None:
    """Start the brokers, of which the first becomes the controller."""
    first, *others = cluster.broker_names
    await cluster.start([first])
    await cluster.wait_until(lambda: None if cluster.state.controller_id == BROKERS[0] else "no controller", WITHIN_MS)
    await cluster.start(others)


def ours(ask: Ask[A], settings: Settings = SETTINGS, release: Release | None = None) -> A:
    """Return the answers of simulated brokers. Args: release: None: that of their protocol version."""
    found: list[A] = []
    ports = dict(zip(BROKERS, free_ports(3), strict=True))

    async def script(cluster: Cluster) -> None:
        await _start(cluster)
        found.append(await ask(cluster, ",".join(f"{host}:{port}" for host, port in cluster.bootstrap)))

    spec = replace(spec_of(BROKERS, settings, "embedded"), client_ports=ports, release=release)
    run_in_environment(EMBEDDED, spec, RunInfo("test", 0, "embedded"), script)
    return found[0]


def kafkas(ask: Ask[A], settings: Settings = SETTINGS, home: Path | None = None) -> A:
    """Return the answers of the brokers of Apache Kafka. Args: home: of the installation; None: that of make kafka."""
    found: list[A] = []

    async def script(cluster: ProcessCluster) -> None:
        await _start(cluster)
        found.append(await ask(cluster, cluster.bootstrap()))

    spec = spec_of(BROKERS, settings, "embedded")
    run_with_kafka(find_kafka(home), EMBEDDED, spec, RunInfo("test", 0, "embedded"), script)
    return found[0]
