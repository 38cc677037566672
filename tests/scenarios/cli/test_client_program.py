"""kcsim run --client: a program runs beside a scenario as a client of its brokers, and its status is an expectation."""

import json
import shlex
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kcsim.scenarios.cli.app import app
from tests.scenarios.scenario_files import BASE, written

SCENARIO = BASE.replace("brokers: 3", "brokers: 1").replace(
    "controller: any, within: 10s",
    "event: {kind: ControllerFailover, step: Starting the controller scheduler}, within: 60s",
)
CONNECTS = """\
import os, socket, sys
assert os.environ["KCSIM_BOOTSTRAP_SERVERS"] == sys.argv[1]
host, port = sys.argv[1].split(":")
socket.create_connection((host, int(port))).close()
print("connected")
"""

pytestmark = pytest.mark.live


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    return written(tmp_path, SCENARIO)


def kcsim(scenario: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["run", str(scenario), "--zookeeper", "model", *arguments])


def python(program: str, *words: str) -> str:
    return shlex.join([sys.executable, "-c", program, *words])


def test_a_client_that_ends_with_status_0_holds(scenario: Path) -> None:
    done = kcsim(scenario, "--client", python(CONNECTS, "{servers}"), "--output", "json")
    assert done.exit_code == 0, done.output
    *_, client = json.loads(done.stdout)["expectations"]
    assert client["claim"].startswith("The client ends with status 0: ")
    assert (client["outcome"], client["seen"]) == ("held", "it ended with status 0")


@pytest.mark.parametrize(
    ("program", "within", "seen"),
    [
        ("import sys; sys.exit(3)", "60", "it ended with status 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "60", "it was ended by signal 9"),
        ("import time; time.sleep(600)", "0.5", "it still ran 0.5 s after the last step"),
    ],
)
def test_another_end_violates(scenario: Path, program: str, within: str, seen: str) -> None:
    done = kcsim(scenario, "--client", python(program), "--client-within", within, "--output", "json")
    assert done.exit_code == 1, done.output
    *_, client = json.loads(done.stdout)["expectations"]
    assert (client["outcome"], client["seen"]) == ("violated", seen)


def test_a_client_that_waits_for_a_topic_in_vain_is_not_started(tmp_path: Path) -> None:
    topics = "  topics: {orders: {partitions: 1, replication-factor: 1}}\n"
    file = written(tmp_path, SCENARIO.replace("timetable:", f"{topics}timetable:"))
    done = kcsim(file, "--client", python("pass"), "--client-within", "0.5", "--output", "json")
    assert done.exit_code == 2, done.output
    *_, client = json.loads(done.stdout)["expectations"]
    seen = "it was not started: the scenario declares orders, and no step has created it"
    assert (client["outcome"], client["seen"]) == ("undecided", seen)


def test_the_command_is_in_the_trace(scenario: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    assert kcsim(scenario, "--client", python("pass"), "--trace", str(trace)).exit_code == 0
    acts = [event for event in map(json.loads, trace.read_text().splitlines()) if event.get("op") == "run-client"]
    assert [event["detail"] for event in acts] == [python("pass")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--client", "no-such-program {servers}"], "--client: there is no program no-such-program"),
        (["--client", "'"], '--client: "\'": No closing quotation'),
        (["--client", ""], "--client: name a program, with its arguments"),
        (["--client", "true", "--repeat", "2"], "--repeat: not with --client"),
        (["--client", "true", "--zookeeper", "simulated"], "--client: a program cannot be run in virtual time"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_starts(scenario: Path, arguments: list[str], message: str) -> None:
    done = kcsim(scenario, *arguments)
    assert done.exit_code == 64
    assert message in done.output
