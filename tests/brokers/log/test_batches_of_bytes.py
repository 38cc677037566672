"""Batches of bytes in a replica's log: kept whole, and each a batch of its segment."""

import pytest

from kcsim.brokers.config import LogConfig
from kcsim.brokers.log.log_segments import RecordBatchTooLargeError
from kcsim.brokers.log.replica_log import DEFAULT_CONFIG, ReplicaLog
from kcsim.brokers.record_batches import HEADER, header_of
from kcsim.brokers.records import Run
from kcsim.vocabulary import LeaderEpoch, TopicPartition

E0 = LeaderEpoch(0)
NOW = 1_700_000_000_000


def run_of(count: int, size: int = 100) -> Run:
    batch = HEADER.pack(0, size - 12, 0, 2, 0, 0, count - 1, NOW, NOW, -1, -1, -1, count).ljust(size, b".")
    return Run(0, count, E0, "p", 0, NOW, 1, batch=batch)


def log_of(*runs: Run, config: LogConfig = DEFAULT_CONFIG) -> ReplicaLog:
    log = ReplicaLog(TopicPartition("orders", 0), config)
    for run in runs:
        log.append_as_leader([run], LeaderEpoch(4), NOW)
    return log


def offsets(runs: tuple[Run, ...]) -> list[tuple[int, int]]:
    return [(run.base_offset, run.end_offset) for run in runs]


def test_each_stays_a_run_with_its_offset_and_epoch_in_its_bytes() -> None:
    log = log_of(run_of(3), run_of(2))
    assert offsets(log.runs) == [(0, 3), (3, 5)]
    assert [header_of(run.batch)[:3] for run in log.runs if run.batch] == [(0, 88, 4), (3, 88, 4)]
    assert log.size == 200


def test_a_read_takes_whole_batches() -> None:
    log = log_of(run_of(3), run_of(2), run_of(4))
    assert offsets(log.read(0, 250, 9)) == [(0, 3), (3, 5)]
    assert offsets(log.read(0, 1, 9)) == [(0, 3)]
    assert offsets(log.read(0, 10_000, 4)) == [(0, 3)]
    assert log.read(3, 10_000, 4) == ()


def test_a_read_from_within_a_batch_has_the_rest_of_it_and_all_its_bytes() -> None:
    log = log_of(run_of(3), run_of(2))
    (first, second) = log.read(1, 10_000, 5)
    assert (first.base_offset, first.count, second.base_offset) == (1, 2, 3)
    assert first.batch is not None
    assert header_of(first.batch).base_offset == 0


def test_a_follower_has_the_same_bytes() -> None:
    leader, follower = log_of(run_of(3), run_of(2)), log_of()
    follower.append_as_follower(leader.read(0, 10_000, 5), NOW)
    assert follower.runs == leader.runs


def test_records_without_bytes_do_not_join_them() -> None:
    log = log_of(run_of(3), Run(0, 2, E0, "p", 3, NOW, 1))
    assert offsets(log.runs) == [(0, 3), (3, 5)]


def test_segments_are_rolled_between_batches() -> None:
    log = log_of(run_of(3), run_of(2), run_of(4), config=LogConfig(segment_bytes=220))
    assert [segment.base_offset for segment in log.segments] == [0, 5]
    with pytest.raises(RecordBatchTooLargeError):
        log.append_as_leader([run_of(1, 221)], E0, NOW)
    assert log.log_end_offset == 9


def test_a_truncation_between_batches_leaves_the_others() -> None:
    log = log_of(run_of(3), run_of(2), run_of(4))
    assert offsets(log.truncate_to(3).removed) == [(3, 5), (5, 9)]
    assert (log.size, log.log_end_offset) == (100, 3)
