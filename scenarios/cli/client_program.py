"""--client: a program of the user that runs beside a scenario, as a client of its brokers.

It is started when a controller has taken over and the topics that the scenario declares have leaders: a client that came
before them would have a broker create them, with the broker's defaults. It has to end by itself, with status 0, within some
seconds after the last step of the scenario. That it does is one more expectation.
"""

import os
import shlex
import shutil
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path

from kcsim.brokers.cluster.scenario_cluster import ScenarioCluster
from kcsim.errors import TimedOutError
from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.run_actions import RunActionLog
from kcsim.runtime.ports import Promise
from kcsim.scenarios.cli.command_exit import ExitStatus, fail
from kcsim.scenarios.engine.expectations.verdict import ExpectationOutcome, ExpectationResult, Verdict
from kcsim.text import comma_separated
from kcsim.zk.servers.guarded_processes import GuardedProcesses

SERVERS = "{servers}"
"""Stands for the bootstrap servers in the words of the command."""
BOOTSTRAP_SERVERS = "KCSIM_BOOTSTRAP_SERVERS"
"""The environment variable in which the program finds the bootstrap servers."""
NEVER_MS = 2**31
POLL_MS = 50
NAME = "client"
OUTPUT = Path("/dev/stderr")
"""What the program prints goes where this command's messages go, so that stdout stays that of the command."""


@dataclass(frozen=True)
class ClientProgram:
    """A program with its arguments. Attributes: within_s: how long it may go on after the last step."""

    words: tuple[str, ...]
    within_s: float

    @property
    def claim(self) -> str:
        return f"The client ends with status 0: {shlex.join(self.words)}"

    async def beside(
        self, cluster: ScenarioCluster, topics: Collection[str], run: Callable[[], Awaitable[Verdict]]
    ) -> Verdict:
        """Run the program beside a scenario. Return the scenario's verdict with the expectation about the program.

        Args:
            topics: those that the program must find.
        """
        runtime, guarded = cluster.runtime, GuardedProcesses(what="client")
        started: Promise[int] = runtime.promise()

        async def start() -> None:
            await cluster.wait_until(lambda: _missing(cluster.state, topics), NEVER_MS)
            servers = cluster.bootstrap_servers
            assert servers is not None, "the options were checked: the brokers have ports"
            words = [word.replace(SERVERS, servers) for word in self.words]
            cause = RunActionLog(cluster.log).act("run-client", None, shlex.join(words))
            guarded.start(NAME, ["env", f"{BOOTSTRAP_SERVERS}={servers}", *words], OUTPUT)
            started.resolve(cause)

        starting = runtime.spawn("client-program", start())
        try:
            verdict = await run()
            if verdict.failure is not None:
                return verdict
            try:
                await started.wait(round(self.within_s * 1000))
            except TimedOutError:
                observed = f"it was not started: {_missing(cluster.state, topics)}"
                return self._judged(verdict, ExpectationOutcome.UNDECIDED, observed)
            outcome, observed = await self._end(cluster, guarded)
            return self._judged(verdict, outcome, observed)
        finally:
            starting.kill()
            guarded.close()

    async def _end(self, cluster: ScenarioCluster, guarded: GuardedProcesses) -> tuple[ExpectationOutcome, str]:
        """Wait for the end of the program."""
        end_ms = cluster.runtime.now_ms() + round(self.within_s * 1000)
        while isinstance(state := guarded.states()[NAME], str):
            if cluster.runtime.now_ms() >= end_ms:
                observed = f"it still ran {self.within_s:g} s after the last step"
                return ExpectationOutcome.VIOLATED, observed
            await cluster.runtime.sleep_ms(POLL_MS)
        RunActionLog(cluster.log).act("end-client", None, f"status {state}")
        ended = f"it was ended by signal {-state}" if state < 0 else f"it ended with status {state}"
        return ExpectationOutcome.HELD if state == 0 else ExpectationOutcome.VIOLATED, ended

    def _judged(self, verdict: Verdict, outcome: ExpectationOutcome, observed: str) -> Verdict:
        return replace(verdict, results=(*verdict.results, ExpectationResult(self.claim, outcome, observed)))


def _missing(state: ClusterState, topics: Collection[str]) -> str | None:
    """Return what a client has to wait for; None: it may start."""
    if not state.ready:
        return "no controller has taken over"
    led = {tp.topic for tp, known in state.of_topics.states.items() if known.leader_and_isr.leader is not None}
    missing = sorted(set(topics) - led)
    return f"the scenario declares {comma_separated(missing)}, and no step has created it" if missing else None


def parse_client(text: str | None, within_s: float) -> ClientProgram | None:
    """Return the program that a command line names. If it cannot be run, end the command."""
    if text is None:
        return None
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        fail(f"--client: {text!r}: {error}", ExitStatus.USAGE)
    if not words:
        fail("--client: name a program, with its arguments: --client 'python3 consumer.py {servers}'", ExitStatus.USAGE)
    if shutil.which(words[0]) is None:
        hint = " (it is not executable)" if os.path.isfile(words[0]) else ""
        fail(f"--client: there is no program {words[0]}{hint}", ExitStatus.USAGE)
    return ClientProgram(words, within_s)
