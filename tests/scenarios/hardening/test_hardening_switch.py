"""Hardening as a switch: in a file, in Python, in a fixture's cluster, in random search, and in what a user reads."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.cli.app import app
from kcsim.scenarios.engine.python_running import run
from kcsim.scenarios.engine.real_brokers import refusals
from kcsim.scenarios.engine.runner import cluster_spec
from kcsim.scenarios.explore.hardening_limits import known_bugs_with_hardening
from kcsim.scenarios.explore.profile import load_profile
from kcsim.scenarios.explore.trial import hardened, run_seed
from kcsim.scenarios.language.scenario_file import ScenarioFileError, load_scenario
from kcsim.scenarios.testing.cluster_environments import checked_spec
from kcsim.scenarios.views.terminal.cluster_snapshot import FollowedCluster
from kcsim.scenarios.views.terminal.cluster_text import cluster_lines
from tests.scenarios.hardening.rows import ROWS
from tests.scenarios.scenario_files import BASE, written
from tests.scenarios.scenario_library import of_library

UNREADABLE = "/brokers/topics/orders/partitions/0/state"


def with_hardening(directory: Path, value: str) -> Path:
    return written(directory, BASE.replace("cluster:\n", f"cluster:\n  hardening: {value}\n", 1))


@pytest.mark.parametrize(("value", "is_hardened"), [("on", True), ("off", False)])
def test_a_file_switches_hardening_on_and_off(tmp_path: Path, value: str, is_hardened: bool) -> None:
    scenario = load_scenario(with_hardening(tmp_path, value)).scenario
    assert cluster_spec(scenario).is_hardened == is_hardened


def test_hardening_is_off_if_a_file_does_not_say_it(tmp_path: Path) -> None:
    """The simulator shows what Kafka does."""
    assert not cluster_spec(load_scenario(written(tmp_path, BASE)).scenario).is_hardened


@pytest.mark.parametrize("value", ["true", "maybe"])
def test_another_value_is_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(ScenarioFileError, match="is neither on nor off"):
        load_scenario(with_hardening(tmp_path, value))


def test_real_brokers_cannot_be_hardened(tmp_path: Path) -> None:
    (problem,) = refusals(load_scenario(with_hardening(tmp_path, "on")))
    assert "hardening: a real Kafka has none" in str(problem)


def test_a_cluster_of_a_test_can_be_hardened() -> None:
    assert checked_spec(3, None, {}, hardening=True).is_hardened
    assert not checked_spec(3, None, {}).is_hardened


def test_a_scenario_is_run_hardened_on_request() -> None:
    ran = run(of_library("fault-unreadable-state").scenario, hardening=True)
    assert [event.path for event in ran.events if event.kind is EventKind.ZNODE_QUARANTINED] == [UNREADABLE]


def test_a_quarantined_znode_is_shown_until_it_is_released() -> None:
    """Without this a person would have to read the whole log to learn why a partition gets no leader."""
    followed, shown = FollowedCluster(), []
    for event in run(ROWS["fault-unreadable-state"].scenario(is_hardened=True)).events:
        followed.apply(event)
        if event.kind in (EventKind.ZNODE_QUARANTINED, EventKind.ZNODE_RELEASED):
            shown.append("Znodes in quarantine" in list(cluster_lines(followed.snapshot())))
    assert shown[0]
    assert not shown[-1]


def test_the_timeline_says_what_is_in_quarantine_and_why() -> None:
    printed = CliRunner().invoke(app, ["run", "fault-unreadable-state", "--zookeeper", "simulated", "--hardening"]).output
    assert f"puts {UNREADABLE} into quarantine: Expected `Int` value" in printed


def test_random_search_runs_with_hardening() -> None:
    profile = load_profile("small")
    assert hardened({"cluster": {"brokers": 1}})["cluster"] == {"brokers": 1, "hardening": "on"}
    assert run_seed(profile, 3, is_hardened=True).scenario_digest != run_seed(profile, 3).scenario_digest


def test_with_hardening_no_known_bug_explains_elections_without_end() -> None:
    """That is what hardening is for."""
    explained = {name for bug in known_bugs_with_hardening() for name in bug.explains}
    assert explained.isdisjoint({"elections-come-to-an-end", "endless"})
