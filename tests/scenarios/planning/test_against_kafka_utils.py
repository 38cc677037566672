"""Plans against those of kafka-utils 4.1.0 for clusters drawn from seeds: never more bytes for a goal, never less even.

The plans of kafka-utils are in tests/vectors/kafka-utils/; record_kafka_utils.py made them.
"""

import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kcsim.scenarios.planning.goals import parse_goals
from kcsim.scenarios.planning.reassignment_plan import make_plan
from kcsim.scenarios.snapshots.snapshot_format import (
    ControlPlaneSnapshot,
    SnapshotBroker,
    SnapshotPartition,
    SnapshotTopic,
)
from tests.scenarios.planning.record_kafka_utils import NEW_BROKER

PLANS = Path(__file__).parents[2] / "vectors" / "kafka-utils" / "plans.jsonl.gz"
Assignment = Mapping[str, list[int]]


@dataclass(frozen=True, slots=True)
class Quality:
    """What a plan costs, and how even it leaves the brokers that remain. Smaller is better.

    Attributes:
        bytes_moved, replicas_moved: new replicas.
        racks: the sum of the squares of each partition's replicas in each rack.
        replicas, leaders: the sum of the squares of each broker's.
        bytes_within: whole percent by which the bytes of the broker that differs most do so from the average.
    """

    bytes_moved: int
    replicas_moved: int
    racks: int
    replicas: int
    leaders: int
    bytes_within: int

    def of(self, names: str) -> tuple[int, ...]:
        """Return the values of names, which are separated by commas."""
        return tuple(getattr(self, name) for name in names.split(","))


@dataclass(frozen=True, slots=True)
class Comparison:
    """A plan of kafka-utils, and the goals that ask for the same.

    Attributes:
        goals: what is in braces is of the cluster.
        orders: names of qualities, in the order in which they count; none of these tuples may be larger than theirs.
    """

    plan: str
    goals: tuple[str, ...]
    orders: tuple[str, ...]


COST_FIRST = ("bytes_moved,racks,replicas",)
LEADERS_LAST = ("bytes_moved,racks,replicas,leaders",)
RACKS_FIRST = ("racks,replicas,bytes_moved", "leaders")
BALANCE_FIRST = ("racks", "replicas,bytes_moved", "leaders")
BYTES = ("bytes_within", "replicas", "bytes_moved", "bytes_moved,leaders")
REMOVE, FACTOR, RACKS = "remove-brokers {leaving}", "replication-factor t0={factor}", "rack-aware"
COMPARISONS = (
    *(
        Comparison(plan, goals, order)
        for plan in ("decommission", "decommission, genetic")
        for goals, order in (
            ((REMOVE,), COST_FIRST),
            ((REMOVE, "balance-leaders"), LEADERS_LAST),
            ((REMOVE, "balance"), RACKS_FIRST),
        )
    ),
    Comparison("rebalance brokers", ("balance",), BALANCE_FIRST),
    Comparison("rebalance brokers, leaders", ("balance",), BALANCE_FIRST),
    Comparison("rebalance leaders", ("balance-leaders",), ("bytes_moved", "leaders")),
    Comparison("rebalance groups", (RACKS,), ("racks", "bytes_moved,replicas")),
    Comparison("rebalance groups", (RACKS, "balance"), BALANCE_FIRST),
    Comparison("rebalance groups, genetic", (RACKS,), ("racks", "bytes_moved,replicas")),
    Comparison("rebalance all", (RACKS, "balance"), BALANCE_FIRST),
    *(
        Comparison(plan, goals, order)
        for plan in ("replication factor", "replication factor, genetic")
        for goals, order in (((FACTOR,), COST_FIRST), ((FACTOR, "balance-leaders"), LEADERS_LAST))
    ),
    Comparison("replace", (f"replace {{replaced}}={NEW_BROKER}",), ("bytes_moved", "racks", "replicas", "leaders")),
    Comparison("rebalance brokers, genetic", ("balance-bytes {bytes_within}",), BYTES),
)


@cache
def clusters() -> tuple[dict[str, Any], ...]:
    return tuple(map(json.loads, gzip.decompress(PLANS.read_bytes()).splitlines()))


@cache
def snapshot_of(number: int) -> ControlPlaneSnapshot:
    cluster = clusters()[number]
    topics: dict[str, list[SnapshotPartition]] = {}
    for name, replicas in cluster["replicas"].items():
        topic, partition = name.split("-")
        size = cluster["sizes"][name]
        stored = SnapshotPartition(int(partition), tuple(replicas), leader=replicas[0], isr=tuple(replicas), size_bytes=size)
        topics.setdefault(topic, []).append(stored)
    brokers = tuple(SnapshotBroker(int(broker), int(broker), rack) for broker, rack in cluster["racks"].items())
    named = tuple(SnapshotTopic(topic, tuple(topics[topic])) for topic in sorted(topics))
    return ControlPlaneSnapshot("drawn", "t", brokers=brokers, topics=named)


def racks_after(cluster: Mapping[str, Any], goal: str) -> dict[int, str]:
    """Return the racks of the brokers that remain."""
    racks = {int(broker): rack for broker, rack in cluster["racks"].items()}
    leaving = {"remove-brokers": cluster["leaving"], "replace": cluster["leaving"][:1]}.get(goal.split()[0], [])
    new = {NEW_BROKER: racks[leaving[0]]} if goal.startswith("replace") else {}
    return {broker: rack for broker, rack in {**racks, **new}.items() if broker not in leaving}


def quality(cluster: Mapping[str, Any], changes: Assignment, racks: Mapping[int, str]) -> Quality:
    """Judge a plan by the partitions that it changes."""
    replicas, leaders, held, in_rack = Counter[int](), Counter[int](), Counter[int](), Counter[tuple[str, str]]()
    bytes_moved = replicas_moved = 0
    for name, before in cluster["replicas"].items():
        after, size = changes.get(name, before), cluster["sizes"][name]
        leaders.update(after[:1])
        for broker in after:
            replicas[broker] += 1
            held[broker] += size
            in_rack[name, racks[broker]] += 1
            if broker not in before:
                bytes_moved, replicas_moved = bytes_moved + size, replicas_moved + 1
    average = sum(held.values()) / len(racks)
    return Quality(
        bytes_moved,
        replicas_moved,
        sum(count**2 for count in in_rack.values()),
        sum(count**2 for count in replicas.values()),
        sum(count**2 for count in leaders.values()),
        int(max(abs(held[broker] - average) for broker in racks) / average * 100) + 1,
    )


def judged(comparison: Comparison) -> Iterator[tuple[int, Quality, Quality]]:
    """Yield the number of each cluster with a plan of kafka-utils, the quality of ours, and of theirs."""
    for number, cluster in enumerate(clusters()):
        theirs = cluster["plans"][comparison.plan]
        has_spread = RACKS not in comparison.goals or len(set(cluster["racks"].values())) > 1
        if isinstance(theirs, str) or not has_spread:
            continue
        racks = racks_after(cluster, comparison.goals[0])
        quality_of_theirs = quality(cluster, theirs, racks)
        values = {
            "leaving": ",".join(map(str, cluster["leaving"])),
            "replaced": cluster["leaving"][0],
            "factor": cluster["factor"],
            "bytes_within": quality_of_theirs.bytes_within,
        }
        goals = [goal.format(**values) for goal in comparison.goals]
        yield number, quality(cluster, ours(number, *goals), racks), quality_of_theirs


@cache
def ours(number: int, *goals: str) -> Assignment:
    plan = make_plan(snapshot_of(number), parse_goals(goals))
    return {str(move.partition): list(move.after) for move in plan.moves}


def named(comparison: Comparison) -> str:
    return f"{comparison.plan} - {' '.join(goal.split()[0] for goal in comparison.goals)}"


def test_there_are_plans_of_each_kind_for_many_clusters() -> None:
    planned = Counter(name for cluster in clusters() for name, plan in cluster["plans"].items() if not isinstance(plan, str))
    assert len(clusters()) >= 60
    assert min(planned.values()) >= 60
    assert {comparison.plan for comparison in COMPARISONS} == set(planned)


@pytest.mark.parametrize("comparison", COMPARISONS, ids=named)
def test_no_plan_of_kafka_utils_moves_fewer_bytes_or_is_more_even(comparison: Comparison) -> None:
    """What counts first is what the goal is.

    Where kafka-utils moves more bytes than a goal needs, brokers may be more even: with the goal `balance` ours are, too.
    Where it puts a second replica of a partition into a rack while another rack has none, they may be more even than ours.
    """
    worse = [
        (number, order, mine.of(order), theirs.of(order))
        for number, mine, theirs in judged(comparison)
        for order in comparison.orders
        if mine.of(order) > theirs.of(order)
    ]
    assert worse == []


@pytest.mark.parametrize("comparison", [one for one in COMPARISONS if one.plan != "replace"], ids=named)
def test_the_comparison_detects_plans_that_are_worse(comparison: Comparison) -> None:
    """Some plans of kafka-utils are."""
    assert any(theirs.of(order) > mine.of(order) for _, mine, theirs in judged(comparison) for order in comparison.orders)
