"""Other orders of the steps of a plan, ranked by how long partitions stay exposed to the loss of a broker or a rack."""

import random
from collections.abc import Sequence
from itertools import islice, permutations
from math import factorial
from typing import NamedTuple

import msgspec

from kcsim.scenarios.rehearsal.exposure import Exposure
from kcsim.scenarios.rehearsal.plan_execution import ExecutionOutcome

LEAST_DIFFERENCE_MS = 1_000
"""Times that differ by less, or by less than a hundredth of the plan's, are equal."""


class DrawnOrders(NamedTuple):
    """Orders of the steps, that of the plan first. Attributes: left_out: how many more there are."""

    orders: tuple[tuple[int, ...], ...]
    left_out: int = 0


class OrderTried(msgspec.Struct, frozen=True):
    """An order with the result of its undisturbed run.

    Attributes:
        order: the places of the steps in the plan.
        same_end: whether it leaves all partitions where the plan does.
        exposed_ms: name of an exposure -> ExposureTracker.mended_ms.
    """

    order: tuple[int, ...]
    same_end: bool
    stuck: str | None
    duration_ms: int
    exposed_ms: dict[str, int]


def draw_orders(steps: int, at_most: int, seed: int) -> DrawnOrders:
    """Return all orders of so many steps, or, if there are more than `at_most`, a sample drawn with the seed."""
    count = factorial(steps)
    if count <= at_most:
        return DrawnOrders(tuple(permutations(range(steps))))
    given = tuple(range(steps))
    numbers = random.Random(f"{seed} orders")
    drawn = {given: None}
    while len(drawn) < at_most:
        drawn[tuple(numbers.sample(given, steps))] = None
    return DrawnOrders(tuple(islice(drawn, at_most)), count - at_most)


def order_tried(order: Sequence[int], outcome: ExecutionOutcome, plan: ExecutionOutcome) -> OrderTried:
    """Return the result of an order. Args: plan: the run in the order of the plan."""
    places = {name: (placed.replicas, placed.isr) for name, placed in outcome.final.items()}
    same_end = places == {name: (placed.replicas, placed.isr) for name, placed in plan.final.items()}
    exposed = {exposure.name: ms for exposure, ms in zip(Exposure, outcome.mended_ms, strict=True)}
    return OrderTried(tuple(order), same_end, outcome.stuck, outcome.duration_ms, exposed)


def safest_first(tried: Sequence[OrderTried]) -> list[OrderTried]:
    """Return the orders that complete and end as the plan does, the safest first.

    Of two, that is safer whose partitions are exposed for less time to what is graver. Equal ones stay in their order.
    """
    usable = [one for one in tried if one.same_end and one.stuck is None]
    resolution = max((LEAST_DIFFERENCE_MS, *(one.duration_ms // 100 for one in usable)))
    return sorted(usable, key=lambda one: [round(ms / resolution) for ms in one.exposed_ms.values()])
