"""What runs have come through, and what none has."""

import pytest

from kcsim.controller.decisions.election import ElectionRule
from kcsim.controller.decisions.partition_states import PartitionMachineState
from kcsim.scenarios.exploring.coverage import FIELDS, Coverage, Reached
from kcsim.scenarios.exploring.playing import play
from kcsim.scenarios.exploring.scenario_tree import loaded
from kcsim.scenarios.language.scenario_file import LIBRARY, library_names, load_scenario
from kcsim.zk.events import EventKind
from tests.scenarios.exploring.test_playing import a_tree


def names(reached: frozenset[Reached], kind: str) -> set[str]:
    return {one.name for one in reached if one.kind == kind}


def test_a_run_reaches_what_its_log_tells_of() -> None:
    reached = play(load_scenario(LIBRARY / "broker-crash-and-return.yaml"), 1).reached

    assert names(reached, "broker state") == {"running", "dead"}
    assert names(reached, "election rule") == {ElectionRule.NEW_PARTITION, ElectionRule.ALIVE_AND_IN_ISR}
    assert names(reached, "step") == {"start", "wait", "create-topic", "kill"}
    assert {"BrokerChange", "TopicChange", "Startup"} <= names(reached, "controller event")
    assert PartitionMachineState.NON_EXISTENT not in names(reached, "partition state")
    assert "/brokers/topics/<topic>/partitions/<partition>/state" in names(reached, "kind of znode")


def test_a_step_that_was_passed_over_was_not_reached() -> None:
    again = {"start": "broker-1", "if-possible": True}
    resume = {"resume": "broker-1", "if-possible": True}

    reached = play(loaded(a_tree(again, resume)), 1).reached

    assert names(reached, "step") == {"start"}  # by the step before it


@pytest.mark.parametrize("scenario", library_names())
def test_nothing_is_reached_that_is_not_in_a_table(scenario: str) -> None:
    """Else the tables do not say all that there is, and what is missing in them is never missed."""
    reached = play(load_scenario(LIBRARY / f"{scenario}.yaml"), 1).reached
    known = {Reached(field.kind, str(name)) for field in FIELDS for name in field.all}

    assert reached <= known


def test_runs_are_counted_and_what_none_has_reached_is_named() -> None:
    coverage = Coverage()
    coverage.add({Reached("broker state", "running"), Reached("broker state", "dead")})
    coverage.add({Reached("broker state", "running")})

    assert coverage.of("broker state") == {"running": 2, "paused": 0, "dead": 1, "stopped": 0}
    assert Reached("broker state", "paused") in coverage.never()
    assert Reached("broker state", "dead") not in coverage.never()


def test_every_kind_of_event_there_is_can_be_missed() -> None:
    assert set(Coverage().of("event")) == {kind.value for kind in EventKind}
