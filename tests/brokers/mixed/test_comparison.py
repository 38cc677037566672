"""What the comparison of replicas notices, and how it reads what Kafka's tools print."""

from pathlib import Path

import pytest

from kcsim.vocabulary import BrokerId, TopicPartition
from tests.brokers.mixed.comparison import (
    DumpedReplica,
    DumpProblemError,
    ReplicaFiles,
    ReplicaId,
    dump_differences,
    lines_by_file,
    lost_records,
    repeated_or_out_of_order,
)

ORDERS = TopicPartition("orders", 0)
ONE, TWO = BrokerId(1), BrokerId(2)
BATCH = "baseOffset: 0 lastOffset: 0 count: 1 partitionLeaderEpoch: 3 position: {} size: 69 magic: 2 isvalid: {}"
RECORD = "| offset: 0 CreateTime: 1 keySize: -1 valueSize: 1 sequence: 0 headerKeys: [] payload: 7"


def replica_files(directory: Path, *contents: dict[str, bytes]) -> ReplicaFiles:
    """Return the files of replicas on brokers 1, 2, … Args: contents: of each broker, name -> bytes."""
    log_dirs = {BrokerId(number): [directory / str(number)] for number, _ in enumerate(contents, 1)}
    for (log_dir,), files in zip(log_dirs.values(), contents, strict=True):
        (log_dir / str(ORDERS)).mkdir(parents=True)
        for name, data in files.items():
            (log_dir / str(ORDERS) / name).write_bytes(data)
    return ReplicaFiles(log_dirs, {ORDERS: [*log_dirs]})


def test_replicas_whose_segments_begin_elsewhere_are_equal(tmp_path: Path) -> None:
    """Each broker begins its segments on its own."""
    assert replica_files(tmp_path, {"0.log": b"abc", "1.log": b"d"}, {"0.log": b"a", "2.log": b"bcd"}).differences() is None


@pytest.mark.parametrize("other", [{"0.log": b"abd"}, {"0.log": b"ab"}, {}])
def test_replicas_of_other_bytes_differ(other: dict[str, bytes], tmp_path: Path) -> None:
    files = replica_files(tmp_path, {"0.log": b"abc"}, {"0.log": b"abc"}, other)
    assert files.differences() == (
        f"orders-0: 3 bytes on broker 1, 3 bytes on broker 2, {sum(map(len, other.values()))} bytes on broker 3"
    )


def test_what_is_printed_is_divided_by_file() -> None:
    first, second = BATCH.format(0, "true"), BATCH.format(69, "true")
    printed = "\n".join(["Dumping /a/0.log", "Starting offset: 0", first, RECORD, "Dumping /b/0.log", second])
    assert lines_by_file(printed) == {Path("/a/0.log"): [first, RECORD], Path("/b/0.log"): [second]}


@pytest.mark.parametrize("line", [BATCH.format(0, "false"), "Found 12 invalid bytes at the end of 0.log"])
def test_a_file_that_is_damaged_is_a_problem(line: str) -> None:
    with pytest.raises(DumpProblemError, match="orders-0"):
        lines_by_file(f"Dumping /data/orders-0/0.log\n{line}\n")


def test_a_replica_that_is_printed_otherwise_is_named() -> None:
    dumped = {
        ReplicaId(ORDERS, ONE): DumpedReplica(("a",), {0: "7"}),
        ReplicaId(ORDERS, TWO): DumpedReplica(("b",), {0: "7"}),
    }
    assert [*dump_differences(dumped)] == ["DumpLogSegments prints another log of orders-0 on broker 2"]


@pytest.mark.parametrize("payloads", [{0: "7"}, {0: "7", 1: "9"}])
def test_an_acknowledged_value_that_is_not_at_its_offset_is_lost(payloads: dict[int, str]) -> None:
    whole, other = DumpedReplica((), {0: "7", 1: "8"}), DumpedReplica((), payloads)
    dumped = {ReplicaId(ORDERS, ONE): whole, ReplicaId(ORDERS, TWO): other}
    assert [*lost_records({ORDERS: {0: b"7", 1: b"8"}}, dumped)] == [
        "broker 2 has lost 1 records of orders-0, the first at offset 1"
    ]


def test_a_partition_without_replicas_has_lost_everything() -> None:
    assert [*lost_records({ORDERS: {0: b"7"}}, {})] == ["no replica of orders-0 is there"]


@pytest.mark.parametrize("payloads", [{0: "7", 1: "7"}, {0: "8", 1: "7"}])
def test_values_that_are_there_twice_or_out_of_order_are_noticed(payloads: dict[int, str]) -> None:
    assert [*repeated_or_out_of_order({ReplicaId(ORDERS, ONE): DumpedReplica((), payloads)})] == [
        "the records of orders-0 on broker 1 are not there once and in order"
    ]
