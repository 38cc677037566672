"""Assignors of consumer groups: 1,000 members and 100,000 partitions, and how the time grows from 10,000.

The baseline is Apache Kafka 2.8.2's own Java, warm, measured on a machine like the one this was written on; its times are
therefore constants here. Its sticky assignor with mixed subscriptions ran out of 3 GB with 100,000 partitions.
"""

import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from kcsim.brokers.groups.assignors.assignment import Assignment
from kcsim.brokers.groups.assignors.cooperative_sticky import assign_cooperatively
from kcsim.brokers.groups.assignors.members import GroupMember
from kcsim.brokers.groups.assignors.range_assignor import assign_range
from kcsim.brokers.groups.assignors.round_robin_assignor import assign_round_robin
from kcsim.brokers.groups.assignors.sticky_assignor import assign_sticky
from tests.bench.report import Measured, measure

MEMBERS, TOPICS, SEED = 1_000, 100, 1
SMALL, LARGE = 10_000, 100_000
KILOBYTES_PER_MB = 1024 if sys.platform != "darwin" else 1024 * 1024

Assign = Callable[[Mapping[str, int], Sequence[GroupMember]], Assignment]


@dataclass(frozen=True, slots=True)
class Case:
    """One measured assignment problem. `java_s`: Kafka's seconds, by number of partitions, where they are known."""

    name: str
    assign: Assign
    members: Callable[[Mapping[str, int]], Sequence[GroupMember]]
    java_s: Mapping[int, float]


def main() -> None:
    """Print each assignor's time for both sizes, the growth between them, and the ratio to Java; then the memory."""
    print(f"\nConsumer assignors, {MEMBERS:,} members, {TOPICS} topics; every member's list made")
    print(f"  {'':<44} {SMALL:>12,} {LARGE:>13,}   growth   Java {SMALL:,} / {LARGE:,}")
    for case in CASES:
        small, large = _measured(case, SMALL), _measured(case, LARGE)
        print(
            f"  {case.name:<44} {small.seconds:>10.4f} s {large.seconds:>11.4f} s {large.seconds / small.seconds:>6.1f} x"
            f"   {_against_java(case, small, large)}"
        )
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KILOBYTES_PER_MB
    print(f"  most memory that this process has had: {peak_mb:,.0f} MB")


def _measured(case: Case, partitions: int) -> Measured:
    topics = _topics(partitions)
    members = case.members(topics)
    measured = measure(case.name, partitions, lambda: dict(case.assign(topics, members)))
    given = case.assign(topics, members).sizes
    assert sum(given.values()) == partitions, f"{case.name}: {sum(given.values())} of {partitions} partitions assigned"
    return measured


def _against_java(case: Case, *measured: Measured) -> str:
    comparisons = []
    for one in measured:
        java_s = case.java_s.get(one.count)
        comparisons.append("-" if java_s is None else f"{java_s} s, ours {one.seconds / java_s:.2g} x")
    return " / ".join(comparisons)


# --- members ---------------------------------------------------------------------------------------------------------------


def _topics(partitions: int) -> dict[str, int]:
    return {f"topic-{n:03}": partitions // TOPICS for n in range(TOPICS)}


def _equal(topics: Mapping[str, int]) -> list[GroupMember]:
    return [GroupMember(f"consumer-{n:04}", tuple(topics)) for n in range(MEMBERS)]


def _mixed(topics: Mapping[str, int]) -> list[GroupMember]:
    """Subscribe each member to some of the topics, up to half of them."""
    random = Random(SEED)
    known = sorted(topics)
    return [
        GroupMember(f"consumer-{n:04}", tuple(random.sample(known, random.randint(1, TOPICS // 2)))) for n in range(MEMBERS)
    ]


def _after_one_left(members: Sequence[GroupMember], topics: Mapping[str, int]) -> list[GroupMember]:
    before = assign_sticky(topics, members)
    return [replace(member, owned=before[member.member_id], generation=1) for member in members[1:]]


def _cooperatively(topics: Mapping[str, int], members: Sequence[GroupMember]) -> Assignment:
    return assign_cooperatively(topics, members).target


CASES = (
    Case("range", assign_range, _equal, {LARGE: 0.01}),
    Case("round robin", assign_round_robin, _equal, {LARGE: 0.02}),
    Case("sticky, equal subscriptions, fresh", assign_sticky, _equal, {LARGE: 0.08}),
    Case("sticky, equal, a member left", assign_sticky, lambda t: _after_one_left(_equal(t), t), {LARGE: 0.11}),
    Case("cooperative sticky, equal, a member left", _cooperatively, lambda t: _after_one_left(_equal(t), t), {}),
    Case("sticky, mixed subscriptions, fresh", assign_sticky, _mixed, {SMALL: 2.6}),
    Case("sticky, mixed, a member left", assign_sticky, lambda t: _after_one_left(_mixed(t), t), {}),
)
