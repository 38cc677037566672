"""Guarded processes obey their calls, and do not outlive the process that started them, however it ends."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcsim.zk.servers import guard
from kcsim.zk.servers.errors import GuardLostError, ServerError
from kcsim.zk.servers.guarded_processes import GuardedProcesses
from tests.zk.servers.processes import (
    assert_nothing_left,
    line_from,
    processes_about,
    python_program,
    until,
)

PARENT = """
import os, signal, sys
from kcsim.zk.servers.guarded_processes import GuardedProcesses
guarded = GuardedProcesses()
directory = guarded.directory
for name in ("a", "b"):
    guarded.start(name, ["tail", "-f", "/dev/null", str(directory)], directory / "log")
guarded.pause("b")
"""


@pytest.fixture
def guarded() -> Iterator[GuardedProcesses]:
    guarded = GuardedProcesses()
    yield guarded
    guarded.close()


def sleeper(guarded: GuardedProcesses, name: str = "a") -> int:
    return guarded.start(name, ["sleep", "600"], guarded.directory / "log")


def test_a_process_is_started_paused_resumed_and_killed(guarded: GuardedProcesses) -> None:
    sleeper(guarded)
    assert guarded.states() == {"a": "up"}
    assert guarded.pause("a") == "paused"
    assert guarded.states() == {"a": "paused"}
    assert guarded.resume("a") == "up"
    assert guarded.kill("a") == -signal.SIGKILL
    assert guarded.states() == {"a": -signal.SIGKILL}


def test_what_stands_still_can_be_killed(guarded: GuardedProcesses) -> None:
    sleeper(guarded)
    guarded.pause("a")
    assert guarded.kill("a") == -signal.SIGKILL


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_signalling_twice_does_not_hang(guarded: GuardedProcesses, verb: str) -> None:
    sleeper(guarded)
    getattr(guarded, verb)("a")
    assert getattr(guarded, verb)("a") == guarded.states()["a"]


@pytest.mark.parametrize("verb", ["kill", "terminate", "pause", "resume"])
def test_of_a_process_that_has_ended_one_hears_its_status(guarded: GuardedProcesses, verb: str) -> None:
    guarded.start("a", ["sh", "-c", "exit 3"], guarded.directory / "log")
    until(guarded.states, lambda states: states == {"a": 3}, "it to end")
    assert getattr(guarded, verb)("a") == 3


def test_the_whole_group_of_a_process_dies_with_it(guarded: GuardedProcesses) -> None:
    guarded.start("a", ["sh", "-c", f"sleep 600 & : {guarded.directory}; wait"], guarded.directory / "log")
    guarded.kill("a")
    until(lambda: processes_about(f": {guarded.directory}"), lambda seen: seen == [], "the group to go")


def test_a_process_that_does_not_stop_is_not_waited_for_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process in the middle of a vfork does not stop; the guard has to keep watching for the end of its parent."""
    monkeypatch.setattr(guard, "SIGNAL_TIMEOUT_S", 0.01)
    with subprocess.Popen(["sleep", "600"]) as unstopped:
        with pytest.raises(TimeoutError, match=r"did not react to a signal in 0\.01 s"):
            guard.reported(unstopped.pid, os.WUNTRACED)
        unstopped.kill()


def test_output_is_appended_to_the_log(guarded: GuardedProcesses) -> None:
    log = guarded.directory / "log"
    for word in ("one", "two"):
        guarded.start("a", ["sh", "-c", f"echo {word}; echo {word} >&2"], log)
        until(guarded.states, lambda states: states == {"a": 0}, "it to end")
    assert log.read_text() == "one\none\ntwo\ntwo\n"


def test_input_is_read_from_a_file_and_errors_go_to_a_file_of_their_own(guarded: GuardedProcesses) -> None:
    given, log, errors = (guarded.directory / name for name in ("given", "log", "errors"))
    given.write_text("what was said\n")
    guarded.start("a", ["sh", "-c", "cat; echo what went wrong >&2"], log, given, errors)
    until(guarded.states, lambda states: states == {"a": 0}, "it to end")
    assert (log.read_text(), errors.read_text()) == ("what was said\n", "what went wrong\n")


def obedient(guarded: GuardedProcesses) -> None:
    """Start a process that ends with status 7 when it is asked to end."""
    log = guarded.directory / "log"
    guarded.start("a", ["sh", "-c", "trap 'exit 7' TERM; echo ready; sleep 600 & wait"], log)
    until(log.read_text, lambda text: text == "ready\n", "it to be ready")


def test_a_process_asked_to_end_does_so_in_its_own_way(guarded: GuardedProcesses) -> None:
    obedient(guarded)
    guarded.terminate("a")
    until(guarded.states, lambda states: states == {"a": 7}, "it to end")


def test_one_that_stands_still_hears_it_when_it_is_resumed(guarded: GuardedProcesses) -> None:
    obedient(guarded)
    guarded.pause("a")
    assert guarded.terminate("a") == "paused"
    guarded.resume("a")
    until(guarded.states, lambda states: states == {"a": 7}, "it to end")


def test_a_command_that_does_not_exist_is_reported(guarded: GuardedProcesses) -> None:
    with pytest.raises(ServerError, match="No such file or directory: '/no/java'"):
        guarded.start("a", ["/no/java"], guarded.directory / "log")
    assert sleeper(guarded) > 0  # and the guard continues


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills a process because its parent has ended")
def test_a_paused_process_does_not_outlive_its_guard(guarded: GuardedProcesses) -> None:
    """Parent and guard may be killed at once, so that neither is left to clean up."""
    guarded.start("a", ["tail", "-f", "/dev/null", str(guarded.directory)], guarded.directory / "log")
    guarded.pause("a")
    os.kill(guarded.pid, signal.SIGKILL)
    until(lambda: processes_about(f"/dev/null {guarded.directory}"), lambda seen: seen == [], "the process to go")


def test_closing_leaves_nothing_and_can_be_repeated() -> None:
    guarded = GuardedProcesses()
    sleeper(guarded)
    guarded.close()
    guarded.close()
    assert not guarded.directory.exists()
    with pytest.raises(GuardLostError):
        guarded.states()


def test_the_farewell_is_run_before_the_directory_goes(tmp_path: Path) -> None:
    script = f"ls -d {tempfile.gettempdir()}/kcsim-zookeeper-{os.getpid()}-* > {tmp_path}/seen"
    guarded = GuardedProcesses(cleanup=["sh", "-c", script])
    guarded.close()
    assert str(guarded.directory) in (tmp_path / "seen").read_text()
    assert not guarded.directory.exists()


def test_a_guard_that_was_killed_is_noticed_and_its_work_done() -> None:
    guarded = GuardedProcesses()
    pid = sleeper(guarded)
    os.kill(guarded.pid, signal.SIGKILL)
    with pytest.raises(GuardLostError, match="its servers were killed"):
        until(guarded.states, lambda _: False, "the guard to be missed")
    assert not guarded.directory.exists()
    until(lambda: alive(pid), lambda living: not living, "the process to go")
    guarded.close()


def alive(pid: int) -> bool:
    """Return whether the process runs; a dead process that has not been waited for does not count."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return state.strip() != "" and not state.startswith("Z")


@pytest.mark.parametrize(
    "end",
    [
        "print(directory, flush=True); sys.stdin.read()",  # killed while it waits
        "print(directory, flush=True); os._exit(1)",
        "print(directory, flush=True); raise SystemExit",
        # A child that it has forked holds the pipe to the guard open.
        "print(directory, flush=True); os.fork() and sys.stdin.read(); signal.pause()",
    ],
    ids=["killed", "exited at once", "ended", "killed, its child lives on"],
)
def test_nothing_outlives_the_parent(end: str) -> None:
    with python_program(PARENT + end) as parent:
        directory = line_from(parent)
        assert f"kcsim-zookeeper-{parent.pid}-" in directory
        os.kill(parent.pid, signal.SIGKILL)
        try:
            assert_nothing_left(parent.pid)
        finally:
            os.killpg(parent.pid, signal.SIGKILL)


def test_the_guard_and_its_processes_do_not_hear_ctrl_c() -> None:
    """Ctrl-C goes to the whole foreground group; whether to stop the servers is the parent's decision."""
    program = PARENT + (
        "import os\n"
        # Not print: the signal may come while the first line is still being flushed, and print cannot be entered twice.
        "signal.signal(signal.SIGINT, lambda *_: os.write(1, f'heard {guarded.states()}\\n'.encode()))\n"
        "os.write(1, f'{directory}\\n'.encode())\n"
        "sys.stdin.read()\n"
    )
    with python_program(program) as parent:
        line_from(parent)
        os.killpg(parent.pid, signal.SIGINT)
        assert line_from(parent) == "heard {'a': 'up', 'b': 'paused'}"


def test_a_guard_ended_politely_tidies_up() -> None:
    with python_program(PARENT + "print(guarded.pid, flush=True); sys.stdin.read()") as parent:
        os.kill(int(line_from(parent)), signal.SIGTERM)
        assert_nothing_left(parent.pid)
