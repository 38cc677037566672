"""Every step whose effect lasts is undone after the timetable, and either keeps a run from being quiescent or says why not.

A run whose faults are overlooked is taken for quiescent, and judged by what holds at quiescence only: a false violation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import pytest

from kcsim.brokers.cluster.quiescence import QuiescenceDetector
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.scenario_cluster import ScenarioCluster
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.engine.expectations.verdict import Verdict
from kcsim.scenarios.engine.recovery import UNDO_ORDER, Recovery, Undo
from kcsim.scenarios.engine.runner import cluster_spec, run_scenario
from kcsim.scenarios.engine.steps.registry import ALL_SPECS
from kcsim.scenarios.engine.steps.step_spec import Absent, StepSpec
from kcsim.scenarios.language.scenario_file import load_text

SCENARIO = """\
name: lasting
description: One step, whose effect lasts until it is undone after the timetable.
zookeeper: {members: 3}
cluster:
  brokers: 3
  settings: {"log.dirs": "a,b", offsets.topic.num.partitions: 1, group.initial.rebalance.delay.ms: 0}
  topics:
    orders: {assignment: {0: [2, 3]}}
workload:
  producers:
    writer: {topics: orders, rate: 10}
  groups:
    readers: {members: [reader], topics: [orders]}
timetable:
  - start: broker-1
  - wait: {event: {kind: ControllerFailover, step: Starting the controller scheduler}, within: 20s}
  - start: [broker-2, broker-3]
  - wait: {event: {kind: BrokerChange, brokers: [1, 2, 3]}}
  - create-topic: all
  - wait: {in-sync: all}
  - start-consumers: all
  - wait: {assignment: {reader: [orders-0]}, within: 30s}
  - STEP
afterwards: {within: 300s}
expect:
  - claim: One controller is elected.
    event: {kind: ElectionWon}
"""


class LastingStep(NamedTuple):
    """An example of a step: the step as in a file; and the kind, the `op` or `fault`, and the node of what undoes it."""

    step: str
    kind: EventKind
    op: str | None = None
    node: str | None = None


ACT, FAULT = EventKind.ADMIN_ACT, EventKind.FAULT
EXAMPLES: Mapping[str, list[LastingStep]] = {
    "stop": [LastingStep("stop: broker-3", ACT, "start", "broker-3")],
    "kill": [LastingStep("kill: broker-3", ACT, "start", "broker-3")],
    "pause": [LastingStep("pause: broker-3", ACT, "resume", "broker-3")],
    "disconnect": [LastingStep("disconnect: broker-3", ACT, "reconnect", "broker-3")],
    "slow-follower": [LastingStep("{slow-follower: broker-3, rate: 1}", ACT, "slow-follower", "broker-3")],
    "fail-log-dir": [LastingStep("fail-log-dir: broker-3", ACT, "stop", "broker-3")],
    "zookeeper": [
        LastingStep("zookeeper: {kill: member-1}", FAULT, "start", "member-1"),
        LastingStep("zookeeper: {pause: member-1}", FAULT, "resume", "member-1"),
    ],
    "partition": [LastingStep("partition: {from: broker-3, to: broker-2}", ACT, "heal")],
    "slow-link": [LastingStep("slow-link: {from: broker-3, to: broker-2, delay: 100ms}", ACT, "heal")],
    "lossy-link": [
        LastingStep("lossy-link: {from: broker-3, to: broker-2, loss: 50%}", ACT, "heal"),
        LastingStep("lossy-link: {from: broker-3, to: broker-2, break: 50%}", ACT, "heal"),
    ],
    "start-workload": [LastingStep("start-workload: writer", EventKind.WORKLOAD_STOPPED)],
    "pause-consumers": [LastingStep("pause-consumers: reader", ACT, "resume-consumers", "consumer-reader")],
}
"""Verb -> examples of the step, one for each of its effects."""

KEEPS_NOBODY_WAITING: Mapping[Undo, str] = {
    Recovery.start_dead_brokers: "the others learn at once that a broker is dead, and go on without it",
    Recovery.restore_replication_speed: "a slow follower is in the ISR or not, and stays what it is",
    Recovery.resume_clients: "brokers wait for a consumer no longer than its session in the group",
    Recovery.stop_brokers_without_disk: "the replicas of a lost log directory stay offline",
    Recovery.end_workload: "what clients write and read does not end quiescence",
}
"""The ways of undoing whose faults leave the cluster in a state that does not change by itself: reason."""

LASTING = [spec for spec in ALL_SPECS if not isinstance(spec.undone_by, Absent)]
CASES = [pytest.param(spec, example, id=example.step) for spec in LASTING for example in EXAMPLES.get(spec.verb, ())]


class _Run(NamedTuple):
    """A run of an example.

    Attributes:
        pending: whether there was work pending before the step, after it, and at the end of the run.
        recovery: the events after the timetable.
    """

    pending: tuple[bool, bool, bool]
    recovery: Sequence[Event]
    verdict: Verdict


@cache
def run_of(step: str) -> _Run:
    loaded = load_text(SCENARIO.replace("STEP", step), "lasting.yaml")
    pending: dict[int, bool] = {}
    seqs: dict[int, int] = {}
    verdicts: list[Verdict] = []

    async def script(cluster: ScenarioCluster) -> None:
        detector = QuiescenceDetector(cluster.state)
        cluster.log.subscribe(detector.apply)
        assert cluster.simulated is not None
        network = cluster.simulated.network_faults

        async def before_step(place: int) -> None:
            seqs[place] = len(cluster.log.events)
            pending[place] = detector.has_pending_waits() or not network.is_well()

        verdicts.append(await run_scenario(loaded, cluster, before_step))
        await before_step(len(loaded.scenario.timetable) + 1)

    choice = replace(ZooKeeperChoice.parse("simulated"), members=loaded.scenario.zookeeper.members)
    log = run_in_environment(choice, cluster_spec(loaded.scenario), RunInfo("lasting", 1, "simulated"), script)
    steps = len(loaded.scenario.timetable)
    assert verdicts[0].failure is None
    return _Run(
        (pending[steps - 1], pending[steps], pending[steps + 1]), log.events[seqs[steps] : seqs[steps + 1]], verdicts[0]
    )


def test_every_step_with_a_lasting_effect_has_an_example() -> None:
    """A step whose effect does not last says so in the registry. A new one whose effect lasts fails here."""
    assert EXAMPLES.keys() == {spec.verb for spec in LASTING}
    assert KEEPS_NOBODY_WAITING.keys() < set(UNDO_ORDER)


@pytest.mark.parametrize(("spec", "example"), CASES)
def test_a_run_is_not_quiescent_while_a_process_has_to_continue_later(spec: StepSpec[Any], example: LastingStep) -> None:
    """What must hold at quiescence need not hold then: a frozen broker still believes what it believed before."""
    waits = spec.undone_by not in KEEPS_NOBODY_WAITING
    assert run_of(example.step).pending == (False, waits, False)


@pytest.mark.parametrize(("spec", "example"), CASES)
def test_after_the_timetable_a_lasting_effect_is_undone(spec: StepSpec[Any], example: LastingStep) -> None:
    run = run_of(example.step)
    assert (example.kind, example.op, example.node) in [(e.kind, e.op or e.fault, e.target) for e in run.recovery]
    assert run.verdict.exit_status == 0
