"""Copies share a throttle evenly, and take as long as their bytes, with what producers write meanwhile."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.scenarios.rehearsal.copy_progress import LEAST_COPY_MS, CopyKey, CopyProgress, fair_shares
from kcsim.vocabulary import TopicPartition

CAPACITY = 100.0
LINKS = st.lists(st.tuples(st.integers(0, 4), st.integers(5, 9)), min_size=1, max_size=12)


def key(number: int, to: int) -> CopyKey:
    return CopyKey(TopicPartition("orders", number), to)


def run_until_the_end(progress: CopyProgress, sources: Mapping[CopyKey, int]) -> dict[CopyKey, int]:
    """Return when each copy ends. Those that never end are not there."""
    ended: dict[CopyKey, int] = {}
    now_ms = 0
    while (next_ms := progress.next_end_ms(rates := progress.rates(sources))) is not None:
        now_ms += next_ms
        ended |= dict.fromkeys(progress.advance(rates, next_ms), now_ms)
    return ended


@given(LINKS, st.dictionaries(st.integers(0, 9), st.floats(0, CAPACITY)))
def test_no_link_carries_more_than_it_can_and_each_user_has_a_full_link_where_nobody_gets_more(
    links: list[tuple[int, int]], taken: dict[int, float]
) -> None:
    """This is what max-min fairness means."""
    users = dict(enumerate(links))
    shares = fair_shares(users, CAPACITY, taken)
    assert shares.keys() == users.keys()
    carried = {link: sum(shares[user] for user in users if link in users[user]) for pair in links for link in pair}
    full = {link for link, load in carried.items() if load + taken.get(link, 0.0) >= CAPACITY - 1e-6}
    assert all(load <= CAPACITY - taken.get(link, 0.0) + 1e-6 for link, load in carried.items())
    for user, pair in users.items():
        assert any(
            link in full and shares[user] >= max(shares[other] for other in users if link in users[other]) - 1e-6
            for link in pair
        )


def test_copies_from_one_broker_share_what_it_may_send() -> None:
    progress = CopyProgress(1_000_000)
    progress.add(key(0, 2), 10_000_000, 0.0)
    progress.add(key(1, 3), 30_000_000, 0.0)
    assert run_until_the_end(progress, {key(0, 2): 1, key(1, 3): 1}) == {key(0, 2): 20_000, key(1, 3): 40_000}


def test_what_producers_write_has_to_be_copied_too() -> None:
    progress = CopyProgress(1_000_000)
    progress.add(key(0, 2), 10_000_000, 500_000.0)
    assert run_until_the_end(progress, {key(0, 2): 1}) == {key(0, 2): 20_000}


def test_a_complete_copy_goes_on_taking_its_part_of_the_throttle() -> None:
    """Partition 1 gets half of the throttle, then what producers of partition 0 leave of it."""
    progress = CopyProgress(1_000_000)
    progress.add(key(0, 2), 0, 400_000.0)
    progress.add(key(1, 2), 4_100_000, 0.0)
    ended = run_until_the_end(progress, {key(0, 2): 1, key(1, 2): 1})
    assert ended == {key(0, 2): LEAST_COPY_MS, key(1, 2): LEAST_COPY_MS + 6_000}


@pytest.mark.parametrize("rate", [1_000_000.0, 2_000_000.0])
def test_a_copy_never_ends_with_a_throttle_of_no_more_than_producers_write(rate: float) -> None:
    progress = CopyProgress(1_000_000)
    progress.add(key(0, 2), 1, rate)
    assert run_until_the_end(progress, {key(0, 2): 1}) == {}
    assert progress.unfinished == [key(0, 2)]


def test_a_copy_without_a_source_waits() -> None:
    progress = CopyProgress(None)
    progress.add(key(0, 2), 10, 0.0)
    progress.add(key(1, 2), 10, 0.0)
    assert run_until_the_end(progress, {key(1, 2): 1}) == {key(1, 2): LEAST_COPY_MS}
    assert run_until_the_end(progress, {key(0, 2): 3}) == {key(0, 2): LEAST_COPY_MS}
