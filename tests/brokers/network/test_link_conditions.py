"""Links to which a change applies, and their condition after the changes."""

import pytest

from kcsim.brokers.network.link_conditions import (
    EVERYWHERE,
    PERFECT,
    LinkChange,
    LinkConditions,
    LinkCut,
    LinkDelay,
    LinkLoss,
    Links,
)

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


def test_a_node_that_comes_later_is_one_of_all() -> None:
    assert ("consumer-new", "broker-1") in Links(None, B1)
    assert ("consumer-new", "broker-1") in EVERYWHERE


@pytest.mark.parametrize(
    ("links", "text"),
    [
        (Links(B1 | B10 | B2, None), "from broker-1, broker-2, broker-10 to all"),
        (Links(B1, B2, both_ways=True), "between broker-1 and broker-2"),
        (EVERYWHERE, "between all and all"),
    ],
)
def test_links_are_described_in_the_order_of_their_numbers(links: Links, text: str) -> None:
    assert str(links) == text


def test_a_network_without_changes_is_perfect_and_one_that_was_healed_too() -> None:
    conditions = LinkConditions()
    assert conditions.of("broker-1", "broker-2") is PERFECT
    conditions.change(LinkChange(Links(B1, B2), "slow", LinkDelay(1, 100)))
    conditions.change(LinkChange(Links(B1, B2)))
    assert conditions.of("broker-1", "broker-2") is PERFECT


def test_of_one_kind_the_latest_counts_and_other_kinds_stay() -> None:
    conditions = LinkConditions()
    conditions.change(LinkChange(EVERYWHERE, "slow", LinkDelay(1, 100)))
    conditions.change(LinkChange(Links(B1, None), "lossy", LinkLoss(2, 0.5)))
    conditions.change(LinkChange(Links(B1, B2), "slow", LinkDelay(3, 7)))
    found = conditions.of("broker-1", "broker-2")
    assert (found.slow, found.lossy, found.cut) == (LinkDelay(3, 7), LinkLoss(2, 0.5), None)
    assert conditions.of("broker-2", "broker-1").slow == LinkDelay(1, 100)


def test_the_cause_distinguishes_no_two_faults() -> None:
    """A second fault of the same kind is therefore recognised as one without effect."""
    assert LinkCut(1) == LinkCut(2) != LinkCut(2, refuses=True)


def test_what_is_taken_back_was_never_made() -> None:
    conditions = LinkConditions()
    first, second = (
        LinkChange(Links(B1, B2), "slow", LinkDelay(1, 100)),
        LinkChange(Links(B1, B2), "slow", LinkDelay(1, 100)),
    )
    conditions.change(first)
    conditions.change(second)
    conditions.take_back(first)
    assert conditions.of("broker-1", "broker-2").slow == LinkDelay(1, 100)
    conditions.take_back(second)
    conditions.take_back(second)
    assert conditions.of("broker-1", "broker-2") is PERFECT


def test_healing_everything_forgets_what_could_be_taken_back() -> None:
    conditions = LinkConditions()
    cut = LinkChange(EVERYWHERE, "cut", LinkCut(1))
    conditions.change(cut)
    conditions.change(LinkChange(EVERYWHERE))
    conditions.change(LinkChange(Links(B1, B2), "cut", LinkCut(2)))
    conditions.take_back(cut)
    assert conditions.of("broker-1", "broker-2").cut == LinkCut(2)
