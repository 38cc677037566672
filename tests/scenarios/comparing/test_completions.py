"""Moves that were begun together may end in any order, and nothing else about them is free."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from kcsim.scenarios.comparing.completions import ended_in_another_order
from kcsim.scenarios.comparing.differences import Comparison
from kcsim.scenarios.comparing.writes import StepWrites, Write, Writes

TOPIC, WISH = "/brokers/topics/orders", "/admin/reassign_partitions"


def moving(*numbers: int) -> Write:
    """What a topic's znode has while these of three partitions move from 1 to 2."""
    lists = {str(n): [2, 1] if n in numbers else [2] for n in range(3)}
    adding, removing = ({str(n): [broker] for n in numbers} for broker in (2, 1))
    value = {"version": 2, "partitions": lists, "adding_replicas": adding, "removing_replicas": removing}
    return Write("controller", "set", TOPIC, json.dumps(value), fenced=True)


def wished(*numbers: int) -> Write:
    entries = [{"topic": "orders", "partition": n, "replicas": [2]} for n in numbers]
    return Write("controller", "set", WISH, json.dumps({"version": 1, "partitions": entries}))


BEGUN = moving(0, 1, 2)
GONE = Write("controller", "delete", WISH)


@pytest.mark.parametrize(
    ("kafka", "ours"),
    [
        ((BEGUN, moving(1, 2), moving(2), moving()), (BEGUN, moving(0, 1), moving(1), moving())),
        ((wished(0, 1, 2), wished(1, 2), wished(2), GONE), (wished(0, 1, 2), wished(0, 1), wished(0), GONE)),
    ],
)
def test_any_may_be_done_first(kafka: Writes, ours: Writes) -> None:
    assert ended_in_another_order(kafka, ours)


@pytest.mark.parametrize(
    "ours",
    [
        (BEGUN, moving(0, 1), moving()),  # two at once
        (BEGUN, moving(0, 1), moving(0, 1), moving()),  # one write for nothing
        (BEGUN, moving(0, 1), moving(1), moving(1)),  # one that does not end
        (BEGUN, moving(0, 1), moving(1, 2), moving()),  # one that is taken up again
        (moving(0, 1), moving(1), moving(2), moving()),  # another beginning
        (BEGUN, moving(0, 1), replace(moving(1), fenced=False), moving()),
        (BEGUN, moving(0, 1), replace(moving(1), by="broker-1"), moving()),
        (BEGUN, moving(0, 1), moving(1), replace(moving(), data='{"partitions":{"0":[1]}}')),
        (BEGUN, moving(0, 1), moving(1), replace(moving(), data="?")),
    ],
)
def test_nothing_else_is_free(ours: Writes) -> None:
    assert not ended_in_another_order((BEGUN, moving(1, 2), moving(2), moving()), ours)


def test_of_other_znodes_the_order_counts() -> None:
    kafka, ours = (
        [replace(write, path="/brokers/seqid") for write in writes]
        for writes in (
            (BEGUN, moving(1, 2), moving(2), moving()),
            (BEGUN, moving(0, 1), moving(1), moving()),
        )
    )
    assert not ended_in_another_order(tuple(kafka), tuple(ours))


def test_the_order_is_free_only_where_runs_of_kafka_differ_in_it() -> None:
    kafka: Writes = (BEGUN, moving(1, 2), moving(2), moving())
    other: Writes = (BEGUN, moving(0, 2), moving(2), moving())
    ours: Writes = (BEGUN, moving(0, 1), moving(1), moving())

    def found(alternatives: Sequence[Writes]) -> list[str]:
        others = {TOPIC: tuple(alternatives)} if alternatives else None
        told = Comparison().of_step(1, StepWrites(1, kafka), StepWrites(1, ours), others)
        return [difference.what for difference in told]

    assert found([other]) == []
    assert found([]) == [TOPIC]
