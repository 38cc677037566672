"""All orders and crash points of a small scenario."""

from itertools import pairwise
from typing import Any

import pytest

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.explore.exhaustive import TooLargeError, variants
from kcsim.scenarios.explore.generator import SETTLE, Tree
from kcsim.scenarios.explore.scenario_tree import loaded
from kcsim.scenarios.explore.simulation import simulate
from kcsim.scenarios.explore.trial import run_tree
from tests.scenarios.explore.test_simulation import a_tree

CREATE = {"create-topic": "orders"}
READY: dict[str, Any] = {"wait": {"in-sync": "all"}}
KILL: dict[str, Any] = {"kill": "controller"}
MOVE: dict[str, Any] = {"reassign": {"orders-0": [2]}}


def actions_of(tree: Tree) -> list[tuple[str, ...]]:
    return [tuple(key for key in step if key in ("kill", "pause", "reassign", "expire")) for step in tree["timetable"][3:-1]]


def armed(trees: list[Tree]) -> list[tuple[str, str, int]]:
    """Return the crash point of each tree's first action.

    A crash point is (before or after the write, its path, its number among the writes to this path).
    """
    first = [tree["timetable"][3] for tree in trees]
    return [(step["at-write"], step["path"], step["nth"]) for step in first if "at-write" in step]


def test_every_order_is_tried_after_the_same_beginning() -> None:
    trees = variants(a_tree(CREATE, READY, {"expire": "broker-2"}, MOVE), 1)

    assert [actions_of(tree) for tree in trees] == [[("expire",), ("reassign",)], [("reassign",), ("expire",)]]
    assert all(tree["timetable"][:3] == [{"start": "all"}, CREATE, READY] for tree in trees)
    assert len({tree["name"] for tree in trees}) == len(trees)


def test_a_kill_is_applied_before_and_after_every_write_of_its_victim() -> None:
    """The writes are those that the victim makes when it is not killed."""
    tree = a_tree(CREATE, READY, KILL, MOVE)
    alone = simulate(loaded(a_tree(CREATE, READY, MOVE, SETTLE)), 1)
    victim = next(event.node for event in alone.events if event.kind is EventKind.ELECTION_WON)
    began, ended = alone.step_seqs[3], alone.step_seqs[-1]
    writes = [e for e in alone.events[began:ended] if e.kind is EventKind.ZK_WRITE and e.node == victim]

    points = armed(list(variants(tree, 1)))

    assert len(writes) > 3
    assert [path for moment, path, _ in points if moment == "before"] == [write.path for write in writes]
    assert all(one[1:] == other[1:] for one, other in pairwise(points) if (one[0], other[0]) == ("before", "after"))
    assert len(points) == 2 * len(writes)


def test_every_crash_point_is_come_to() -> None:
    for tree in variants(a_tree(CREATE, READY, KILL, MOVE), 1):
        assert not [e for e in simulate(loaded(tree), 1).events if e.kind is EventKind.STEP_SKIPPED and e.op == "kill"]


@pytest.mark.slow
def test_a_move_survives_the_death_of_its_controller_wherever_it_dies() -> None:
    tried = [run_tree(tree, 1) for tree in variants(a_tree(CREATE, READY, KILL, MOVE), 1)]

    assert [one.violations for one in tried if one.violations] == []


def test_waits_between_actions_are_left_out_and_an_order_that_makes_no_sense_too() -> None:
    trees = variants(a_tree(CREATE, READY, {"expire": "broker-1", "as": "old"}, READY, {"expire": "old"}), 1)

    assert [actions_of(tree) for tree in trees] == [[("expire",), ("expire",)]]


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (a_tree(KILL, brokers=4), "4 brokers, and everything can be tried of at most 3"),
        (a_tree(KILL, KILL, KILL), "3 faults, and everything can be tried of at most 2"),
        (a_tree(*[MOVE] * 6), "6 faults and admin acts, and everything can be tried of at most 5"),
        (
            a_tree(KILL, topics={"orders": {"partitions": 3, "replication-factor": 1}}),
            "3 partitions, and everything can be tried of at most 2",
        ),
        (a_tree(CREATE, READY), "there is no fault or admin act in it to be tried"),
    ],
)
def test_a_scenario_that_is_too_large_is_refused(tree: Tree, message: str) -> None:
    with pytest.raises(TooLargeError, match=message):
        variants(tree, 1)


def test_too_many_runs_are_refused() -> None:
    with pytest.raises(TooLargeError, match="more than 5 runs"):
        variants(a_tree(CREATE, READY, KILL, MOVE), 1, most_runs=5)
