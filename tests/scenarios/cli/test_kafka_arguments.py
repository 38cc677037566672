"""Invalid arguments for --brokers kafka, --kafka-home and kcsim compare: one clear line is printed, nothing is started."""

from pathlib import Path

import pytest

from tests.requirements import require
from tests.scenarios.cli.live_cluster import kcsim
from tests.scenarios.scenario_files import BASE, WITH_WORKLOAD, written

IMPOSSIBLE = BASE.replace(
    "expect:",
    """\
  - lossy-link: {between: broker-1, and: broker-2, break: 10%}
  - slow-follower: broker-2
    rate: 5
  - wait: {event: {kind: RecordsAppended}}
expect:""",
)


def home_with(tmp_path: Path, *jars: str) -> Path:
    (tmp_path / "libs").mkdir()
    for jar in jars:
        (tmp_path / "libs" / jar).touch()
    return tmp_path


@pytest.mark.parametrize("command", ["run", "compare"])
@pytest.mark.parametrize(
    ("jars", "message"),
    [
        ([], "it has no libs/*.jar"),
        (["zookeeper-3.5.9.jar"], "none of the 1 jars in its libs folder is kafka_2.13-VERSION.jar"),
        (["kafka_2.13-4.0.0.jar"], "no longer has a ZooKeeper mode"),
        (["kafka_2.12-2.3.1.jar"], "too old"),
    ],
)
def test_a_folder_without_a_kafka_that_can_be_run(tmp_path: Path, command: str, jars: list[str], message: str) -> None:
    brokers = ["--brokers", "kafka"] if command == "run" else []
    result = kcsim(command, str(written(tmp_path, BASE)), *brokers, "--kafka-home", str(home_with(tmp_path, *jars)))
    assert (result.exit_code, result.stdout) == (64, "")
    assert message in result.stderr
    assert result.stderr.startswith("--kafka-home: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["run", "compare"])
def test_a_protocol_version_that_the_kafka_does_not_have(tmp_path: Path, command: str) -> None:
    require("java")
    brokers = ["--brokers", "kafka"] if command == "run" else []
    home = str(home_with(tmp_path, "kafka_2.13-3.4.1.jar"))
    setting = ["--setting", "inter.broker.protocol.version=3.5"]
    result = kcsim(command, str(written(tmp_path, BASE)), *brokers, "--kafka-home", home, *setting)
    assert (result.exit_code, result.stdout) == (64, "")
    assert result.stderr == (
        "inter.broker.protocol.version 3.5: Apache Kafka 3.4.1 does not have it; name a later one with --kafka-home\n"
    )


def test_everything_that_no_real_broker_can_do_or_show_is_named_with_its_line(tmp_path: Path) -> None:
    file = written(tmp_path, IMPOSSIBLE)
    result = kcsim("run", str(file), "--brokers", "kafka")
    assert (result.exit_code, result.stdout) == (64, "")
    lines = result.stderr.splitlines()
    assert [line.removeprefix(f"{file}:").partition(": ")[0] for line in lines] == ["8", "9", "11"]
    assert "does not see which request has been delivered" in lines[0]
    assert "real brokers do not report RecordsAppended" in lines[2]


def test_what_cannot_be_done_to_processes_is_named_with_its_line(tmp_path: Path) -> None:
    """Everything that brokers do is seen, in processes of their own too: the wait is no problem."""
    file = written(tmp_path, IMPOSSIBLE)
    result = kcsim("run", str(file), "--brokers", "processes", "--zookeeper", "model")
    assert (result.exit_code, result.stdout) == (64, "")
    lines = result.stderr.splitlines()
    assert [line.removeprefix(f"{file}:").partition(": ")[0] for line in lines] == ["8", "9"]
    assert "cannot be set from outside" in lines[1]


@pytest.mark.parametrize("command", [["run", "controller-failover", "--brokers", "processes"], ["up", "--processes"]])
@pytest.mark.parametrize("zookeeper", ["docker", "127.0.0.1:1"])
def test_processes_need_a_zookeeper_whose_log_can_be_read(command: list[str], zookeeper: str) -> None:
    result = kcsim(*command, "--zookeeper", zookeeper)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (64, "", 1)
    assert "it is embedded, ensemble or model, whose transaction log we can read" in result.stderr


def test_nor_do_its_consumers_speak_to_real_brokers(tmp_path: Path) -> None:
    text = WITH_WORKLOAD.replace("expect:", "  - start-consumers: c1\n  - stop-consumers: c1\nexpect:", 1)
    result = kcsim("compare", str(written(tmp_path, text)))
    assert result.exit_code == 64
    assert [line.split(": ")[1] for line in result.stderr.splitlines()] == ["start-consumers", "stop-consumers"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--brokers", "kafka", "--zookeeper", "simulated"],
            "--zookeeper: with real brokers it is embedded, ensemble or model",
        ),
        (["--brokers", "kafka", "--without", "broker-epoch"], "--without: what Kafka protects itself with"),
        (["--brokers", "kafka", "--hardening"], "--hardening: a real Kafka has none"),
        (["--kafka-home", "/tmp"], "--kafka-home: only with --brokers kafka"),
        (["--brokers", "raft"], "'raft'"),
    ],
)
def test_what_does_not_go_together(tmp_path: Path, arguments: list[str], message: str) -> None:
    result = kcsim("run", str(written(tmp_path, BASE)), *arguments)
    assert (result.exit_code, result.stdout) == (64, "")
    assert message in result.stderr


def test_compare_is_not_for_somebody_elses_zookeeper(tmp_path: Path) -> None:
    result = kcsim("compare", str(written(tmp_path, BASE)), "--ours", "127.0.0.1:2181/x")
    assert (result.exit_code, result.stdout) == (64, "")
    assert "not an external ZooKeeper" in result.stderr
