"""Other orders of the steps of a plan, ranked by how long partitions stay exposed to the loss of a broker or a rack.

Nothing is run again for an order: a step does not depend on steps with other partitions, so its run is the same whenever it
begins. Steps that share a partition stay in their order, else the plan would end elsewhere.
"""

import random
from collections.abc import Callable, Sequence
from itertools import permutations
from math import factorial
from typing import NamedTuple

import msgspec

from kcsim.scenarios.rehearsal.exposure import Exposure
from kcsim.scenarios.rehearsal.exposure_tracker import ExposureTimes
from kcsim.scenarios.rehearsal.step_outcome import StepOutcome

LEAST_DIFFERENCE_MS = 1_000
"""Times that differ by less, or by less than a hundredth of the plan's duration, are equal."""


class DrawnOrders(NamedTuple):
    """Orders of the steps, that of the plan first. Attributes: are_all: whether there are no others."""

    orders: tuple[tuple[int, ...], ...]
    are_all: bool


class StepOrder(msgspec.Struct, frozen=True):
    """An order of the steps.

    Attributes:
        order: the places of the steps in the plan.
        exposed_ms: name of an exposure -> for how long partitions have it that do not have it in the end, summed up.
    """

    order: tuple[int, ...]
    exposed_ms: dict[str, int]


def draw_orders(outcomes: Sequence[StepOutcome], at_most: int, seed: int) -> DrawnOrders:
    """Return the orders that keep steps with a partition in common in their order.

    If there may be more than `at_most`, these are that of the plan, the one that mends most exposures per time first, and
    others drawn with the seed.

    Args:
        outcomes: of each step, undisturbed and complete.
    """
    partitions = [frozenset(outcome.final) for outcome in outcomes]
    count = len(outcomes)
    if factorial(count) <= at_most:
        orders = (order for order in permutations(range(count)) if _keeps_order(order, partitions))
        return DrawnOrders(tuple(orders), are_all=True)
    numbers = random.Random(f"{seed} orders")
    drawn = {tuple(range(count)): None}
    drawn[_order_by(lambda ready: max(ready, key=lambda place: _mended_per_ms(outcomes[place])), partitions)] = None
    for _ in range(at_most - 2):
        drawn[_order_by(numbers.choice, partitions)] = None
    return DrawnOrders(tuple(drawn), are_all=False)


def _keeps_order(order: Sequence[int], partitions: Sequence[frozenset[str]]) -> bool:
    pairs = ((first, second) for place, first in enumerate(order) for second in order[place + 1 :])
    return all(first < second or partitions[first].isdisjoint(partitions[second]) for first, second in pairs)


def _order_by(choose: Callable[[Sequence[int]], int], partitions: Sequence[frozenset[str]]) -> tuple[int, ...]:
    """Return the order in which one of the steps that may come next is chosen again and again."""
    order: list[int] = []
    left = list(range(len(partitions)))
    while left:
        ready = [step for step in left if all(partitions[step].isdisjoint(partitions[one]) for one in left if one < step)]
        order.append(chosen := choose(ready))
        left.remove(chosen)
    return tuple(order)


def _mended_per_ms(outcome: StepOutcome) -> list[float]:
    """Return how many partitions lose each exposure, the gravest first, for each ms of a step.

    Where steps share no partition, the order by the gravest exposure alone is the best one (W. E. Smith, 1956).
    """
    mended = [set(times.before).difference(times.after) for times in outcome.exposed.values()]
    return [sum(exposure.name in names for names in mended) / max(outcome.duration_ms, 1) for exposure in Exposure]


def exposed_in(order: Sequence[int], outcomes: Sequence[StepOutcome]) -> StepOrder:
    """Return for how long partitions are exposed in an order. Args: outcomes: of each step, undisturbed and complete.

    What a partition still has in the end it has for ever: that says nothing about the order.
    """
    total_ms = dict.fromkeys((exposure.name for exposure in Exposure), 0)
    timelines: dict[str, list[tuple[int, int, ExposureTimes]]] = {}
    now_ms = 0
    for place in order:
        until_ms = now_ms + outcomes[place].duration_ms
        for name, times in outcomes[place].exposed.items():
            timelines.setdefault(name, []).append((now_ms, until_ms, times))
        now_ms = until_ms
    for timeline in timelines.values():
        waited_since_ms = 0
        *_, (_, _, last) = timeline
        for began_ms, until_ms, times in timeline:
            for exposure in total_ms.keys() - set(last.after):
                waiting_ms = began_ms - waited_since_ms if exposure in times.before else 0
                total_ms[exposure] += waiting_ms + times.during_ms.get(exposure, 0)
            waited_since_ms = until_ms
    return StepOrder(tuple(order), {name: ms for name, ms in total_ms.items() if ms})


def safest_first(orders: Sequence[StepOrder], duration_ms: int) -> list[StepOrder]:
    """Return the orders, the safest first; equal ones in the order given.

    Of two, that is safer whose partitions are exposed for less time to what is graver.
    """
    resolution = max(LEAST_DIFFERENCE_MS, duration_ms // 100)
    return sorted(
        orders, key=lambda one: [round(one.exposed_ms.get(exposure.name, 0) / resolution) for exposure in Exposure]
    )
