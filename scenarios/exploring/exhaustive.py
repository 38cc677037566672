"""All that can come of a small scenario: its faults and admin acts in every order, and each kill and pause at every write.

The timetable up to the first fault or admin act is the beginning, and stays. What is done from there on is done in every
order. Then each kill and pause in turn is armed at the beginning instead, and strikes before, or after, each write to
ZooKeeper that its victim makes when the other deeds are done in that order and it is left alone.
"""

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any

from kcsim.scenarios.exploring.generator import SETTLE, Tree
from kcsim.scenarios.exploring.playing import play
from kcsim.scenarios.exploring.scenario_tree import loaded
from kcsim.scenarios.language.scenario_file import ScenarioFileError
from kcsim.scenarios.language.steps import verb_of
from kcsim.zk.events import Event, EventKind

MOST_BROKERS, MOST_PARTITIONS, MOST_DEEDS, MOST_FAULTS = 3, 2, 5, 2
MOST_RUNS = 5_000
BEGINNING = ("start", "wait", "create-topic", "produce", "start-workload", "start-consumers")
"""Verbs of a timetable's beginning."""
BLOWS = ("kill", "pause")
FAULTS = (
    *(*BLOWS, "expire", "disconnect", "slow-follower", "fail-log-dir", "zookeeper"),
    *("partition", "slow-link", "lossy-link", "break-connections"),
    *("crash-consumers", "pause-consumers", "stall-consumers"),
)
MOMENTS = ("before", "after")
TIMES = ("at", "when", "times", "every")
"""Keys of a step that have no meaning in another order."""


class TooLargeError(ValueError):
    """A scenario with too much in it for all of it to be tried."""


def variants(tree: Tree, seed: int, most_runs: int = MOST_RUNS) -> Sequence[Tree]:
    """Everything that is to be run, in order; each has a name of its own.

    Args:
        tree: a scenario that loads.
        seed: of the runs in which the writes are found.

    Raises: TooLargeError.
    """
    _check_size(tree)
    beginning, deeds = _parts(tree)
    found: list[Tree] = []
    for timetable, told in _timetables(tree, beginning, deeds, seed):
        variant = _variant(tree, timetable, len(found), told)
        if _makes_sense(variant):
            found.append(variant)
        if len(found) > most_runs:
            raise TooLargeError(f"more than {most_runs} runs: leave a deed, or a topic, out")
    return found


def _check_size(tree: Tree) -> None:
    brokers = tree["cluster"]["brokers"]
    count = brokers if isinstance(brokers, int) else len(brokers)
    topics = tree["cluster"].get("topics", {}).values()
    partitions = sum(len(topic.get("assignment", ())) or topic.get("partitions", 1) for topic in topics)
    deeds = _parts(tree)[1]
    faults = sum(verb_of(deed) in FAULTS for deed in deeds)
    for what, there, most in (
        ("brokers", count, MOST_BROKERS),
        ("partitions", partitions, MOST_PARTITIONS),
        ("faults", faults, MOST_FAULTS),
        ("faults and admin acts", len(deeds), MOST_DEEDS),
    ):
        if there > most:
            raise TooLargeError(f"{there} {what}, and everything can be tried of at most {most}")
    if not deeds:
        raise TooLargeError("there is no fault or admin act in it to be tried")


def _parts(tree: Tree) -> tuple[list[Any], list[Any]]:
    """The beginning, and what is done then; waits between deeds are left out, as they wait for what one order leads to."""
    timetable = tree["timetable"]
    first = next((place for place, step in enumerate(timetable) if verb_of(step) not in BEGINNING), len(timetable))
    deeds = [step for step in timetable[first:] if verb_of(step) != "wait"]
    return list(timetable[:first]), [_timeless(step) for step in deeds]


def _timeless(step: Any) -> Any:
    return {key: value for key, value in step.items() if key not in TIMES} | {"if-possible": True}


def _timetables(tree: Tree, beginning: list[Any], deeds: list[Any], seed: int) -> Iterator[tuple[list[Any], str]]:
    for order in permutations(deeds):
        yield [*beginning, *order], "in this order"
    for place, deed in enumerate(deeds):
        if verb_of(deed) not in BLOWS:
            continue
        others = [other for number, other in enumerate(deeds) if number != place]
        for order in permutations(others):
            for point in _crash_points(tree, beginning, deed, order, seed):
                told = f"{verb_of(deed)} {point['at-write']} write {point['nth']} to {point['path']}"
                yield [*beginning, _unarmed(deed) | point, *order], told


def _crash_points(tree: Tree, beginning: list[Any], blow: Any, order: Sequence[Any], seed: int) -> Iterator[Any]:
    """Before and after each write that the victim makes if it is left alone."""
    struck = _variant(tree, [*beginning, _unarmed(blow), *order], 0, "struck at once")
    alone = _variant(tree, [*beginning, *order], 0, "undisturbed")
    if not _makes_sense(struck) or not _makes_sense(alone):
        return
    played = play(loaded(struck), seed)
    faults = (e for e in played.events[played.step_seqs[len(beginning)] :] if e.kind is EventKind.FAULT)
    victim = next((fault.target for fault in faults), None)
    undisturbed = play(loaded(alone), seed)
    began, ended = undisturbed.step_seqs[len(beginning)], undisturbed.step_seqs[-1]
    made = [e for e in undisturbed.events[began:ended] if e.kind is EventKind.ZK_WRITE and e.node == victim]
    for write in made:
        for moment in MOMENTS:
            yield {"at-write": moment, "path": write.path, "nth": _number(write, made)}


def _number(write: Event, made: Sequence[Event]) -> int:
    """The how many-th write this is to its path or below it."""
    return sum(1 for e in made if e.seq <= write.seq and f"{e.path}/".startswith(f"{write.path}/"))


def _unarmed(step: Any) -> Any:
    return {key: value for key, value in step.items() if key not in ("at-write", "path", "nth", "after")}


def _variant(tree: Tree, timetable: list[Any], number: int, told: str) -> Tree:
    deeds = ", ".join(f"{verb_of(step)} {step[verb_of(step)]}" for step in timetable if verb_of(step) not in BEGINNING)
    return {
        **{key: part for key, part in tree.items() if key != "expect"},
        "name": f"{tree['name']}-{number:04}",
        "description": f"{told}: {deeds}",
        "timetable": [*timetable, SETTLE],
        "afterwards": tree.get("afterwards", {"heal": True, "within": "60s"}),
    }


def _makes_sense(tree: Tree) -> bool:
    try:
        loaded(tree)
    except ScenarioFileError:  # a name is used before the step that gives it, in this order
        return False
    return True
