"""Replica logs: appends, reads and truncations cost by runs and segments touched, and an empty log costs next to nothing."""

import tracemalloc
from collections.abc import Callable

from kcsim.brokers.config import LogConfig
from kcsim.brokers.log.disk import Disk
from kcsim.brokers.log.log_comparison import divergence
from kcsim.brokers.log.replica_log import DEFAULT_CONFIG, ReplicaLog
from kcsim.brokers.records import Run
from kcsim.vocabulary import LeaderEpoch, TopicPartition
from tests.bench.report import Measured, measure, print_table

TP = TopicPartition("orders", 0)
NOW = 1_700_000_000_000
RECORD_BYTES, BATCH_RECORDS = 100, 160
BATCHES, BILLION, EMPTY_LOGS = 50_000, 10**9, 1_000_000
FETCH_BYTES = 1 << 20
SMALL_SEGMENTS = LogConfig(segment_bytes=1 << 20)


def main() -> None:
    """Print the speed of appends, reads and truncations, then the memory of empty logs."""
    one, ten = _batches(BATCHES, writers=1), _batches(BATCHES, writers=10)
    print_table(
        f"Appends to a log, batches of {BATCH_RECORDS} records (batches a second)",
        measure("one writer, one run", BATCHES, lambda: _appended(one)),
        measure("ten writers in turn, a run for each batch", BATCHES, lambda: _appended(ten)),
        measure("one writer, segments of 1 MiB", BATCHES, lambda: _appended(one, SMALL_SEGMENTS)),
    )
    print_table(
        "Whole logs copied by a follower, 1 MiB a fetch (records a second)",
        _copying("one run", _appended(one)),
        _copying(f"{BATCHES:,} runs", _appended(ten)),
    )
    print("\nA log of a billion records of 100 bytes, in three epochs and 94 segments")
    for measured in (
        measure("appended", BILLION, _billion),
        _on_billion("its last record cut off", lambda log: log.truncate_to(BILLION - 1)),
        _on_billion("compared with itself", lambda log: divergence(log, log)),
    ):
        print(f"  {measured.name:<58} {measured.seconds * 1_000:8.3f} ms")
    print(f"\nMemory of {EMPTY_LOGS:,} logs that nobody has written to: {_bytes_of_an_empty_log():,.0f} bytes each")


def _batches(count: int, writers: int) -> list[Run]:
    """Return batches as producers send them: without offsets and leader epoch."""
    return [
        Run(0, BATCH_RECORDS, LeaderEpoch(-1), f"p-{n % writers}", n // writers * BATCH_RECORDS, NOW + n, RECORD_BYTES)
        for n in range(count)
    ]


def _appended(batches: list[Run], config: LogConfig = DEFAULT_CONFIG) -> ReplicaLog:
    log = ReplicaLog(TP, config)
    for batch in batches:
        log.append_as_leader((batch,), LeaderEpoch(0), NOW)
    return log


def _copying(name: str, leader: ReplicaLog) -> Measured:
    def copy() -> None:
        follower = ReplicaLog(TP)
        while follower.log_end_offset < leader.log_end_offset:
            follower.append_as_follower(leader.read(follower.log_end_offset, FETCH_BYTES, leader.log_end_offset), NOW)
        assert follower.log_end_offset == leader.log_end_offset
        assert len(follower.runs) == len(leader.runs)

    return measure(name, leader.log_end_offset, copy)


def _billion() -> ReplicaLog:
    log = ReplicaLog(TP)
    for epoch, count in enumerate((BILLION // 2, BILLION // 4, BILLION // 4)):
        run = Run(0, count, LeaderEpoch(-1), "p", log.log_end_offset, NOW, RECORD_BYTES)
        log.append_as_leader((run,), LeaderEpoch(epoch), NOW)
    assert (log.log_end_offset, len(log.runs), len(log.segments)) == (BILLION, 3, 94)
    return log


def _on_billion(name: str, work: Callable[[ReplicaLog], object]) -> Measured:
    logs = iter([_billion() for _ in range(3)])
    return measure(name, BILLION, lambda: work(next(logs)))


def _bytes_of_an_empty_log() -> float:
    """Return the memory per empty log in bytes; a third of the logs have the epoch entry that a new leader writes."""
    tps = [TopicPartition("orders", partition) for partition in range(EMPTY_LOGS)]
    tracemalloc.start()
    disk = Disk(("/a",))
    for tp in tps:
        disk.create(tp)
    for tp in tps[::3]:
        disk.log(tp).epochs.assign(LeaderEpoch(0), 0)
    allocated, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return allocated / EMPTY_LOGS
