"""The bound of the memory that records of clients from outside the run take up."""

import pytest

from kcsim.brokers.log.disk import Disk
from kcsim.brokers.log.record_memory import (
    COUNT_EVERY_MS,
    DEFAULT_LIMIT_MIB,
    LIMIT_VARIABLE,
    RecordMemory,
    RecordMemoryError,
    limit_mib,
)
from kcsim.brokers.records import Run
from kcsim.vocabulary import LeaderEpoch, TopicPartition

ORDERS, CLICKS = TopicPartition("orders", 0), TopicPartition("clicks", 0)
EPOCH = LeaderEpoch(0)
KIB = 1 << 10


class Memory:
    """A bound of 1 MiB over two disks. Attributes: now_ms: the time of the run."""

    def __init__(self) -> None:
        self.disks = Disk(["a"]), Disk(["a"])
        self.now_ms = 0
        self.bound = RecordMemory(1, self.disks, lambda: self.now_ms)

    def write(self, size: int, tp: TopicPartition = ORDERS, has_bytes: bool = True) -> str | None:
        """Append a batch to both replicas if it is admitted. Return why it is not."""
        why = self.bound.refusal(size) if has_bytes else None
        batch = bytes(size) if has_bytes else None
        for disk in self.disks if why is None else ():
            log = disk.log(tp) if tp in disk else disk.create(tp)
            log.append_as_leader([Run(0, 1, EPOCH, "writer", 0, 0, size, batch=batch)], EPOCH, 0)
        return why


def test_replicas_count_once_and_what_is_too_much_is_refused() -> None:
    memory = Memory()
    assert [memory.write(100 * KIB) for _ in range(10)] == [None] * 10
    assert memory.write(24 * KIB) is None
    memory.now_ms += COUNT_EVERY_MS
    refusal = "the records of clients would take up more than 1 MiB, the limit of KCSIM_RECORD_MEMORY_MIB"
    assert memory.write(16) == refusal
    assert memory.write(100 * KIB, CLICKS) == refusal


def test_what_is_deleted_makes_room_a_moment_later() -> None:
    memory = Memory()
    assert memory.write(800 * KIB) is None
    assert memory.write(800 * KIB, CLICKS) is not None
    for disk in memory.disks:
        disk.delete(ORDERS)
    assert memory.write(800 * KIB, CLICKS) is not None
    memory.now_ms += COUNT_EVERY_MS
    assert memory.write(800 * KIB, CLICKS) is None


def test_records_without_bytes_take_up_nothing() -> None:
    memory = Memory()
    for _ in range(10):
        memory.write(800 * KIB, CLICKS, has_bytes=False)
    assert memory.write(800 * KIB) is None


@pytest.mark.parametrize(("text", "limit"), [(None, DEFAULT_LIMIT_MIB), (" ", DEFAULT_LIMIT_MIB), ("16", 16)])
def test_the_environment_sets_the_limit(monkeypatch: pytest.MonkeyPatch, text: str | None, limit: int) -> None:
    monkeypatch.delenv(LIMIT_VARIABLE, raising=False)
    if text is not None:
        monkeypatch.setenv(LIMIT_VARIABLE, text)
    assert limit_mib() == limit


@pytest.mark.parametrize("text", ["0", "-1", "2 GiB", "1.5"])
def test_a_limit_that_is_no_number_of_mib_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, text)
    with pytest.raises(RecordMemoryError, match=f"{LIMIT_VARIABLE} is '{text}'; write a number of MiB, as 2048"):
        limit_mib()
