"""The file of a snapshot: what is written is read again, and whatever is no such file is refused with one line."""

import json
from pathlib import Path
from typing import Any

import pytest

from kcsim.scenarios.snapshots.snapshot_format import (
    ControlPlaneSnapshot,
    ElectionRequest,
    ReassignmentRequest,
    SnapshotBroker,
    SnapshotFormatError,
    SnapshotPartition,
    SnapshotTopic,
    UnreadZnode,
    decode_snapshot,
    encode_snapshot,
    read_snapshot,
)

LED = SnapshotPartition(0, (1, 2, 3), (3,), (1,), 2, (2, 1), 5, 7, True, 1024, 12.5)
NEVER_LED = SnapshotPartition(1, (4, 1))
FULL = ControlPlaneSnapshot(
    source="ZooKeeper zk1:2181/kafka",
    taken="2024-05-01T12:30:00.123Z",
    cluster_id="hpH3ASYfQ9uoqQ0gKpa1Fw",
    controller=2,
    controller_epoch=7,
    brokers=(SnapshotBroker(1, 17, "a", ("PLAINTEXT://b1:9092",)), SnapshotBroker(2, 18)),
    broker_configs={"<default>": {"min.insync.replicas": "2"}, "3": {"num.io.threads": "9"}},
    topics=(SnapshotTopic("orders", (LED, NEVER_LED), "w0VmzVx3SiuGbSE8C3xZDA", {"retention.ms": "1"}),),
    topic_deletions=("clicks",),
    reassignment_requests=(ReassignmentRequest("orders", 1, (1, 4)),),
    election_requests=(ElectionRequest("orders", 0),),
    unread=(UnreadZnode("/cluster/id", "no permission"),),
)


def changed(**fields: Any) -> bytes:
    return json.dumps({**json.loads(encode_snapshot(FULL)), **fields}).encode()


def topics(*partitions: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"name": "orders", "partitions": list(partitions)}]


def test_a_file_holds_every_field_of_a_snapshot(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    file.write_bytes(encode_snapshot(FULL))
    assert read_snapshot(file) == FULL
    assert json.loads(file.read_text())["topics"][0]["partitions"][1] == {"partition": 1, "replicas": [4, 1]}


def test_a_file_has_a_line_for_each_topic_so_that_two_files_can_be_compared() -> None:
    lines = encode_snapshot(FULL).decode().splitlines()
    assert lines[1:3] == ['"format": "kcsim-cluster",', '"version": 1,']
    assert sum(line.startswith('  {"name":"orders"') for line in lines) == 1


def test_absent_brokers_are_those_with_replicas_and_without_registration() -> None:
    assert (FULL.registered_ids, FULL.absent_ids, FULL.partitions_without_size) == ((1, 2), (3, 4), 1)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a snapshot of kcsim: Input data was truncated"),
        (b"\xff", "not a snapshot of kcsim: "),
        (b"[" * 100_000, "not a snapshot of kcsim: "),
        (b'{"version": 1}', 'not a snapshot of kcsim: "format" is not kcsim-cluster'),
        (changed(version=2), "a snapshot of version 2; this kcsim reads version 1"),
        (changed(rack="b"), "Object contains unknown field `rack`"),
        (changed(controller="2"), "Expected `int | null`, got `str` - at `$.controller`"),
        (changed(brokers=[{"id": 1, "epoch": 1}] * 2), "broker 1 is there twice"),
        (changed(topics=topics() * 2), "topic orders is there twice"),
        (changed(topics=topics(*[{"partition": 0, "replicas": [1]}] * 2)), "partition orders-0 is there twice"),
        (changed(topics=topics({"partition": -1, "replicas": [1]})), "Expected `int` >= 0"),
        (changed(topics=topics({"partition": 0, "replicas": [2**31]})), "Expected `int` <= 2147483647"),
        (changed(topics=topics({"partition": 0, "replicas": [1], "size_bytes": -1})), "Expected `int` >= 0"),
        (changed(topics=topics({"partition": 0, "replicas": [1], "adding": [2]})), "orders-0: adding and removing are"),
        (changed(topics=topics({"partition": 0, "replicas": [1], "leader": 1})), "orders-0: there is no leader or ISR"),
        (changed(topics=topics({"partition": 0, "replicas": [1], "leader_epoch": 1})), "orders-0: leader_epoch and"),
    ],
)
def test_anything_else_is_refused_with_one_line_that_names_the_file(data: bytes, reason: str) -> None:
    with pytest.raises(SnapshotFormatError) as refused:
        decode_snapshot(data, "cluster.json")
    assert str(refused.value).startswith(f"cluster.json: {reason}")
    assert "\n" not in str(refused.value)
