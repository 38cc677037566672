"""kcsim plan: the files that Kafka's tools read, what is printed, and wrong input."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from kcsim.controller.admin.reassignment_files import parse_move_plan, parse_partitions_to_elect
from kcsim.scenarios.snapshots.snapshot_format import (
    ControlPlaneSnapshot,
    SnapshotBroker,
    SnapshotPartition,
    SnapshotTopic,
    encode_snapshot,
)
from tests.scenarios.cli.live_cluster import kcsim

PARTITIONS = tuple(
    SnapshotPartition(number, replicas, (), (), replicas[0], replicas, 0, 1, size_bytes=size)
    for number, (replicas, size) in enumerate([((1, 2), 100), ((2, 3), 50), ((3, 1), 10), ((3, 2), None)])
)
CLUSTER = ControlPlaneSnapshot(
    "test",
    "2024-05-01T12:30:00.000Z",
    brokers=tuple(SnapshotBroker(broker, broker) for broker in (1, 2, 3, 4)),
    topics=(SnapshotTopic("orders", PARTITIONS),),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "cluster.json"
    file.write_bytes(encode_snapshot(CLUSTER))
    return file


def test_the_plan_its_rollback_and_its_elections_are_files_that_the_tools_read(file: Path, tmp_path: Path) -> None:
    result = kcsim("plan", str(file), "--goal", "replace 3=4", "-o", str(tmp_path / "plan.json"))
    assert result.exit_code == 0, result.output
    plan, rollback = (parse_move_plan((tmp_path / name).read_text()).targets for name in ("plan.json", "plan.rollback.json"))
    assert {tp.partition: set(replicas) for tp, replicas in plan.items()} == {1: {2, 4}, 2: {4, 1}, 3: {4, 2}}
    assert {tp.partition: replicas for tp, replicas in rollback.items()} == {1: (2, 3), 2: (3, 1), 3: (3, 2)}
    elections = parse_partitions_to_elect((tmp_path / "plan.elections.json").read_text())
    assert [tp.partition for tp in elections] == [2, 3]
    assert [line for line in result.stdout.splitlines() if line.startswith("written: ")] == [
        f"written: {tmp_path / name}" for name in ("plan.json", "plan.rollback.json", "plan.elections.json")
    ]


def test_batches_are_the_plan_in_parts_each_with_its_rollback(file: Path, tmp_path: Path) -> None:
    arguments = ("--batches", "1", "--throttle", "10", "-o", str(tmp_path / "plan.json"))
    result = kcsim("plan", str(file), "--goal", "replace 3=4", *arguments)
    assert result.exit_code == 0, result.output
    whole = parse_move_plan((tmp_path / "plan.json").read_text()).targets
    parts = [parse_move_plan((tmp_path / f"plan.batch-{number}.json").read_text()).targets for number in (1, 2, 3)]
    assert [len(part) for part in parts] == [1, 1, 1]
    assert parts[0] | parts[1] | parts[2] == whole
    (undone,) = parse_move_plan((tmp_path / "plan.batch-1.rollback.json").read_text()).targets.values()
    assert undone == (2, 3)
    first = next(line for line in result.stdout.splitlines() if line.strip().startswith("1 "))
    assert first.split()[:6] == ["1", "1", "1", "1", "50", "B"]
    assert first.endswith("5.0 s")


def test_the_table_says_what_each_broker_hosts_and_which_sizes_are_missing(file: Path) -> None:
    result = kcsim("plan", str(file), "--goal", "replace 3=4", "--explain")
    lines = result.stdout.splitlines()
    assert "sizes of 1 partitions are not known: a replica of these counts as 1 byte" in lines
    assert "3 partitions change; 3 replicas are copied, 61 B; 2 preferred leaders change" in lines
    rows = {line.split()[0]: line.split()[1:] for line in lines if line.startswith("broker-")}
    assert rows["broker-3"] == ["3", "->", "0", "2", "->", "0", "61", "B", "->", "0", "B", "0", "B"]
    assert rows["broker-4"][-2:] == ["61", "B"]
    assert lines[-3] == "orders-1: 2,3 -> 2,4: broker 3 is replaced by 4"


def test_as_json_each_partition_has_its_reasons(file: Path) -> None:
    result = kcsim("plan", str(file), "--goal", "remove-brokers 3", "--output", "json")
    answer = json.loads(result.stdout)
    assert (answer["bytes_moved"], answer["partitions_without_size"], answer["files"]) == (61, 1, [])
    assert [move["reasons"] for move in answer["moves"]] == [["broker 3 is removed"]] * 3


def test_a_goal_that_is_reached_already_moves_nothing_and_writes_nothing(file: Path, tmp_path: Path) -> None:
    result = kcsim("plan", str(file), "--goal", "replication-factor 2", "-o", str(tmp_path / "plan.json"))
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "Nothing has to move.")
    assert not (tmp_path / "plan.json").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "reason"),
    [
        (("--goal", "remove-brokers 9"), 64, "broker 9 is no broker of the snapshot"),
        (("--goal", "rack-aware"), 64, "rack-aware: the rack of broker 1, 2, 3, 4 is not known"),
        (("--goal", "balance", "--capacity", "1=x"), 64, "--capacity: '1=x' is not BROKER=BYTES"),
        (
            ("--goal", "replace 3=4", "-o", "/no/such/folder/plan.json"),
            2,
            "kcsim: -o: /no/such/folder/plan.json: No such file",
        ),
    ],
)
def test_wrong_input_ends_with_one_line(file: Path, arguments: tuple[str, ...], status: int, reason: str) -> None:
    result = kcsim("plan", str(file), *arguments)
    assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (status, "", 1)
    assert result.stderr.startswith(reason)


def test_without_any_size_there_are_no_bytes(tmp_path: Path) -> None:
    unsized = SnapshotTopic("orders", tuple(replace(partition, size_bytes=None) for partition in PARTITIONS))
    (tmp_path / "cluster.json").write_bytes(encode_snapshot(replace(CLUSTER, topics=(unsized,))))
    result = kcsim("plan", str(tmp_path / "cluster.json"), "--goal", "replace 3=4")
    assert "no size is known: every replica counts the same" in result.stdout
    assert "bytes" not in result.stdout
