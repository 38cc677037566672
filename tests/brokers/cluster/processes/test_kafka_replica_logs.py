"""The records of a real broker's partitions, as its segment files have them."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from kcsim.brokers.cluster.processes.kafka_producer import read_key, record_key
from kcsim.brokers.cluster.processes.kafka_replica_logs import OTHERS, read_replica_log
from kcsim.brokers.record_batches import HEADER, LENGTH_STARTS_AT, MAGIC, BrokenRecordsError, Codec, keys_of, values_of
from kcsim.vocabulary import TopicPartition

ORDERS = TopicPartition("orders", 0)


def zigzag(number: int) -> bytes:
    """Return a number from -64 to 63 as a varint of one byte."""
    return bytes([(number << 1) ^ (number >> 31)])


def record(delta: int, key: bytes | None) -> bytes:
    keyed = zigzag(-1) if key is None else zigzag(len(key)) + key
    body = bytes([0]) + zigzag(0) + zigzag(delta) + keyed + zigzag(1) + b"v" + zigzag(0)
    return zigzag(len(body)) + body


def batch(base_offset: int, keys: Sequence[bytes | None], leader_epoch: int = 0, codec: Codec = Codec.NONE) -> bytes:
    records = b"".join(record(delta, key) for delta, key in enumerate(keys))
    length = HEADER.size - LENGTH_STARTS_AT + len(records)
    count = len(keys)
    header = HEADER.pack(base_offset, length, leader_epoch, MAGIC, 0, codec, count - 1, 0, 0, -1, -1, -1, count)
    return header + records


def written(directory: Path, *segments: bytes) -> Path:
    folder = directory / str(ORDERS)
    folder.mkdir()
    for number, data in enumerate(segments):
        (folder / f"{number:020}.log").write_bytes(data)
    return directory


def runs(directory: Path) -> list[tuple[int, int, int, str, int]]:
    log = read_replica_log([directory], ORDERS)
    assert log is not None
    return [(run.base_offset, run.count, run.leader_epoch, run.writer, run.first_sequence) for run in log.runs]


def test_the_keys_of_a_batch() -> None:
    assert list(keys_of(batch(7, [b"a", None, b"bc"]))) == [b"a", None, b"bc"]


def test_the_values_of_a_batch() -> None:
    assert list(values_of(batch(7, [b"a", None]))) == [b"v", b"v"]


@pytest.mark.parametrize("length", [-9, 0, 60])
def test_a_record_that_does_not_end_in_its_batch_is_not_passed_over(length: int) -> None:
    whole = batch(7, [b"a", b"b"])
    broken = whole[: HEADER.size] + zigzag(length) + whole[HEADER.size + 1 :]
    with pytest.raises(BrokenRecordsError):
        list(keys_of(broken))


@pytest.mark.parametrize("writer", ["clerk", "a clerk"])
def test_a_record_says_which_one_it_is(writer: str) -> None:
    assert read_key(record_key(writer, 12)) == (writer, 12)


@pytest.mark.parametrize("key", [b"", b"clerk", b"clerk x", b" 1", b"\xff"])
def test_the_key_of_another_client_is_none_of_ours(key: bytes) -> None:
    assert read_key(key) is None


def test_consecutive_records_of_a_writer_are_one_run_over_batches_and_segments(tmp_path: Path) -> None:
    directory = written(tmp_path, batch(0, [b"c 0", b"c 1"]) + batch(2, [b"c 2"]), batch(3, [b"c 3", b"d 0"], 1))
    assert runs(directory) == [(0, 3, 0, "c", 0), (3, 1, 1, "c", 3), (4, 1, 1, "d", 0)]


def test_a_batch_that_is_not_complete_ends_the_log(tmp_path: Path) -> None:
    assert runs(written(tmp_path, batch(0, [b"c 0"]) + batch(1, [b"c 1"])[:-1])) == [(0, 1, 0, "c", 0)]


def test_records_of_others_and_compressed_ones_keep_their_offsets(tmp_path: Path) -> None:
    directory = written(tmp_path, batch(0, [None, b"x"]) + batch(2, [b"c 0"], codec=Codec.LZ4))
    assert runs(directory) == [(0, 3, 0, OTHERS, 0)]


def test_a_log_whose_first_segments_were_deleted_begins_later(tmp_path: Path) -> None:
    log = read_replica_log([written(tmp_path, batch(5, [b"c 5"]))], ORDERS)
    assert log is not None
    assert (log.log_start_offset, log.log_end_offset) == (5, 6)


def test_a_partition_without_a_directory_has_no_log(tmp_path: Path) -> None:
    assert read_replica_log([tmp_path], ORDERS) is None


def test_the_second_log_directory_is_looked_into_too(tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    second = written(tmp_path / "second", batch(0, [b"c 0"]))
    log = read_replica_log([tmp_path, second], ORDERS)
    assert log is not None
    assert log.log_end_offset == 1
