"""Every invariant catches the bug that was planted for it, and is silent where there is none."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.invariants import INVARIANTS
from kcsim.scenarios.judging.verdict import Verdict
from kcsim.scenarios.language.scenario_file import load_scenario
from kcsim.scenarios.runner import cluster_spec, run_scenario
from kcsim.scenarios.runs import RunInfo
from kcsim.scenarios.worlds import run_in_world
from kcsim.scenarios.zookeeper_choice import ZooKeeperChoice
from tests.scenarios.files import written
from tests.scenarios.invariants.planted import PLANTED, Planted


def verdict_on(planted: Planted, directory: Path, with_the_bug: bool) -> Verdict:
    loaded = load_scenario(written(directory, planted.scenario))
    verdicts = []

    async def script(cluster: Cluster) -> None:
        verdicts.append(await run_scenario(loaded, cluster))

    with planted.plant() if with_the_bug else nullcontext():
        spec, info = cluster_spec(loaded.scenario), RunInfo("planted", 1, "simulated")
        run_in_world(ZooKeeperChoice.parse("simulated"), spec, info, script)
    return verdicts[0]


def spoken(verdict: Verdict) -> dict[str, str]:
    """The invariants that are violated, and what is seen instead."""
    return {judged.invariant: judged.seen for judged in verdict.judged if judged.invariant is not None}


each_bug = pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)


def test_every_invariant_has_a_bug() -> None:
    assert sorted(planted.invariant for planted in PLANTED.values()) == sorted(i.name for i in INVARIANTS)


@each_bug
def test_exactly_the_invariant_that_it_breaks_speaks(planted: Planted, tmp_path: Path) -> None:
    verdict = verdict_on(planted, tmp_path, with_the_bug=True)
    assert (str(verdict.failure or ""), list(spoken(verdict))) == ("", [planted.invariant]), spoken(verdict)
    assert verdict.exit_status == 1


@each_bug
def test_without_the_bug_none_does(planted: Planted, tmp_path: Path) -> None:
    verdict = verdict_on(planted, tmp_path, with_the_bug=False)
    assert (str(verdict.failure or ""), spoken(verdict)) == ("", {})
    assert verdict.exit_status == 0
