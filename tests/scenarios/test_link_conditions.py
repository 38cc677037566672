"""Which links a change is about, and in which condition the changes leave them."""

import pytest

from kcsim.scenarios.link_conditions import EVERYWHERE, PERFECT, Change, Cut, LinkConditions, Links, Lossy, Slow

B1, B2, B10 = (frozenset({f"broker-{n}"}) for n in (1, 2, 10))
NODES = ("broker-2", "broker-1", "producer-p")


@pytest.mark.parametrize(
    ("links", "among"),
    [
        (Links(B1, B2), [("broker-1", "broker-2")]),
        (Links(B1, B2, both_ways=True), [("broker-1", "broker-2"), ("broker-2", "broker-1")]),
        (Links(B1, None), [("broker-1", "broker-2"), ("broker-1", "producer-p")]),
        (Links(None, B1), [("broker-2", "broker-1"), ("producer-p", "broker-1")]),
        (Links(B1 | B2, B2), [("broker-1", "broker-2")]),
        (Links(B1, B1), []),
        (Links(B10, None), []),
    ],
)
def test_links_are_between_different_nodes_that_are_there(links: Links, among: list[tuple[str, str]]) -> None:
    assert links.among(NODES) == among
    assert [(a, b) for a in sorted(NODES) for b in sorted(NODES) if (a, b) in links] == among


def test_whoever_comes_later_is_one_of_all() -> None:
    assert ("consumer-new", "broker-1") in Links(None, B1)
    assert ("consumer-new", "broker-1") in EVERYWHERE


@pytest.mark.parametrize(
    ("links", "told"),
    [
        (Links(B1 | B10 | B2, None), "from broker-1, broker-2, broker-10 to all"),
        (Links(B1, B2, both_ways=True), "between broker-1 and broker-2"),
        (EVERYWHERE, "between all and all"),
    ],
)
def test_links_are_told_in_the_order_of_their_numbers(links: Links, told: str) -> None:
    assert str(links) == told


def test_a_network_without_changes_is_perfect_and_one_that_was_healed_too() -> None:
    conditions = LinkConditions()
    assert conditions.of("broker-1", "broker-2") is PERFECT
    conditions.change(Change(Links(B1, B2), "slow", Slow(1, 100)))
    conditions.change(Change(Links(B1, B2)))
    assert conditions.of("broker-1", "broker-2") is PERFECT


def test_of_one_kind_the_latest_counts_and_other_kinds_stay() -> None:
    conditions = LinkConditions()
    conditions.change(Change(EVERYWHERE, "slow", Slow(1, 100)))
    conditions.change(Change(Links(B1, None), "lossy", Lossy(2, 0.5)))
    conditions.change(Change(Links(B1, B2), "slow", Slow(3, 7)))
    found = conditions.of("broker-1", "broker-2")
    assert (found.slow, found.lossy, found.cut) == (Slow(3, 7), Lossy(2, 0.5), None)
    assert conditions.of("broker-2", "broker-1").slow == Slow(1, 100)


def test_the_cause_tells_no_two_troubles_apart() -> None:
    """So that a second one of the same kind is seen to change nothing."""
    assert Cut(1) == Cut(2) != Cut(2, refuses=True)


def test_what_is_taken_back_was_never_made() -> None:
    conditions = LinkConditions()
    first, second = Change(Links(B1, B2), "slow", Slow(1, 100)), Change(Links(B1, B2), "slow", Slow(1, 100))
    conditions.change(first)
    conditions.change(second)
    conditions.take_back(first)
    assert conditions.of("broker-1", "broker-2").slow == Slow(1, 100)
    conditions.take_back(second)
    conditions.take_back(second)
    assert conditions.of("broker-1", "broker-2") is PERFECT


def test_healing_everything_forgets_what_could_be_taken_back() -> None:
    conditions = LinkConditions()
    cut = Change(EVERYWHERE, "cut", Cut(1))
    conditions.change(cut)
    conditions.change(Change(EVERYWHERE))
    conditions.change(Change(Links(B1, B2), "cut", Cut(2)))
    conditions.take_back(cut)
    assert conditions.of("broker-1", "broker-2").cut == Cut(2)
