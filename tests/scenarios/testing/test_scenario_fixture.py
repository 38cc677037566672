"""kcsim_scenario: a scenario in a test; an expectation that does not hold is a readable failed assertion."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from kcsim.scenarios.cli.app import app
from kcsim.scenarios.language.scenario_file import ScenarioFileError
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.testing.errors import ScenarioFailedError
from kcsim.scenarios.testing.scenario import ScenarioRunner
from tests.scenarios.long_timeouts import patient
from tests.scenarios.run_sources import without_source
from tests.scenarios.scenario_library import of_library

pytest_plugins = ["pytester"]

UP = {"wait": {"controller-epoch": 1}}
TREE = {
    "name": "too-hopeful",
    "description": "The controller dies, and nothing is said to change.",
    "cluster": {"brokers": 3},
    "timetable": [{"start": "all"}, UP, {"kill": "controller"}, {"wait": {"controller": "none"}}],
    "expect": [{"controller": "any", "within": "20s"}, {"claim": "Nobody has taken over.", "controller-epoch": 1}],
}
HELD = {"expect": [{"controller": "any", "within": "20s"}]}


@pytest.mark.parametrize("seed", [1, 2])
def test_a_scenario_of_the_library_holds(kcsim_scenario: ScenarioRunner, seed: int) -> None:
    ran = kcsim_scenario("controller-failover", seed=seed)
    assert ran.held
    assert ran.events[0].seed == seed


def test_a_scenario_of_one_s_own_is_a_file_or_a_model(kcsim_scenario: ScenarioRunner, tmp_path: Path) -> None:
    made = Scenario.model_validate(TREE | HELD)
    file = tmp_path / "mine.yaml"
    file.write_text(made.to_yaml())
    by_model, by_name = kcsim_scenario(made), kcsim_scenario(file)
    assert without_source(by_model.events) == without_source(by_name.events)


def test_what_does_not_hold_is_reported_with_the_events_that_decided(kcsim_scenario: ScenarioRunner) -> None:
    with pytest.raises(ScenarioFailedError) as raised:
        kcsim_scenario("zombie-deletes-topic", without=["controller-epoch-fence"])
    message = str(raised.value)
    assert message.startswith("zombie-deletes-topic: 2 of 3 expectations violated\n  The deletion of topic orders was")
    assert "; the write of the old controller broker-1 was applied; topic orders was deleted.\n  violated: Its" in message
    assert "    seen: there are no topics" in message
    assert "s: /brokers/topics/orders was deleted" in message


def test_who_does_not_want_it_checked_looks_for_themselves(kcsim_scenario: ScenarioRunner) -> None:
    ran = kcsim_scenario("zombie-deletes-topic", without=["controller-epoch-fence"], check=False)
    assert not ran.held
    assert ran.verdict.exit_status == 1


def test_a_mistake_is_reported_with_its_line(kcsim_scenario: ScenarioRunner, tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text("name: wrong\ndescription: d\ncluster: {brokers: 3}\ntimetable:\n  - kil: controller\n")
    with pytest.raises(ScenarioFileError, match=r"wrong\.yaml:5: .*did you mean kill"):
        kcsim_scenario(file)
    with pytest.raises(ScenarioFileError, match="did you mean controller-failover"):
        kcsim_scenario("controler-failover")
    with pytest.raises(pytest.fail.Exception, match="unknown protection 'epoch-fence'"):
        kcsim_scenario("controller-failover", without=["epoch-fence"])


@pytest.mark.slow
@pytest.mark.live
def test_a_scenario_is_run_on_a_real_zookeeper(kcsim_scenario: ScenarioRunner) -> None:
    assert kcsim_scenario(patient(of_library("controller-race")).scenario, zookeeper="embedded").held


def test_a_failed_scenario_can_be_seen_again_by_one_command(pytester: pytest.Pytester) -> None:
    (pytester.path / "mine.yaml").write_text(Scenario.model_validate(TREE).to_yaml())
    pytester.makepyfile("def test_it(kcsim_scenario): kcsim_scenario('mine.yaml')")
    result = pytester.runpytest_inprocess("--kcsim-seed=9")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E   *ScenarioFailedError: too-hopeful: *",
            "E     violated: Nobody has taken over.",
            "* kcsim *",
            "artefacts: .pytest-kcsim/test_*",
            "again: pytest *::test_it --kcsim-seed=9",
            "again: kcsim run .pytest-kcsim/test_*/scenario.yaml --zookeeper simulated --seed 9",
        ]
    )
    (kept,) = (pytester.path / ".pytest-kcsim").glob("*test_it*")
    files = {path.name for path in kept.iterdir()}
    assert files >= {"scenario.yaml", "timeline.txt", "trace.jsonl", "zookeeper-log.txt", "repro.txt"}
    assert (kept / "scenario.yaml").read_text() == (pytester.path / "mine.yaml").read_text()
    command = (kept / "repro.txt").read_text().splitlines()[-1].split()
    again = CliRunner().invoke(app, command[1:])
    assert (command[0], again.exit_code) == ("kcsim", 1)
    assert "Nobody has taken over." in again.stdout
