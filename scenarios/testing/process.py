"""A user's process under test: a service, in any language, that can be killed, stopped and started again.

The process cannot outlive the test run, however the run ends (zk/servers/guard.py).
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kcsim.scenarios.testing.action_history import ActionHistory
from kcsim.scenarios.testing.background import WITHIN_S, wait_until
from kcsim.zk.servers.errors import MemberStateError
from kcsim.zk.servers.guarded_processes import GuardedProcesses
from kcsim.zk.servers.ports import PAUSED, UP, State

ADDRESS = "{zookeeper}"
ADDRESS_VARIABLE = "KCSIM_ZOOKEEPER"
LAUNCH = """\
import json, os, sys
given = json.loads(sys.argv[1])
os.chdir(given["cwd"])
os.execvpe(sys.argv[2], sys.argv[2:], given["environment"])
"""
"""The guard starts processes in its own environment and directory. This program sets theirs, then becomes the process."""


@dataclass(frozen=True)
class Command:
    """A command to start. `cwd` None means the test's own directory; `environment` is added to the test's own."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    cwd: Path | None = None

    def launched(self) -> list[str]:
        """Return the command line for the guard."""
        given = {"cwd": str(self.cwd or Path.cwd()), "environment": {**os.environ, **self.environment}}
        return [sys.executable, "-I", "-S", "-c", LAUNCH, json.dumps(given), *self.argv]


class MemberProcess:
    """One process, under the name of the ZooKeeper client that it is.

    An action returns when it has taken effect, and raises MemberStateError when it would have no effect.
    """

    def __init__(self, name: str, command: Command, guarded: GuardedProcesses, history: ActionHistory) -> None:
        self.name = name
        self.output_path = guarded.directory / f"{name}.log"
        self._command = command
        self._guarded = guarded
        self._history = history
        self.pid = 0

    # --- reads

    @property
    def state(self) -> State:
        """up, paused, or the exit status of a process that has ended (negative: the signal that ended it)."""
        return self._guarded.states()[self.name]

    @property
    def output(self) -> str:
        """What the process has printed so far to standard output and standard error, over all its starts."""
        return self.output_path.read_text(errors="replace") if self.output_path.exists() else ""

    def wait_until_printed(self, text: str, within_s: float = WITHIN_S) -> str:
        """Wait until the process has printed a text, and return all its output.

        Raises: TimedOutError with the end of the output.
        """

        def printed() -> str:
            output = self.output
            return output if text in output else ""

        return wait_until(printed, f"{self.name} to print {text!r}", within_s, self._state_and_output)

    def wait_until_ended(self, within_s: float = WITHIN_S) -> int:
        """Wait until the process has ended by itself, and return its exit status. Raises: TimedOutError."""

        def ended() -> list[int]:
            state = self.state
            return [state] if isinstance(state, int) else []

        return wait_until(ended, f"{self.name} to end", within_s, self._state_and_output)[0]

    def _state_and_output(self) -> str:
        return f"{self.state}, with {self.output[-500:]!r}"

    # --- actions

    def start(self) -> None:
        """Start the process, for the first time or again."""
        states = self._guarded.states()
        if (state := states.get(self.name, 0)) in (UP, PAUSED):
            raise MemberStateError("start", self.name, str(state))
        self.pid = self._guarded.start(self.name, self._command.launched(), self.output_path)
        self._note("started")

    def kill(self) -> None:
        """Kill the process with SIGKILL. Its session is left to expire."""
        self._require("kill", UP, PAUSED)
        self._guarded.kill(self.name)
        self._note("killed")

    def terminate(self) -> None:
        """Send SIGTERM. `wait_until_ended` waits for the process's end."""
        self._require("terminate", UP)
        self._guarded.terminate(self.name)
        self._note("asked to end")

    def pause(self) -> None:
        """Freeze the process with SIGSTOP, as a long garbage collection or a suspended machine does."""
        self._require("pause", UP)
        self._guarded.pause(self.name)
        self._note("paused")

    def resume(self) -> None:
        self._require("resume", PAUSED)
        self._guarded.resume(self.name)
        self._note("resumed")

    def restart(self) -> None:
        """Kill the process, if it is alive, and start it again."""
        if not isinstance(self.state, int):
            self.kill()
        self.start()

    def _require(self, verb: str, *allowed: str) -> None:
        if (state := self.state) not in allowed:
            raise MemberStateError(verb, self.name, state if isinstance(state, str) else f"down (status {state})")

    def _note(self, what: str) -> None:
        self._history.note(self.name, what)
