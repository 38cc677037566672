"""The command kcsim as a user sees it: its exit statuses, where it prints, and its error messages."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kcsim.brokers.invariants import INVARIANTS
from kcsim.eventlog.event_log import read_trace
from kcsim.eventlog.events import EventKind
from kcsim.scenarios.cli.app import app
from kcsim.scenarios.language.library import library_names
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from tests.requirements import require
from tests.scenarios.cli.live_cluster import new_chroot
from tests.scenarios.long_timeouts import patient
from tests.scenarios.scenario_files import BASE, written
from tests.scenarios.scenario_library import of_library, small_library
from tests.tiers import chosen
from tests.zk.servers.processes import assert_nothing_left

PATIENCE_S = 600
PATIENT = BASE.replace("brokers: 3", "brokers: 3\n  settings: {zookeeper.session.timeout.ms: 30000}").replace("10s", "10m")
"""A scenario in which, in real time, no session expires and no wait ends by mistake, however busy the machine is."""
ENDLESS = PATIENT.replace("{controller: any, within: 10m}", "{controller-epoch: 99, within: 60m}")


UNTIL_LEADING = "  - wait: {metrics: {ActiveControllerCount: 1}, within: 10m}\n"
"""Until then a new controller may not have created its znodes."""


def kcsim(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


# --- run, simulated --------------------------------------------------------------------------------------------------------


def test_a_run_whose_expectations_hold_ends_with_0(tmp_path: Path) -> None:
    result = kcsim("run", str(written(tmp_path, BASE)), "--zookeeper", "simulated")
    assert result.exit_code == 0, result.output
    assert "broker-3   registers, with broker epoch" in result.stdout
    assert result.stdout.endswith("the expectation held\n")
    assert result.stderr == ""


def test_a_violated_expectation_ends_with_1(tmp_path: Path) -> None:
    text = BASE.replace("expect:\n  - controller: any", "expect:\n  - controller: none")
    result = kcsim("run", str(written(tmp_path, text)), "--zookeeper", "simulated")
    assert (result.exit_code, "the expectation was violated" in result.stdout) == (1, True)


def test_a_step_that_fails_ends_with_2_and_names_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, BASE.replace("within: 10s", "within: 10ms, controller-epoch: 7"))
    result = kcsim("run", str(path), "--zookeeper", "simulated")
    assert result.exit_code == 2
    assert f"undecided: {path}:7: wait: not within 10 ms: " in result.stdout


def test_a_fault_that_is_never_triggered_ends_with_2(tmp_path: Path) -> None:
    """An armed fault that no write triggered has shown nothing."""
    text = BASE.replace("expect:", "  - pause: controller\n    at-write: before\n    path: /nowhere\nexpect:")
    path = written(tmp_path, text)
    result = kcsim("run", str(path), "--zookeeper", "simulated")
    assert result.exit_code == 2
    assert f"undecided: {path}:8: pause: had no effect: " in result.stdout


def test_json_is_on_stdout_and_the_timeline_on_stderr(tmp_path: Path) -> None:
    result = kcsim("run", str(written(tmp_path, BASE)), "--zookeeper", "simulated", "--output", "json", "--seed", "7")
    document = json.loads(result.stdout)
    assert len(document["story"]) == 3
    assert "broker-3   registers, with broker epoch" in result.stderr
    assert (document["scenario"], document["seed"], document["zookeeper"], document["exit_status"]) == (
        "try-it",
        7,
        "simulated",
        0,
    )
    (expectation,) = document["expectations"]
    assert (expectation["claim"], expectation["outcome"]) == ("controller: any", "held")
    assert [evidence["kind"] for evidence in expectation["evidence"]] == ["ZnodeCreated"]
    assert document["failure"] is None


@pytest.mark.parametrize("name", ["run.jsonl", "run.parquet"])
def test_a_trace_is_kept_with_the_judgement_in_it(tmp_path: Path, name: str) -> None:
    trace = tmp_path / name
    kcsim("run", str(written(tmp_path, BASE)), "--zookeeper", "simulated", "--trace", str(trace))
    events = list(read_trace(trace))
    assert [event.seq for event in events] == list(range(len(events)))
    (judged,) = [event for event in events if event.kind is EventKind.EXPECTATION]
    assert (judged.outcome, judged.rule) == ("held", "controller: any")
    assert judged.cause is not None
    assert events[judged.cause].path == "/controller"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_trace_that_could_not_be_kept_leaves_the_run_undecided(tmp_path: Path) -> None:
    result = kcsim("run", str(written(tmp_path, BASE)), "--zookeeper", "simulated", "--trace", "/dev/full")
    assert (result.exit_code, "the run is over" in result.stdout) == (2, True)
    assert result.stderr == "kcsim: --trace: /dev/full cannot be written: No space left on device\n"


@pytest.mark.slow
def test_a_reader_who_leaves_does_not_stop_the_run(tmp_path: Path) -> None:
    """In kcsim run … | head, the status is that of the verdict, and the trace is complete."""
    trace = tmp_path / "run.jsonl"
    command = [sys.executable, "-m", "kcsim.scenarios", "run", str(written(tmp_path, BASE)), "--zookeeper", "simulated"]
    with subprocess.Popen([*command, "--trace", str(trace)], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.close()
        assert run.stderr.read() == b""
        assert run.wait(PATIENCE_S) == 0
    assert list(read_trace(trace))[-1].kind is EventKind.RUN_ENDED


# --- run, refused: nothing is started --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "Missing argument"),
        (["rum"], "No such command 'rum'"),
        (["run", "controler-race"], "did you mean controller-race?"),
        (["run", "no-such.yaml"], "no-such.yaml: no such file"),
        (["run", "controller-race", "--seed", "x"], "Invalid value for '--seed'"),
        (["run", "controller-race", "--seed", str(2**63)], "Invalid value for '--seed'"),
        (
            ["run", "controller-race", "--zookeeper", "simulated", "--trace", "/proc/x.jsonl"],
            "--trace: ",
        ),
        (["run", ""], "'': names no scenario"),
        (["run", "controller-race", "--sed", "1"], "No such option"),
        (["run", "controller-race", "--output", "xml"], "'xml' is not one of"),
        (["run", "controller-race", "--zookeeper", "embeded"], "unknown ZooKeeper 'embeded'; did you mean embedded?"),
        (
            ["run", "controller-race", "--zookeeper", "elsewhere"],
            "it is one of embedded, ensemble, docker, model, simulated, or host",
        ),
        (["run", "controller-race", "--zookeeper", "host:port"], "'host:port' is no host:port"),
        (["run", "controller-race", "--trace", "no/such/place.jsonl"], "there is no directory no/such"),
        (["run", "controller-race", "--trace", "/"], "/ is a directory"),
        (["run", "zookeeper-leader-loss", "--zookeeper", "localhost:1"], "those at localhost:1 are not ours"),
        (["scenario", "show", "controler-race"], "did you mean controller-race?"),
        (["zk", "start", "--members", "2"], "an ensemble has an odd number of members; not 2"),
        (["zk", "start", "--tick-time", "0s"], "--tick-time: '0s' is no tickTime"),
        (["zk", "start", "--tick-time", "200"], "--tick-time: '200' is no duration"),
        (["zk", "tree", "host:port:more"], "is no ZooKeeper connect string"),
    ],
)
def test_what_makes_no_sense_ends_with_64_and_a_line_on_stderr(arguments: list[str], message: str) -> None:
    result = kcsim(*arguments)
    assert (result.exit_code, result.stdout) == (64, "")
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_every_problem_of_a_file_is_reported(tmp_path: Path) -> None:
    path = written(tmp_path, BASE.replace("start: all", "start: broker-7").replace("10s", "10"))
    result = kcsim("run", str(path))
    assert result.exit_code == 64
    assert [line.split(": ")[0] for line in result.stderr.splitlines()] == [f"{path}:6", f"{path}:7"]


def test_a_zookeeper_that_is_not_ours_is_not_written_to_unless_requested(tmp_path: Path) -> None:
    """No server listens at the address: a dry run does not even connect."""
    path = written(tmp_path, BASE)
    result = kcsim("run", str(path), "--zookeeper", "127.0.0.1:1/somewhere")
    assert result.exit_code == 5
    assert result.stdout.startswith("Dry run: nothing has been written to 127.0.0.1:1/somewhere.\n")
    assert f"{path}:6: start\n" in result.stdout
    as_json = kcsim("run", str(path), "--zookeeper", "127.0.0.1:1/somewhere", "--output", "json")
    dry_run = json.loads(as_json.stdout)
    assert (as_json.exit_code, dry_run["exit_status"], dry_run["dry_run"], as_json.stderr) == (5, 5, True, "")
    assert dry_run["steps"][0] == {"file": str(path), "line": 6, "step": "start"}
    assert kcsim("run", str(path), "--zookeeper", "127.0.0.1:1/somewhere", "--execute").exit_code == 2


# --- scenario, doctor, version ---------------------------------------------------------------------------------------------


def test_the_library_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """test_scenario_command.py tests the list as JSON."""
    small_library(tmp_path, monkeypatch, *library_names()[::10])
    assert len(library_names()) > 5
    table = kcsim("scenario", "list").stdout
    assert [name for name in library_names() if name not in table] == []


def test_a_scenario_that_is_shown_can_be_run(tmp_path: Path) -> None:
    path = written(tmp_path, kcsim("scenario", "show", "controller-race").stdout)
    assert kcsim("run", str(path), "--zookeeper", "simulated").exit_code == 0


def test_the_schema_is_json() -> None:
    assert json.loads(kcsim("scenario", "schema").stdout)["title"] == "kcsim scenario"


def test_files_are_checked_without_being_run(tmp_path: Path) -> None:
    bad = written(tmp_path, BASE.replace("start", "strat"))
    result = kcsim("scenario", "check", str(bad), "controller-race")
    assert result.exit_code == 64
    assert result.stdout.endswith(f"controller-race.yaml: ok, 2 steps, 5 expectations, {len(INVARIANTS)} invariants\n")
    assert result.stderr == f"{bad}:6: unknown verb 'strat'; did you mean start?\n"
    assert kcsim("scenario", "check", "controller-race").exit_code == 0


def test_doctor_says_one_line_about_each_thing_and_is_content(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    result = kcsim("doctor")
    assert result.exit_code == 0
    lines = [line.split(maxsplit=1) for line in result.stdout.splitlines()]
    assert [rest.split("  ")[0] for _, rest in lines] == [
        *("Python", "kcsim", "Java", "ZooKeeper", "Spark", "Docker engine", "Docker image", "Memory", "Disk")
    ]
    assert lines[5][0] == "missing"
    assert "point DOCKER_HOST at it" in lines[5][1]
    findings = json.loads(kcsim("doctor", "--output", "json").stdout)
    assert [finding["is_ok"] for finding in findings] == [state == "ok" for state, _ in lines]


def test_the_version_is_printed() -> None:
    assert kcsim("--version").stdout.startswith("kcsim ")


@pytest.mark.parametrize(
    "command",
    [
        *("", "run", "doctor", "scenario", "scenario list", "scenario check", "zk", "zk start", "zk tree", "zk diff"),
        *("topics", "reassign", "elect-leaders", "show", "diff", "report", "learn", "diagram"),
        *("spark", "spark ingest", "spark generate", "spark replay", "spark explore", "spark odds", "spark analyse"),
        *("spark report", "spark import", "spark import zookeeper", "spark import kafka-logs"),
    ],
)
def test_every_command_explains_itself(command: str) -> None:
    result = kcsim(*command.split(), "--help")
    assert result.exit_code == 0
    assert result.stdout.startswith("Usage: ")


# --- on a real ZooKeeper ---------------------------------------------------------------------------------------------------


@pytest.fixture
def zookeeper(server: EmbeddedZooKeeper) -> str:
    return server.connect_string


@pytest.mark.live
def test_an_external_zookeeper_takes_a_run_below_its_chroot_and_two_of_them_can_be_compared(
    zookeeper: str, tmp_path: Path
) -> None:
    make = (
        "  - zk-create: {path: /cli-test}\n  - zk-create: {path: /cli-test/a}\n  - zk-create: {path: /cli-test/b}\nexpect:"
    )
    setup = written(
        tmp_path,
        PATIENT.replace("  - start: all\n  - wait: {controller: any, within: 10m}\n", "")
        .replace("expect:", make)
        .replace("controller: any", "znode: {path: /cli-test/b}"),
    )
    assert kcsim("run", str(setup), "--zookeeper", zookeeper, "--execute").exit_code == 0
    # One broker: with several, another one may be elected while the run ends and its brokers stop one after the other.
    path = written(tmp_path, PATIENT.replace("brokers: 3", "brokers: 1").replace("expect:", f"{UNTIL_LEADING}expect:"))
    for place in ("a", "b"):
        result = kcsim("run", str(path), "--zookeeper", f"{zookeeper}/cli-test/{place}", "--execute")
        assert result.exit_code == 0, result.output
    tree = json.loads(kcsim("zk", "tree", f"{zookeeper}/cli-test/a", "/controller_epoch", "--output", "json").stdout)
    assert tree == {"/controller_epoch": {"data": "1", "version": 1, "owner": None}}
    assert kcsim("zk", "diff", f"{zookeeper}/cli-test/a", "/cli-test/a").exit_code == 0
    differing = kcsim("zk", "diff", f"{zookeeper}/cli-test/a", "/cli-test/b")
    assert differing.exit_code == 3
    assert [line.split()[:2] for line in differing.stdout.splitlines()] == [["~", "/cluster/id"]]


@pytest.fixture
def chroot(zookeeper: str) -> str:
    """Return the connect string of a chroot on the ZooKeeper that no other test uses."""
    return new_chroot(zookeeper)


@pytest.mark.live
@pytest.mark.parametrize("name", chosen(["session-expiry", "controller-failover"], fast=["session-expiry"]))
def test_sessions_that_end_on_an_external_zookeeper_are_noticed(chroot: str, tmp_path: Path, name: str) -> None:
    """The transaction log of an external ZooKeeper is out of reach, and no server reports the expiry of other sessions."""
    path = written(tmp_path, patient(of_library(name)).scenario.to_yaml())
    result = kcsim("run", str(path), "--zookeeper", chroot, "--execute")
    assert result.exit_code == 0, result.output


@pytest.mark.live
def test_a_run_keeps_out_of_a_cluster_that_lives_there(zookeeper: str) -> None:
    chroot = new_chroot(zookeeper, "/brokers", "/brokers/ids", "/brokers/ids/7")
    result = kcsim("run", "controller-race", "--zookeeper", chroot, "--execute")
    assert (result.exit_code, result.stdout) == (64, "")
    assert f"--zookeeper: brokers are registered at {chroot} already: 7; name a chroot" in result.stderr


@pytest.mark.live
def test_controller_epochs_of_an_earlier_run_are_reported(chroot: str, tmp_path: Path) -> None:
    """The run continues the epochs of the earlier run, which a scenario that names epochs does not expect."""
    path = str(written(tmp_path, PATIENT))
    earlier = kcsim("run", path, "--zookeeper", chroot, "--execute")
    assert earlier.exit_code == 0
    # Not 1, if the machine stood still for as long as a session lasts; also while the brokers were being stopped, unseen.
    tree = kcsim("zk", "tree", chroot, "/controller_epoch", "--output", "json").stdout
    epoch = json.loads(tree)["/controller_epoch"]["data"]
    first_line = kcsim("run", path, "--zookeeper", chroot, "--execute").stdout.splitlines()[0]
    assert first_line.endswith(f"on ZooKeeper: {chroot}, where /controller_epoch is {epoch} already")


@pytest.mark.live
@pytest.mark.parametrize("command", [["zk", "tree"], ["run", "controller-race", "--execute", "--zookeeper"]])
def test_a_chroot_that_does_not_exist_ends_with_64_and_the_nearest_one(zookeeper: str, command: list[str]) -> None:
    result = kcsim(*command, f"{zookeeper}/zookeper")
    assert (result.exit_code, "starts" in result.stdout) == (64, False)
    assert "there is no znode /zookeper; did you mean /zookeeper?" in result.stderr


@pytest.mark.live
def test_a_path_that_does_not_exist_ends_with_64(zookeeper: str) -> None:
    result = kcsim("zk", "tree", zookeeper, "/zookeeper/qouta")
    assert result.exit_code == 64
    assert "there is no znode /zookeeper/qouta" in result.stderr
    assert "did you mean /zookeeper/quota?" in result.stderr


def test_nobody_there_ends_with_2() -> None:
    result = kcsim("zk", "tree", "127.0.0.1:1")
    assert result.exit_code == 2
    assert result.stderr.startswith("kcsim: no ZooKeeper reachable at 127.0.0.1:1")


# --- interrupted -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def running(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Yield a run on a ZooKeeper of its own that has elected a controller and would go on for minutes."""
    require("java")
    command = [sys.executable, "-m", "kcsim.scenarios", "run", str(written(tmp_path, ENDLESS))]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            lines = iter(process.stdout.readline, "")
            assert next((line for line in lines if "wins the election" in line), None) is not None, "it ended before that"
            yield process
        finally:
            process.kill()


@pytest.mark.live
def test_ctrl_c_cleans_up_and_ends_with_130(running: "subprocess.Popen[str]") -> None:
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=PATIENCE_S)
    assert (running.returncode, "Traceback" in errors) == (130, False), errors
    assert_nothing_left(running.pid, patience_s=0)


@pytest.mark.slow
@pytest.mark.live
def test_kill_9_leaves_nothing_behind(running: "subprocess.Popen[str]") -> None:
    running.kill()
    running.communicate(timeout=PATIENCE_S)
    assert_nothing_left(running.pid, PATIENCE_S)


@pytest.mark.live
@pytest.mark.parametrize("kind", ["embedded", "model", "simulated"])
def test_a_zookeeper_to_play_with_runs_until_ctrl_c(kind: str) -> None:
    if kind == "embedded":
        require("java")
    command = [sys.executable, "-m", "kcsim.scenarios", "zk", "start", "--zookeeper", kind]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(3)]
            assert lines[0].startswith("connect string: 127.0.0.1:"), lines
            assert Path(lines[1].removeprefix("log of member-1: ").strip()).is_file()
            assert kcsim("zk", "tree", lines[0].split()[-1]).exit_code == 0
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert (process.returncode, errors) == (0, "\nstopped; nothing is left of it\n")
    assert_nothing_left(process.pid, patience_s=0)
