"""The shrinker on its own: a pure search over trees, with predicates that do not depend on clusters."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kcsim.scenarios.explore.generator import Tree
from kcsim.scenarios.explore.shrink import minimal_subset, shrink

items = st.lists(st.integers(0, 30), min_size=1, max_size=30, unique=True)


@given(items, st.data())
def test_what_is_needed_is_kept_in_its_order_and_nothing_else(whole: list[int], data: st.DataObject) -> None:
    needed = set(data.draw(st.lists(st.sampled_from(whole), min_size=1)))

    left = minimal_subset(whole, lambda some: needed <= set(some))

    assert list(left) == [item for item in whole if item in needed]


@given(items, st.integers(1, 5))
def test_of_any_so_many_only_so_many_are_left(whole: list[int], count: int) -> None:
    """No single item is needed; a search that only ever tries one place does not terminate."""
    left = minimal_subset(whole, lambda some: len(some) >= count)

    assert len(left) == min(count, len(whole))


@given(items, st.data())
def test_no_single_item_of_what_is_left_can_be_left_out(whole: list[int], data: st.DataObject) -> None:
    """This holds for any predicate: here for one that needs one of two sets of items."""
    one, other = (set(data.draw(st.lists(st.sampled_from(whole), min_size=1, max_size=3))) for _ in range(2))

    def fails(some: object) -> bool:
        assert isinstance(some, list)
        return one <= set(some) or other <= set(some)

    left = list(minimal_subset(whole, fails))

    assert fails(left)
    assert not any(fails([item for item in left if item != gone]) for gone in left if len(left) > 1)


def a_tree(*steps: dict[str, Any]) -> Tree:
    return {
        "name": "made-up",
        "description": "Made up.",
        "cluster": {
            "brokers": 4,
            "settings": {"min.insync.replicas": 2, "auto.leader.rebalance.enable": False},
            "topics": {"orders": {"assignment": {0: [1, 2, 3], 1: [4, 3, 2]}}, "clicks": {"assignment": {0: [4]}}},
        },
        "workload": {"producers": {"writer": {"topics": "orders", "settings": {"acks": "all"}}}},
        "timetable": list(steps),
        "afterwards": {"heal": True, "within": "60s"},
    }


STEPS = (
    {"start": "all"},
    {"create-topic": ["orders", "clicks"]},
    {"kill": "broker-4", "after": "1.3s", "if-possible": True},
    {"reassign": {"orders-1": [2, 4], "clicks-0": [3]}, "via": "api", "after": "70ms"},
    {"kill": "controller", "as": "victim-1", "after": "2.2s"},
)


def test_a_scenario_is_shrunk_to_what_its_failure_needs() -> None:
    shrunk = shrink(a_tree(*STEPS), lambda tree: any("reassign" in step for step in tree["timetable"]))

    assert shrunk.is_minimal
    assert shrunk.tree == {
        "name": "made-up",
        "description": "Made up.",
        "cluster": {"brokers": 1},
        "timetable": [{"reassign": {}}],
    }


def test_a_setting_that_is_needed_stays_and_the_others_go() -> None:
    shrunk = shrink(a_tree(*STEPS), lambda tree: "min.insync.replicas" in tree["cluster"].get("settings", {}))

    assert shrunk.tree["cluster"]["settings"] == {"min.insync.replicas": 2}


def test_times_become_round() -> None:
    def fails(tree: Tree) -> bool:
        return all("after" in step for step in tree["timetable"]) and "ms" not in tree["timetable"][0]["after"]

    shrunk = shrink(a_tree({"kill": "broker-4", "after": "1.3s"}), fails)

    assert [step["after"] for step in shrunk.tree["timetable"]] == ["1s"]


def test_what_the_producer_is_promised_stays() -> None:
    """Without its acks setting the producer would be promised less, and a lost record would be another failure."""

    def writes(tree: Tree) -> bool:
        return "writer" in tree.get("workload", {}).get("producers", {})

    shrunk = shrink(a_tree(*STEPS), writes)

    assert shrunk.tree["workload"]["producers"]["writer"]["settings"] == {"acks": "all"}


def test_runs_are_bounded_and_none_is_done_twice() -> None:
    asked: list[str] = []

    def fails(tree: Tree) -> bool:
        asked.append(repr(tree))
        return len(tree["timetable"]) > 2

    shrunk = shrink(a_tree(*STEPS), fails, most_runs=10)

    assert (shrunk.runs, shrunk.is_minimal) == (10, False)
    assert len(set(asked)) == len(asked) == 10


def test_ctrl_c_keeps_what_was_shrunk_so_far() -> None:
    accepted: list[Tree] = []

    def fails(tree: Tree) -> bool:
        if accepted:
            raise KeyboardInterrupt
        accepted.append(tree)
        return True

    shrunk = shrink(a_tree(*STEPS), fails)

    assert (shrunk.tree, shrunk.runs) == (accepted[0], 2)
    assert (shrunk.is_interrupted, shrunk.is_minimal) == (True, False)


def test_the_original_is_left_as_it_was() -> None:
    whole = a_tree(*STEPS)

    shrink(whole, lambda tree: bool(tree["timetable"]))

    assert whole == a_tree(*STEPS)
