"""A broker's disk keeps logs across the lives of its process. The choice of a directory: test_log_dirs.py."""

import tracemalloc
from random import Random

import pytest

from kcsim.brokers.config import LogConfig
from kcsim.brokers.log.disk import Disk
from kcsim.brokers.records import Run
from kcsim.vocabulary import LeaderEpoch, TopicPartition

ORDERS_0, ORDERS_1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
E0 = LeaderEpoch(0)
TEN = Run(0, 10, E0, "p", 0, -1, 1)


@pytest.fixture
def disk() -> Disk:
    """Return a disk with ten records, seven of them committed, of which the checkpoint has four."""
    disk = Disk(("/a",))
    log = disk.create(ORDERS_0)
    log.append_as_leader([TEN], E0, now_ms=0)
    log.high_watermark, log.checkpointed_high_watermark = 7, 4
    return disk


def test_a_log_survives_its_process_but_for_the_high_watermark(disk: Disk) -> None:
    """After a crash the high watermark is that of the last checkpoint; records and epochs are complete.

    Source: docs/kafka/requests.md 6.6.
    """
    disk.mount()
    log = disk.log(ORDERS_0)
    assert (log.runs, log.epochs.entries, log.high_watermark) == ((TEN,), ((E0, 0),), 4)


def test_a_failed_directory_loses_its_logs(disk: Disk) -> None:
    disk.fail("/a")
    disk.mount()
    assert (ORDERS_0 in disk, disk.create(ORDERS_0).runs) == (False, ())


def test_a_deleted_log_comes_back_empty(disk: Disk) -> None:
    disk.delete(ORDERS_0)
    assert disk.create(ORDERS_0).log_end_offset == 0


def test_a_log_set_apart_keeps_its_records(disk: Disk) -> None:
    name = disk.set_apart([ORDERS_0])
    assert (disk.dir_of(ORDERS_0), disk.log(ORDERS_0).runs) == (name, (TEN,))


def test_logs_have_the_settings_and_the_jitter_they_were_made_with() -> None:
    disk = Disk(("/a",), Random(5))
    log = disk.create(ORDERS_1, LogConfig(segment_jitter_ms=1_000))
    log.append_as_leader([TEN], E0, now_ms=0)
    assert [each.tp for each in disk] == [ORDERS_1]
    assert log.segments[0].roll_jitter_ms == Random(5).randrange(1_000)


def test_a_log_that_nobody_has_written_to_costs_next_to_nothing() -> None:
    """A million partitions of three replicas have to fit; a leader adds its epoch entry even so."""
    tps = [TopicPartition("orders", partition) for partition in range(3_000)]
    disk = Disk(("/a",))
    tracemalloc.start()
    for tp in tps:
        disk.create(tp)
    for tp in tps[::3]:
        disk.log(tp).epochs.assign(E0, 0)
    allocated, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert allocated / len(tps) < 400
