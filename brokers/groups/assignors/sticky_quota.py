"""Sticky for equal subscriptions: each member has a quota and keeps its partitions up to the quota; the rest is distributed.

With T partitions and m members each member ends with `least` = T div m or `most` = ceil(T / m) partitions, and exactly T mod
m members with `most`. Kafka 2.8 and 3.x enforce the latter at different points: 2.8 lets every member keep `most` and takes
some away again if too few partitions are left for the others; 3.x lets only as many members keep `most` as finally may have
it.

Both results depend on the order in which members are visited, but only where more members could keep `most` than may have
it, and in 2.8 for the choice of the members that lose partitions.
"""

from collections import deque
from collections.abc import Iterable, Sequence

Numbers = list[int]


def assign_quotas_2_8(owned: Sequence[Sequence[int]], count: int, visit: Iterable[int]) -> list[Numbers]:
    """Return each member's partitions: first those it keeps, then those it gets.

    Args:
        owned: by member's index, the partitions that it owns; no partition twice.
        count: partitions 0 to count - 1 are to be assigned.
        visit: all members' indexes, in the order in which the members are visited.

    Source: Kafka 2.8.2, AbstractStickyAssignor.constrainedAssign.
    """
    least, most = count // len(owned), -(-count // len(owned))
    given = [list(numbers[:most]) for numbers in owned]
    order = list(visit)
    unfilled = deque(sorted(member for member in order if len(given[member]) < least))
    at_least = deque(member for member in order if len(given[member]) == least)
    at_most = deque(member for member in order if len(given[member]) == most)
    unassigned = deque(_unassigned(given, count))
    _deal(unassigned, unfilled, given, least, at_least)
    for member in sorted(unfilled):
        while len(given[member]) < least:
            given[member].append(given[at_most.popleft()].pop(0))
    for number in unassigned:
        given[at_least.popleft()].append(number)
    return given


def assign_quotas_3(owned: Sequence[Sequence[int]], count: int, visit: Iterable[int]) -> list[Numbers]:
    """Assign like assign_quotas_2_8, with the rule of later versions: only T mod m members may keep more than the least.

    Source: Kafka 3.x, AbstractStickyAssignor.ConstrainedAssignmentBuilder.
    """
    least, extras = divmod(count, len(owned))
    given: list[Numbers] = [[] for _ in owned]
    under, exact = [], []
    for member in visit:
        numbers = owned[member]
        if len(numbers) < least:
            given[member] = list(numbers)
            under.append(member)
        elif extras and len(numbers) > least:
            given[member] = list(numbers[: least + 1])
            extras -= 1
        else:
            given[member] = list(numbers[:least])
            exact.append(member)
    unassigned = deque(_unassigned(given, count))
    may_get_more = deque(sorted(exact)) if extras else deque()
    _deal(unassigned, deque(sorted(under)), given, least, may_get_more)
    for number in unassigned:
        given[may_get_more.popleft()].append(number)
    return given


def _unassigned(given: Iterable[Iterable[int]], count: int) -> list[int]:
    """Return the partitions that no member keeps, in order."""
    is_free = bytearray(b"\1") * count
    for numbers in given:
        for number in numbers:
            is_free[number] = 0
    return [number for number, free in enumerate(is_free) if free]


def _deal(unassigned: deque[int], unfilled: deque[int], given: Sequence[Numbers], least: int, filled: deque[int]) -> None:
    """Give partitions to the unfilled members in turn until either runs out.

    A member that has reached the least moves to the end of `filled`.
    """
    while unfilled and unassigned:
        member = unfilled.popleft()
        given[member].append(unassigned.popleft())
        (filled if len(given[member]) == least else unfilled).append(member)
