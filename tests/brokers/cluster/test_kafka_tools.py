"""Apache Kafka's own commands do and print the same on our brokers as on Kafka's."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from kcsim.brokers.apache_kafka.commands import run_kafka_command
from kcsim.brokers.apache_kafka.installation import find_kafka
from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.processes.process_cluster import ProcessCluster
from kcsim.brokers.config import PROTOCOL_VERSION
from tests.brokers.cluster.both_clusters import WITHIN_S, on_kafkas_brokers, on_our_brokers, run_together
from tests.brokers.cluster.environments import SETTINGS
from tests.requirements import require

TOPICS = "kafka.admin.TopicCommand"
ELECTIONS = "kafka.admin.LeaderElectionCommand"
RECORDS = "kafka.admin.DeleteRecordsCommand"
CONFIGS = "kafka.admin.ConfigCommand"
REASSIGNMENTS = "kafka.admin.ReassignPartitionsCommand"
OF_ORDERS = ("--entity-type", "topics", "--entity-name", "orders")
MOVES = ("--reassignment-json-file", "{directory}/moves.json")
WITHOUT_IDS = {PROTOCOL_VERSION: "2.6"}
"""Later versions have topic ids, which are random."""

Command = tuple[str, ...]
STEPS: Sequence[Sequence[Command]] = [
    [
        (TOPICS, "--create", "--topic", "orders", "--replica-assignment", "1:2:3,2:3:1"),
        (TOPICS, "--create", "--topic", "more", "--replication-factor", "4"),
        (TOPICS, "--create", "--topic", "a b"),
        (TOPICS, "--create", "--topic", "defaults"),
    ],
    [
        (TOPICS, "--create", "--topic", "orders", "--partitions", "2"),
        (TOPICS, "--alter", "--topic", "orders", "--partitions", "4"),
        (TOPICS, "--delete", "--topic", "defaults"),
        (RECORDS, "--offset-json-file", "{directory}/offsets.json"),
        (CONFIGS, "--alter", *OF_ORDERS, "--add-config", "retention.ms=1000,cleanup.policy=[compact,delete]"),
        (CONFIGS, "--alter", "--entity-type", "brokers", "--entity-default", "--add-config", "broker.id=3"),
    ],
    [
        (TOPICS, "--alter", "--topic", "orders", "--partitions", "1"),
        (TOPICS, "--list"),
        (ELECTIONS, "--election-type", "preferred", "--topic", "orders", "--partition", "0"),
        (CONFIGS, "--alter", *OF_ORDERS, "--delete-config", "retention.ms"),
    ],
    [
        (ELECTIONS, "--election-type", "preferred", "--all-topic-partitions"),
        (CONFIGS, "--alter", *OF_ORDERS, "--add-config", "retention.ms=soon"),
        (CONFIGS, "--describe", *OF_ORDERS),
    ],
    [(REASSIGNMENTS, "--execute", "--throttle", "1000000", *MOVES)],
    [(REASSIGNMENTS, "--verify", *MOVES)],
    [
        (REASSIGNMENTS, "--list"),
        (REASSIGNMENTS, "--cancel", *MOVES),
        (TOPICS, "--describe", "--topic", "orders"),
    ],
]
"""The commands of a step do not depend on each other."""
OFFSETS = {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "offset": 0}]}
TARGETS = {"version": 1, "partitions": [{"topic": "orders", "partition": 1, "replicas": [3, 1]}]}
UNDER_WAY = "still in progress"

pytestmark = [pytest.mark.live, pytest.mark.kafka, pytest.mark.slow]


EXCEPTION = ("java.", "org.apache.kafka.")


class Printed(NamedTuple):
    """How a command ended, and what it printed: on its standard output, and the lines about exceptions besides."""

    command: Command
    rc: int
    out: str
    exceptions: list[str]


async def run_all(bootstrap: str, directory: Path) -> list[Printed]:
    """Run the commands on a cluster."""
    (directory / "offsets.json").write_text(json.dumps(OFFSETS))
    (directory / "moves.json").write_text(json.dumps(TARGETS))
    printed = []
    for step in STEPS:
        printed += await run_together(run(command, bootstrap, directory) for command in step)
    return printed


async def run(command: Command, bootstrap: str, directory: Path) -> Printed:
    """Run a command; one that reports a reassignment is repeated until that is completed."""
    main_class, *words = (word.format(directory=directory) for word in command)
    arguments = ["--bootstrap-server", bootstrap, *words]
    outcome = await run_kafka_command(find_kafka(None), main_class, arguments, None, WITHIN_S)
    while UNDER_WAY in outcome.out:
        outcome = await run_kafka_command(find_kafka(None), main_class, arguments, None, WITHIN_S)
    exceptions = [line for line in outcome.err.splitlines() if line.startswith(EXCEPTION)]
    return Printed(command, outcome.rc, outcome.out, exceptions)


def test_commands_print_what_they_print_on_kafka(tmp_path: Path) -> None:
    require("java", "kafka")
    printed: list[list[Printed]] = []

    async def work(_: Cluster | ProcessCluster, bootstrap: str) -> None:
        printed.append(await run_all(bootstrap, tmp_path))

    on_our_brokers(work, {**SETTINGS, **WITHOUT_IDS})
    on_kafkas_brokers(work, WITHOUT_IDS)
    ours, kafkas = printed
    assert ours == kafkas
    assert [one.rc for one in ours].count(0) > 5
