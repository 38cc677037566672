"""Apache Kafka's own commands print the same about a simulated cluster as about a cluster of real brokers.

Both clusters are made by one script. What no two clusters have in common (ids of clusters, ports, directories) is replaced.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from kcsim.brokers.apache_kafka.commands import run_kafka_command
from kcsim.brokers.apache_kafka.installation import find_kafka
from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.processes.kafka_environment import run_on_kafka
from kcsim.brokers.cluster.processes.process_cluster import ProcessCluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.brokers.config import PROTOCOL_VERSION
from kcsim.brokers.wire.apis.controller_requests import ALLOCATE_PRODUCER_IDS
from kcsim.brokers.wire.apis.metadata import METADATA
from kcsim.brokers.wire.apis.registry import APIS
from kcsim.controller.admin.topics import NewTopic
from kcsim.vocabulary import BrokerId, TopicPartition
from tests.brokers.cluster.both_clusters import METADATA_VERSION, WITHIN_S, in_sync, run_together, until_known
from tests.brokers.cluster.environments import WITHIN_MS, spec_of
from tests.brokers.differential.raw_client import ALL_BROKERS, raw_client
from tests.requirements import require

pytestmark = [pytest.mark.kafka, pytest.mark.live, pytest.mark.slow]

ONE, TWO, THREE, NEVER_STARTED = map(BrokerId, (1, 2, 3, 4))
TOPICS = (
    NewTopic("orders", assignment=((ONE, TWO), (TWO, THREE), (THREE, ONE)), config={"retention.ms": "3600000"}),
    NewTopic("clicks", assignment=((TWO, ONE, THREE),), config={"cleanup.policy": "compact,delete", "segment.ms": "60000"}),
)
SETTINGS: Mapping[str, str | int | bool] = {
    PROTOCOL_VERSION: "2.6",  # later ones have topic ids, which are random
    "min.insync.replicas": 1,
    "log.retention.hours": 24,
    "num.partitions": 3,
    "auto.leader.rebalance.enable": False,
    "offsets.topic.num.partitions": 1,
    "offsets.topic.replication.factor": 1,
}
SHARED = {"log.segment.bytes": "2000000", "log.retention.ms": "7200000"}

TOPIC, CONFIG = "kafka.admin.TopicCommand", "kafka.admin.ConfigCommand"
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "topics --list": (TOPIC, "--list"),
    "topics --describe": (TOPIC, "--describe"),
    "topics --describe --topic": (TOPIC, "--describe", "--topic", "clicks"),
    "topics --describe, unknown": (TOPIC, "--describe", "--topic", "nosuch"),
    "topics --under-replicated": (TOPIC, "--describe", "--under-replicated-partitions"),
    "configs of a topic": (CONFIG, "--describe", "--entity-type", "topics", "--entity-name", "orders"),
    "all configs of a topic": (CONFIG, "--describe", "--all", "--entity-type", "topics", "--entity-name", "clicks"),
    "configs of all brokers": (CONFIG, "--describe", "--entity-type", "brokers", "--entity-default"),
    "configs of a broker": (CONFIG, "--describe", "--entity-type", "brokers", "--entity-name", "2"),
    "all configs of a broker": (CONFIG, "--describe", "--all", "--entity-type", "brokers", "--entity-name", "2"),
    "configs of another topic": (CONFIG, "--describe", "--entity-type", "topics", "--entity-name", "nosuch"),
    "cluster-id": ("kafka.tools.ClusterTool", "cluster-id"),
    "log-dirs": ("kafka.admin.LogDirsCommand", "--describe"),
    "log-dirs of a topic": ("kafka.admin.LogDirsCommand", "--describe", "--topic-list", "orders"),
    "reassignments": ("kafka.admin.ReassignPartitionsCommand", "--list"),
    "versions": ("kafka.admin.BrokerApiVersionsCommand",),
}
COMPARED_BY_LINES = frozenset({"all configs of a broker", "versions"})
OF_ONE_BROKER = ("host.name=", "port=", "log.dirs=", "inter.broker.listener.name=")


@dataclass
class Seen:
    """What the commands printed about a cluster, standard error included, and the id of the cluster."""

    printed: dict[str, str]
    cluster_id: str = ""


async def look(cluster: Cluster | ProcessCluster, bootstrap: Callable[[], str], seen: Seen) -> None:
    """Set a cluster up, and run the commands on it. None of them changes anything."""
    await cluster.topics.change_broker_defaults(SHARED)
    started = ["broker-1", "broker-2", "broker-3"]
    await cluster.start(started)
    await cluster.wait_until(lambda: None if cluster.state.controller_id is not None else "no controller", WITHIN_MS)
    for topic in TOPICS:
        await cluster.topics.create(topic, random.Random(1))
    servers = ",".join([address for address in bootstrap().split(",") if address][: len(started)])
    await until_known(servers, lambda topics: in_sync(topics) == {"orders": [2, 2, 2], "clicks": [3]})
    await cluster.topics.reassign({TopicPartition("orders", 0): (ONE, NEVER_STARTED)})
    await until_known(servers, lambda topics: {1, 2, 4} in map(set, replicas(topics["orders"])))
    kafka = find_kafka(None)
    outcomes = await run_together(
        run_kafka_command(kafka, main_class, [*arguments, "--bootstrap-server", servers], None, WITHIN_S)
        for main_class, *arguments in COMMANDS.values()
    )
    seen.printed |= {name: outcome.out + outcome.err for name, outcome in zip(COMMANDS, outcomes, strict=True)}
    async with raw_client(servers) as client:
        seen.cluster_id = (await client.call(ONE, METADATA, METADATA_VERSION, **ALL_BROKERS)).cluster_id


def replicas(partitions: Sequence[Any]) -> list[tuple[int, ...]]:
    return [partition.replica_nodes for partition in partitions]


@pytest.fixture(scope="module")
def both() -> tuple[Seen, Seen]:
    """Return what the commands print about a simulated cluster, and about real brokers."""
    require("java", "kafka")
    choice, info = ZooKeeperChoice.parse("embedded"), RunInfo("test", 0, "embedded")
    spec = spec_of((ONE, TWO, THREE, NEVER_STARTED), SETTINGS, "embedded")
    ours, kafkas = Seen({}), Seen({})

    async def on_ours(cluster: Cluster) -> None:
        await look(cluster, lambda: cluster.bootstrap_servers or "", ours)

    async def on_kafka(cluster: ProcessCluster) -> None:
        await look(cluster, cluster.bootstrap, kafkas)

    run_in_environment(choice, spec.with_free_client_ports(), info, on_ours)
    run_on_kafka(find_kafka(None), choice, spec, info, on_kafka, ())
    return ours, kafkas


def without_identity(printed: str) -> str:
    """Replace what belongs to one run: ports, directories, times."""
    for pattern, name in ((r"127\.0\.0\.1:[0-9]+", "ADDRESS"), (r'"logDir":"[^"]*"', "LOG-DIR"), (r"\[20[^]]*\]", "[TIME]")):
        printed = re.sub(pattern, name, printed)
    return printed


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in COMPARED_BY_LINES])
def test_a_command_prints_the_same(both: tuple[Seen, Seen], name: str) -> None:
    ours, kafkas = (without_identity(seen.printed[name].replace(seen.cluster_id, "CLUSTER-ID")) for seen in both)
    assert ours == kafkas
    assert ours.strip() or name == "topics --under-replicated"


def test_the_commands_saw_a_reassignment_and_changed_settings(both: tuple[Seen, Seen]) -> None:
    """What is compared is not empty."""
    ours, _ = both
    assert "orders-0: replicas: 1,4,2. adding: 4. removing: 2.\n" in ours.printed["reassignments"]
    assert "Adding Replicas: 4\tRemoving Replicas: 2" in ours.printed["topics --describe"]
    assert "DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.ms=7200000" in ours.printed["configs of a topic"]
    assert ours.printed["cluster-id"] == f"Cluster ID: {ours.cluster_id}\n"
    assert ours.printed["log-dirs"].count('"clicks-0"') == 3


def test_the_settings_of_a_broker_are_among_those_that_kafka_describes(both: tuple[Seen, Seen]) -> None:
    """Kafka's order is that of a hash table.

    Not compared: the address, names that no other broker has, and the protocol version, whose default is another one.
    """
    ours, kafkas = ({*seen.printed["all configs of a broker"].splitlines()} for seen in both)
    own = {line for line in ours if line.strip().startswith((*OF_ONE_BROKER, f"{PROTOCOL_VERSION}="))}
    assert len(own) == len(OF_ONE_BROKER) + 1
    assert ours - own <= kafkas
    assert len(ours) > 55


WITHOUT_OLD_FORMATS = {"Fetch(1)": "4 to 12 [usable: 12]"}
"""The versions with message formats 0 and 1 are not served. Of Produce they are named all the same, as Kafka 4.0 does."""


def test_the_versions_of_the_apis_that_are_served_are_those_of_kafka(both: tuple[Seen, Seen]) -> None:
    ours, kafkas = (versions(seen.printed["versions"]) for seen in both)
    assert ours.keys() == kafkas.keys() == {"1", "2", "3"}
    for broker, apis in ours.items():
        served = {api: listed for api, listed in apis.items() if listed != "UNSUPPORTED"}
        assert len(served) == len(APIS.keys() - {ALLOCATE_PRODUCER_IDS})  # which Kafka has from 3.0 on
        assert served.items() <= {**kafkas[broker], **WITHOUT_OLD_FORMATS}.items()
        assert apis.keys() == kafkas[broker].keys()


def versions(printed: str) -> dict[str, dict[str, str]]:
    """Return the versions of each API, by broker."""
    return {
        broker: dict(re.findall(r"\t(\w+\([0-9]+\)): ([^,\n]+)", apis))
        for broker, apis in re.findall(r"\(id: ([0-9]+) rack: null\) -> \(\n(.*?)\n\)", printed, re.DOTALL)
    }
