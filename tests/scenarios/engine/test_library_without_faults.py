"""No scenario of the library holds as a whole if its faults are removed: its verdict depends on what the faults do."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.scenarios.engine.expectations.verdict import Verdict
from kcsim.scenarios.engine.runner import cluster_spec, run_scenario
from kcsim.scenarios.engine.steps.registry import ALL_SPECS
from kcsim.scenarios.engine.steps.step_spec import StepKind
from kcsim.scenarios.language.scenario_file import ScenarioFileError, find_scenario, library_names, load_scenario

FAULTS = {spec.verb for spec in ALL_SPECS if spec.kind is StepKind.FAULT} | {
    *("stop", "restart", "rolling-restart", "stop-consumers", "zk-create", "zk-set", "zk-delete")
}
"""The steps that disturb a running cluster; planned stops and writes by hand are among them."""
REPAIRS = {"start", "resume", "heal", "reconnect", "resume-consumers"}
"""The steps that are removed as well if they follow a fault: they only undo it."""
WITHOUT_FAULT: Mapping[str, str] = {
    "controller-race": "all brokers start at the same time, and one of them is elected",
    "partition-expansion": "an operator adds partitions to a topic",
    "regex-subscription-meets-new-topic": "an operator creates a topic that a group subscribes to",
    "segments-rolled": "producers fill the logs until segments are rolled",
}
"""Scenario without any fault -> what it shows instead."""


def without_faults(timetable: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a timetable without its faults, and without the repairs after the first of them.

    A fault that names its broker for later steps is replaced by a step that names the broker, and changes nothing.
    """
    kept: list[dict[str, Any]] = []
    is_disturbed = False
    for step in timetable:
        verbs = FAULTS.intersection(step)
        is_repair = is_disturbed and bool(REPAIRS.intersection(step))
        is_disturbed = is_disturbed or bool(verbs)
        if (verbs or is_repair) and "as" in step:
            verb = next(iter(verbs or REPAIRS.intersection(step)))
            target = step[verb] if isinstance(step[verb], str) else "controller"
            kept.append({"reconnect": target, "as": step["as"], "if-possible": True})
        elif not verbs and not is_repair:
            kept.append(step)
    return kept


def verdict_without_faults(directory: Path, name: str) -> Verdict:
    """Run a scenario of the library without its faults, in virtual time."""
    yaml = YAML(typ="safe")
    scenario = yaml.load(find_scenario(name).read_text(encoding="utf-8"))
    path = directory / f"{name}.yaml"
    with path.open("w", encoding="utf-8") as file:
        yaml.dump({**scenario, "timetable": without_faults(scenario["timetable"])}, file)
    loaded = load_scenario(path)
    verdicts = []

    async def script(cluster: Cluster) -> None:
        verdicts.append(await run_scenario(loaded, cluster))

    choice = ZooKeeperChoice(ZooKeeperKind.SIMULATED, members=loaded.scenario.zookeeper.members)
    run_in_environment(choice, cluster_spec(loaded.scenario), RunInfo(name, 1, "simulated"), script)
    return verdicts[0]


REJECTED = (
    *("fault-empty-replica-list", "fault-replica-named-twice", "fault-unreadable-registration", "fault-unreadable-topic"),
)
"""Scenarios whose expectations name something that only the removed writes create: their files are rejected."""


@pytest.mark.parametrize("name", sorted({*library_names()} - {*WITHOUT_FAULT, *REJECTED}))
def test_no_scenario_holds_without_its_faults(name: str, tmp_path: Path) -> None:
    assert verdict_without_faults(tmp_path, name).exit_status in (1, 2)


@pytest.mark.parametrize("name", REJECTED)
def test_a_file_without_the_write_that_its_expectations_name_is_rejected(name: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioFileError, match=r"no such event has path|there is no broker 7"):
        verdict_without_faults(tmp_path, name)


@pytest.mark.parametrize("name", WITHOUT_FAULT)
def test_a_scenario_that_holds_all_the_same_has_no_fault(name: str) -> None:
    timetable = YAML(typ="safe").load(find_scenario(name).read_text(encoding="utf-8"))["timetable"]
    assert [step for step in timetable if FAULTS.intersection(step)] == []
