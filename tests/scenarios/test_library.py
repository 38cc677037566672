"""The library runs in every world, one seed gives the same bytes, and no expectation holds when its cause is missing."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.history import EventLog
from kcsim.scenarios.judging.verdict import Outcome, Verdict
from kcsim.scenarios.language.scenario_file import find_scenario, library_names, load_scenario
from kcsim.scenarios.runner import cluster_spec, run_scenario
from kcsim.scenarios.runs import RunInfo
from kcsim.scenarios.worlds import run_in_world
from kcsim.scenarios.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.zk.events import EventKind
from tests.requirements import require
from tests.scenarios.uneventful import HARMLESS, SURVIVING

PATIENCE_S = 120
A_SHARE = library_names()[:: 1 if os.environ.get("KCSIM_LIBRARY") == "all" else 4]
"""What is run each time of that which takes seconds a scenario; all of it with KCSIM_LIBRARY=all."""
LOTS = 4
"""In so many processes each share is run, for the workers to have something to divide."""
DELICATE = (
    *("bounced-broker", "controller-and-leader-lost", "controller-failover", "controller-race", "deletion-with-dead-broker"),
    *("last-isr-member-lost", "partition-expansion", "preferred-election-after-rolling-restart", "rack-loss"),
    *("reassignment-cancelled", "reassignment-controller-killed", "rolling-restart", "session-expiry"),
    *("zombie-controller", "zombie-deletes-topic", "zookeeper-leader-loss", "zookeeper-quorum-loss"),
)
"""Sessions, servers, writes in their middle: where a model and a server would differ first. On a server each time."""


ROOTS = {EventKind.RUN_STARTED, EventKind.FAULT, EventKind.ADMIN_ACT}


def verdict_on(path: Path, kind: ZooKeeperKind, seed: int = 1) -> Verdict:
    """Run a scenario file and return what it came to. Whatever happened in it has to lead back to somebody's doing."""
    loaded = load_scenario(path)
    choice = ZooKeeperChoice(kind, members=loaded.scenario.zookeeper.members)
    verdicts = []

    async def script(cluster: Cluster) -> None:
        verdicts.append(await run_scenario(loaded, cluster))

    log = run_in_world(choice, cluster_spec(loaded.scenario), RunInfo(loaded.scenario.name, seed, kind.value), script)
    assert_causes_are_told(log)
    return verdicts[0]


def assert_causes_are_told(log: EventLog) -> None:
    """Causes stand before what follows from them, and every chain ends at a fault, an admin act or the run's beginning."""
    assert [(e.seq, e.cause) for e in log.events if e.cause is not None and e.cause >= e.seq] == []
    assert [(e.seq, e.kind, e.node) for e in log.events if e.cause is None and e.kind not in ROOTS] == []


def assert_held(verdict: Verdict) -> None:
    not_held = [f"{judged.claim} {judged.outcome}: {judged.seen}" for judged in verdict.judged if judged.outcome != "held"]
    assert (str(verdict.failure or ""), not_held) == ("", [])


# --- every world -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "seed"), [(n, s) for n in library_names() for s in ((1, 2, 3) if n in A_SHARE else (1,))])
def test_it_holds_in_virtual_time(name: str, seed: int) -> None:
    assert_held(verdict_on(find_scenario(name), ZooKeeperKind.SIMULATED, seed))


@pytest.mark.live
@pytest.mark.parametrize("name", sorted({*A_SHARE, *DELICATE}))
def test_it_holds_on_a_real_zookeeper(name: str) -> None:
    require("java")
    assert_held(verdict_on(find_scenario(name), ZooKeeperKind.EMBEDDED))


IN_CONTAINERS = ("controller-failover", "reassignment-controller-killed", "zookeeper-leader-loss", "zookeeper-quorum-loss")
"""A ZooKeeper in containers differs from the embedded one in how its servers are run, and in what tells us of its writes.
These scenarios fault servers, sessions and writes; what happens to partitions above that is the same."""


@pytest.mark.live
@pytest.mark.docker
@pytest.mark.parametrize("name", IN_CONTAINERS)
def test_it_holds_on_a_zookeeper_in_containers(name: str) -> None:
    require("docker")
    assert_held(verdict_on(find_scenario(name), ZooKeeperKind.DOCKER))


# --- the same seed gives the same bytes ------------------------------------------------------------------------------------


def traces_of(names: Sequence[str], seed: int, hash_seed: int, directory: Path) -> dict[str, bytes]:
    """The event logs of simulated runs, all in one process of their own: starting one takes longer than most runs."""
    directory.mkdir()
    command = [sys.executable, "-m", "tests.scenarios.kept_traces", str(directory), str(seed), *names]
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return {name: (directory / f"{name}.jsonl").read_bytes() for name in names}


@pytest.mark.parametrize("names", [A_SHARE[first::LOTS] for first in range(LOTS)])
def test_one_seed_gives_the_same_bytes_under_any_hash_seed(names: Sequence[str], tmp_path: Path) -> None:
    first = traces_of(names, 7, 1, tmp_path / "first")
    # In the other order: what ran before in the same process is not to matter either.
    second = traces_of(names[::-1], 7, 2, tmp_path / "second")
    assert [name for name in names if len(first[name].splitlines()) <= 100] == []
    assert [name for name in names if first[name] != second[name]] == []


def test_another_seed_gives_another_run(tmp_path: Path) -> None:
    """Else the test above would hold for a run that ignores its seed."""
    names = ["controller-race"]
    assert traces_of(names, 7, 1, tmp_path / "first") != traces_of(names, 8, 1, tmp_path / "second")


# --- what is expected does not hold by itself ------------------------------------------------------------------------------


def altered(directory: Path, name: str, timetable: list[Any]) -> Path:
    """A scenario of the library with another timetable and the same expectations."""
    yaml = YAML(typ="safe")
    scenario = yaml.load(find_scenario(name).read_text(encoding="utf-8"))
    path = directory / f"{name}.yaml"
    with path.open("w", encoding="utf-8") as file:
        yaml.dump({**scenario, "timetable": timetable}, file)
    return path


@pytest.mark.parametrize("name", library_names())
def test_where_nothing_happens_what_should_have_happened_is_violated(name: str, tmp_path: Path) -> None:
    verdict = verdict_on(altered(tmp_path, name, HARMLESS[name]), ZooKeeperKind.SIMULATED)
    assert verdict.failure is None
    held = [judged.claim for judged in verdict.judged if judged.outcome is Outcome.HELD]
    surviving = SURVIVING.get(name, [])
    assert [claim[: len(start)] for claim, start in zip(held, surviving, strict=True)] == surviving
    assert verdict.exit_status == 1


def test_a_controller_that_loses_its_role_is_no_survivor_of_a_leaders_loss(tmp_path: Path) -> None:
    """The three that survive above are violated by what they forbid."""
    timetable = [*HARMLESS["zookeeper-leader-loss"], {"expire": "controller"}, {"wait": {"controller-epoch": 2}}]
    verdict = verdict_on(altered(tmp_path, "zookeeper-leader-loss", timetable), ZooKeeperKind.SIMULATED)
    assert {judged.outcome for judged in verdict.judged} == {Outcome.VIOLATED}
