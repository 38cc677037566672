"""All variants of a small scenario: its faults and admin actions in every order, and each kill and pause at every write.

The timetable up to the first fault or admin action is the beginning, and is kept. The actions after it are executed in every
order. In addition, each kill and pause in turn is armed at the beginning instead, before or after each write to ZooKeeper
that its victim makes when the other actions are executed in that order and the victim itself is left undisturbed.
"""

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.engine.steps.registry import ALL_SPECS
from kcsim.scenarios.engine.steps.step_spec import StepKind
from kcsim.scenarios.explore.generator import SETTLE, Tree
from kcsim.scenarios.explore.scenario_tree import loaded
from kcsim.scenarios.explore.simulation import simulate
from kcsim.scenarios.language.scenario_file import ScenarioFileError
from kcsim.scenarios.language.steps import STEPS, MidWriteStep, verb_of

MOST_BROKERS, MOST_PARTITIONS, MOST_ACTIONS, MOST_FAULTS = 3, 2, 5, 2
MOST_RUNS = 5_000
BEGINNING = frozenset(spec.verb for spec in ALL_SPECS if spec.kind is StepKind.SETUP)
"""Verbs that may occur in the beginning of a timetable."""
FAULTS = frozenset(spec.verb for spec in ALL_SPECS if spec.kind is StepKind.FAULT)
ARMABLE_FAULTS = frozenset(step.verb() for step in STEPS if issubclass(step, MidWriteStep))
MOMENTS = ("before", "after")
TIMES = ("at", "when", "times", "every")
"""Keys of a step that are meaningless in another order."""


class TooLargeError(ValueError):
    """The scenario has too many variants to try all of them."""


def variants(tree: Tree, seed: int, most_runs: int = MOST_RUNS) -> Sequence[Tree]:
    """Return all variants to run, in order; each has its own name.

    Args:
        tree: a scenario that loads.
        seed: of the runs that find the writes.

    Raises: TooLargeError.
    """
    _check_size(tree)
    beginning, actions = _parts(tree)
    found: list[Tree] = []
    for timetable, label in _timetables(tree, beginning, actions, seed):
        variant = _variant(tree, timetable, len(found), label)
        if _makes_sense(variant):
            found.append(variant)
        if len(found) > most_runs:
            raise TooLargeError(f"more than {most_runs} runs: leave an action, or a topic, out")
    return found


def _check_size(tree: Tree) -> None:
    brokers = tree["cluster"]["brokers"]
    count = brokers if isinstance(brokers, int) else len(brokers)
    topics = tree["cluster"].get("topics", {}).values()
    partitions = sum(len(topic.get("assignment", ())) or topic.get("partitions", 1) for topic in topics)
    actions = _parts(tree)[1]
    faults = sum(verb_of(action) in FAULTS for action in actions)
    for what, there, most in (
        ("brokers", count, MOST_BROKERS),
        ("partitions", partitions, MOST_PARTITIONS),
        ("faults", faults, MOST_FAULTS),
        ("faults and admin acts", len(actions), MOST_ACTIONS),
    ):
        if there > most:
            raise TooLargeError(f"{there} {what}, and everything can be tried of at most {most}")
    if not actions:
        raise TooLargeError("there is no fault or admin act in it to be tried")


def _parts(tree: Tree) -> tuple[list[Any], list[Any]]:
    """Return the beginning and the actions after it, without the waits between them.

    A wait is left out because it waits for a consequence of one particular order.
    """
    timetable = tree["timetable"]
    first = next((place for place, step in enumerate(timetable) if verb_of(step) not in BEGINNING), len(timetable))
    actions = [step for step in timetable[first:] if verb_of(step) != "wait"]
    return list(timetable[:first]), [_timeless(step) for step in actions]


def _timeless(step: Any) -> Any:
    return {key: value for key, value in step.items() if key not in TIMES} | {"if-possible": True}


def _timetables(tree: Tree, beginning: list[Any], actions: list[Any], seed: int) -> Iterator[tuple[list[Any], str]]:
    for order in permutations(actions):
        yield [*beginning, *order], "in this order"
    for place, action in enumerate(actions):
        if verb_of(action) not in ARMABLE_FAULTS:
            continue
        others = [other for number, other in enumerate(actions) if number != place]
        for order in permutations(others):
            for point in _crash_points(tree, beginning, action, order, seed):
                label = f"{verb_of(action)} {point['at-write']} write {point['nth']} to {point['path']}"
                yield [*beginning, _unarmed(action) | point, *order], label


def _crash_points(tree: Tree, beginning: list[Any], fault_step: Any, order: Sequence[Any], seed: int) -> Iterator[Any]:
    """Yield a point before and a point after each write that the victim makes when it is left undisturbed."""
    faulted = _variant(tree, [*beginning, _unarmed(fault_step), *order], 0, "fault at once")
    alone = _variant(tree, [*beginning, *order], 0, "undisturbed")
    if not _makes_sense(faulted) or not _makes_sense(alone):
        return
    result = simulate(loaded(faulted), seed)
    faults = (e for e in result.events[result.step_seqs[len(beginning)] :] if e.kind is EventKind.FAULT)
    victim = next((fault.target for fault in faults), None)
    undisturbed = simulate(loaded(alone), seed)
    began, ended = undisturbed.step_seqs[len(beginning)], undisturbed.step_seqs[-1]
    made = [e for e in undisturbed.events[began:ended] if e.kind is EventKind.ZK_WRITE and e.node == victim]
    for write in made:
        for moment in MOMENTS:
            yield {"at-write": moment, "path": write.path, "nth": _number(write, made)}


def _number(write: Event, made: Sequence[Event]) -> int:
    """Return the write's number, from 1, among the writes to its path or below it."""
    return sum(1 for e in made if e.seq <= write.seq and f"{e.path}/".startswith(f"{write.path}/"))


def _unarmed(step: Any) -> Any:
    return {key: value for key, value in step.items() if key not in ("at-write", "path", "nth", "after")}


def _variant(tree: Tree, timetable: list[Any], number: int, label: str) -> Tree:
    actions = ", ".join(f"{verb_of(step)} {step[verb_of(step)]}" for step in timetable if verb_of(step) not in BEGINNING)
    return {
        **{key: part for key, part in tree.items() if key != "expect"},
        "name": f"{tree['name']}-{number:04}",
        "description": f"{label}: {actions}",
        "timetable": [*timetable, SETTLE],
        "afterwards": tree.get("afterwards", {"heal": True, "within": "60s"}),
    }


def _makes_sense(tree: Tree) -> bool:
    try:
        loaded(tree)
    except ScenarioFileError:  # in this order, a name is used before the step that gives it
        return False
    return True
