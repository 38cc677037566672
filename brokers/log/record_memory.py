"""The memory that records of clients from outside the run take up: their bytes are in this process, not on a disk.

Replicas share the bytes of a batch, so each partition counts once.
"""

import os
from collections.abc import Callable, Iterable

from kcsim.brokers.log.disk import Disk
from kcsim.vocabulary import TopicPartition

LIMIT_VARIABLE = "KCSIM_RECORD_MEMORY_MIB"
DEFAULT_LIMIT_MIB = 1_024
COUNTS_PER_LIMIT = 64
"""The logs are counted again after a 64th of the limit was appended."""
COUNT_EVERY_MS = 500
"""At the limit they are counted no more often than this."""


class RecordMemoryError(Exception):
    """The limit is no number of MiB. The message says so."""


def limit_mib() -> int:
    """Return the limit that the environment sets, or the default. Raises: RecordMemoryError."""
    text = os.environ.get(LIMIT_VARIABLE, "").strip()
    if not text:
        return DEFAULT_LIMIT_MIB
    if not text.isdecimal() or not int(text):
        raise RecordMemoryError(f"{LIMIT_VARIABLE} is {text!r}; write a number of MiB, as 2048")
    return int(text)


class RecordMemory:
    """Admits batches of clients as long as all together stay below a limit; what was deleted makes room again.

    Args:
        limit_mib: of all partitions with such batches; of these all records count, also those of simulated producers.
        disks: those of all brokers.
        now_ms: returns the time of the run.
    """

    def __init__(self, limit_mib: int, disks: Iterable[Disk], now_ms: Callable[[], int]) -> None:
        self._limit_mib = limit_mib
        self._limit = limit_mib << 20
        self._disks = tuple(disks)
        self._now_ms = now_ms
        self._counted = self._added = 0
        self._counted_ms = -COUNT_EVERY_MS

    def refusal(self, size: int) -> str | None:
        """Return why a batch of this many bytes cannot be appended; None if it can, and will be."""
        if self._added > self._limit // COUNTS_PER_LIMIT:
            self._count()
        is_full = self._counted + self._added + size > self._limit
        if is_full and self._now_ms() - self._counted_ms >= COUNT_EVERY_MS:
            self._count()
            is_full = self._counted + size > self._limit
        if is_full:
            return f"the records of clients would take up more than {self._limit_mib} MiB, the limit of {LIMIT_VARIABLE}"
        self._added += size
        return None

    def _count(self) -> None:
        largest: dict[TopicPartition, int] = {}
        for disk in self._disks:
            for log in disk:
                if log.has_bytes:
                    largest[log.tp] = max(log.size, largest.get(log.tp, 0))
        self._counted, self._added, self._counted_ms = sum(largest.values()), 0, self._now_ms()
