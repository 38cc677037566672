"""The order of events: what is released, what waits, and what is dropped, for any portions in any order."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.analysis.folding.replay_fact import ReplayFact
from kcsim.scenarios.analysis.streaming.event_order import EventOrder, Released

NEVER = 10**9


def fact(seq: int, t_ms: int) -> ReplayFact:
    return ReplayFact(seq=seq, t_ms=t_ms, node="broker-1", kind=EventKind.FAULT)


def take(order: EventOrder, seqs: Sequence[int], flush: bool = False) -> Released:
    """Hand events over whose time is ten times their seq; each is a fact."""
    times = [seq * 10 for seq in seqs]
    facts = [fact(seq, t_ms) for seq, t_ms in zip(seqs, times, strict=True)]
    return order.take(np.array(seqs, np.int64), np.array(times, np.int64), facts, max(times, default=0), flush)


def seqs_of(released: Released) -> list[int]:
    return [each.seq for each in released.facts]


@given(st.lists(st.lists(st.integers(0, 30), max_size=8), max_size=12))
def test_whatever_comes_each_event_is_released_once_in_order_when_all_before_it_were(portions: list[list[int]]) -> None:
    order, came, released = EventOrder(NEVER), set[int](), list[int]()
    for portion in portions:
        came.update(portion)
        result = take(order, portion)
        released += seqs_of(result)
        complete = next(seq for seq in range(32) if seq not in came)
        assert released == list(range(complete))
        assert result.late == []
    assert order.state.events == len(released)
    assert order.state.repeated == sum(map(len, portions)) - len(came)
    assert seqs_of(take(order, [], flush=True)) == sorted(came.difference(released))


def test_a_gap_is_waited_for_until_the_time_has_gone_on_by_the_lateness() -> None:
    order = EventOrder(lateness_ms=100)
    assert seqs_of(take(order, [0, 2, 3, 5])) == [0]
    assert seqs_of(take(order, [12])) == []
    assert seqs_of(take(order, [13])) == [2, 3]
    assert seqs_of(take(order, [16])) == [5]


def test_what_comes_after_its_gap_was_given_up_is_late_once_and_then_repeated() -> None:
    order = EventOrder(lateness_ms=100)
    take(order, [0, 4, 50], flush=True)
    assert take(order, [2, 4]).late == [2]
    assert take(order, [2]).late == []
    assert take(order, [1, 3]).late == [1, 3]
    assert (order.state.late, order.state.repeated) == (3, 2)
    assert seqs_of(take(order, [51])) == [51]


def test_a_history_with_gaps_everywhere_is_released_in_order() -> None:
    order = EventOrder(lateness_ms=1_000)
    released: list[int] = []
    for first in range(0, 100_000, 10_000):
        released += seqs_of(take(order, range(first, first + 10_000, 500)))
    released += seqs_of(take(order, [], flush=True))
    assert released == list(range(0, 100_000, 500))
    assert order.state.late == 0


def test_events_wait_for_the_partition_of_a_topic_that_has_come_least_far() -> None:
    order = EventOrder(lateness_ms=100)
    facts = [fact(seq, seq * 10) for seq in (0, 20)]
    released = order.take(np.array([0, 20]), np.array([0, 200]), facts, reached_ms=0)
    assert seqs_of(released) == [0]
    released = order.take(np.array([21]), np.array([210]), [fact(21, 210)], reached_ms=210)
    assert seqs_of(released) == []
    assert seqs_of(order.take(np.array([1]), np.array([10]), [fact(1, 10)], reached_ms=301)) == [1, 20, 21]
