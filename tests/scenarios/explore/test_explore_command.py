"""kcsim explore, as users and programs call it."""

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
from kcsim.scenarios.cli.app import app
from kcsim.scenarios.explore.coverage import CATEGORIES
from kcsim.scenarios.language.yaml_text import yaml_text
from tests.scenarios.explore.test_simulation import a_tree

ENOUGH_SECONDS = 600
SMALL = ("--profile", "small", "--jobs", "1")


def explore(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["explore", *arguments])


def explored(*arguments: str) -> dict[str, Any]:
    invoked = explore(*arguments, "--output", "json")
    assert invoked.exit_code in (0, 1), invoked.stderr
    result: dict[str, Any] = json.loads(invoked.stdout)
    return result


@pytest.mark.slow
def test_the_same_seeds_give_the_same_bytes_however_many_processes_there_are(tmp_path: Path) -> None:
    """The bytes compared are those of scenarios, traces, verdicts, and the report."""
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
    never = [f"--weight={verb}=0" for verb in ("kill", "kill-at-write", "fail-log-dir")]

    result = explored("--seeds", "10", "--profile", "small", "--jobs", "1", *never)

    assert result["reached"]["step"]["kill"] == 0
    assert result["reached"]["broker state"]["dead"] == 0


def test_everything_that_there_is_is_counted_and_what_was_never_reached_is_named() -> None:
    result = explored("--seeds", "3", "--profile", "small", "--jobs", "1")

    assert {kind: list(counts) for kind, counts in result["reached"].items()} == {
        field.kind: [str(name) for name in field.all] for field in CATEGORIES
    }
    assert {"kind": "step", "name": "start-consumers"} in result["never"]


def test_people_get_a_table_that_fits() -> None:
    result = explore("--seeds", "3", "--profile", "small", "--jobs", "1")

    assert result.exit_code == 0
    assert "no unknown violation" in result.stdout.splitlines()[-1]
    assert max(map(len, result.stdout.splitlines())) <= 125


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--seeds many", "--seeds: 'many' names no seeds; write 2000, or 0..1999"),
        ("--seeds 9..3", "--seeds: '9..3' names no seeds"),
        ("--seeds 0", "--seeds: '0' names no seeds"),
        ("--profile networks", "--profile: no profile 'networks'; did you mean network?"),
        ("--weight kill", "--weight: 'kill' is no weight; write one as kill=5"),
        ("--weight kil=5", "unknown step 'kil'; did you mean kill?"),
        ("--exhaustive no-such-scenario", "neither a file nor a scenario of the library"),
        ("--exhaustive rolling-restart-of-twelve", "12 brokers, and everything can be tried of at most 3"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_run(arguments: str, message: str) -> None:
    refused = explore(*shlex.split(arguments))

    assert refused.exit_code == 64
    assert message in refused.stderr
    assert refused.stdout == ""


# --- failures --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the controller fail at every reassignment request, with an exception that no code expects."""

    async def fail(self: ReassignmentHandlers, *_: object) -> None:
        raise ZeroDivisionError("made up")

    monkeypatch.setattr(ReassignmentHandlers, "process_zk_partition_reassignment", fail)


@pytest.mark.usefixtures("broken")
def test_the_first_violation_ends_it_is_made_small_and_written_and_can_be_seen_again(tmp_path: Path) -> None:
    invoked = explore("--seeds", "500", "--profile", "small", "--jobs", "1", "--out", str(tmp_path), "--output", "json")

    result = json.loads(invoked.stdout)
    (case,) = result["cases"]
    place = Path(case["directory"])
    assert invoked.exit_code == 1
    assert result["violations"] == {"crashed: ZeroDivisionError": 1}
    assert result["failing_seeds"] == [case["seed"]] == [result["seeds"][1]]
    assert case["steps"] <= 2 < case["steps_drawn"]
    assert sorted(file.name for file in place.iterdir()) == ["issue.md", "original.yaml", "repro.txt", "scenario.yaml"]
    assert "ZeroDivisionError: made up" in (place / "issue.md").read_text()
    command, *arguments = shlex.split((place / "repro.txt").read_text())
    again = CliRunner().invoke(app, arguments)

    assert command == "kcsim"
    assert isinstance(again.exception, ZeroDivisionError)


@pytest.mark.slow
@pytest.mark.usefixtures("broken")
def test_it_can_go_on_after_a_violation(tmp_path: Path) -> None:
    """One case is written per kind of failure. The exit status reports the violation all the same."""
    invoked = explore(
        *("--seeds", "40", "--profile", "small", "--jobs", "1", "--go-on", "--shrink", "0"),
        *("--out", str(tmp_path), "--output", "json"),
    )

    result = json.loads(invoked.stdout)
    assert (invoked.exit_code, result["runs"]) == (1, 40)
    assert len(result["failing_seeds"]) > 1
    assert [case["invariant"] for case in result["cases"]] == ["crashed"]


def test_all_orders_of_a_small_scenario(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(yaml_text(a_tree({"create-topic": "orders"}, {"expire": "broker-2"}, {"delete-topic": "orders"})))

    result = explored("--exhaustive", str(file), "--jobs", "1", "--out", str(tmp_path / "out"))

    assert (result["explored"], result["runs"], result["violations"]) == ("made-up", 2, {})


# --- Ctrl-C ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_ctrl_c_ends_it_with_what_was_found_so_far(jobs: str) -> None:
    """This holds also when other processes do the work."""
    command = ["-m", "kcsim.scenarios", *f"explore --minutes 60 --profile small --jobs {jobs} --output json".split()]
    running = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None
    line = running.stderr.readline()  # the first line is printed when runs have been done
    running.send_signal(signal.SIGINT)
    stdout, stderr = running.communicate(timeout=ENOUGH_SECONDS)

    assert "runs" in line
    assert running.returncode == 130, stderr
    assert json.loads(stdout)["is_interrupted"] is True
    assert json.loads(stdout)["runs"] > 0
    assert "Traceback" not in stderr
