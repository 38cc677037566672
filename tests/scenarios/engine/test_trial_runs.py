"""What trial runs say about a scenario: warnings, and whether its expectations depend on its faults."""

import pytest

from kcsim.scenarios.engine.python_api import run
from kcsim.scenarios.engine.trial_runs import run_without_faults, warnings
from kcsim.scenarios.language.library import library_names
from kcsim.scenarios.language.scenario_file import LoadedScenario, find_scenario, load_scenario, load_text
from tests.tiers import tiered

HEAD = """\
name: trial
description: A scenario with something to warn of.
cluster:
  brokers: 3
  settings: {zookeeper.session.timeout.ms: 6000}
  topics:
    orders: {partitions: 2, replication-factor: 3}
timetable:
"""
SETUP = "  - start: all\n  - create-topic: orders\n  - wait: {in-sync: all}\n"
EXPECT = "expect:\n  - {claim: There is a controller., controller: any}\n"

WITHOUT_A_FAULT = {
    "controller-race": "its subject is the election itself",
    "regex-subscription-meets-new-topic": "its subject is a topic that is created while consumers run",
    "segments-rolled": "its subject is what producers write",
}
"""Scenarios of the library from which nothing can be left out, each with the reason."""


def scenario(steps: str, expect: str = EXPECT) -> LoadedScenario:
    return load_text(f"{HEAD}{steps}{expect}", "trial.yaml")


def warned(steps: str, expect: str = EXPECT) -> list[str]:
    return [str(warning) for warning in warnings(scenario(steps, expect))]


def test_a_scenario_with_nothing_to_warn_of_has_no_warnings() -> None:
    steps = "  - kill: controller\n    as: old\n  - wait: {controller: not old}\n"
    assert warned(SETUP + steps) == []


@pytest.mark.parametrize(
    ("steps", "warning"),
    [
        (
            "  - start: all\n  - wait: {controller: any}\n",
            "trial.yaml: orders: declared, but no step creates it: create-topic",
        ),
        (f"{SETUP}  - wait: {{controller: any}}\n", "trial.yaml:12: wait: is true already when the step begins"),
        (
            f"{SETUP}  - kill: controller\n",
            "trial.yaml:12: kill: the expectations are judged at the moment of this fault: "
            "wait for what follows, or write `within`",
        ),
        (
            f"{SETUP}  - kill: broker-3\n  - stop: broker-3\n",
            "trial.yaml:13: stop: in virtual time the run ends here: broker-3 is not running",
        ),
    ],
)
def test_what_looks_like_a_mistake_is_a_warning(steps: str, warning: str) -> None:
    assert warned(steps) == [warning]


def test_a_broker_that_no_step_starts_is_a_warning() -> None:
    steps = "  - start: [broker-1, broker-2]\n  - wait: {controller: any}\n"
    assert "trial.yaml: broker-3: no step starts it: start" in warned(steps)


def test_what_holds_without_the_faults_is_distinguished_from_what_does_not() -> None:
    steps = "  - kill: controller\n    as: old\n  - wait: {controller: not old}\n"
    expect = "expect:\n  - {claim: A controller., controller: any}\n  - {claim: Another one., controller: not old}\n"
    result = run_without_faults(scenario(SETUP + steps, expect))
    assert [(line, step.verb()) for line, step in result.left_out] == [(12, "kill")]
    assert (result.held, result.not_held) == (("A controller.",), ("Another one.",))
    sentence = "without kill in line 12: 1 of 2 expectations do not hold; these hold all the same: A controller."
    assert str(result) == sentence


def test_without_faults_the_actions_of_operators_are_left_out() -> None:
    result = run_without_faults(
        scenario(f"{SETUP}  - delete-topic: orders\n", "expect:\n  - {claim: Gone., topics: none}\n")
    )
    assert (result.held, result.not_held) == ((), ("Gone.",))


@pytest.mark.parametrize("name", tiered(library_names(), fast=8))
def test_each_scenario_of_the_library_depends_on_its_faults(name: str) -> None:
    """Without its faults, or without its actions if it has no faults, at least one of its expectations does not hold."""
    result = run_without_faults(load_scenario(find_scenario(name)))
    if name in WITHOUT_A_FAULT:
        assert result.left_out == ()
    else:
        assert result.not_held, str(result)


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        (
            "  - start: all\n  - wait: {in-sync: all, within: 1s}\n",
            "not within 1000 ms: there are no partitions; orders: declared, but no step has created it",
        ),
        (
            "  - wait: {controller: any, within: 1s}\n  - start: all\n",
            "not within 1000 ms: no broker is the controller; no broker has been started",
        ),
    ],
)
def test_a_wait_that_times_out_names_the_step_that_is_missing(steps: str, reason: str) -> None:
    failure = run(scenario(steps).scenario).verdict.failure
    assert failure is not None
    assert failure.reason == reason
