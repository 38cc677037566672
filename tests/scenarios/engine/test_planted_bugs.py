"""Every invariant detects the bug that was planted for it, and is silent without the bug."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.brokers.invariants import INVARIANTS
from kcsim.scenarios.engine.expectations.verdict import Verdict
from kcsim.scenarios.engine.runner import cluster_spec, run_scenario
from kcsim.scenarios.language.scenario_file import load_scenario
from tests.brokers.invariants.planted import PLANTED, Planted
from tests.scenarios.scenario_files import written
from tests.tiers import tiered


def verdict_on(planted: Planted, directory: Path, with_the_bug: bool) -> Verdict:
    loaded = load_scenario(written(directory, planted.scenario))
    verdicts = []

    async def script(cluster: Cluster) -> None:
        verdicts.append(await run_scenario(loaded, cluster))

    with planted.plant() if with_the_bug else nullcontext():
        spec, info = cluster_spec(loaded.scenario), RunInfo("planted", 1, "simulated")
        run_in_environment(ZooKeeperChoice.parse("simulated"), spec, info, script)
    return verdicts[0]


def spoken(verdict: Verdict) -> dict[str, str]:
    """Return the violated invariants, each with what was observed instead."""
    return {judged.invariant: judged.observed for judged in verdict.results if judged.invariant is not None}


def test_every_invariant_has_a_bug() -> None:
    assert sorted(planted.invariant for planted in PLANTED.values()) == sorted(i.name for i in INVARIANTS)


@pytest.mark.parametrize("planted", tiered(PLANTED.values(), fast=2), ids=PLANTED)
def test_exactly_the_invariant_that_it_breaks_speaks(planted: Planted, tmp_path: Path) -> None:
    verdict = verdict_on(planted, tmp_path, with_the_bug=True)
    assert (str(verdict.failure or ""), list(spoken(verdict))) == ("", [planted.invariant]), spoken(verdict)
    assert verdict.exit_status == 1


@pytest.mark.parametrize("planted", tiered(PLANTED.values(), fast=6), ids=PLANTED)
def test_without_the_bug_none_does(planted: Planted, tmp_path: Path) -> None:
    verdict = verdict_on(planted, tmp_path, with_the_bug=False)
    assert (str(verdict.failure or ""), spoken(verdict)) == ("", {})
    assert verdict.exit_status == 0
