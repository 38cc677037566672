"""kcsim spark explore and kcsim spark odds, as users and programs call them."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from kcsim.eventlog.event_log import read_trace
from kcsim.scenarios.analysis.campaigns.trial import DrawnScenarios, run_trial
from kcsim.scenarios.cli.app import app
from kcsim.scenarios.explore.profile import load_profile
from kcsim.scenarios.explore.simulation import EventDigest

ENOUGH_SECONDS = 600


def kcsim(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_the_report_is_that_of_kcsim_explore_and_the_odds_are_read_from_what_it_wrote(tmp_path: Path) -> None:
    dataset, cases, worst = tmp_path / "campaign", tmp_path / "cases", tmp_path / "worst"
    asked = ("--seeds", "8..9", "--profile", "small", "--output", "json")

    alone = kcsim("explore", *asked, "--jobs", "1", "--go-on", "--out", cases)
    result = kcsim("spark", "explore", *asked, "--cases", cases, "-o", dataset)

    assert (result.exit_code, result.stdout) == (0, alone.stdout)
    assert json.loads((dataset / "settings.json").read_text())["seeds"] == [8, 9]
    _odds_of(dataset, worst)
    _is_not_overwritten(dataset)


def _odds_of(dataset: Path, worst: Path) -> None:
    result = kcsim("spark", "odds", "--dataset", dataset, "--for", "0s", "--scenarios", worst, "--output", "json")
    found: dict[str, Any] = json.loads(result.stdout)
    (seed, command), *_ = found["show_again"].items()

    assert (result.exit_code, found["runs"]) == (0, 2)
    assert command == f"kcsim run {worst}/explore-small-{seed}.yaml --zookeeper simulated --seed {seed}"
    trace = worst / "again.jsonl"
    again = kcsim(*shlex.split(command)[1:], "--trace", trace)
    assert again.exit_code in (0, 1), again.stderr
    assert _digest(trace) == run_trial(DrawnScenarios(load_profile("small")), int(seed)).trace_digest


def _digest(trace: Path) -> str:
    digest = EventDigest()
    for event in read_trace(trace):
        digest.add(event)
    return str(digest)


def _is_not_overwritten(dataset: Path) -> None:
    before = sorted(dataset.rglob("*"))
    refused = kcsim("spark", "explore", "--seeds", "1", "-o", dataset)

    assert refused.exit_code == 64
    assert f"{dataset} exists, and nothing is overwritten" in refused.stderr
    assert sorted(dataset.rglob("*")) == before


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_people_get_a_table_of_odds_that_fits(tmp_path: Path) -> None:
    result = kcsim("spark", "odds", "leader-crash-acks-one", "--seeds", "2", "--tasks", "1", "--scenarios", tmp_path)

    assert result.exit_code == 0, result.stderr
    assert "acknowledged records lost           100 %  (22.4 % to 100 %)  2 of 2" in result.stdout
    assert "kcsim run leader-crash-acks-one --zookeeper simulated --seed 1" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 125
    assert not list(tmp_path.iterdir()), "a scenario that is a file already is not written again"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("explore -o there --seeds many", "--seeds: 'many' names no seeds"),
        ("explore -o there --profile networks", "--profile: no profile 'networks'; did you mean network?"),
        ("explore -o there --traces some", "'some' is not one of 'none', 'failing', 'all'"),
        ("explore -o there --conf spark.ui.enabled", "--conf: 'spark.ui.enabled' is no setting"),
        ("odds --for 3", "--for: '3' is no duration; write one as 500ms"),
        ("odds no-such-scenario", "neither a file nor a scenario of the library"),
        ("odds rack-loss --profile small", "a SCENARIO, --profile or --dataset: one of them"),
        ("odds rack-loss --weight kill=3", "--weight: only where scenarios are drawn"),
        ("odds --dataset .", "--dataset: .: no campaign of kcsim spark explore"),
    ],
)
def test_what_makes_no_sense_is_refused_before_spark_begins(
    arguments: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = kcsim("spark", *shlex.split(arguments))

    assert refused.exit_code == 64
    assert message in refused.stderr
    assert not list(tmp_path.iterdir())


def test_help_costs_neither_spark_nor_the_simulator() -> None:
    code = (
        "import sys; from kcsim.scenarios.cli.app import app\n"
        "try: app(['spark', 'odds', '--help'])\n"
        "except SystemExit: print(sorted({'pyspark', 'pyarrow', 'numpy', 'scipy', 'simpy'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=ENOUGH_SECONDS, check=True)

    assert done.stdout.splitlines()[-1] == "[]"
