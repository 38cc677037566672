"""The guard process: it runs the server processes of its parent and removes them when the parent has ended.

The guard starts the server processes for its parent. When the parent has ended, in whatever way (kill -9 included), the
guard kills the servers, runs the cleanup command if it has one, and deletes the directory. It detects the parent's end by
the end of its standard input and, where the system has them, by a pidfd (a child of the parent may have inherited the pipe).

Where the system is Linux, the servers also die when the guard itself is killed: the system then sends them SIGKILL.

The guard is run as a script, not as a module of the package, so that it starts in some 20 ms: it imports only the standard
library. The guard and each server have a session of their own: Ctrl-C reaches only the parent, which decides what to do.

    guard.py PARENT_PID DIRECTORY FAREWELL

DIRECTORY is created, and deleted in the end; FAREWELL, a JSON list, [] for none, runs in it. The guard reads one JSON object
per line and answers with one: start (name, argv, log, input, errors) -> pid; kill, terminate, pause, resume (name) -> state;
states () -> state by name, "up", "paused" or the exit status. An answer {"error": text} reports what the system refused.
"""

import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from typing import Any

PAUSED = "paused"
UP = "up"
State = str | int
SIGNAL_TIMEOUT_S = 5.0
PR_SET_PDEATHSIG = 1
"""The operation of Linux's prctl by which a process chooses the signal that it gets when its parent ends."""

prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None
processes: dict[str, subprocess.Popen[bytes]] = {}
paused: set[str] = set()


def start(name: str, argv: list[str], log: str, given: str, errors: str) -> int:
    """Start a process in its own session; its input is read from a file, its output and errors are appended to files."""
    with open(given, "rb") as stdin, open(log, "ab") as stdout, open(errors, "ab") as stderr:
        processes[name] = subprocess.Popen(
            argv, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True, preexec_fn=end_with_guard
        )
    paused.discard(name)
    return processes[name].pid


def end_with_guard() -> None:
    """Have this process, which is about to become a server, killed when the guard ends, even if it is paused then."""
    if prctl is not None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def state(name: str) -> State:
    status = processes[name].poll()
    return (PAUSED if name in paused else UP) if status is None else status


def deliver(verb: str, name: str) -> State:
    """Send the signal for a verb and wait until the system reports that it took effect."""
    process = processes[name]
    if process.poll() is not None:
        return process.returncode
    if (verb == "pause") == (name in paused) and verb != "kill":
        return state(name)  # the state would not change, so the system would not report a change
    number, report = {
        "kill": (signal.SIGKILL, 0),
        "pause": (signal.SIGSTOP, os.WUNTRACED),
        "resume": (signal.SIGCONT, os.WCONTINUED),
    }[verb]
    os.killpg(process.pid, number)
    status = reported(process.pid, report)
    if os.WIFSTOPPED(status):
        paused.add(name)
        return PAUSED
    paused.discard(name)
    if os.WIFCONTINUED(status):
        return UP
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode


def terminate(name: str) -> State:
    """Send SIGTERM without waiting: a server may take seconds to end; a paused one gets the signal when it is resumed."""
    if processes[name].poll() is None:
        os.killpg(processes[name].pid, signal.SIGTERM)
    return state(name)


def reported(pid: int, report: int) -> int:
    """Wait a bounded time for the system's report on a process: a process in the middle of a vfork does not stop."""
    until = time.monotonic() + SIGNAL_TIMEOUT_S
    while True:
        found, status = os.waitpid(pid, report | os.WNOHANG)
        if found:
            return status
        if time.monotonic() > until:
            raise TimeoutError(f"process {pid} did not react to a signal in {SIGNAL_TIMEOUT_S:g} s")
        time.sleep(0.0005)


def answer(command: dict[str, Any]) -> dict[str, Any]:
    try:
        match command:
            case {"do": "start", "name": name, "argv": argv, "log": log, "input": given, "errors": errors}:
                return {"pid": start(name, argv, log, given, errors)}
            case {"do": "kill" | "pause" | "resume" as verb, "name": name}:
                return {"state": deliver(verb, name)}
            case {"do": "terminate", "name": name}:
                return {"state": terminate(name)}
            case {"do": "states"}:
                return {"states": {name: state(name) for name in processes}}
            case _:
                return {"error": f"no such command: {command}"}
    except (OSError, KeyError) as error:
        return {"error": f"{type(error).__name__}: {error}"}


def serve(parent: int) -> None:
    """Answer commands until the parent has ended."""
    watched = [sys.stdin.fileno()]
    # Linux only; elsewhere, and where it is forbidden, only the end of standard input shows the parent's end.
    if hasattr(os, "pidfd_open"):
        try:
            watched.append(os.pidfd_open(parent))
        except ProcessLookupError:
            return
        except OSError:
            pass
    unread = b""
    while os.getppid() == parent:
        readable, _, _ = select.select(watched, [], [])
        if readable != watched[:1]:
            return
        received = os.read(watched[0], 65536)
        if not received:
            return
        *lines, unread = (unread + received).split(b"\n")
        for line in lines:
            os.write(1, json.dumps(answer(json.loads(line))).encode() + b"\n")


def clean_up(directory: str, cleanup: list[str]) -> None:
    for process in processes.values():
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    for process in processes.values():
        process.wait()
    if cleanup:
        subprocess.run(cleanup, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=directory, check=False)
    shutil.rmtree(directory, ignore_errors=True)


def main() -> None:
    parent, directory, cleanup = int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    # SIGTERM leads to the same clean-up as the parent's end; nothing may interrupt the clean-up once it has begun.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    os.mkdir(directory, 0o700)
    try:
        os.write(1, b"{}\n")
        serve(parent)
    except BrokenPipeError:
        pass  # the parent died before it read the answer: clean up as after any other end of the parent
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        clean_up(directory, cleanup)


if __name__ == "__main__":
    main()
