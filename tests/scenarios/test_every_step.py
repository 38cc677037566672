"""Every step of a timetable is complete: wherever a step has to be known, either it is, or the reason why not is given.

A new step is a class in language/, its words, its entry in engine/steps/, and its generator in explore/. What is forgotten
of these fails here.
"""

import random
from collections.abc import Iterator

import pytest

from kcsim.controller.capabilities import Release
from kcsim.scenarios.engine.recovery import UNDO_ORDER
from kcsim.scenarios.engine.steps.registry import ALL_SPECS, STEP_SPECS
from kcsim.scenarios.engine.steps.step_spec import Absent, BrokerCommand, StepKind
from kcsim.scenarios.explore.generator_state import GeneratorState, Upgrades
from kcsim.scenarios.explore.profile import load_profile
from kcsim.scenarios.explore.step_generators import GENERATORS_OF, STEP_GENERATORS
from kcsim.scenarios.language.step import ScenarioStep
from kcsim.scenarios.language.step_words import STEP_WORDS, WORDS_OF_EVENTS
from kcsim.scenarios.language.steps import STEPS, VERBS, MidWriteStep, verb_of
from kcsim.scenarios.testing.cluster import ClusterForTest


def concrete(step: type[ScenarioStep]) -> Iterator[type[ScenarioStep]]:
    """Yield the classes below a class that are the base of no other."""
    below = step.__subclasses__()
    for each in below:
        yield from concrete(each)
    if not below:
        yield step


def test_every_class_of_a_step_can_be_written_in_a_file() -> None:
    assert {step for step in concrete(ScenarioStep) if step.__module__.startswith("kcsim.")} == set(STEPS)


def test_no_verb_is_given_twice() -> None:
    assert len(set(VERBS)) == len(VERBS)


def test_every_step_has_one_entry() -> None:
    assert [spec.step for spec in ALL_SPECS if list(STEP_SPECS).count(spec.step) != 1] == []
    assert len(ALL_SPECS) == len(STEP_SPECS)
    assert STEP_SPECS.keys() == set(STEPS)


def test_every_step_has_its_words() -> None:
    assert STEP_WORDS.keys() == set(VERBS)


def test_steps_whose_events_have_the_same_name_have_the_same_phrase() -> None:
    """The narration sees the event alone."""
    for verb, words in STEP_WORDS.items():
        of_event = WORDS_OF_EVENTS[words.logged_as or verb]
        assert (words.phrase, words.is_seen_in_effect) == (of_event.phrase, of_event.is_seen_in_effect)


def test_a_step_that_can_wait_for_a_write_has_words_for_the_waiting() -> None:
    assert [step for step in STEPS if issubclass(step, MidWriteStep) and STEP_WORDS[step.verb()].armed is None] == []


def test_every_command_has_its_help() -> None:
    with_help = {verb for verb, words in STEP_WORDS.items() if words.command_help is not None}
    assert with_help == {spec.verb for spec in ALL_SPECS if not isinstance(spec.command, Absent)}


def test_what_the_command_line_does_to_a_broker_the_fixture_does_too() -> None:
    commands = [spec.verb for spec in ALL_SPECS if isinstance(spec.command, BrokerCommand)]
    assert [verb for verb in commands if not hasattr(ClusterForTest, verb.replace("-", "_"))] == []


def test_whatever_undoes_a_step_is_applied_after_the_timetable() -> None:
    undone_by = {spec.undone_by for spec in ALL_SPECS if not isinstance(spec.undone_by, Absent)}
    assert undone_by == set(UNDO_ORDER)


def test_every_step_is_drawn_at_random_or_says_why_not() -> None:
    assert GENERATORS_OF.keys() == set(STEPS)


@pytest.mark.parametrize("step", STEPS)
def test_the_generators_of_a_step_draw_that_step(step: type[ScenarioStep]) -> None:
    generators = GENERATORS_OF[step]
    for name, generator in generators.items() if not isinstance(generators, Absent) else ():
        drawn = {verb_of(generator(anything(seed))) for seed in range(20)} - {None}
        assert step.verb() in drawn, name


def anything(seed: int) -> GeneratorState:
    """Return a state in which every step has a possible target."""
    names = ["broker-1", "broker-2", "broker-3"]
    state = GeneratorState(random.Random(seed), (1, 2, 3, 4), 2, 3, {"orders": [[1, 2]], "clicks": [[2]]})
    state.created, state.producers, state.consumers = ["orders"], ("writer",), ("reader",)
    state.up, state.paused, state.gone = names[:1], names[1:2], names[2:]
    state.upgrades = Upgrades([Release("2.8"), Release("3.9")], ["2.6", "2.8"], dict.fromkeys(state.names, "2.6"))
    state.disconnected, state.servers_away = names[:1], {"member-1": "kill", "member-2": "pause"}
    return state


def test_the_profile_all_draws_everything() -> None:
    assert {name for name, weight in load_profile("all").weights.items() if weight} == STEP_GENERATORS.keys()


def test_whatever_a_step_lacks_has_a_reason() -> None:
    parts = [part for spec in ALL_SPECS for part in (spec.undone_by, spec.command)]
    absent = [part for part in (*parts, *GENERATORS_OF.values()) if isinstance(part, Absent)]
    assert [part for part in absent if not part.why.strip()] == []


def test_a_fault_is_drawn_and_searched() -> None:
    """An exhaustive search counts and arms faults by their kind, so no kind of random fault may be missing there."""
    faults = {spec.step for spec in ALL_SPECS if spec.kind is StepKind.FAULT}
    assert {step for step in faults if isinstance(GENERATORS_OF[step], Absent)} == set()
