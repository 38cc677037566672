"""A log in files is the log in memory, also after its process has ended. Source: Kafka 2.8, Log, LogSegment.recover."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from kcsim.brokers.config import LogConfig
from kcsim.brokers.log.replica_log import NO_RANDOM_NUMBERS, ReplicaLog
from kcsim.brokers.records import Run
from kcsim.brokers.stored_logs.segment_files import CutOff
from kcsim.brokers.stored_logs.stored_log import StoredReplicaLog
from kcsim.vocabulary import LeaderEpoch, TopicPartition
from tests.tiers import tiered

ORDERS_0 = TopicPartition("orders", 0)
SMALL = LogConfig(segment_bytes=600, retention_bytes=1_500, index_interval_bytes=64)
NOW_MS = 1_700_000_000_000


def stored(directory: Path, config: LogConfig = SMALL) -> StoredReplicaLog:
    return StoredReplicaLog(ORDERS_0, directory, config, NO_RANDOM_NUMBERS)


def opened(directory: Path, log_start_offset: int = 0, high_watermark: int = 0) -> tuple[StoredReplicaLog, list[CutOff]]:
    """Return the log as a new process opens it, and what was cut off."""
    log = stored(directory)
    return log, log.load(log_start_offset, high_watermark)


def records(writer: str, first: int, count: int, size: int = 20) -> Run:
    return Run(0, count, LeaderEpoch(0), writer, first, NOW_MS, size)


def begun(directory: Path, batches: int = 0) -> StoredReplicaLog:
    """Return a new log with some batches of ten records each, of 200 bytes."""
    log = stored(directory)
    log.begin()
    for number in range(batches):
        log.append_as_leader([records("writer", 10 * number, 10)], LeaderEpoch(0), NOW_MS)
    return log


def content(log: ReplicaLog) -> tuple[object, ...]:
    """Return what matters of a log: its records, its bounds, its epochs and where its segments begin."""
    placed = [
        (run.base_offset + i, run.writer, run.first_sequence + i, run.leader_epoch)
        for run in log.runs
        for i in range(run.count)
    ]
    segments = [segment.base_offset for segment in log.segments] or [
        log.log_end_offset
    ]  # the first one is made by an append
    return placed, (log.log_start_offset, log.log_end_offset), log.topic_id, segments


@pytest.mark.parametrize("seed", tiered(range(40), fast=8))
def test_whatever_happens_to_a_log_a_new_process_finds_it_as_it_was(tmp_path: Path, seed: int) -> None:
    """The same random changes to a log in memory and to one in files, which is opened anew now and then."""
    numbers = random.Random(seed)
    memory, files = ReplicaLog(ORDERS_0, SMALL), begun(tmp_path)
    epoch = written = 0

    def append() -> None:
        nonlocal written
        runs = [records(numbers.choice("ab"), written, count := numbers.randint(1, 8))]
        written += count
        for log in (memory, files):
            log.append_as_leader(runs, LeaderEpoch(epoch), NOW_MS + written)

    def raise_epoch() -> None:
        nonlocal epoch
        epoch += 1
        for log in (memory, files):
            log.epochs.assign(LeaderEpoch(epoch), log.log_end_offset)

    def truncate() -> None:
        offset = numbers.randint(memory.log_start_offset, memory.log_end_offset)
        for log in (memory, files):
            log.truncate_to(offset)

    def start_anew() -> None:
        offset = memory.log_end_offset + numbers.randint(0, 5)
        for log in (memory, files):
            log.truncate_fully_and_start_at(offset)

    def delete_old() -> None:
        for log in (memory, files):
            log.high_watermark = log.log_end_offset
            log.apply_retention(NOW_MS)

    def raise_start() -> None:
        offset = numbers.randint(memory.log_start_offset, memory.log_end_offset)
        for log in (memory, files):
            log.high_watermark = log.log_end_offset
            log.increment_log_start_offset(offset)

    changes: list[Callable[[], None]] = [append] * 8 + [raise_epoch, truncate, truncate, start_anew, delete_old, raise_start]
    for _ in range(40):
        numbers.choice(changes)()
        assert content(files) == content(memory)
        if numbers.random() < 0.2:
            files, cut_off = opened(tmp_path, files.log_start_offset)
            assert cut_off == []
            assert content(files) == content(memory)
            memory.epochs.truncate_from_end(memory.log_end_offset)  # an epoch without records is forgotten, as in Kafka
            if memory.runs:
                assert files.epochs.entries == memory.epochs.entries


# --- damage ----------------------------------------------------------------------------------------------------------------


def test_a_torn_tail_is_cut_off_and_writing_goes_on_behind_the_last_whole_batch(tmp_path: Path) -> None:
    log = begun(tmp_path, batches=2)
    whole = (file := tmp_path / f"{0:020}.log").read_bytes()
    log.append_as_leader([records("writer", 20, 10)], LeaderEpoch(0), NOW_MS)
    file.write_bytes(file.read_bytes()[:-7])
    again, (cut_off,) = opened(tmp_path)
    assert again.log_end_offset == 20
    assert file.read_bytes() == whole
    assert str(cut_off).endswith("bytes from offset 20 on were cut off: the batch is not complete")
    again.append_as_leader([records("writer", 20, 1)], LeaderEpoch(1), NOW_MS)
    assert content(opened(tmp_path)[0]) == content(again)


def test_a_damaged_batch_is_cut_off_with_all_that_follows(tmp_path: Path) -> None:
    log = begun(tmp_path, batches=9)
    first, second, *_ = (tmp_path / segment.file_name for segment in log.segments)
    damaged = bytearray(first.read_bytes())
    damaged[-3] ^= 0xFF
    first.write_bytes(damaged)
    again, cut_off = opened(tmp_path)
    assert [found.path.name for found in cut_off] == [segment.file_name for segment in log.segments]
    assert "does not fit its checksum" in str(cut_off[0])
    assert "it follows after what was cut off" in str(cut_off[1])
    assert again.log_end_offset == log.segments[1].base_offset - 10
    assert not second.exists()


def test_epochs_beyond_what_is_left_are_forgotten(tmp_path: Path) -> None:
    log = begun(tmp_path, batches=1)
    log.append_as_leader([records("writer", 10, 10)], LeaderEpoch(3), NOW_MS)
    (tmp_path / f"{0:020}.log").write_bytes((tmp_path / f"{0:020}.log").read_bytes()[:-1])
    again, _ = opened(tmp_path)
    assert [entry.leader_epoch for entry in again.epochs.entries] == [0]


# --- what else is kept -----------------------------------------------------------------------------------------------------


def test_the_topic_id_is_kept(tmp_path: Path) -> None:
    begun(tmp_path).keep_topic_id("TUd_CjJfTJSYDsaA2_2yfA")
    assert opened(tmp_path)[0].topic_id == "TUd_CjJfTJSYDsaA2_2yfA"
    assert (tmp_path / "partition.metadata").read_text() == "version: 0\ntopic_id: TUd_CjJfTJSYDsaA2_2yfA\n"


@pytest.mark.parametrize(("every", "syncs"), [(1, 3), (20, 1), (1_000, 0)])
def test_records_are_synced_as_flush_messages_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int, syncs: int
) -> None:
    synced: list[int] = []
    log = stored(tmp_path, LogConfig(flush_messages=every))
    log.begin()
    monkeypatch.setattr("kcsim.brokers.stored_logs.segment_files.os.fsync", synced.append)
    for number in range(3):
        log.append_as_leader([records("writer", 10 * number, 10)], LeaderEpoch(0), NOW_MS)
    assert len(synced) == syncs + 1  # the epoch's checkpoint is synced in any case


def test_deleted_files_leave_what_is_not_theirs(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    begun(tmp_path / "a", batches=3).delete_files()
    other = tmp_path / "b" / "notes.txt"
    other.write_text("mine")
    begun(tmp_path / "b", batches=3).delete_files()
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["b"]
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["notes.txt"]
