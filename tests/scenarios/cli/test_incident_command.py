"""kcsim incident: text, JSON, the scenario that it writes, and bad input."""

import json
from pathlib import Path

import pytest

from kcsim.scenarios.language.scenario_file import load_scenario
from tests.scenarios.cli.live_cluster import kcsim

VECTORS = Path(__file__).parents[2] / "vectors"
PAUSED = VECTORS / "kafka-incidents" / "broker-paused"
KRAFT = "[2024-05-01 10:00:00,000] INFO [KafkaRaftServer nodeId=1] Kafka Server started (kafka.server.KafkaRaftServer)\n"
KAFKA_4 = "[2025-05-01 10:00:00,000] INFO Kafka version: 4.0.0 (org.apache.kafka.common.utils.AppInfoParser)\n"
OTHER_LANGUAGE = "01.05.2024 10:00:00 kafka.server.KafkaServer startup\nINFORMATION: Broker 1 wird gestartet\n"
OF_ANOTHER_PROGRAM = "[2024-05-01 10:00:00,000] INFO a request was served (org.example.Server)\n"


def test_the_text_has_all_its_parts(tmp_path: Path) -> None:
    file = tmp_path / "last-night.yaml"
    setting = "zookeeper.session.timeout.ms=18000"
    result = kcsim("incident", str(PAUSED), "--setting", setting, "--scenario", str(file))
    assert result.exit_code == 0, result.output
    parts = (
        "In short",
        "What happened",
        "The likely first fault: broker-1 was frozen",
        "Reproduced",
        "With ",
        "What these logs",
    )
    lines = result.stdout.splitlines()
    assert [part for part in parts if any(line.startswith(part) for line in lines)] == list(parts)
    assert load_scenario(file).scenario.name == "incident"


def test_a_run_of_the_written_scenario_holds_what_the_logs_say(tmp_path: Path) -> None:
    """Its expectations are the controller, leaders and ISRs at the end of the logs; the seed decides a race."""
    file = tmp_path / "incident.yaml"
    found = json.loads(kcsim("incident", str(PAUSED), "-o", str(file), "--output", "json").stdout)
    result = kcsim("run", str(file), "--zookeeper", "simulated", "--seed", str(found["simulated"]["seed"]))
    assert result.exit_code == 0, result.output


def test_as_json_times_are_absolute_and_candidates_have_their_evidence() -> None:
    result = kcsim("incident", str(PAUSED), "--output", "json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    first = found["first_fault"]
    assert (first["subject"], first["fault"]) == ("broker-1", "FROZEN")
    assert found["began_ms"] <= first["began_ms"] <= first["seen_ms"]
    excluded = {one["fault"]: one["against"] for one in first["candidates"] if one["is_excluded"]}
    assert excluded["KILLED"] == ["the same process logged on after its session had ended"]
    assert found["simulated"]["differences"] == []
    assert found["in_logs"]["partitions"]["orders-0"][-1] == {"leader": 2, "isr": [2, 3, 1]}
    assert found["changed"] is None


def test_a_reproduction_that_differs_is_listed_and_ends_with_3() -> None:
    """Several faults in one recording, and a topic that was made again under the same name: not all of it is reproduced."""
    result = kcsim("incident", str(VECTORS / "kafka-logs-of-versions" / "3.9.1"))
    assert result.exit_code == 3, result.output
    assert any(line.strip().startswith("orders-0: ") for line in result.stdout.splitlines())


def test_where_nothing_happened_there_is_no_scenario(tmp_path: Path) -> None:
    """The first lines of a cluster that comes up."""
    log = tmp_path / "controller.log"
    whole = (VECTORS / "kafka-logs" / "kill-leader" / "broker-1" / "controller.log").read_text()
    log.write_text("".join(whole.splitlines(keepends=True)[:40]))
    result = kcsim("incident", str(log))
    assert result.exit_code == 0, result.output
    assert "No scenario: there is nothing to reproduce" in result.stdout
    result = kcsim("incident", str(log), "--scenario", str(tmp_path / "none.yaml"))
    assert result.exit_code == 2
    assert not (tmp_path / "none.yaml").exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (KRAFT, "a cluster with KRaft wrote it"),
        (KAFKA_4, "Kafka 4.0 wrote it; logs of Kafka 0.10 to 3.9 are read"),
        (OTHER_LANGUAGE, "none begins as Kafka's records do"),
        (OF_ANOTHER_PROGRAM, "none is about partitions, controllers or registrations"),
        ("", "no line, and so none"),
    ],
)
def test_files_that_are_not_such_logs_end_with_one_line(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "server.log"
    file.write_text(text)
    result = kcsim("incident", str(file))
    assert result.exit_code == 64, result.output
    assert says in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""


def test_paths_without_logs_end_with_one_line(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    for path, says in ((tmp_path / "missing", "there is no such file"), (tmp_path / "notes", "hold no log of Kafka")):
        result = kcsim("incident", str(path))
        assert result.exit_code == 64
        assert says in result.stderr
        assert len(result.stderr.splitlines()) == 1


def test_options_are_checked_before_anything_is_read(tmp_path: Path) -> None:
    for option, value in (("--setting", "zookeeper.sesion.timeout.ms=1"), ("--zone", "Nowhere"), ("--chroot", "kafka")):
        result = kcsim("incident", str(tmp_path / "missing"), option, value)
        assert result.exit_code == 64
        assert option in result.stderr


def test_znodes_below_a_chroot_that_is_not_named_are_missed(tmp_path: Path) -> None:
    """One line says which option names it."""
    result = kcsim("incident", str(PAUSED / "zookeeper"), "--chroot", "/kafka")
    assert result.exit_code == 64
    assert "--chroot" in result.stderr
    assert len(result.stderr.splitlines()) == 1
