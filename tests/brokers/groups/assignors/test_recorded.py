"""Recorded answers of Apache Kafka's own assignors: random groups, assigned by the classes of kafka-clients.

recorded.jsonl holds one question a line and the answer. All are of version 2.8.2 except rack-aware range, which is of 3.9.1.
Among them are members whose claims conflict and results that depend on the order of Java's hash tables. Left out are
questions that 2.8.2 answers with an exception or by giving a partition to a member that does not subscribe to its topic.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from kcsim.brokers.groups.assignors.assignors import AssignmentStrategy, assign
from kcsim.brokers.groups.assignors.members import GroupMember
from tests.brokers.groups.assignors.given import partitions

RECORDED = [json.loads(line) for line in (Path(__file__).parent / "recorded.jsonl").read_text().splitlines()]
KINDS = sorted({(case["kafka"], case["assignor"]) for case in RECORDED})


def member(case: dict[str, Any]) -> GroupMember:
    owned = partitions(" ".join(case.get("owned", ())))
    return GroupMember(
        case["id"], tuple(case["topics"]), case.get("instance_id"), case.get("rack"), owned, case.get("generation")
    )


@pytest.mark.parametrize(("kafka", "assignor"), KINDS)
def test_the_answers_are_those_of_kafka(kafka: str, assignor: str) -> None:
    """Round robin lists are compared in order, all others as sets: Kafka leaves their order open."""
    in_order = list if assignor == "roundrobin" else sorted
    cases = [case for case in RECORDED if (case["kafka"], case["assignor"]) == (kafka, assignor)]
    assert len(cases) >= 20
    for case in cases:
        racks = {tp: racks for text, racks in case.get("partition_racks", {}).items() for tp in partitions(text)}
        answer = assign(
            AssignmentStrategy(assignor), case["topics"], [member(m) for m in case["members"]], partition_racks=racks
        )
        ours = {member_id: in_order(map(str, tps)) for member_id, tps in answer.items()}
        expected = {member_id: in_order(tps) for member_id, tps in case["assignment"].items()}
        assert ours == expected, case
