"""The comparison of two runs, write by write, with simulated brokers in both places, in virtual time.

test_library_on_kafka.py and test_faults_on_kafka.py have a real Kafka in the first place.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kcsim.brokers.apache_kafka.installation import KafkaInstallation
from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.cluster_spec import ClusterSpec
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.controller.protections import ALL_ON
from kcsim.eventlog.event_log import EventLog
from kcsim.scenarios.engine import differential_run
from kcsim.scenarios.engine.differential_run import ANY_BROKER, DifferentialRun, NoQuiescenceError, run_differential
from kcsim.scenarios.language.scenario_file import LoadedScenario, find_scenario, load_scenario
from kcsim.zk.servers.java import Java
from tests.scenarios.scenario_files import written

Changed = Callable[[Cluster, ClusterSpec], None]
SIMULATED = ZooKeeperChoice(ZooKeeperKind.SIMULATED)
KAFKA = KafkaInstallation(Path("/nowhere"), "2.8.2", Java(Path("/nowhere/java"), 17, "JAVA_HOME"))
STATE = "/brokers/topics/orders/partitions/0/state"
CRASHES = """\
name: crashes
description: All brokers race for /controller; the topic's leader crashes, then the controller.
cluster:
  brokers: 3
  settings: {zookeeper.session.timeout.ms: 4000, auto.leader.rebalance.enable: false}
  topics:
    orders: {assignment: {0: [1, 2]}}
timetable:
  - start: all
  - wait: {registered: all}
  - create-topic: orders
  - wait: {in-sync: all}
  - kill: broker-1
  - wait: {leader: {orders-0: broker-2}}
  - kill: controller
  - wait: {event: {kind: ElectionWon, controller-epoch: 2}}
expect:
  - leader: {orders-0: broker-2}
"""
ACTIONS = 4


def compared(
    monkeypatch: pytest.MonkeyPatch,
    scenario: LoadedScenario,
    seed: int = 2,
    spec: Callable[[ClusterSpec], ClusterSpec] = lambda spec: spec,
    afterwards: Callable[[Cluster], Any] | None = None,
) -> DifferentialRun:
    """Compare two simulated runs.

    Args:
        seed: of the run in Kafka's place; the other has seed 1.
        spec: changes the cluster in Kafka's place.
        afterwards: what is done in Kafka's place at the end.
    """

    def in_kafkas_place(
        kafka: KafkaInstallation,
        choice: ZooKeeperChoice,
        given: ClusterSpec,
        info: RunInfo,
        script: Any,
        on_event: Any = None,
    ) -> EventLog:
        async def whole(cluster: Cluster) -> None:
            await script(cluster)
            if afterwards is not None:
                await afterwards(cluster)

        return run_in_environment(choice, spec(given), replace(info, seed=seed), whole, on_event)

    monkeypatch.setattr(differential_run, "run_with_kafka", in_kafkas_place)
    return run_differential(scenario, KAFKA, SIMULATED, SIMULATED, 1)


@pytest.fixture
def crashes(tmp_path: Path) -> LoadedScenario:
    return load_scenario(written(tmp_path, CRASHES))


def test_other_chances_make_no_difference(crashes: LoadedScenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our run lets the brokers win that won in the other run, whichever they are."""
    winners = set()
    for seed in range(2, 8):
        run = compared(monkeypatch, crashes, seed)
        assert run.differences == ()
        assert run.is_whole
        assert len(run.kafka.steps) == len(run.ours.steps) == ACTIONS
        assert [step.controller for step in run.kafka.steps] == [step.controller for step in run.ours.steps]
        assert run.kafka.writes == run.ours.writes > ACTIONS
        winners.add(run.kafka.steps[-1].controller)
    assert len(winners) > 1


def test_the_waits_after_an_action_belong_to_it(crashes: LoadedScenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each write is in the step of the action that caused it, and creations that several brokers try have no author."""
    runs = (compared(monkeypatch, crashes, seed).kafka for seed in range(2, 20))
    kafka = next(run for run in runs if run.steps[0].controller == 3)
    paths_of = [[write.path for write in step.writes or ()] for step in kafka.steps]
    assert [STATE in of for of in paths_of] == [False, True, True, False]
    assert ["/controller" in of for of in paths_of] == [True, False, False, True]
    assert [step.sessions_closed for step in kafka.steps] == [(), (), ("broker-1",), ("broker-3",)]
    assert [step.controller for step in kafka.steps] == [3, 3, 3, 2]
    authors = {write.path: write.by for write in kafka.steps[0].writes or ()}
    assert {authors["/brokers"], authors["/admin/delete_topics"]} == {ANY_BROKER}
    assert (authors["/controller"], authors["/brokers/ids/1"]) == ("controller", "broker-1")
    assert ANY_BROKER not in {write.by for step in kafka.steps[1:] for write in step.writes or ()}
    assert json.loads(kafka.final[STATE] or "")["leader"] == 2
    assert kafka.alive == (2,)


def test_what_was_written_otherwise_is_a_difference_of_its_step(
    crashes: LoadedScenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the fence the same is written, but not in one multi with a check of /controller_epoch."""
    unfenced = ALL_ON.without(["controller-epoch-fence"])
    run = compared(monkeypatch, crashes, spec=lambda spec: replace(spec, protections=unfenced))
    found = {(each.step, each.what) for each in run.differences}
    assert {(2, STATE), (3, STATE)} <= found
    assert {step for step, _ in found} <= {2, 3, 4}
    (state,) = (each for each in run.differences if (each.step, each.what) == (3, STATE))
    assert ["fenced" in each for each in (state.kafka[0], state.ours[0])] == [False, True]


def test_another_end_is_a_difference_of_no_step(crashes: LoadedScenario, monkeypatch: pytest.MonkeyPatch) -> None:
    async def start(cluster: Cluster) -> None:
        await cluster.start(["broker-1"])
        await cluster.runtime.sleep_ms(10_000)

    found = {each.what: each for each in compared(monkeypatch, crashes, afterwards=start).differences}
    assert {each.step for each in found.values()} == {None}
    assert "1" in found["alive"].kafka[0]
    assert "1" not in found["alive"].ours[0]


def test_of_a_run_that_failed_the_completed_steps_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    never = CRASHES.replace("wait: {leader: {orders-0: broker-2}}", "wait: {leader: {orders-0: broker-3}, within: 1s}")
    run = compared(monkeypatch, load_scenario(written(tmp_path, never)))
    assert not run.is_whole
    assert run.differences == ()
    assert (len(run.kafka.steps), len(run.ours.steps)) == (3, 3)


def test_a_step_late_in_a_run_has_as_long_as_an_early_one_to_become_quiet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = CRASHES.replace("  - kill: broker-1", "  - after: 70s\n    wait: {event: {kind: RunStarted}}\n  - kill: broker-1")
    run = compared(monkeypatch, load_scenario(written(tmp_path, late)))
    assert run.is_whole
    assert run.differences == ()


def test_what_never_becomes_quiet_cannot_be_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    endless = load_scenario(find_scenario("fault-elections-without-end"))
    with pytest.raises(NoQuiescenceError, match="was not quiet within 60000 ms"):
        compared(monkeypatch, endless)
