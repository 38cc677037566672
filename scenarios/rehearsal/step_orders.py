"""Other orders of the steps of a plan, ranked by how long partitions stay exposed to the loss of a broker or a rack.

Nothing is run again for an order: a step does not depend on steps with other partitions, so its run is the same whenever it
begins. Steps that share a partition stay in their order, else the plan would end elsewhere.
"""

import random
from collections.abc import Iterator, Sequence
from itertools import islice, permutations
from math import factorial
from typing import NamedTuple

import msgspec

from kcsim.scenarios.rehearsal.exposure import Exposure
from kcsim.scenarios.rehearsal.exposure_tracker import ExposureTimes
from kcsim.scenarios.rehearsal.step_execution import StepOutcome

LEAST_DIFFERENCE_MS = 1_000
"""Times that differ by less, or by less than a hundredth of the plan's duration, are equal."""


class DrawnOrders(NamedTuple):
    """Orders of the steps, that of the plan first. Attributes: left_out: how many permutations were not looked at."""

    orders: tuple[tuple[int, ...], ...]
    left_out: int = 0


class StepOrder(msgspec.Struct, frozen=True):
    """An order of the steps.

    Attributes:
        order: the places of the steps in the plan.
        exposed_ms: name of an exposure -> for how long partitions have it that do not have it in the end, summed up.
    """

    order: tuple[int, ...]
    exposed_ms: dict[str, int]


def draw_orders(partitions: Sequence[frozenset[str]], at_most: int, seed: int) -> DrawnOrders:
    """Return the orders that keep steps with a partition in common in their order: all, or a sample drawn with the seed.

    Args:
        partitions: of each step.
        at_most: how many permutations are looked at.
    """
    count = len(partitions)
    orders = (order for order in _permutations(count, at_most, seed) if _keeps_order(order, partitions))
    return DrawnOrders(tuple(orders), max(0, factorial(count) - at_most))


def _permutations(count: int, at_most: int, seed: int) -> Iterator[tuple[int, ...]]:
    if factorial(count) <= at_most:
        return permutations(range(count))
    given = tuple(range(count))
    numbers = random.Random(f"{seed} orders")
    drawn = {given: None}
    while len(drawn) < at_most:
        drawn[tuple(numbers.sample(given, count))] = None
    return islice(drawn, at_most)


def _keeps_order(order: Sequence[int], partitions: Sequence[frozenset[str]]) -> bool:
    pairs = ((first, second) for place, first in enumerate(order) for second in order[place + 1 :])
    return all(first < second or partitions[first].isdisjoint(partitions[second]) for first, second in pairs)


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
