"""A process of the user's under test: a service, in any language, that can be killed, stopped and started again.

It cannot outlive the test run, however that ends (zk/servers/guard.py).
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kcsim.scenarios.testing.background import WITHIN_S, wait_until
from kcsim.scenarios.testing.diary import Diary
from kcsim.zk.servers.errors import MemberStateError
from kcsim.zk.servers.guarded import Guarded
from kcsim.zk.servers.ports import PAUSED, UP, State

ADDRESS = "{zookeeper}"
ADDRESS_VARIABLE = "KCSIM_ZOOKEEPER"
LAUNCH = """\
import json, os, sys
given = json.loads(sys.argv[1])
os.chdir(given["cwd"])
os.execvpe(sys.argv[2], sys.argv[2:], given["environment"])
"""
"""The guard starts processes in its own environment and directory: this gives them theirs, and becomes the process."""


@dataclass(frozen=True)
class Command:
    """What is started. `cwd` None: the test's own directory; `environment` comes on top of the test's own."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    cwd: Path | None = None

    def launched(self) -> list[str]:
        """The command line for the guard."""
        given = {"cwd": str(self.cwd or Path.cwd()), "environment": {**os.environ, **self.environment}}
        return [sys.executable, "-I", "-S", "-c", LAUNCH, json.dumps(given), *self.argv]


class MemberProcess:
    """One process, by the name of the client that it is.

    A verb returns when it has taken effect, and raises MemberStateError when it would have had none.
    """

    def __init__(self, name: str, command: Command, guarded: Guarded, diary: Diary) -> None:
        self.name = name
        self.output_path = guarded.directory / f"{name}.log"
        self._command = command
        self._guarded = guarded
        self._diary = diary
        self.pid = 0

    # --- looks

    @property
    def state(self) -> State:
        """up, paused, or the exit status of a process that has ended (negative: the signal that ended it)."""
        return self._guarded.states()[self.name]

    @property
    def output(self) -> str:
        """What it has printed so far, on standard output and standard error, in all its lives."""
        return self.output_path.read_text(errors="replace") if self.output_path.exists() else ""

    def wait_until_printed(self, text: str, within_s: float = WITHIN_S) -> str:
        """Wait until it has printed something, and return all its output. Raises: TimedOutError with the end of that."""

        def printed() -> str:
            output = self.output
            return output if text in output else ""

        return wait_until(printed, f"{self.name} to print {text!r}", within_s, self._last_words)

    def wait_until_ended(self, within_s: float = WITHIN_S) -> int:
        """Wait until it has ended by itself, and return its exit status. Raises: TimedOutError."""

        def ended() -> list[int]:
            state = self.state
            return [state] if isinstance(state, int) else []

        return wait_until(ended, f"{self.name} to end", within_s, self._last_words)[0]

    def _last_words(self) -> str:
        return f"{self.state}, with {self.output[-500:]!r}"

    # --- verbs

    def start(self) -> None:
        """Start it, for the first time or again."""
        states = self._guarded.states()
        if (state := states.get(self.name, 0)) in (UP, PAUSED):
            raise MemberStateError("start", self.name, str(state))
        self.pid = self._guarded.start(self.name, self._command.launched(), self.output_path)
        self._note("started")

    def kill(self) -> None:
        """SIGKILL: its session is left to expire."""
        self._require("kill", UP, PAUSED)
        self._guarded.kill(self.name)
        self._note("killed")

    def terminate(self) -> None:
        """SIGTERM; see wait_until_ended."""
        self._require("terminate", UP)
        self._guarded.terminate(self.name)
        self._note("asked to end")

    def pause(self) -> None:
        """SIGSTOP, as a long garbage collection or a suspended machine does it."""
        self._require("pause", UP)
        self._guarded.pause(self.name)
        self._note("paused")

    def resume(self) -> None:
        self._require("resume", PAUSED)
        self._guarded.resume(self.name)
        self._note("resumed")

    def restart(self) -> None:
        """Kill it, if it lives, and start it again."""
        if not isinstance(self.state, int):
            self.kill()
        self.start()

    def _require(self, verb: str, *allowed: str) -> None:
        if (state := self.state) not in allowed:
            raise MemberStateError(verb, self.name, state if isinstance(state, str) else f"down (status {state})")

    def _note(self, what: str) -> None:
        self._diary.note(self.name, what)
