"""One random run: it equals that of `kcsim run` with its file, and any failure in it is a finding."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.json import encode
from typer.testing import CliRunner

from kcsim.controller.kafka_controller import KafkaController
from kcsim.eventlog.event_log import read_trace
from kcsim.scenarios.cli.app import app
from kcsim.scenarios.explore.generator import Tree, generate
from kcsim.scenarios.explore.profile import load_profile
from kcsim.scenarios.explore.scenario_tree import loaded
from kcsim.scenarios.explore.simulation import CRASHED, ENDLESS, UNDECIDED, simulate
from kcsim.scenarios.explore.trial import run_seed, run_tree
from kcsim.scenarios.language.yaml_text import yaml_text
from tests.scenarios.run_sources import without_source

PATIENCE_S = 600


def a_tree(*steps: object, **cluster: object) -> Tree:
    topics = {"orders": {"assignment": {0: [1, 2]}}}
    return {
        "name": "made-up",
        "description": "Made up.",
        "cluster": {"brokers": 2, "topics": topics, **cluster},
        "timetable": [{"start": "all"}, *steps],
        "afterwards": {"heal": True, "within": "30s"},
    }


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_a_run_has_the_events_and_the_verdict_of_kcsim_run(seed: int, tmp_path: Path) -> None:
    tree = generate(load_profile("small"), seed)
    file, trace = tmp_path / "drawn.yaml", tmp_path / "trace.jsonl"
    file.write_text(yaml_text(tree))

    ended = CliRunner().invoke(app, ["run", str(file), *f"--zookeeper simulated --seed {seed} --trace {trace}".split()])
    played = simulate(loaded(tree), seed)

    assert encode(without_source(read_trace(trace))) == encode(without_source(played.events))
    assert ended.exit_code == played.exit_status


def digests() -> list[str | None]:
    return [run_seed(load_profile("all"), seed).trace_digest for seed in (1, 2, 3)]


@pytest.mark.slow
def test_a_run_has_the_same_bytes_under_another_hash_seed() -> None:
    code = "from tests.scenarios.explore.test_simulation import digests; print(digests())"
    other = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )

    assert other.stdout.strip() == str(digests()), other.stderr


def test_a_run_in_which_all_is_well_has_no_findings() -> None:
    played = simulate(loaded(a_tree({"create-topic": "orders"})), 1)

    assert (played.failures, played.exit_status) == ((), 0)


def test_an_error_out_of_the_simulator_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scenario that reveals an error of the program is as useful as one that violates an invariant."""

    async def fail(self: KafkaController, *_: object) -> None:
        raise ZeroDivisionError("made up")

    monkeypatch.setattr(KafkaController, "_elect", fail)
    (found,) = simulate(loaded(a_tree()), 1).failures

    assert (found.invariant, found.sentence) == (CRASHED, "ZeroDivisionError: made up")
    assert found.traceback is not None
    assert "in fail" in found.traceback


@pytest.mark.parametrize("interrupts", [1, 2])
def test_ctrl_c_in_the_middle_of_a_run_is_no_finding(monkeypatch: pytest.MonkeyPatch, interrupts: int) -> None:
    """The first Ctrl-C takes effect when the run is over, the second one at once."""
    elect = KafkaController._elect
    elected = []
    to_come = [signal.SIGINT] * interrupts

    async def interrupted(self: KafkaController, cause: int) -> None:
        while to_come:
            signal.raise_signal(to_come.pop())
        await elect(self, cause)
        elected.append(self)

    monkeypatch.setattr(KafkaController, "_elect", interrupted)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        simulate(loaded(a_tree()), 1)

    assert bool(elected) == (interrupts == 1)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_run_without_end_is_ended() -> None:
    played = simulate(loaded(a_tree({"create-topic": "orders"})), 1, most_events=100)

    assert [found.invariant for found in played.failures] == [ENDLESS]
    assert 100 < len(played.events) < 150
    assert played.exit_status is None


def test_a_step_that_cannot_be_done_is_a_finding_unless_it_need_not_be() -> None:
    again = {"start": "broker-1"}

    (found,) = simulate(loaded(a_tree(again)), 1).failures
    passed_over = simulate(loaded(a_tree({**again, "if-possible": True})), 1).failures

    assert (found.invariant, found.sentence) == (UNDECIDED, "timetable:2: start: broker-1 runs already")
    assert passed_over == ()


def test_what_comes_of_a_run_is_small_unless_something_is_wrong() -> None:
    """The result is sent from process to process."""
    well = run_tree(a_tree({"create-topic": "orders"}), 1)
    ill = run_tree(a_tree({"start": "broker-1"}), 1)

    assert (well.tree, well.violations) == (None, ())
    assert ill.tree == a_tree({"start": "broker-1"})
