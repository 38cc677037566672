"""The records of a broker's log directories come back from their files as they were, whatever was done to the logs."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcsim.brokers.cluster.kafka_replica_logs import read_replica_log
from kcsim.brokers.log.disk import Disk
from kcsim.brokers.log.log_files import LogDirectory
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.brokers.records import Run
from kcsim.brokers.wire.batches_of_runs import batches_of
from kcsim.brokers.wire.runs_of_batches import runs_of
from kcsim.vocabulary import LeaderEpoch, TopicPartition

TP, OTHER = TopicPartition("orders", 0), TopicPartition("orders-of-today", 3)
NOW_MS = 1_000

Change = tuple[str, int]


def disk_in(directory: Path) -> Disk:
    names = [str(directory / "data-1"), str(directory / "data-2")]
    return Disk(names, random.Random(1), {name: LogDirectory(Path(name), batches_of, runs_of) for name in names})


def run_of(count: int, sequence: int = 0) -> Run:
    return Run(0, count, LeaderEpoch(0), "clerk", sequence, NOW_MS, 40)


def append(log: ReplicaLog, count: int) -> None:
    log.append_as_leader([run_of(count + 1, log.log_end_offset)], LeaderEpoch(log.latest_epoch or 0), NOW_MS)


def truncate(log: ReplicaLog, back: int) -> None:
    """Truncate where a batch begins, as followers do: an epoch's end is that of a batch."""
    ends = [0, *(run.end_offset for run in runs_of(batches_of(log.runs), 0))]
    log.truncate_to(max(log.log_start_offset, ends[max(0, len(ends) - 1 - back)]))


def raise_start(log: ReplicaLog, offset: int) -> None:
    log.high_watermark = log.log_end_offset
    log.increment_log_start_offset(min(offset, log.high_watermark))


def checkpoint(log: ReplicaLog, offset: int) -> None:
    log.high_watermark = max(log.log_start_offset, min(offset, log.log_end_offset))
    log.checkpoint_high_watermark()


CHANGES: dict[str, Callable[[ReplicaLog, int], object]] = {
    "append": append,
    "truncate": truncate,
    "start over": lambda log, offset: log.truncate_fully_and_start_at(offset),
    "begin epoch": lambda log, epoch: log.begin_epoch(LeaderEpoch(max(epoch, log.latest_epoch or 0))),
    "raise start": raise_start,
    "checkpoint": checkpoint,
    "topic id": lambda log, number: log.take_topic_id(f"id{number}"),
}


def facts(log: ReplicaLog) -> tuple[object, ...]:
    """Return what the next process must know of a log; runs as bytes, since neighbours may be one run."""
    records = batches_of(log.runs)
    places = [(run.base_offset, run.count, run.leader_epoch) for run in runs_of(records, 0)]
    known = log.topic_id, log.checkpointed_high_watermark, log.epochs.entries
    return sum(run.count for run in log.runs), places[-1:], log.log_start_offset, log.log_end_offset, known


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(sorted(CHANGES)), st.integers(0, 9)), max_size=14))
def test_a_log_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, changes: list[Change]) -> None:
    """After any changes, a process that is killed leaves files from which the next one reads the same log."""
    directory = tmp_path_factory.mktemp("disk")
    log = disk_in(directory).create(TP)
    for change, number in changes:
        CHANGES[change](log, number)
    assert facts(disk_in(directory).log(TP)) == facts(log)


def test_the_files_are_those_of_kafka(tmp_path: Path) -> None:
    """What reads the segment files of Apache Kafka reads these."""
    log = disk_in(tmp_path).create(OTHER)
    log.begin_epoch(LeaderEpoch(4))
    log.append_as_leader([run_of(3), run_of(2, 3)], LeaderEpoch(4), NOW_MS)
    read = read_replica_log([tmp_path / "data-1"], OTHER)
    assert read is not None
    assert (read.log_start_offset, read.log_end_offset, read.latest_epoch) == (0, 5, 4)
    assert (tmp_path / "data-1" / "orders-of-today-3" / "leader-epoch-checkpoint").read_text() == "0\n1\n4 0\n"


def test_a_batch_that_was_not_written_whole_is_not_read(tmp_path: Path) -> None:
    log = disk_in(tmp_path).create(TP)
    append(log, 2)
    append(log, 4)
    file = tmp_path / "data-1" / "orders-0" / f"{0:020}.log"
    file.write_bytes(file.read_bytes()[:-1])
    assert disk_in(tmp_path).log(TP).log_end_offset == 3


def test_a_deleted_log_leaves_no_files(tmp_path: Path) -> None:
    disk = disk_in(tmp_path)
    checkpoint(disk.create(TP), 0)
    disk.delete(TP)
    assert [path.name for path in (tmp_path / "data-1").iterdir()] == ["replication-offset-checkpoint"]
    assert TP not in disk_in(tmp_path)


def test_a_directory_that_was_deleted_is_noticed_and_comes_back_empty(tmp_path: Path) -> None:
    disk = disk_in(tmp_path)
    append(disk.create(TP), 1)
    (tmp_path / "data-1").rename(tmp_path / "lost")
    assert disk.vanished == [str(tmp_path / "data-1")]
    append(disk.log(TP), 1)
    assert disk.fail(disk.vanished[0]) == [TP]
    assert disk.vanished == []
    assert TP not in disk_in(tmp_path)
