"""The expectations of a saved scenario: what happened, and what a run of the file meets."""

from pathlib import Path

from typer.testing import CliRunner

from kcsim.scenarios.cli.app import app
from kcsim.scenarios.language.scenario_file import load_text
from kcsim.scenarios.language.yaml_text import yaml_text
from kcsim.scenarios.play.played_cluster import PlayedCluster
from kcsim.scenarios.play.proposed_expectations import with_held_expectations
from tests.scenarios.play.test_declared_parts import PAYMENTS, WRITER
from tests.scenarios.play.test_played_cluster import played
from tests.scenarios.play.watched_runs import played_cluster


def play() -> PlayedCluster:
    """Play: a producer writes, and the controller is killed meanwhile."""
    cluster = played_cluster()
    played(cluster, 3)
    cluster.act("create-topic: payments", PAYMENTS)
    played(cluster, 1)
    cluster.act("start-workload: writer", WRITER)
    played(cluster, 3)
    cluster.act("kill: broker-2")
    played(cluster, 15)
    return cluster


def test_what_happened_is_expected_and_a_run_of_the_file_meets_it(tmp_path: Path) -> None:
    cluster = play()
    tree = with_held_expectations(cluster.as_tree(), cluster.proposals(), cluster.seed)
    cluster.close()
    file = tmp_path / "play.yaml"
    file.write_text(yaml_text(tree), encoding="utf-8")
    expected = {key: value for one in tree["expect"] for key, value in one.items() if key not in ("claim", "at")}
    assert expected["controller"] != "broker-2"
    assert expected["controller-epoch"] == 2
    assert expected["dead"] == ["broker-2"]
    assert expected["lost"] == 0
    assert set(expected["leader"]) == {"orders-0", "orders-1", "payments-0", "payments-1"}
    assert "broker-2" not in expected["leader"].values()
    result = CliRunner().invoke(app, ["run", str(file), "--zookeeper", "simulated", "--seed", "1"])
    assert result.exit_code == 0, result.stdout


def test_what_a_run_of_the_file_does_not_meet_is_left_out() -> None:
    cluster = play()
    tree, true = cluster.as_tree(), cluster.proposals()
    cluster.close()
    kept = with_held_expectations(tree, [{"claim": "False.", "controller": "broker-2", "at": "20s"}, *true], 1)
    assert kept["expect"] == true
    assert "expect" not in with_held_expectations(tree, [{"claim": "False.", "running": "broker-2", "at": "20s"}], 1)


def test_nothing_is_expected_of_a_cluster_that_has_not_begun() -> None:
    cluster = played_cluster()
    tree = with_held_expectations(cluster.as_tree(), cluster.proposals(), cluster.seed)
    cluster.close()
    assert "expect" not in tree
    assert [step.verb() for step in load_text(yaml_text(tree), "play").scenario.timetable] == ["start", "create-topic"]
