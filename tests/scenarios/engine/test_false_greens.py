"""No verdict holds because of what a process has left behind, or because there is nothing that could be otherwise."""

import pytest

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.scenarios.engine.expectations.verdict import Verdict
from kcsim.scenarios.engine.runner import cluster_spec, run_scenario
from kcsim.scenarios.language.scenario_file import load_text

HEAD = """\
name: attempt
description: An expectation that must not hold, as its event has not happened.
cluster:
  brokers: 3
  topics:
    orders: {partitions: 2, replication-factor: 3}
timetable:
  - start: all
  - wait: {registered: all, controller: any}
"""
CREATED = "create-topic: orders", "wait: {in-sync: all, metrics: {ActiveControllerCount: 1}}"
KILLED_CONTROLLER, FROZEN_CONTROLLER = "{kill: controller, as: old}", "{pause: controller, as: old}"
KILLED_LEADER, FROZEN_LEADER = "{kill: leader-of orders-0, as: old}", "{pause: leader-of orders-0, as: old}"
EXPIRED_LEADER = "{expire: leader-of orders-0, as: old}"


def verdict_on(steps: tuple[str, ...], expectation: str) -> Verdict:
    """Run a scenario of these steps and this expectation, in virtual time."""
    lines = [*(f"  - {step}" for step in steps), "expect:", f"  - {expectation}", ""]
    loaded = load_text(HEAD + "\n".join(lines), "attempt.yaml")
    verdicts = []

    async def script(cluster: Cluster) -> None:
        verdicts.append(await run_scenario(loaded, cluster))

    choice = ZooKeeperChoice(ZooKeeperKind.SIMULATED)
    run_in_environment(choice, cluster_spec(loaded.scenario), RunInfo("attempt", 1, "simulated"), script)
    return verdicts[0]


@pytest.mark.parametrize(
    ("fault", "expectation", "observed"),
    [
        (KILLED_CONTROLLER, "controller: any", "/controller names broker-2, which is dead"),
        (FROZEN_CONTROLLER, "controller: any", "/controller names broker-2, which is frozen"),
        (KILLED_CONTROLLER, "controller: old", "/controller names broker-2, which is dead"),
        (FROZEN_CONTROLLER, "controller: not broker-1", "/controller names broker-2, which is frozen"),
        (KILLED_LEADER, "in-sync: all", "of which broker-3 is dead"),
        (FROZEN_LEADER, "in-sync: all", "of which broker-3 is frozen"),
        (KILLED_LEADER, "leader: {orders-0: old}", "orders-0 is led by broker-3, which is dead"),
        (FROZEN_LEADER, "leader: {orders-0: any}", "orders-0 is led by broker-3, which is frozen"),
        (EXPIRED_LEADER, "leader: {orders-0: old}", "orders-0 is led by broker-3, whose session has expired"),
        (KILLED_LEADER, "isr: {orders-0: [1, 2, 3]}", "of which broker-3 is dead"),
        (KILLED_LEADER, "leaders-preferred: all", "orders-0 is led by broker-3, which is dead"),
        (EXPIRED_LEADER, "leaders-preferred: all", "orders-0 is led by broker-3, whose session has expired"),
        (KILLED_LEADER, "offline-partitions: 0", "1 partition led by a broker that does not run: orders-0"),
        (FROZEN_LEADER, "under-replicated: 0", "2 partitions with a broker in the ISR that does not run"),
        (KILLED_LEADER, "registered: all", "broker-3, which is dead, is registered"),
        (FROZEN_CONTROLLER, "registered: old", "broker-2, which is frozen, is registered"),
        (FROZEN_CONTROLLER, "metrics: {ActiveControllerCount: 1}", "also of broker-2, which is frozen"),
    ],
)
def test_what_a_lost_broker_left_behind_does_not_hold_and_the_verdict_names_the_broker(
    fault: str, expectation: str, observed: str
) -> None:
    verdict = verdict_on((*CREATED, fault), expectation)
    assert verdict.exit_status == 1
    assert observed in verdict.results[0].observed


def test_a_wait_for_a_controller_is_not_over_while_the_dead_one_is_named() -> None:
    verdict = verdict_on((KILLED_CONTROLLER, "wait: {controller: any, within: 1s}"), "controller: any")
    assert verdict.exit_status == 2
    assert "not within 1000 ms: /controller names broker-2, which is dead" in str(verdict.failure)


@pytest.mark.parametrize(
    ("expectation", "observed"),
    [
        ("in-sync: all", "there are no partitions"),
        ("leaders-preferred: all", "there are no partitions"),
        ("offline-partitions: 0", "there are no topics"),
        ("under-replicated: 0", "there are no topics"),
        ("reassigning: none", "there are no topics"),
        ("metrics: {OfflinePartitionsCount: 0}", "OfflinePartitionsCount is 0, and there are no topics"),
    ],
)
def test_nothing_holds_of_all_partitions_where_there_are_none(expectation: str, observed: str) -> None:
    """The topic is declared, and no step creates it."""
    verdict = verdict_on((), expectation)
    assert (verdict.exit_status, verdict.results[0].observed) == (1, observed)


@pytest.mark.parametrize("expectation", ["lost: {orders: 0}", "duplicated: {orders: 0}"])
def test_no_record_is_safe_where_none_was_written(expectation: str) -> None:
    verdict = verdict_on(CREATED, expectation)
    assert (verdict.exit_status, verdict.results[0].observed) == (1, "no records of orders were counted")


@pytest.mark.parametrize("expectation", ["re-registered: all", "session-expired: broker-1"])
def test_no_broker_has_returned_or_lost_its_session_where_nothing_happened(expectation: str) -> None:
    assert verdict_on((), expectation).exit_status == 1


def test_what_is_on_record_holds_on_request_and_the_verdict_names_the_dead_broker() -> None:
    verdict = verdict_on((KILLED_CONTROLLER,), "{controller: old, as-recorded: true}")
    assert (verdict.exit_status, verdict.results[0].observed) == (0, "/controller names broker-2, which is dead")
