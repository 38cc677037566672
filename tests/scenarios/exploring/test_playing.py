"""One random run: the same as `kcsim run` makes of its file, and whatever goes wrong in it is a finding."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kcsim.controller.kafka_controller import KafkaController
from kcsim.scenarios.cli import app
from kcsim.scenarios.exploring.generator import Tree, generate
from kcsim.scenarios.exploring.playing import CRASHED, ENDLESS, UNDECIDED, play
from kcsim.scenarios.exploring.profile import load_profile
from kcsim.scenarios.exploring.scenario_tree import loaded
from kcsim.scenarios.exploring.trying import try_seed, try_tree
from kcsim.scenarios.language.yaml_text import yaml_text


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
def test_a_run_has_the_bytes_and_the_verdict_of_kcsim_run(seed: int, tmp_path: Path) -> None:
    tree = generate(load_profile("small"), seed)
    file, trace = tmp_path / "drawn.yaml", tmp_path / "trace.jsonl"
    file.write_text(yaml_text(tree))

    ended = CliRunner().invoke(app, ["run", str(file), *f"--zookeeper simulated --seed {seed} --trace {trace}".split()])
    played = play(loaded(tree), seed)

    assert hashlib.sha256(trace.read_bytes()).hexdigest() == played.digest
    assert ended.exit_code == played.exit_status


def digests() -> list[str]:
    return [try_seed(load_profile("all"), seed).trace_digest for seed in (1, 2, 3)]


def test_a_run_has_the_same_bytes_under_another_hash_seed() -> None:
    code = "from tests.scenarios.exploring.test_playing import digests; print(digests())"
    other = subprocess.run([sys.executable, "-c", code], env={"PYTHONHASHSEED": "7"}, capture_output=True, text=True)

    assert other.stdout.strip() == str(digests()), other.stderr


def test_a_run_in_which_all_is_well_has_no_findings() -> None:
    played = play(loaded(a_tree({"create-topic": "orders"})), 1)

    assert (played.found, played.exit_status) == ((), 0)


def test_an_error_out_of_the_simulator_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scenario that brings a program error out is as good as one that breaks a promise."""

    async def fail(self: KafkaController, *_: object) -> None:
        raise ZeroDivisionError("made up")

    monkeypatch.setattr(KafkaController, "_elect", fail)
    (found,) = play(loaded(a_tree()), 1).found

    assert (found.invariant, found.sentence) == (CRASHED, "ZeroDivisionError: made up")
    assert found.traceback is not None
    assert "in fail" in found.traceback


def test_a_run_without_end_is_ended() -> None:
    played = play(loaded(a_tree({"create-topic": "orders"})), 1, most_events=100)

    assert [found.invariant for found in played.found] == [ENDLESS]
    assert 100 < len(played.events) < 150
    assert played.exit_status is None


def test_a_step_that_cannot_be_done_is_a_finding_unless_it_need_not_be() -> None:
    again = {"start": "broker-1"}

    (found,) = play(loaded(a_tree(again)), 1).found
    passed_over = play(loaded(a_tree({**again, "if-possible": True})), 1).found

    assert (found.invariant, found.sentence) == (UNDECIDED, "timetable:2: start: broker-1 runs already")
    assert passed_over == ()


def test_what_comes_of_a_run_is_small_unless_something_is_wrong() -> None:
    """It is handed from process to process."""
    well = try_tree(a_tree({"create-topic": "orders"}), 1)
    ill = try_tree(a_tree({"start": "broker-1"}), 1)

    assert (well.tree, well.unknown) == (None, ())
    assert ill.tree == a_tree({"start": "broker-1"})
