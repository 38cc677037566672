"""The high watermark of a partition, and followers that have fallen behind.

Source: docs/kafka/requests.md 6.1, 6.3, 13.4.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.brokers.replication.high_watermark import is_anyone_behind, next_high_watermark, out_of_sync_followers
from kcsim.brokers.replication.partition import NEVER_MS, UNKNOWN_OFFSET, FollowerState
from kcsim.vocabulary import BrokerId
from tests.brokers.broker_bench import B1, B2, B3

LAG_MS = 30_000


def at(offset: int, caught_up_ms: int = NEVER_MS) -> FollowerState:
    return FollowerState(offset, caught_up_ms, last_fetch_ms=0, leader_end_at_last_fetch=0)


@pytest.mark.parametrize(
    ("isr", "followers", "expected", "why"),
    [
        ((B1, B2, B3), {B2: at(7), B3: at(9)}, 7, "what all of the ISR have"),
        ((B1, B2), {B2: at(8), B3: at(2)}, 8, "whoever is not in sync does not count"),
        ((B1, B2), {B2: at(8), B3: at(6, caught_up_ms=70_000)}, 6, "unless it was caught up lately"),
        ((B1, B2), {B2: at(8), B3: at(6, caught_up_ms=69_999)}, 8, "which is no longer ago than the lag that is allowed"),
        ((B1,), {B2: at(3), B3: at(3)}, 10, "alone in the ISR, it commits what it has"),
        ((B1, B2), {B2: at(4), B3: at(10)}, 5, "it never goes back"),
        ((B1, B2), {B2: at(UNKNOWN_OFFSET), B3: at(10)}, 5, "a member that has not fetched yet holds it"),
        ((B1, B2, B3), {B2: at(12), B3: at(11)}, 10, "never beyond the leader's own log"),
    ],
)
def test_the_high_watermark_is_what_all_have_that_count(
    isr: tuple[BrokerId, ...], followers: dict[BrokerId, FollowerState], expected: int, why: str
) -> None:
    """6.3, at 100 s, with the leader's log at 10 and 5 committed."""
    assert next_high_watermark(5, 10, isr, followers, 100_000, LAG_MS) == expected, why


@given(
    current=st.integers(0, 20),
    more=st.integers(0, 20),
    offsets=st.tuples(st.integers(-1, 40), st.integers(-1, 40)),
    isr=st.sampled_from([(B1,), (B1, B2), (B1, B2, B3)]),
)
def test_it_stays_between_what_was_committed_and_the_leaders_end(
    current: int, more: int, offsets: tuple[int, int], isr: tuple[BrokerId, ...]
) -> None:
    followers = {B2: at(offsets[0]), B3: at(offsets[1])}
    assert current <= next_high_watermark(current, current + more, isr, followers, 100_000, LAG_MS) <= current + more


@pytest.mark.parametrize(
    ("now_ms", "gone"),
    [(15_000, ()), (30_000, ()), (30_001, (B2,)), (45_000, (B2,))],
)
def test_a_member_is_out_of_sync_strictly_after_the_lag(now_ms: int, gone: tuple[BrokerId, ...]) -> None:
    """13.4: last caught up at 0; the checks at 15 and 30 s leave it in."""
    followers = {B2: at(3, caught_up_ms=0), B3: at(5, caught_up_ms=0)}
    assert out_of_sync_followers(5, (B1, B2, B3), followers, now_ms, LAG_MS) == gone


def test_a_member_at_the_leaders_end_is_in_sync_however_long_ago_it_fetched() -> None:
    """6.1: a broker that hangs stays in the ISR of an idle partition until its session expires."""
    assert out_of_sync_followers(5, (B1, B2), {B2: at(5, caught_up_ms=0)}, 3_600_000, LAG_MS) == ()


def test_a_replica_that_left_the_isr_or_was_never_in_it_cannot_fall_out_of_it() -> None:
    assert out_of_sync_followers(5, (B3, B1), {B2: at(0), B3: at(0)}, 100_000, LAG_MS) == (B3,)


def test_a_partition_is_watched_while_a_member_is_not_at_the_leaders_end() -> None:
    assert is_anyone_behind(5, (B1, B2), {B2: at(4), B3: at(5)})
    assert not is_anyone_behind(5, (B1, B2), {B2: at(5), B3: at(0)})
