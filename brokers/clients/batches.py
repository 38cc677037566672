"""What a producer holds for one partition: waiting records, and the batch that is sent next or being sent.

One batch of a partition is in flight at a time (max.in.flight.requests.per.connection=1), so the order of records is kept
when a batch is sent again. Pure: producer.py sends the batches. Source: Kafka 2.8, RecordAccumulator.
"""

from collections import deque
from dataclasses import dataclass, field


@dataclass(slots=True)
class ProducerBatch:
    """Consecutive records. A batch is sent unchanged until it is acknowledged or given up.

    Attributes:
        created_ms: when the first of its records was made.
        attempts: how often it was sent.
        not_before_ms: the end of the back-off before its next attempt.
        is_under_way: it was sent and is not answered yet.
        may_be_there: the outcome of one of its attempts is unknown, so its records may be in the log.
        last_error: the name of the latest attempt's error.
    """

    first: int
    count: int
    created_ms: int
    attempts: int = field(init=False, default=0)
    not_before_ms: int = field(init=False, default=0)
    is_under_way: bool = field(init=False, default=False)
    may_be_there: bool = field(init=False, default=False)
    last_error: str | None = field(init=False, default=None)


@dataclass(slots=True)
class _Waiting:
    first: int
    count: int
    created_ms: int


@dataclass(slots=True)
class PartitionBuffer:
    """The records of one partition that are neither acknowledged nor given up.

    Attributes:
        written: sequence of the next record to be made.
        batch: the batch that is sent next or being sent.
    """

    written: int = 0
    batch: ProducerBatch | None = None
    _waiting: deque[_Waiting] = field(default_factory=deque)

    def add(self, count: int, now_ms: int) -> None:
        """Append `count` new records."""
        self._waiting.append(_Waiting(self.written, count, now_ms))
        self.written += count

    @property
    def is_empty(self) -> bool:
        return self.batch is None and not self._waiting

    @property
    def held(self) -> int:
        """The number of records that are neither acknowledged nor given up."""
        if self.batch is not None:
            return self.written - self.batch.first
        return self.written - self._waiting[0].first if self._waiting else 0

    def is_ready(self, now_ms: int) -> bool:
        """Return True if there is a batch, or records for one, that can be sent now."""
        if self.batch is None:
            return bool(self._waiting)
        return not self.batch.is_under_way and self.batch.not_before_ms <= now_ms

    def take(self, at_most: int) -> ProducerBatch:
        """Return the batch to send: the present one, else a new one of up to `at_most` waiting records."""
        if self.batch is None:
            self.batch = self._cut(at_most)
        return self.batch

    def _cut(self, at_most: int) -> ProducerBatch:
        first, created_ms, count = self._waiting[0].first, self._waiting[0].created_ms, 0
        while self._waiting and count < at_most:
            waiting = self._waiting[0]
            taken = min(waiting.count, at_most - count)
            count += taken
            waiting.first += taken
            waiting.count -= taken
            if not waiting.count:
                self._waiting.popleft()
        return ProducerBatch(first, count, created_ms)

    def finish(self) -> None:
        """Drop the present batch, which was acknowledged or given up."""
        self.batch = None

    def give_up_before(self, created_ms: int) -> list[ProducerBatch]:
        """Remove and return the batches created at or before `created_ms` that are not in flight, oldest first."""
        late: list[ProducerBatch] = []
        if self.batch is not None and not self.batch.is_under_way and self.batch.created_ms <= created_ms:
            late.append(self.batch)
            self.batch = None
        while self.batch is None and self._waiting and self._waiting[0].created_ms <= created_ms:
            waiting = self._waiting.popleft()
            late.append(ProducerBatch(waiting.first, waiting.count, waiting.created_ms))
        return late

    def oldest_ms(self) -> int | None:
        """Return when the oldest record that is not in flight was made; None if there is none."""
        if self.batch is not None:
            return None if self.batch.is_under_way else self.batch.created_ms
        return self._waiting[0].created_ms if self._waiting else None
