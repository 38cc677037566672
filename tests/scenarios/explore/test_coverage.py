"""The coverage points that runs have reached, and those that none has; test_signatures.py tests the library's runs."""

from kcsim.controller.decisions.election import ElectionRule
from kcsim.controller.decisions.partition_states import PartitionMachineState
from kcsim.eventlog.events import EventKind
from kcsim.scenarios.explore.coverage import Coverage, CoveragePoint
from kcsim.scenarios.explore.scenario_tree import loaded
from kcsim.scenarios.explore.simulation import simulate
from kcsim.scenarios.language.library import library_file
from kcsim.scenarios.language.scenario_file import load_scenario
from tests.scenarios.explore.test_simulation import a_tree


def names(reached: frozenset[CoveragePoint], kind: str) -> set[str]:
    return {one.name for one in reached if one.kind == kind}


def test_a_run_reaches_what_its_log_records() -> None:
    reached = simulate(load_scenario(library_file("broker-crash-and-return")), 1).reached

    assert names(reached, "broker state") == {"running", "dead"}
    assert names(reached, "election rule") == {ElectionRule.NEW_PARTITION, ElectionRule.ALIVE_AND_IN_ISR}
    assert names(reached, "step") == {"start", "wait", "create-topic", "kill"}
    assert {"BrokerChange", "TopicChange", "Startup"} <= names(reached, "controller event")
    assert PartitionMachineState.NON_EXISTENT not in names(reached, "partition state")
    assert "/brokers/topics/<topic>/partitions/<partition>/state" in names(reached, "kind of znode")


def test_a_step_that_was_passed_over_was_not_reached() -> None:
    again = {"start": "broker-1", "if-possible": True}
    resume = {"resume": "broker-1", "if-possible": True}

    reached = simulate(loaded(a_tree(again, resume)), 1).reached

    assert names(reached, "step") == {"start"}  # the one of the first step


def test_runs_are_counted_and_what_none_has_reached_is_named() -> None:
    coverage = Coverage()
    coverage.add({CoveragePoint("broker state", "running"), CoveragePoint("broker state", "dead")})
    coverage.add({CoveragePoint("broker state", "running")})

    assert coverage.of("broker state") == {"running": 2, "paused": 0, "dead": 1, "stopped": 0}
    assert CoveragePoint("broker state", "paused") in coverage.never()
    assert CoveragePoint("broker state", "dead") not in coverage.never()


def test_every_kind_of_event_there_is_can_be_missed() -> None:
    assert set(Coverage().of("event")) == {kind.value for kind in EventKind}
