"""Processes that cannot outlive us: the parent's side of guard.py."""

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


class Guarded:
    """A directory and processes that are gone when we are, or when close() is called.

    Blocking, each call a few milliseconds; safe to use from several threads.
    """

    def __init__(self, farewell: Sequence[str] = (), what: str = "zookeeper") -> None:
        """Start the guard, which makes the directory.

        Args:
            farewell: a command that the guard runs in the end, in the directory, before that goes.
            what: is guarded: the directory is named after it.
        """
        name = f"kcsim-{what}-{os.getpid()}-{os.urandom(4).hex()}"
        self.directory = Path(tempfile.gettempdir()) / name
        # -I -S: neither the user's site-packages nor a module lying in the working directory can hold it up or break it.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(GUARD), str(os.getpid()), str(self.directory), json.dumps(list(farewell))],
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
        """Start a process, under a name of its own, and return its pid.

        Args:
            log: its standard output is appended to this file.
            given: its standard input is read from this one.
            errors: its standard error is appended to this one; None means `log`.
        """
        files = {"log": str(log), "input": str(given), "errors": str(errors or log)}
        pid = int(self._ask(do="start", name=name, argv=list(argv), **files)["pid"])
        self._pids[name] = pid
        return pid

    def terminate(self, name: str) -> State:
        """SIGTERM to its process group; returns without waiting for its end, or with its status if it had ended."""
        return self._state(self._ask(do="terminate", name=name))

    def kill(self, name: str) -> State:
        """SIGKILL to its process group; returns its exit status once it is gone."""
        state = self._state(self._ask(do="kill", name=name))
        self._pids.pop(name, None)  # the number may soon be somebody else's
        return state

    def pause(self, name: str) -> State:
        """SIGSTOP; returns once it stands still (or has ended)."""
        return self._state(self._ask(do="pause", name=name))

    def resume(self, name: str) -> State:
        """SIGCONT; returns once it runs again (or has ended)."""
        return self._state(self._ask(do="resume", name=name))

    def states(self) -> dict[str, State]:
        states: dict[str, State] = self._ask(do="states")["states"]
        return states

    def close(self) -> None:
        """Kill everything, run the farewell, delete the directory; returns when that is done. Idempotent."""
        with self._lock:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            with suppress(BrokenPipeError):  # a command that the guard did not live to read
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
                self._bury()

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
            except (OSError, ValueError) as error:  # ValueError: closed by us
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
        self._bury()
        return GuardLostError(detail)

    def _bury(self) -> None:
        """Do what the guard cannot do any more: somebody has killed it."""
        for pid in self._pids.values():
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        self._pids.clear()
        shutil.rmtree(self.directory, ignore_errors=True)
