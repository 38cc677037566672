"""A scenario written in Python equals the one in a file: the same words, the same checks, the same run."""

import inspect
from collections.abc import Mapping
from typing import Any, Unpack, get_args, get_origin, get_type_hints

import pytest

from kcsim.scenarios.engine import python_api
from kcsim.scenarios.engine.python_api import (
    ConditionKeywords,
    ExpectationKeywords,
    ScenarioError,
    ScenarioPart,
    as_loaded,
    between,
    cluster,
    event,
    expect,
    kill,
    one_way,
    partition,
    pause,
    run,
    scenario,
    start,
    topic,
    wait,
    zookeeper,
)
from kcsim.scenarios.language.conditions_model import Condition
from kcsim.scenarios.language.scenario_file import load_text
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.step import ScenarioStep
from kcsim.scenarios.language.steps import STEPS, VERBS, WaitStep

IN_A_FILE = """\
name: failover
description: The controller dies; somebody else takes over.
cluster:
  brokers: 3
  settings: {zookeeper.session.timeout.ms: 2000}
  topics: {orders: {partitions: 2, replication-factor: 3, config: {min.insync.replicas: 2}}}
zookeeper: {members: 3, tick-time: 100ms}
timetable:
  - start: all
  - wait: {event: {kind: ControllerFailover, controller-epoch: 1}, controller: any}
  - create-topic: orders
  - wait: {in-sync: all}
    if-possible: true
  - partition: {between: broker-1, and: [broker-2, broker-3], refuse: true}
    for: 1s
  - zookeeper: {pause: follower}
    as: slow
  - zookeeper: {resume: slow}
    after: 500ms
  - pause: broker-1
    at-write: before
    path: /nowhere
    nth: 2
    if-possible: true
  - kill: controller
    as: old
  - start: all
    when: {unregistered: old}
    if-possible: true
    times: 2
    every: 2s
afterwards: {heal: true, within: 2m}
expect:
  - claim: Somebody else has the role.
    controller: not old
    at: 1s
    within: 10s
  - order: [{kind: ElectionWon, controller-epoch: 1}, {kind: Fault, fault: kill, target: old}]
invariants: {except: [all-comes-to-rest]}
"""


def failover() -> Scenario:
    return scenario(
        "failover",
        "The controller dies; somebody else takes over.",
        cluster=cluster(
            3,
            settings={"zookeeper.session.timeout.ms": 2000},
            topics={"orders": topic(2, 3, config={"min.insync.replicas": 2})},
        ),
        zookeeper={"members": 3, "tick-time": "100ms"},
        timetable=[
            start("all"),
            wait(event=event("ControllerFailover", controller_epoch=1), controller="any"),
            python_api.create_topic("orders"),
            wait(in_sync="all", if_possible=True),
            partition(between("broker-1", ("broker-2", "broker-3")), refuse=True, for_="1s"),
            zookeeper("pause", "follower", as_="slow"),
            zookeeper("resume", "slow", after="500ms"),
            pause("broker-1", at_write="before", path="/nowhere", nth=2, if_possible=True),
            kill("controller", as_="old"),
            start("all", when=wait(unregistered="old")["wait"], if_possible=True, times=2, every="2s"),
        ],
        afterwards={"heal": True, "within": "2m"},
        expect=[
            expect("Somebody else has the role.", controller="not old", at="1s", within="10s"),
            expect(order=[event("ElectionWon", controller_epoch=1), event("Fault", fault="kill", target="old")]),
        ],
        invariants={"except": ["all-comes-to-rest"]},
    )


def test_it_is_the_scenario_that_a_file_makes() -> None:
    assert failover() == load_text(IN_A_FILE, "failover.yaml").scenario


@pytest.mark.parametrize("step", STEPS)
def test_there_is_a_function_for_every_step(step: type[ScenarioStep]) -> None:
    """It has a parameter for every option of the step, by its own name or in its keywords."""
    function = getattr(python_api, step.verb().replace("-", "_"))
    signature = inspect.signature(function)
    assert function.__self__ is step
    typed_keywords = [get_args(hint)[0] for hint in get_type_hints(function).values() if get_origin(hint) is Unpack]
    keywords = {name for given in typed_keywords for name in given.__annotations__}
    missing = set(step.model_fields) - signature.parameters.keys() - keywords - {step.verb().replace("-", "_")}
    assert missing == ({"when", "times", "every"} if step is WaitStep else set())  # a wait is done once, in its turn


def test_every_condition_can_be_waited_for_and_expected() -> None:
    assert ConditionKeywords.__annotations__.keys() == {*Condition.model_fields, "within"}
    assert ExpectationKeywords.__annotations__.keys() == {*Condition.model_fields, "within", "at"}


THERE: Mapping[str, Mapping[str, Any]] = {
    "produce": {"producers": "writer", "records": 5},
    "start_workload": {"producers": "all"},
    "stop_workload": {"producers": "writer"},
    "zookeeper": {"verb": "kill", "who": "leader"},
    "partition": {"links": one_way("broker-1", "broker-2")},
    "slow_link": {"links": between("all", "all"), "delay": "10ms", "jitter": "5ms"},
    "lossy_link": {"links": one_way("broker-1", "broker-2"), "loss": "5%", "break_": "1%"},
    "break_connections": {"links": one_way("controller", "broker-2"), "once_delivered": "LeaderAndIsr"},
    "heal": {},
    "inject_error": {
        "request": "Fetch",
        "error": "NOT_LEADER_OR_FOLLOWER",
        "to": "clients",
        "count": 2,
        "carried_out": True,
    },
    "add_partitions": {"growth": {"orders": 6}},
    "reassign": {"targets": {"orders-0": [1, 2]}, "via": "api"},
    "set_config": {"topics": {"orders": {"retention.ms": None}}, "broker_defaults": None},
    "stall_consumers": {"consumers": "c1", "for_": "1s"},
    "zk_create": {"path": "/x", "data": {"a": [1]}, "ephemeral": True},
    "zk_recreate": {"path": "/x", "data": {"a": [1]}},
    "zk_set": {"path": "/x", "data": None},
    "zk_delete": {"path": "/x"},
    "wait": {"controller": "any", "within": "10s"},
    "disconnect": {"who": "broker-1", "for_": "1s"},
    "slow_follower": {"who": "broker-1", "rate": 5},
    "fail_log_dir": {"who": "broker-1", "partitions": ["orders-0", "orders-1"]},
    "elect_preferred": {"partitions": "all", "via": "znode"},
}
"""Verb -> its arguments, for each verb that needs arguments of its own."""
OF_TOPICS: Mapping[str, str] = {
    "create_topic": "orders",
    "delete_topic": "orders",
    "cancel_reassignment": "orders-0",
    "elect_unclean": "orders-0",
}


def given(verb: str) -> dict[str, Any]:
    if verb in THERE:
        return dict(THERE[verb])
    if verb in OF_TOPICS:
        return {next(iter(inspect.signature(getattr(python_api, verb)).parameters)): OF_TOPICS[verb]}
    return {"consumers": "all"} if verb.endswith("consumers") else {"who": "broker-1"}


@pytest.mark.parametrize("verb", [verb.replace("-", "_") for verb in VERBS])
def test_what_every_function_returns_is_a_step(verb: str) -> None:
    step = getattr(python_api, verb)(**given(verb), after="1s", if_possible=True)
    made = with_steps(step)
    assert (made.timetable[-1].after, made.timetable[-1].if_possible) == (1_000, True)


def with_steps(*steps: ScenarioPart, **more: Any) -> Scenario:
    return scenario(
        "try-it",
        "For a test.",
        cluster=cluster(3, topics={"orders": topic(assignment={0: (1, 2, 3), 1: [2, 3, 1]})}),
        workload={
            "producers": {"writer": {"topics": "orders", "records": 10}},
            "groups": {"billing": {"members": ["c1", "c2"], "topics": "orders"}},
        },
        timetable=[start("all"), *steps],
        **more,
    )


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (kill("broker-9"), "- kill: broker-9: unknown broker 'broker-9'; there are broker-1 to broker-3, the nearest is"),
        (kill("old"), "- kill: old: unknown name 'old'"),
        (start("all", after="5"), "after: '5': '5' is no duration; write one as 500ms, 2s, 1.5s or 1m"),
        ({"kil": "broker-1"}, "- kil: broker-1: unknown verb 'kil'; did you mean kill?"),
        (
            wait(event=event("ElectionWin")),
            "- wait: {event: {kind: ElectionWin}}: unknown kind of event 'ElectionWin'; did you",
        ),
    ],
)
def test_what_is_wrong_is_reported_as_in_a_file_with_the_line_it_would_have(step: ScenarioPart, message: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        with_steps(step)
    assert str(refused.value).startswith(message)


def test_what_cannot_stand_in_a_file_is_refused() -> None:
    with pytest.raises(ScenarioError, match="cannot stand in a scenario"):
        with_steps(python_api.zk_create("/x", object()))


def test_it_runs_and_says_what_came_of_it() -> None:
    ran = run(failover(), seed=3)
    assert ran.held, str(ran)
    assert (ran.events[0].seed, ran.events[0].scenario) == (3, "failover")
    assert str(ran) == "all 2 expectations held"
    again = run(failover(), seed=3)
    assert again.events == ran.events


def test_a_run_that_fails_says_why() -> None:
    ran = run(with_steps(expect=[expect("Nobody starts.", registered="all", running="broker-1", controller="broker-3")]))
    assert not ran.held
    assert str(ran).splitlines() == ["the expectation was violated", "violated: Nobody starts.: no broker is the controller"]


def test_a_step_that_cannot_be_done_is_reported_by_its_line_in_the_yaml() -> None:
    made = with_steps(python_api.resume("broker-1"))
    ran = run(made)
    assert not ran.held
    line = made.to_yaml().splitlines().index("  - resume: broker-1") + 1
    assert str(ran.verdict.failure) == f"try-it.yaml:{line}: resume: broker-1 is not paused"
    assert as_loaded(made).step_lines[-1] == line


def test_protections_can_be_switched_off_for_a_run() -> None:
    ran = run(with_steps(), without=["controller-epoch-fence"])
    assert [e.rule for e in ran.events if e.kind.value == "ProtectionOff"] == ["controller-epoch-fence"]
