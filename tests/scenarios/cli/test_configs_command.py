"""kcsim configs: lines and refusals as Apache Kafka 2.8.2's kafka-configs printed them, without its deprecation warning."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcsim.scenarios.cli.command_exit import ExitStatus
from kcsim.scenarios.cli.up_cluster.server_registry import register_servers
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from tests.scenarios.cli.live_cluster import LiveCluster, brokers, kcsim, live_cluster, on, topic

CONFIG = {"cleanup.policy": "compact,delete", "retention.ms": "1000", "segment.bytes": "1048576"}
MORE = {
    "min.insync.replicas": "2",
    "max.message.bytes": "100000",
    "segment.ms": "60000",
    "flush.ms": "5",
    "index.interval.bytes": "100",
    "compression.type": "gzip",
    "retention.bytes": "77",
    "file.delete.delay.ms": "8",
}
UPDATED = "Completed updating config for entity: "
BOOTSTRAP = (
    "requirement failed: --bootstrap-server option must be specified to update broker configs Set(log.retention.ms). {who}"
    " Broker configuration updates using ZooKeeper are supported for bootstrapping before brokers are started to enable"
    " encrypted password configs to be stored in ZooKeeper."
)


@pytest.fixture
def cluster(server: EmbeddedZooKeeper, runtime_directory: Path) -> Iterator[LiveCluster]:
    """Return a cluster on a ZooKeeper that kcsim runs: broker 1 lives, topics clicks and orders exist."""
    has = {**brokers(1), **topic("clicks", {0: on(1)}), **topic("orders", {0: on(1)}, CONFIG)}
    with register_servers(server.connect_string):
        yield live_cluster(server.connect_string, has)


@pytest.mark.live
def test_settings_are_described_in_kafka_s_order(cluster: LiveCluster) -> None:
    listed = cluster.run("configs", "--describe", "--entity-type", "topics")
    assert (listed.exit_code, listed.stdout.splitlines()) == (
        0,
        [
            "Configs for topic 'clicks' are ",
            "Configs for topic 'orders' are cleanup.policy=compact,delete,retention.ms=1000,segment.bytes=1048576",
        ],
    )
    assert cluster.run("configs", "--describe", "--topic", "nosuch").stdout == "Configs for topic 'nosuch' are \n"
    assert cluster.run("configs", "--describe", "--entity-type", "brokers").stdout == ""
    default = cluster.run("configs", "--describe", "--entity-type", "brokers", "--entity-default")
    assert default.stdout == "Configs for default brokers are \n"
    as_json = json.loads(cluster.run("configs", "--describe", "--topic", "orders", "--output", "json").stdout)
    assert as_json == {"entity_type": "topics", "configs": {"orders": CONFIG}}


@pytest.mark.live
def test_settings_are_added_and_removed_and_brokers_are_notified(cluster: LiveCluster) -> None:
    added = ",".join(f"{name}={value}" for name, value in MORE.items())
    alter = ("configs", "--alter", "--topic", "orders")
    assert cluster.run(*alter, "--add-config", f"{added},cleanup.policy=[delete]").stdout == f"{UPDATED}topic 'orders'.\n"
    assert cluster.run(*alter, "--delete-config", "retention.ms").exit_code == 0
    assert cluster.run("configs", "--describe", "--topic", "orders").stdout == (
        "Configs for topic 'orders' are compression.type=gzip,cleanup.policy=delete,file.delete.delay.ms=8,flush.ms=5,"
        "max.message.bytes=100000,min.insync.replicas=2,segment.bytes=1048576,segment.ms=60000,index.interval.bytes=100,"
        "retention.bytes=77\n"
    )
    changes = [path for path in cluster.znodes() if path.startswith("/config/changes/config_change_")]
    assert len(changes) == 2


@pytest.mark.live
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--topic", "orders", "--delete-config", "nosuch"), "Invalid config(s): nosuch"),
        (("--topic", "orders", "--add-config", "a=b"), "Unknown topic config name: a"),
        (("--topic", "nosuch", "--add-config", "retention.ms=1"), "Topic 'nosuch' does not exist."),
        (
            ("--topic", "orders", "--add-config", "bad"),
            'requirement failed: Invalid entity config: all configs to be added must be in the format "key=val".',
        ),
        (("--broker", "1", "--add-config", "log.retention.ms=1"), BOOTSTRAP.format(who="when broker 1 is running.")),
        (
            ("--entity-type", "brokers", "--entity-default", "--add-config", "log.retention.ms=1"),
            BOOTSTRAP.format(who="for default cluster if any broker is running."),
        ),
    ],
)
def test_what_kafka_refuses_is_refused_and_nothing_is_written(
    cluster: LiveCluster, arguments: tuple[str, ...], message: str
) -> None:
    before = cluster.znodes()
    result = cluster.run("configs", "--alter", *arguments)
    assert (result.exit_code, result.stdout) == (ExitStatus.REFUSED, f"{message}\n")
    assert cluster.znodes() == before


@pytest.mark.live
def test_throttles_of_a_running_broker_and_settings_of_a_stopped_one_are_written(cluster: LiveCluster) -> None:
    throttled = cluster.run("configs", "--alter", "--broker", "1", "--add-config", "leader.replication.throttled.rate=100")
    assert throttled.stdout == f"{UPDATED}brokers '1'.\n"
    assert cluster.run("configs", "--alter", "--broker", "7", "--add-config", "log.retention.ms=5").exit_code == 0
    assert cluster.run("configs", "--describe", "--entity-type", "brokers").stdout.splitlines() == [
        "Configs for brokers '1' are leader.replication.throttled.rate=100",
        "Configs for brokers '7' are log.retention.ms=5",
    ]


@pytest.mark.live
def test_nothing_is_written_to_a_zookeeper_that_is_not_ours(server: EmbeddedZooKeeper) -> None:
    elsewhere = live_cluster(server.connect_string, topic("orders", {0: on(1)}))
    before = elsewhere.znodes()
    result = elsewhere.run("configs", "--alter", "--topic", "orders", "--add-config", "retention.ms=1")
    assert (result.exit_code, "Dry run: nothing has been written" in result.stdout) == (ExitStatus.DRY_RUN, True)
    assert elsewhere.znodes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--describe", "At least one entity type must be specified\n"),
        ("--describe --alter --topic t", "Command must include exactly one action: --describe, --alter\n"),
        ("--describe --topic t", 'Missing required argument "[zookeeper]": no cluster is up; '),
        (
            "--zookeeper x --alter --topic t",
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter\n",
        ),
        (
            "--zookeeper x --alter --entity-type topics --add-config a=b",
            "an entity name must be specified with --alter of topics\n",
        ),
        (
            "--zookeeper x --describe --broker x",
            "The entity name for brokers must be a valid integer broker id, but it is: x\n",
        ),
        ("--zookeeper x --describe --entity-type users", "--entity-type: 'users' is not one of topics, brokers\n"),
        ("--zookeeper x --describe --entity-type topics --entity-default", "--entity-default stands for all brokers"),
        ("--zookeeper x --describe --topic t --broker 1", "give one of --topic, --broker and --entity-type"),
    ],
)
def test_options_that_make_no_sense_end_with_64_and_kafka_s_words(arguments: str, message: str) -> None:
    result = kcsim("configs", *arguments.split())
    assert (result.exit_code, result.stdout) == (64, "")
    assert result.stderr.startswith(message)
