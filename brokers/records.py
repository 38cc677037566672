"""The content of a log: runs of records.

The records of simulated producers have no bytes. A batch that came from a real client is kept as the bytes that it sent, and
is a run of its own.

A record is identified by its writer and its place in that writer's sequence. Records of one writer that are consecutive in
the log and in the sequence, under one leader epoch, form one run, however many they are: the memory of a log depends on its
history, not on the number of its records.

Left out, for records without bytes: keys, headers and compression; a record's value, except where the broker itself reads it
(internal topics). A run has one timestamp, the largest of its records'.
"""

import msgspec

from kcsim.brokers.record_batches import placed_at
from kcsim.vocabulary import LeaderEpoch

UNKNOWN_CLIENT = "@"
"""The writer of a batch without a producer id that a follower got over TCP."""


def producer_in(writer: str) -> str:
    """Return what the bytes of a batch say of its writer: the producer id, as `#7`; `@` if it has none."""
    _, mark, number = writer.rpartition("#")
    return f"#{number}" if mark and number.isdecimal() else UNKNOWN_CLIENT


class Run(msgspec.Struct, frozen=True):
    """Consecutive records of one writer.

    Attributes:
        base_offset: of the first record.
        writer: its name. Of a batch of bytes: the client and its producer id, `app#7`, or the client and its address,
            `app@10.0.0.1:5000`; on a follower that got the batch over TCP without the client: `#7` and `@`.
        count: the number of records; at least one.
        leader_epoch: of the leader that appended them.
        first_sequence: the first record's number in the writer's sequence; the others follow without a gap.
        timestamp_ms: largest of the records', ms since 1970; -1 if they have none.
        record_bytes: size of each record; at least one.
        payloads: empty, or the value of each record.
        batch: the batch that the records are, or are a part of, in Kafka's format; None: they have no bytes.
    """

    base_offset: int
    count: int
    leader_epoch: LeaderEpoch
    writer: str
    first_sequence: int
    timestamp_ms: int
    record_bytes: int
    payloads: tuple[object, ...] = ()
    batch: bytes | None = None

    def __post_init__(self) -> None:
        assert self.count > 0, f"a run of {self.count} records"
        assert self.record_bytes > 0, f"records of {self.record_bytes} bytes"
        assert len(self.payloads) in (0, self.count), f"{len(self.payloads)} payloads for {self.count} records"

    @property
    def end_offset(self) -> int:
        """The offset after the last record."""
        return self.base_offset + self.count

    @property
    def last_sequence(self) -> int:
        return self.first_sequence + self.count - 1

    @property
    def producer(self) -> str:
        """The writer as all replicas know it: a batch does not name its producer's client, which only the leader knows."""
        return self.writer if self.batch is None else producer_in(self.writer)

    @property
    def size(self) -> int:
        """Size of all records in bytes. A batch is not divided: a part of one is as large as the whole."""
        return self.count * self.record_bytes if self.batch is None else len(self.batch)

    def from_offset(self, offset: int) -> "Run":
        """Return the run's tail from the record at `offset`, which must be in it."""
        skipped = offset - self.base_offset
        assert 0 <= skipped < self.count, f"{offset} is not in {self.base_offset}..{self.end_offset - 1}"
        if not skipped:
            return self
        return self._part(offset, self.count - skipped, self.first_sequence + skipped, self.payloads[skipped:])

    def until(self, offset: int) -> "Run":
        """Return the run's head up to the record before `offset`; at least one record and at most all."""
        kept = offset - self.base_offset
        assert 0 < kept <= self.count, f"{offset} leaves nothing or too much of {self.base_offset}..{self.end_offset - 1}"
        if kept == self.count:
            return self
        return self._part(self.base_offset, kept, self.first_sequence, self.payloads[:kept])

    def _part(self, base_offset: int, count: int, first_sequence: int, payloads: tuple[object, ...]) -> "Run":
        # Not by replace(), which takes several times as long, and this is done for every fetch.
        epoch, timestamp_ms, size = self.leader_epoch, self.timestamp_ms, self.record_bytes
        return Run(base_offset, count, epoch, self.writer, first_sequence, timestamp_ms, size, payloads, self.batch)

    def appended_at(self, base_offset: int, leader_epoch: LeaderEpoch) -> "Run":
        """Return the same records with the offset and leader epoch of an append."""
        sequence, timestamp_ms, size = self.first_sequence, self.timestamp_ms, self.record_bytes
        batch = None if self.batch is None else placed_at(self.batch, base_offset, leader_epoch)
        return Run(base_offset, self.count, leader_epoch, self.writer, sequence, timestamp_ms, size, self.payloads, batch)

    def can_be_followed_by(self, other: "Run") -> bool:
        """Return whether the two can be one run, apart from the timestamp."""
        return (
            other.base_offset == self.end_offset
            and other.writer == self.writer
            and other.first_sequence == self.first_sequence + self.count
            and other.leader_epoch == self.leader_epoch
            and other.record_bytes == self.record_bytes
            and not self.payloads
            and not other.payloads
            and self.batch is None
            and other.batch is None
        )

    def followed_by(self, other: "Run") -> "Run":
        """Return both runs as one."""
        assert self.can_be_followed_by(other), f"{other} does not continue {self}"
        return Run(
            self.base_offset,
            self.count + other.count,
            self.leader_epoch,
            self.writer,
            self.first_sequence,
            max(self.timestamp_ms, other.timestamp_ms),
            self.record_bytes,
        )
