"""What a producer holds for one partition: records that wait, and the batch whose turn it is.

One batch of a partition is under way at a time (max.in.flight.requests.per.connection=1), so the order of records is kept
when one is sent again. Pure: whoever sends the batches is in producer.py. Source: Kafka 2.8, RecordAccumulator.
"""

from collections import deque
from dataclasses import dataclass, field


@dataclass(slots=True)
class Batch:
    """Consecutive records, once they are cut: they are sent as they are until they are acknowledged or given up.

    Attributes:
        created_ms: when the first of them was made.
        attempts: how often it was sent.
        not_before_ms: back-off.
        is_under_way: sent and not answered.
        may_be_there: an attempt of it came to an unknown end.
        last_error: of the latest attempt, by name.
    """

    first: int
    count: int
    created_ms: int
    attempts: int = 0
    not_before_ms: int = 0
    is_under_way: bool = False
    may_be_there: bool = False
    last_error: str | None = None


@dataclass(slots=True)
class _Waiting:
    first: int
    count: int
    created_ms: int


@dataclass(slots=True)
class PartitionBuffer:
    """The records of one partition that are neither acknowledged nor given up.

    Attributes:
        written: sequence of the record to be made next.
        batch: the one whose turn it is.
    """

    written: int = 0
    batch: Batch | None = None
    _waiting: deque[_Waiting] = field(default_factory=deque)

    def add(self, count: int, now_ms: int) -> None:
        """Make records."""
        self._waiting.append(_Waiting(self.written, count, now_ms))
        self.written += count

    @property
    def is_empty(self) -> bool:
        return self.batch is None and not self._waiting

    @property
    def held(self) -> int:
        """Records neither acknowledged nor given up."""
        if self.batch is not None:
            return self.written - self.batch.first
        return self.written - self._waiting[0].first if self._waiting else 0

    def is_ready(self, now_ms: int) -> bool:
        """Whether there is something that can be sent now."""
        if self.batch is None:
            return bool(self._waiting)
        return not self.batch.is_under_way and self.batch.not_before_ms <= now_ms

    def take(self, at_most: int) -> Batch:
        """The batch to send: the one whose turn it is, else a new one of what waits."""
        if self.batch is None:
            self.batch = self._cut(at_most)
        return self.batch

    def _cut(self, at_most: int) -> Batch:
        first, created_ms, count = self._waiting[0].first, self._waiting[0].created_ms, 0
        while self._waiting and count < at_most:
            waiting = self._waiting[0]
            taken = min(waiting.count, at_most - count)
            count += taken
            waiting.first += taken
            waiting.count -= taken
            if not waiting.count:
                self._waiting.popleft()
        return Batch(first, count, created_ms)

    def finish(self) -> None:
        """The batch whose turn it was is acknowledged or given up."""
        self.batch = None

    def give_up_before(self, created_ms: int) -> list[Batch]:
        """Take out what is older than this and not under way: those that waited too long, oldest first."""
        late: list[Batch] = []
        if self.batch is not None and not self.batch.is_under_way and self.batch.created_ms <= created_ms:
            late.append(self.batch)
            self.batch = None
        while self.batch is None and self._waiting and self._waiting[0].created_ms <= created_ms:
            waiting = self._waiting.popleft()
            late.append(Batch(waiting.first, waiting.count, waiting.created_ms))
        return late

    def oldest_ms(self) -> int | None:
        """When the oldest record that is not under way was made; None if there is none."""
        if self.batch is not None:
            return None if self.batch.is_under_way else self.batch.created_ms
        return self._waiting[0].created_ms if self._waiting else None
