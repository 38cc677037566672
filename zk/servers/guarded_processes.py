"""Processes that end when this process ends: the parent's side of guard.py."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from kcsim.zk.servers.errors import GuardLostError, ServerError
from kcsim.zk.servers.ports import State

GUARD = Path(__file__).with_name("guard.py")
FAREWELL_TIMEOUT_S = 60.0


class GuardedProcesses:
    """A directory and processes that are removed when this process ends, or when close() is called.

    The calls block for a few milliseconds each; they are safe to use from several threads.
    """

    def __init__(self, cleanup: Sequence[str] = (), what: str = "zookeeper") -> None:
        """Start the guard, which creates the directory.

        Args:
            cleanup: a command that the guard runs in the end, in the directory, before it deletes the directory.
            what: the kind of processes; part of the directory's name.
        """
        name = f"kcsim-{what}-{os.getpid()}-{os.urandom(4).hex()}"
        self.directory = Path(tempfile.gettempdir()) / name
        # -I -S: neither the user's site-packages nor a module in the working directory can delay or break the guard.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(GUARD), str(os.getpid()), str(self.directory), json.dumps(list(cleanup))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._lock = threading.Lock()
        self._pids: dict[str, int] = {}
        self._hear()

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(
        self, name: str, argv: Sequence[str], log: Path, given: Path = Path(os.devnull), errors: Path | None = None
    ) -> int:
        """Start a process under a new name and return its pid.

        Args:
            log: the file to which its standard output is appended.
            given: the file from which its standard input is read.
            errors: the file to which its standard error is appended; None means `log`.
        """
        files = {"log": str(log), "input": str(given), "errors": str(errors or log)}
        pid = int(self._ask(do="start", name=name, argv=list(argv), **files)["pid"])
        self._pids[name] = pid
        return pid

    def terminate(self, name: str) -> State:
        """Send SIGTERM to the process group without waiting; return the state, the exit status if it had ended already."""
        return self._state(self._ask(do="terminate", name=name))

    def kill(self, name: str) -> State:
        """Send SIGKILL to the process group; return the exit status once the process has ended."""
        state = self._state(self._ask(do="kill", name=name))
        self._pids.pop(name, None)  # the system may soon give the pid to another process
        return state

    def pause(self, name: str) -> State:
        """Send SIGSTOP; return the state once the process is stopped (or has ended)."""
        return self._state(self._ask(do="pause", name=name))

    def resume(self, name: str) -> State:
        """Send SIGCONT; return the state once the process runs again (or has ended)."""
        return self._state(self._ask(do="resume", name=name))

    def states(self) -> dict[str, State]:
        states: dict[str, State] = self._ask(do="states")["states"]
        return states

    def close(self) -> None:
        """Kill all processes, run the cleanup command, delete the directory; return when this is done. Idempotent."""
        with self._lock:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            with suppress(BrokenPipeError):  # the guard ended before it read the last command
                self._process.stdin.close()
            try:
                self._process.wait(FAREWELL_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                raise ServerError(
                    f"guard {self.pid} has not finished in {FAREWELL_TIMEOUT_S:g} s; kill it by hand"
                ) from None
            finally:
                self._process.stdout.close()
            if self._process.returncode != 0:
                self._clean_up_for_the_guard()

    @staticmethod
    def _state(answer: dict[str, Any]) -> State:
        state: State = answer["state"]
        return state

    def _ask(self, **command: object) -> dict[str, Any]:
        with self._lock:
            assert self._process.stdin is not None
            try:
                self._process.stdin.write(json.dumps(command).encode() + b"\n")
                self._process.stdin.flush()
            except (OSError, ValueError) as error:  # ValueError: close() was called
                raise self._lost(str(error)) from None
            return self._hear()

    def _hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise self._lost(f"status {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ServerError(f"the guard was refused: {answer['error']}")
        return answer

    def _lost(self, detail: str) -> GuardLostError:
        self._clean_up_for_the_guard()
        return GuardLostError(detail)

    def _clean_up_for_the_guard(self) -> None:
        """Kill the processes and delete the directory in place of the guard, which was killed."""
        for pid in self._pids.values():
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        self._pids.clear()
        shutil.rmtree(self.directory, ignore_errors=True)
