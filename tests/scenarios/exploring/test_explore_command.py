"""kcsim explore, as people and programs call it."""

import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from kcsim.controller.handlers.reassignment import ReassignmentHandlers
from kcsim.scenarios.cli import app
from kcsim.scenarios.exploring.coverage import FIELDS
from kcsim.scenarios.language.yaml_text import yaml_text
from tests.scenarios.exploring.test_playing import a_tree

ENOUGH_SECONDS = 60
SMALL = ("--profile", "small", "--jobs", "1")


def explore(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["explore", *arguments])


def explored(*arguments: str) -> dict[str, Any]:
    told = explore(*arguments, "--output", "json")
    assert told.exit_code in (0, 1), told.stderr
    result: dict[str, Any] = json.loads(told.stdout)
    return result


def test_the_same_seeds_give_the_same_bytes_however_many_processes_there_are(tmp_path: Path) -> None:
    """Scenarios, traces, verdicts, and what is told of them."""
    alone, together = (
        explore("--seeds", "12", "--profile", "small", "--jobs", jobs, "--out", str(tmp_path), "--output", "json")
        for jobs in ("1", "2")
    )

    assert json.loads(alone.stdout)["runs"] == 12
    assert alone.stdout == together.stdout


def test_other_seeds_give_other_bytes() -> None:
    digests = {explored("--seeds", seeds, "--profile", "small", "--jobs", "1")["digest"] for seeds in ("0..2", "1..3")}

    assert len(digests) == 2


def test_a_number_of_seeds_begins_at_0() -> None:
    assert explored("--seeds", "3", "--profile", "small", "--jobs", "1")["seeds"] == [0, 2]


def test_weights_change_what_is_done() -> None:
    never = [f"--weight={deed}=0" for deed in ("kill", "kill-at-write", "fail-log-dir")]

    result = explored("--seeds", "10", "--profile", "small", "--jobs", "1", *never)

    assert result["reached"]["step"]["kill"] == 0
    assert result["reached"]["broker state"]["dead"] == 0


def test_everything_that_there_is_is_counted_and_what_was_never_reached_is_named() -> None:
    result = explored("--seeds", "3", "--profile", "small", "--jobs", "1")

    assert {kind: list(counts) for kind, counts in result["reached"].items()} == {
        field.kind: [str(name) for name in field.all] for field in FIELDS
    }
    assert {"kind": "step", "name": "start-consumers"} in result["never"]


def test_people_get_a_table_that_fits() -> None:
    told = explore("--seeds", "3", "--profile", "small", "--jobs", "1")

    assert told.exit_code == 0
    assert "no unknown violation" in told.stdout.splitlines()[-1]
    assert max(map(len, told.stdout.splitlines())) <= 125


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("--seeds many", "--seeds: 'many' names no seeds; write 2000, or 0..1999"),
        ("--seeds 9..3", "--seeds: '9..3' names no seeds"),
        ("--seeds 0", "--seeds: '0' names no seeds"),
        ("--profile networks", "--profile: no profile 'networks'; did you mean network?"),
        ("--weight kill", "--weight: 'kill' is no weight; write one as kill=5"),
        ("--weight kil=5", "unknown deed 'kil'; did you mean kill?"),
        ("--exhaustive no-such-scenario", "neither a file nor a scenario of the library"),
        ("--exhaustive rolling-restart-of-twelve", "12 brokers, and everything can be tried of at most 3"),
    ],
)
def test_what_makes_no_sense_is_told_and_nothing_is_run(arguments: str, told: str) -> None:
    refused = explore(*shlex.split(arguments))

    assert refused.exit_code == 64
    assert told in refused.stderr
    assert refused.stdout == ""


# --- something is wrong ----------------------------------------------------------------------------------------------------


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller that fails whenever it is asked to move something, in a way that nobody expects."""

    async def fail(self: ReassignmentHandlers, *_: object) -> None:
        raise ZeroDivisionError("made up")

    monkeypatch.setattr(ReassignmentHandlers, "process_zk_partition_reassignment", fail)


@pytest.mark.usefixtures("broken")
def test_the_first_violation_ends_it_is_made_small_and_written(tmp_path: Path) -> None:
    result = explored("--seeds", "500", "--profile", "small", "--jobs", "1", "--out", str(tmp_path))

    (case,) = result["cases"]
    place = Path(case["directory"])
    assert result["violations"] == {"crashed: ZeroDivisionError": 1}
    assert result["failing_seeds"] == [case["seed"]] == [result["seeds"][1]]
    assert case["steps"] <= 2 < case["steps_drawn"]
    assert sorted(file.name for file in place.iterdir()) == ["issue.md", "original.yaml", "repro.txt", "scenario.yaml"]
    assert "ZeroDivisionError: made up" in (place / "issue.md").read_text()


@pytest.mark.usefixtures("broken")
def test_the_repro_command_shows_it_again(tmp_path: Path) -> None:
    (case,) = explored("--seeds", "500", "--profile", "small", "--jobs", "1", "--out", str(tmp_path))["cases"]
    command, *arguments = shlex.split((Path(case["directory"]) / "repro.txt").read_text())

    again = CliRunner().invoke(app, arguments)

    assert command == "kcsim"
    assert isinstance(again.exception, ZeroDivisionError)


@pytest.mark.usefixtures("broken")
def test_it_can_go_on_after_a_violation(tmp_path: Path) -> None:
    """Of what goes wrong in the same way one case is written."""
    result = explored(
        "--seeds", "60", "--profile", "small", "--jobs", "1", "--go-on", "--shrink", "0", "--out", str(tmp_path)
    )

    assert result["runs"] == 60
    assert len(result["failing_seeds"]) > 1
    assert [case["invariant"] for case in result["cases"]] == ["crashed"]


@pytest.mark.usefixtures("broken")
def test_a_violation_is_the_exit_status(tmp_path: Path) -> None:
    assert (
        explore("--seeds", "60", "--profile", "small", "--jobs", "1", "--shrink", "0", "--out", str(tmp_path)).exit_code == 1
    )


def test_all_orders_of_a_small_scenario(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(yaml_text(a_tree({"create-topic": "orders"}, {"expire": "broker-2"}, {"delete-topic": "orders"})))

    result = explored("--exhaustive", str(file), "--jobs", "1", "--out", str(tmp_path / "out"))

    assert (result["explored"], result["runs"], result["violations"]) == ("made-up", 2, {})


# --- Ctrl-C ----------------------------------------------------------------------------------------------------------------


def test_ctrl_c_ends_it_with_what_was_found_so_far() -> None:
    """Also when others do the work."""
    command = "-m kcsim.scenarios explore --minutes 10 --profile small --jobs 2 --output json".split()  # noqa: SIM905
    running = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None
    line = running.stderr.readline()  # the first is told when runs have been done
    running.send_signal(signal.SIGINT)
    stdout, stderr = running.communicate(timeout=ENOUGH_SECONDS)

    assert "runs" in line
    assert running.returncode == 130, stderr
    assert json.loads(stdout)["is_interrupted"] is True
    assert json.loads(stdout)["runs"] > 0
    assert "Traceback" not in stderr
