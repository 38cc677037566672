"""kcsim up --processes and kcsim run --brokers processes as a user sees them: real signals, and nothing left behind."""

import json
import os
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kcsim.eventlog.event_log import read_trace
from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.cli.app import app
from kcsim.zk.servers.free_ports import free_ports
from tests.scenarios.cli.test_up import PATIENCE_S, SETTINGS, Terminal, up
from tests.zk.servers.processes import processes_about, until

GIVEN = ("up", "--processes", "--zookeeper", "model", "--brokers", "3", *SETTINGS)


def kcsim(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def state_of(pid: int) -> str:
    """Return the state of a process as the system has it: T for a stopped one."""
    listing = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return listing.stdout.strip()


def pid_of(terminal: Terminal, broker: str) -> int:
    """Return the pid of a broker's process."""
    (line,) = [line for line in brokers_of(terminal) if f" --id {broker.removeprefix('broker-')} " in line]
    return int(line.split()[0])


def brokers_of(terminal: Terminal) -> list[str]:
    return [line for line in processes_of(terminal) if " broker --id " in line]


def processes_of(terminal: Terminal) -> list[str]:
    """Return the brokers, and their guard."""
    return processes_about(f"kcsim-brokers-{terminal.process.pid}-")


def directories_of(terminal: Terminal) -> list[Path]:
    return sorted(Path(tempfile.gettempdir()).glob(f"kcsim-brokers-{terminal.process.pid}-*"))


def assert_nothing_left_of(terminal: Terminal) -> None:
    until(lambda: processes_of(terminal), lambda seen: seen == [], "the brokers to go", PATIENCE_S)
    until(lambda: directories_of(terminal), lambda seen: seen == [], "their files to go", PATIENCE_S)


@pytest.mark.live
@pytest.mark.slow
@pytest.mark.usefixtures("runtime_directory")
def test_a_controller_that_is_killed_and_one_that_is_paused_are_followed_live(tmp_path: Path) -> None:
    """A kill is SIGKILL, a pause SIGSTOP: the system shows both. The trace leads from an election to the fault."""
    trace = tmp_path / "up.jsonl"
    with up(tmp_path, "--topic", "orders:2:3", "--trace", str(trace), given=GIVEN) as terminal:
        assert len(brokers_of(terminal)) == 3
        killed = kcsim("fault", "kill", "controller")
        assert (killed.exit_code, "is dead; session 0x" in killed.stdout) == (0, True), killed.output
        assert len(brokers_of(terminal)) == 2
        terminal.wait_for("controller epoch 2 ")
        first = killed.stdout.split()[0]
        paused = kcsim("fault", "pause", "controller")
        assert (paused.exit_code, "is frozen" in paused.stdout) == (0, True), paused.output
        second = paused.stdout.split()[0]
        assert state_of(pid_of(terminal, second)).startswith("T")
        terminal.wait_for("controller epoch 3 ")
        status = kcsim("status").stdout
        assert f"  {second}  paused " in status
        assert f"  {first}  dead " in status
        assert "registers anew, with broker epoch" in kcsim("fault", "start", first).stdout
        assert kcsim("fault", "resume", second).exit_code == 0
        cut = kcsim("fault", "partition", "broker-1", "and", "broker-2,", "broker-3")
        assert cut.stdout.startswith("between broker-1 and broker-2, broker-3: 4 links, "), cut.output
        assert kcsim("fault", "heal", "all").exit_code == 0
        refused = kcsim("step", "slow-follower: broker-2\nrate: 5")
        assert (refused.exit_code, refused.stdout) == (64, "")
        reason = "how fast the process of a broker replicates cannot be set from outside"
        assert refused.stderr == f"slow-follower: {reason}; slow-link limits what it gets, in bytes\n"
        in_sync = "wait: {in-sync: all, within: 300s}"
        done = "wait: {znode: {path: /admin/reassign_partitions, exists: false}, within: 300s}"
        moved = kcsim("step", in_sync, "reassign: {orders-0: [1, 2]}", done, in_sync)
        assert moved.exit_code == 0, moved.output
        elected = kcsim("elect-leaders", "--election-type", "preferred", "--all-topic-partitions")
        assert elected.exit_code == 0, elected.output
        listed = kcsim("reassign", "--list")
        assert (listed.exit_code, listed.stdout) == (0, "No partition reassignments found.\n"), listed.output
        assert json.loads(kcsim("status", "--output", "json").stdout)["controller"] is not None
        terminal.signal(signal.SIGINT)
        assert terminal.end() == 0
        output = terminal.output()
    assert output.endswith("stopped; nothing is left of it\n")
    assert "Traceback" not in output
    assert_nothing_left_of(terminal)
    events = list(read_trace(trace))
    assert events[-1].kind is EventKind.RUN_ENDED
    assert all(event.cause is None or event.cause < event.seq for event in events)
    won = [event for event in events if event.kind is EventKind.ELECTION_WON]
    assert [event.controller_epoch for event in won[:3]] == [1, 2, 3]
    assert [first_cause(event, events).fault for event in won[1:3]] == ["kill", "pause"]


def first_cause(event: Event, events: list[Event]) -> Event:
    """Return the first event of the chain of causes that leads to an event."""
    while event.cause is not None and event.kind is not EventKind.FAULT:
        event = events[event.cause]
    return event


@pytest.mark.live
@pytest.mark.usefixtures("runtime_directory")
@pytest.mark.parametrize("is_paused", [False, True])
def test_no_broker_outlives_its_parent_that_is_killed(tmp_path: Path, is_paused: bool) -> None:
    """Nobody is left to clean up but the guard: not even a stopped process stays, which cannot end by itself."""
    with up(tmp_path, given=GIVEN) as terminal:
        if is_paused:
            assert kcsim("fault", "pause", "broker-2").exit_code == 0
        assert len(brokers_of(terminal)) == 3
        os.kill(terminal.process.pid, signal.SIGKILL)
        terminal.end()
        assert_nothing_left_of(terminal)


@pytest.mark.live
@pytest.mark.usefixtures("runtime_directory")
def test_a_port_in_use_is_one_line() -> None:
    (port,) = free_ports(1)
    with socket.create_server(("127.0.0.1", port)):
        refused = kcsim("up", "--processes", "--zookeeper", "model", "--brokers", "1", "--ports", str(port))
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert f"port {port} of 127.0.0.1, meant for broker-1, is taken by another process" in refused.stderr
    assert processes_about(f"kcsim-brokers-{os.getpid()}-") == []


@pytest.mark.live
def test_a_scenario_runs_on_processes_and_leaves_a_trace_with_causes(tmp_path: Path) -> None:
    trace = tmp_path / "run.jsonl"
    file = tmp_path / "scenario.yaml"
    file.write_text(SCENARIO)
    run = kcsim(
        "run", str(file), "--brokers", "processes", "--zookeeper", "model", "--trace", str(trace), "--output", "json"
    )
    assert run.exit_code == 0, run.output
    assert [one["outcome"] for one in json.loads(run.stdout)["expectations"]] == ["held"]
    why = kcsim("why", str(trace), "last:BecameLeader")
    assert "kills broker-1" in why.stdout, why.output
    assert [event.kind for event in read_trace(trace)].count(EventKind.RUN_STARTED) == 1


SCENARIO = """\
name: leader-killed
description: A leader that is also the controller is killed, and comes back.
cluster:
  brokers: 2
  settings: {zookeeper.session.timeout.ms: 8000}
  topics:
    orders: {assignment: {0: [1, 2]}}
timetable:
  - start: broker-1
  - wait: {controller: broker-1, within: 5m}
  - start: broker-2
  - create-topic: orders
  - wait: {in-sync: all, leaders-preferred: all, within: 5m}
  - kill: broker-1
  - wait: {leader: {orders-0: broker-2}, event: {kind: BecameLeader, node: broker-2}, within: 5m}
expect:
  - isr: {orders-0: [2]}
    controller: broker-2
"""
