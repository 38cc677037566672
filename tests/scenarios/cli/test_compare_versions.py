"""kcsim compare --protocol-version: what becomes of each expectation at each version, in a table or as JSON."""

import json
from pathlib import Path

import pytest

from kcsim.brokers.apache_kafka.installation import KafkaInstallation
from kcsim.scenarios.cli.compare_versions import kafka_for
from kcsim.zk.servers.java import Java
from tests.scenarios.cli.live_cluster import kcsim
from tests.scenarios.scenario_files import BASE, written

JAVA = Java(Path("/nowhere/java"), 17, "PATH")
VERSIONS = ["--protocol-version", "2.6", "--protocol-version", "2.8", "--protocol-version", "3.9"]


def test_each_version_has_a_column_with_the_outcome_of_each_expectation() -> None:
    result = kcsim("compare", "isr-shrinks-without-zookeeper", *VERSIONS, "--output", "json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["columns"] == ["2.6 on ours", "2.8 on ours", "3.9 on ours"]
    outcomes = [cells for claim, cells in found["expectations"].items() if claim.startswith("The follower that stood still")]
    assert outcomes == [["violated", "held", "held"]]
    assert [version["kafka"] for version in found["versions"]] == [None, None, None]


def test_the_table_has_the_same() -> None:
    result = kcsim("compare", "isr-shrinks-without-zookeeper", *VERSIONS[:4])
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[1].split() == ["┃", "Expected", "┃", "2.6", "┃", "2.8", "┃"]
    assert [result.stdout.count(outcome) for outcome in ("held", "violated")] == [3, 3]


def test_a_run_that_cannot_do_every_step_is_undecided_and_says_why() -> None:
    result = kcsim("compare", "protocol-version-lowered", *VERSIONS[-2:], "--setting", "delete.topic.enable=false")
    assert result.exit_code == 2
    assert "3.9 on ours: undecided: " in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--protocol-version", "2.5"], "--protocol-version: '2.5' is no value of inter.broker.protocol.version"),
        (["--kafka-home", "a", "--kafka-home", "b"], "--kafka-home: several only with --protocol-version"),
    ],
)
def test_invalid_arguments_are_reported_in_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    result = kcsim("compare", str(written(tmp_path, BASE)), *arguments)
    assert (result.exit_code, result.stdout) == (64, "")
    assert result.stderr.startswith(message)
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [["run", "--zookeeper", "simulated"], ["compare"]])
def test_a_setting_that_the_release_of_the_scenario_does_not_know(command: list[str]) -> None:
    result = kcsim(*command[:1], "rolling-upgrade", *command[1:], "--setting", "inter.broker.protocol.version=3.9")
    assert (result.exit_code, result.stdout) == (64, "")
    assert result.stderr == "--setting: Kafka 2.8 does not know inter.broker.protocol.version 3.9\n"


def test_the_oldest_kafka_that_knows_a_version_is_taken() -> None:
    kafkas = [KafkaInstallation(Path("/nowhere"), version, JAVA) for version in ("3.9.1", "2.8.2")]
    chosen = [kafka_for(version, kafkas) for version in ("2.6", "2.8", "3.0", "3.9")]
    assert [kafka.version for kafka in chosen if kafka is not None] == ["2.8.2", "2.8.2", "3.9.1", "3.9.1"]
    assert kafka_for("3.0", kafkas[1:]) is None
