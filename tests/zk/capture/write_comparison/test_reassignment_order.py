"""Reassignments that began together may end in any order; nothing else about them may differ."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from kcsim.zk.capture.write_comparison.differences import WriteComparison
from kcsim.zk.capture.write_comparison.reassignment_order import differs_only_in_completion_order
from kcsim.zk.capture.write_comparison.writes import StepWrites, Writes, ZnodeWrite

TOPIC, REASSIGNMENT = "/brokers/topics/orders", "/admin/reassign_partitions"


def moving(*numbers: int) -> ZnodeWrite:
    """Return the write of a topic's znode while these of three partitions move from broker 1 to 2."""
    lists = {str(n): [2, 1] if n in numbers else [2] for n in range(3)}
    adding, removing = ({str(n): [broker] for n in numbers} for broker in (2, 1))
    value = {"version": 2, "partitions": lists, "adding_replicas": adding, "removing_replicas": removing}
    return ZnodeWrite("controller", "set", TOPIC, json.dumps(value), fenced=True)


def requested(*numbers: int) -> ZnodeWrite:
    entries = [{"topic": "orders", "partition": n, "replicas": [2]} for n in numbers]
    return ZnodeWrite("controller", "set", REASSIGNMENT, json.dumps({"version": 1, "partitions": entries}))


BEGUN = moving(0, 1, 2)
GONE = ZnodeWrite("controller", "delete", REASSIGNMENT)


@pytest.mark.parametrize(
    ("kafka", "ours"),
    [
        ((BEGUN, moving(1, 2), moving(2), moving()), (BEGUN, moving(0, 1), moving(1), moving())),
        (
            (requested(0, 1, 2), requested(1, 2), requested(2), GONE),
            (requested(0, 1, 2), requested(0, 1), requested(0), GONE),
        ),
    ],
)
def test_any_may_be_done_first(kafka: Writes, ours: Writes) -> None:
    assert differs_only_in_completion_order(kafka, ours)


@pytest.mark.parametrize(
    "ours",
    [
        (BEGUN, moving(0, 1), moving()),  # two at the same time
        (BEGUN, moving(0, 1), moving(0, 1), moving()),  # one write without a change
        (BEGUN, moving(0, 1), moving(1), moving(1)),  # one that does not end
        (BEGUN, moving(0, 1), moving(1, 2), moving()),  # one that begins again
        (moving(0, 1), moving(1), moving(2), moving()),  # another beginning
        (BEGUN, moving(0, 1), replace(moving(1), fenced=False), moving()),
        (BEGUN, moving(0, 1), replace(moving(1), by="broker-1"), moving()),
        (BEGUN, moving(0, 1), moving(1), replace(moving(), data='{"partitions":{"0":[1]}}')),
        (BEGUN, moving(0, 1), moving(1), replace(moving(), data="?")),
    ],
)
def test_nothing_else_is_free(ours: Writes) -> None:
    assert not differs_only_in_completion_order((BEGUN, moving(1, 2), moving(2), moving()), ours)


def test_of_other_znodes_the_order_counts() -> None:
    kafka, ours = (
        [replace(write, path="/brokers/seqid") for write in writes]
        for writes in (
            (BEGUN, moving(1, 2), moving(2), moving()),
            (BEGUN, moving(0, 1), moving(1), moving()),
        )
    )
    assert not differs_only_in_completion_order(tuple(kafka), tuple(ours))


def test_the_order_is_free_only_where_runs_of_kafka_differ_in_it() -> None:
    kafka: Writes = (BEGUN, moving(1, 2), moving(2), moving())
    other: Writes = (BEGUN, moving(0, 2), moving(2), moving())
    ours: Writes = (BEGUN, moving(0, 1), moving(1), moving())

    def found(alternatives: Sequence[Writes]) -> list[str]:
        others = {TOPIC: tuple(alternatives)} if alternatives else None
        differences = WriteComparison().of_step(1, StepWrites(1, kafka), StepWrites(1, ours), others)
        return [difference.what for difference in differences]

    assert found([other]) == []
    assert found([]) == [TOPIC]
