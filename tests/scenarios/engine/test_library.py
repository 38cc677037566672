"""The library runs in every environment, one seed gives the same bytes, and no expectation holds without its cause."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from ruamel.yaml import YAML

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventKind
from kcsim.scenarios.engine.expectations.verdict import ExpectationOutcome, Verdict
from kcsim.scenarios.engine.runner import cluster_spec, run_scenario
from kcsim.scenarios.language.event_values import VALUES, check_value
from kcsim.scenarios.language.library import library_names
from kcsim.scenarios.language.scenario_file import find_scenario, load_scenario
from kcsim.scenarios.language.value_types import KnownNames
from tests.requirements import require
from tests.scenarios.engine.no_op_scenarios import HARMLESS, SURVIVING
from tests.scenarios.long_timeouts import patient
from tests.tiers import chosen, tiered

PATIENCE_S = 600
A_SHARE = library_names()[::4]
"""The scenarios that `make test-all` runs in tests that take seconds per scenario; the nightly run takes all."""
PROCESSES = 16
"""The number of processes that share the library in tests where each run needs a separate process."""
DELICATE = (
    *("bounced-broker", "controller-and-leader-lost", "controller-failover", "controller-race", "deletion-with-dead-broker"),
    *("last-isr-member-lost", "partition-expansion", "preferred-election-after-rolling-restart", "rack-loss"),
    *("reassignment-cancelled", "reassignment-controller-killed", "rolling-restart", "session-expiry"),
    *("zombie-controller", "zombie-deletes-topic", "zookeeper-leader-loss", "zookeeper-quorum-loss"),
)
"""Scenarios with faults of sessions, of servers, and in the middle of writes: there a model and a server differ first."""
A_MINUTE = {
    *("controller-frozen-under-producers", "leader-cut-off-from-controller", "zookeeper-quorum-lost-under-producers"),
}
"""Scenarios in which producers give up records after half a minute."""
TIMED = A_MINUTE | {name for name in library_names() if "unconsumed:" in find_scenario(name).read_text(encoding="utf-8")}
"""Scenarios that limit, in seconds, how long partitions are not consumed, and those that last.

A busy machine cannot keep such limits: on a real server these scenarios run nightly only.
"""


CLOSED = (*{column for _, column in VALUES}, "reason", "path")
"""Columns whose values form known sets."""
COLUMNS_OF_ALL = {"seq", "t_ms", "node", "kind", "cause"}
ROOTS = {EventKind.RUN_STARTED, EventKind.FAULT, EventKind.ADMIN_ACT}


def verdict_on(path: Path, kind: ZooKeeperKind, seed: int = 1) -> Verdict:
    """Run a scenario file and return its verdict. Events must lead back to a root cause, and have columns of their kind."""
    loaded = load_scenario(path)
    if kind is not ZooKeeperKind.SIMULATED:
        loaded = patient(loaded)
    choice = ZooKeeperChoice(kind, members=loaded.scenario.zookeeper.members)
    verdicts = []

    async def script(cluster: Cluster) -> None:
        verdicts.append(await run_scenario(loaded, cluster))

    log = run_in_environment(choice, cluster_spec(loaded.scenario), RunInfo(loaded.scenario.name, seed, kind.value), script)
    assert_causes_are_recorded(log)
    assert_columns_are_of_the_kind(log)
    assert_values_are_known(log)
    return verdicts[0]


def assert_causes_are_recorded(log: EventLog) -> None:
    """Assert that causes precede effects, and that every chain ends at a fault, an admin act or the run's beginning."""
    assert [(e.seq, e.cause) for e in log.events if e.cause is not None and e.cause >= e.seq] == []
    assert [(e.seq, e.kind, e.node) for e in log.events if e.cause is None and e.kind not in ROOTS] == []


def assert_columns_are_of_the_kind(log: EventLog) -> None:
    """Assert that each event has no other columns than its kind names: docs/reference/event-log.md shows these."""
    columns = {kind: COLUMNS_OF_ALL | set(kind.columns) for kind in EventKind}
    found = {
        (e.kind.value, c)
        for e in log.events
        for c in structs.asdict(e).keys() - columns[e.kind]
        if getattr(e, c) is not None
    }
    assert sorted(found) == []


def assert_values_are_known(log: EventLog) -> None:
    """Assert that each event has only values that a pattern may ask for."""
    found = {(e.kind, column, value) for e in log.events for column in CLOSED if (value := getattr(e, column)) is not None}
    known = KnownNames(brokers=(), topics=None, groups=None)
    for kind, column, value in found:
        check_value([kind], column, value, known)


def assert_held(verdict: Verdict) -> None:
    not_held = [
        f"{judged.claim} {judged.outcome}: {judged.observed}" for judged in verdict.results if judged.outcome != "held"
    ]
    assert (str(verdict.failure or ""), not_held) == ("", [])


# --- every environment -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", tiered(library_names(), fast=4))
def test_it_holds_in_virtual_time(name: str) -> None:
    assert_held(verdict_on(find_scenario(name), ZooKeeperKind.SIMULATED))


@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize("name", chosen(library_names(), fast=(), slow=A_SHARE))
def test_it_holds_with_other_seeds(name: str, seed: int) -> None:
    assert_held(verdict_on(find_scenario(name), ZooKeeperKind.SIMULATED, seed))


@pytest.mark.live
@pytest.mark.parametrize("name", chosen(library_names(), fast=["session-expiry"], slow={*DELICATE} - TIMED))
def test_it_holds_on_a_real_zookeeper(name: str) -> None:
    require("java")
    assert_held(verdict_on(find_scenario(name), ZooKeeperKind.EMBEDDED))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["controller-failover", "zookeeper-leader-loss", "zookeeper-quorum-loss"])
def test_it_holds_on_the_model_behind_a_socket(name: str) -> None:
    """The members of a real ZooKeeper and those of the model are faulted by the same steps."""
    assert_held(verdict_on(find_scenario(name), ZooKeeperKind.MODEL))


IN_CONTAINERS = chosen(
    ["controller-failover", "reassignment-controller-killed", "zookeeper-leader-loss", "zookeeper-quorum-loss"],
    fast=(),
    slow=["controller-failover", "zookeeper-quorum-loss"],
)
"""Scenarios that also run on a ZooKeeper in containers.

Such a ZooKeeper differs from the embedded one in how its servers are run, and in how kcsim learns of its writes. These
scenarios fault servers, sessions and writes; what happens to partitions above that is the same.
"""


@pytest.mark.live
@pytest.mark.docker
@pytest.mark.parametrize("name", IN_CONTAINERS)
def test_it_holds_on_a_zookeeper_in_containers(name: str) -> None:
    require("docker")
    assert_held(verdict_on(find_scenario(name), ZooKeeperKind.DOCKER))


# --- the same seed gives the same bytes ------------------------------------------------------------------------------------


def traces_of(names: Sequence[str], seed: int, hash_seed: int, directory: Path) -> dict[str, bytes]:
    """Return the event logs of simulated runs, all in one new process: starting a process takes longer than most runs."""
    directory.mkdir()
    command = [sys.executable, "-m", "tests.scenarios.record_traces", str(directory), str(seed), *names]
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return {name: (directory / f"{name}.jsonl").read_bytes() for name in names}


@pytest.mark.parametrize("first", tiered(range(PROCESSES), fast=PROCESSES, slow=4))
def test_one_seed_gives_the_same_bytes_under_any_hash_seed(first: int, tmp_path: Path) -> None:
    names = library_names()[first::PROCESSES]
    once = traces_of(names, 7, 1, tmp_path / "once")
    # In the other order: earlier runs in the same process must not matter either.
    again = traces_of(names[::-1], 7, 2, tmp_path / "again")
    assert [name for name in names if len(once[name].splitlines()) <= 100] == []
    assert [name for name in names if once[name] != again[name]] == []


@pytest.mark.slow
def test_another_seed_gives_another_run(tmp_path: Path) -> None:
    """Otherwise the test above would hold for a run that ignores its seed."""
    names = ["controller-race"]
    assert traces_of(names, 7, 1, tmp_path / "first") != traces_of(names, 8, 1, tmp_path / "second")


# --- expectations do not hold without their cause --------------------------------------------------------------------------


def altered(directory: Path, name: str, timetable: list[Any]) -> Path:
    """Write a scenario of the library with another timetable and the same expectations; return its path."""
    yaml = YAML(typ="safe")
    scenario = yaml.load(find_scenario(name).read_text(encoding="utf-8"))
    path = directory / f"{name}.yaml"
    with path.open("w", encoding="utf-8") as file:
        yaml.dump({**scenario, "timetable": timetable}, file)
    return path


@pytest.mark.parametrize("name", tiered(library_names(), fast=8))
def test_where_nothing_happens_what_should_have_happened_is_violated(name: str, tmp_path: Path) -> None:
    verdict = verdict_on(altered(tmp_path, name, HARMLESS[name]), ZooKeeperKind.SIMULATED)
    assert verdict.failure is None
    held = [judged.claim for judged in verdict.results if judged.outcome is ExpectationOutcome.HELD]
    surviving = SURVIVING.get(name, [])
    assert [claim[: len(start)] for claim, start in zip(held, surviving, strict=True)] == surviving
    assert verdict.exit_status == 1


def test_a_controller_that_loses_its_role_is_no_survivor_of_a_leaders_loss(tmp_path: Path) -> None:
    """The three claims that survive above are violated by the events that they forbid."""
    timetable = [*HARMLESS["zookeeper-leader-loss"], {"expire": "controller"}, {"wait": {"controller-epoch": 2}}]
    verdict = verdict_on(altered(tmp_path, "zookeeper-leader-loss", timetable), ZooKeeperKind.SIMULATED)
    assert {judged.outcome for judged in verdict.results} == {ExpectationOutcome.VIOLATED}
