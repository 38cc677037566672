"""A run whose own process was not scheduled for longer than sessions last decides nothing that a fault could have caused."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.stalls import watch_for_stalls
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.eventlog.event_log import EventLog, read_trace
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.eventlog.run_actions import RUN_STARTED_SEQ, SCENARIO
from kcsim.runtime.simulated import SimulatedRuntime
from kcsim.scenarios.engine.expectations.verdict import (
    UNDECIDED_STATUS,
    VIOLATED_STATUS,
    ExpectationOutcome,
    Verdict,
    summary,
)
from kcsim.scenarios.engine.runner import cluster_spec, run_scenario
from kcsim.scenarios.language.scenario_file import load_scenario
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from tests.scenarios.scenario_files import written

SESSION_MS = 3_000
PATIENCE_S = 300
SCENARIO_FILE = f"""\
name: nothing-happens
description: The first controller stays, unless the machine starves the run.
cluster:
  brokers: 2
  settings: {{zookeeper.session.timeout.ms: {SESSION_MS}}}
zookeeper: {{tick-time: 200ms}}
timetable:
  - start: all
  - wait: {{event: {{kind: ControllerFailover, step: Starting the controller scheduler}}}}
expect:
  - controller-epochs: [1]
  - running: all
"""


class LateRuntime(SimulatedRuntime):
    """Virtual time in which each sleep ends late by the next of the given times, in ms."""

    def __init__(self, late_ms: list[int]) -> None:
        super().__init__()
        self._late_ms = late_ms

    async def sleep_ms(self, delay_ms: int) -> None:
        await super().sleep_ms(delay_ms + (self._late_ms.pop(0) if self._late_ms else 0))


@pytest.mark.parametrize(
    ("late_ms", "reported_ms"), [([0, 5, 2_000], []), ([0, 2_001], [2_001]), ([9_000, 0, 0, 4_000], [9_000, 4_000])]
)
def test_a_wake_up_that_is_two_thirds_of_a_session_late_is_a_stall(late_ms: list[int], reported_ms: list[int]) -> None:
    """The next heartbeat of a session is due after a third of its time-out."""
    runtime = LateRuntime(late_ms)
    log = EventLog(runtime.now_ms)

    async def main() -> None:
        watch = runtime.spawn("stalls", watch_for_stalls(runtime, log, SESSION_MS))
        await SimulatedRuntime.sleep_ms(runtime, 60_000)
        watch.kill()

    runtime.run(main())
    assert [event.duration_ms for event in log.events] == reported_ms
    assert {(event.kind, event.node) for event in log.events} <= {(EventKind.RUN_STALLED, SCENARIO)}


def verdict_of(directory: Path, text: str, stalled_ms: int) -> Verdict:
    """Run a scenario in virtual time, as if its process had stalled for this long at its beginning."""
    loaded = load_scenario(written(directory, text))
    verdicts = []

    async def script(cluster: Cluster) -> None:
        if stalled_ms:
            cluster.log.append(SCENARIO, EventKind.RUN_STALLED, RUN_STARTED_SEQ, EventFields(duration_ms=stalled_ms))
        verdicts.append(await run_scenario(loaded, cluster))

    choice = ZooKeeperChoice(ZooKeeperKind.SIMULATED)
    run_in_environment(choice, cluster_spec(loaded.scenario), RunInfo("nothing-happens", 1, "simulated"), script)
    return verdicts[0]


def test_what_holds_in_a_stalled_run_holds(tmp_path: Path) -> None:
    verdict = verdict_of(tmp_path, SCENARIO_FILE, 7_000)
    assert [judged.outcome for judged in verdict.results] == [ExpectationOutcome.HELD, ExpectationOutcome.HELD]


@pytest.mark.parametrize(
    ("stalled_ms", "outcome", "status"),
    [(0, ExpectationOutcome.VIOLATED, VIOLATED_STATUS), (7_000, ExpectationOutcome.UNDECIDED, UNDECIDED_STATUS)],
)
def test_what_is_violated_in_a_stalled_run_is_undecided(
    tmp_path: Path, stalled_ms: int, outcome: ExpectationOutcome, status: int
) -> None:
    verdict = verdict_of(tmp_path, SCENARIO_FILE.replace("[1]", "[1, 2]"), stalled_ms)
    assert [judged.outcome for judged in verdict.results] == [outcome, ExpectationOutcome.HELD]
    assert verdict.exit_status == status
    if stalled_ms:
        reason = "this process was not scheduled for 7000 ms, so that sessions may have expired"
        assert summary(verdict) == f"undecided: 1 of 2 expectations: epochs won: 1 by broker-1; {reason}"


def test_a_wait_that_runs_out_in_a_stalled_run_names_the_stall(tmp_path: Path) -> None:
    more = "  - wait: {controller-epoch: 2, within: 5s}\nexpect:"
    verdict = verdict_of(tmp_path, SCENARIO_FILE.replace("expect:", more), 7_000)
    assert verdict.failure is not None
    assert verdict.failure.reason.endswith("this process was not scheduled for 7000 ms, so that sessions may have expired")


@pytest.mark.live
def test_a_run_that_is_stopped_until_its_sessions_expire_is_undecided(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    """A real stall: SIGSTOP to `kcsim run`, and SIGCONT once ZooKeeper has expired the controller's session."""
    # Both brokers have started when the znode is created: a broker whose session expires during its start fails to start.
    more = "  - zk-create: {path: /all-started}\n  - wait: {controller-epoch: 2, within: 200s}\nexpect:"
    scenario = written(tmp_path, SCENARIO_FILE.replace("expect:", more))
    trace = tmp_path / "run.jsonl"
    client = KazooClient(server.connect_string)
    client.start(timeout=PATIENCE_S)
    try:
        client.create("/stalled-run")
        where = ["--zookeeper", f"{server.connect_string}/stalled-run", "--execute", "--trace", str(trace)]
        command = [sys.executable, "-m", "kcsim.scenarios", "run", str(scenario), *where]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
            assert run.stdout is not None
            try:
                assert any("/all-started" in line for line in run.stdout)
                run.send_signal(signal.SIGSTOP)
                gone = client.handler.event_object()
                if client.exists("/stalled-run/controller", watch=lambda _: gone.set()):
                    gone.wait(PATIENCE_S)
                assert client.exists("/stalled-run/controller") is None
                run.send_signal(signal.SIGCONT)
                output = run.communicate(timeout=PATIENCE_S)[0]
            finally:
                run.kill()
    finally:
        client.stop()
        client.close()
    assert run.returncode == UNDECIDED_STATUS, output
    assert any(event.kind is EventKind.RUN_STALLED for event in read_trace(trace))
    assert "\nundecided: 1 of 2 expectations: epochs won: 1 by broker-" in output
