"""Orders of steps: which are drawn, and which is the safest."""

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from kcsim.scenarios.rehearsal.exposure import Exposure
from kcsim.scenarios.rehearsal.exposure_tracker import ExposureTimes
from kcsim.scenarios.rehearsal.rehearsed_step import Placed
from kcsim.scenarios.rehearsal.step_orders import draw_orders, exposed_in, safest_first
from kcsim.scenarios.rehearsal.step_outcome import StepOutcome

BROKER, RACK = Exposure.OFFLINE_BY_BROKER.name, Exposure.OFFLINE_BY_RACK.name
SECOND = 1_000
STEPS = st.lists(st.tuples(st.integers(1, 50), st.integers(0, 4)), min_size=1, max_size=5)


def outcome(duration_ms: int, exposed: dict[str, ExposureTimes], *partitions: str) -> StepOutcome:
    """Return an undisturbed outcome in which nothing but these partitions, exposures and the duration matters."""
    placed = dict.fromkeys((*exposed, *partitions), Placed((1, 2), 1, (1, 2)))
    return StepOutcome(None, False, None, duration_ms, 0, {}, {}, (), exposed, (), (), (), 0, 0, (), (), placed)


def mending(duration_ms: int, *names: str, exposure: str = BROKER) -> StepOutcome:
    """Return a step in which partitions are exposed until its end."""
    times = ExposureTimes((exposure,), (), {exposure: duration_ms})
    return outcome(duration_ms, dict.fromkeys(names, times))


@given(STEPS)
def test_the_order_that_mends_most_per_time_first_is_as_good_as_any(steps: list[tuple[int, int]]) -> None:
    """With more steps than can be permuted, it takes their place."""
    outcomes = [
        mending(seconds * SECOND, *(f"orders-{place}-{number}" for number in range(count)))
        for place, (seconds, count) in enumerate(steps)
    ]
    drawn = draw_orders(outcomes, 2, 0)
    best = min(exposed_in(order, outcomes).exposed_ms.get(BROKER, 0) for order in permutations(range(len(steps))))
    assert min(exposed_in(order, outcomes).exposed_ms.get(BROKER, 0) for order in drawn.orders) == best
    assert drawn.are_all == (len(steps) <= 2)


def test_steps_that_share_a_partition_stay_in_their_order() -> None:
    outcomes = [outcome(SECOND, {}, "a"), outcome(SECOND, {}, "b"), outcome(SECOND, {}, "a", "c")]
    assert draw_orders(outcomes, 6, 0).orders == ((0, 1, 2), (0, 2, 1), (1, 0, 2))
    assert set(draw_orders(outcomes, 5, 0).orders) <= {(0, 1, 2), (0, 2, 1), (1, 0, 2)}


def test_what_a_partition_has_in_the_end_says_nothing_about_the_order() -> None:
    """It has it from its step on, for ever."""
    worse = outcome(SECOND, {"a": ExposureTimes((), (RACK,), {RACK: 1})})
    assert exposed_in((0, 1), [worse, mending(SECOND, "b")]).exposed_ms == {BROKER: 2 * SECOND}


def test_what_a_step_brings_and_a_later_one_mends_counts_for_the_time_between() -> None:
    one = outcome(SECOND, {"a": ExposureTimes((), (BROKER,), {BROKER: 10})})
    two = outcome(SECOND, {"a": ExposureTimes((BROKER,), (), {BROKER: SECOND})})
    between = outcome(5 * SECOND, {}, "b")
    assert exposed_in((0, 1, 2), [one, between, two]).exposed_ms == {BROKER: 10 + 5 * SECOND + SECOND}
    assert exposed_in((0, 2, 1), [one, between, two]).exposed_ms == {BROKER: 10 + SECOND}


def test_a_graver_exposure_outweighs_any_time_of_a_lesser_one() -> None:
    outcomes = [mending(100 * SECOND, "a", "b", "c", exposure=RACK), mending(100 * SECOND, "d")]
    ranked = safest_first([exposed_in(order, outcomes) for order in ((0, 1), (1, 0))], 200 * SECOND)
    assert [order.order for order in ranked] == [(1, 0), (0, 1)]


def test_orders_that_hardly_differ_stay_as_they_were_given() -> None:
    outcomes = [mending(100 * SECOND, "a"), mending(100 * SECOND - 1, "b")]
    ranked = safest_first([exposed_in(order, outcomes) for order in ((0, 1), (1, 0))], 200 * SECOND)
    assert ranked[0].order == (0, 1)
