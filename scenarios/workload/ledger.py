"""What became of every record: written, acknowledged, given up; and where it is, by the replicas' logs.

Pure. Counts are exact, and made on runs of records, never record by record.

A record is counted by the log of its partition's leader: that is the partition, for whoever reads it. While nobody leads it
is the log of a member of the ISR, one of which will lead unless an unclean election is held. What retention has deleted is
not lost: an acknowledged record below the start of that log was there once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

from kcsim.brokers.intervals import IntervalSet, Range
from kcsim.brokers.log_comparison import divergence, records_of
from kcsim.brokers.replica_log import ReplicaLog
from kcsim.zk.vocabulary import BrokerId, TopicPartition

NO_OFFSET = -1
"""Of an acknowledgement that tells no offset: acks=0, or a batch that the broker had already."""


# --- what producers know ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Account:
    """What one writer knows of its records in one partition.

    Attributes:
        written: how many it has made, from sequence 0 on without a gap.
        acknowledged: (first sequence, count, offset of the first, or NO_OFFSET), as they came; neighbours are one.
        given_up: those of which it has been told, or has decided, that they failed.
    """

    written: int = 0
    acknowledged: list[tuple[int, int, int]] = field(default_factory=list)
    given_up: list[Range] = field(default_factory=list)

    def acknowledge(self, first: int, count: int, offset: int) -> None:
        """Records were acknowledged, as appended from `offset` on."""
        if self.acknowledged:
            before, length, base = self.acknowledged[-1]
            continues = base + length == offset if NO_OFFSET not in (base, offset) else base == offset
            if before + length == first and continues:
                self.acknowledged[-1] = before, length + count, base
                return
        self.acknowledged.append((first, count, offset))

    def give_up(self, first: int, count: int) -> None:
        """Records have failed for good, as their writer sees it."""
        self.given_up.append((first, first + count))

    def acknowledged_from(self, log_start_offset: int) -> IntervalSet:
        """The sequences acknowledged at this offset or later, or at one that was not told."""
        kept = []
        for first, count, offset in self.acknowledged:
            gone = min(count, max(0, log_start_offset - offset)) if offset != NO_OFFSET else 0
            kept.append((first + gone, first + count))
        return IntervalSet.of(kept)

    @property
    def all_acknowledged(self) -> IntervalSet:
        return IntervalSet.of((first, first + count) for first, count, _ in self.acknowledged)


class Ledger:
    """The accounts of all writers."""

    def __init__(self) -> None:
        self._accounts: dict[TopicPartition, dict[str, Account]] = {}

    def account(self, tp: TopicPartition, writer: str) -> Account:
        """A writer's account for a partition; a new one if it has none."""
        return self._accounts.setdefault(tp, {}).setdefault(writer, Account())

    def of(self, tp: TopicPartition) -> Mapping[str, Account]:
        """Writer -> account; read only."""
        return self._accounts.get(tp, {})

    @property
    def partitions(self) -> list[TopicPartition]:
        """Those that anybody has written to, sorted."""
        return sorted(self._accounts)


# --- where the records are -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RecordCounts:
    """What became of the records of a partition, or of several.

    Attributes:
        sent: made by their writers.
        acknowledged: of these.
        given_up: failed for good, as their writers see it; they may be in the log all the same.
        lost: acknowledged and not in the log.
        lost_everywhere: of these, on no replica at all. The others lie on replicas that do not lead, and may not for long.
        incomplete: acknowledged and in the log, but not on every replica.
        unacknowledged: in the log and not acknowledged.
        duplicated: in the log once more than once: a record that is there three times counts as two.
        divergent: offsets below the high watermark of two replicas at which these have different records.
    """

    sent: int = 0
    acknowledged: int = 0
    given_up: int = 0
    lost: int = 0
    lost_everywhere: int = 0
    incomplete: int = 0
    unacknowledged: int = 0
    duplicated: int = 0
    divergent: int = 0

    def __add__(self, other: "RecordCounts") -> "RecordCounts":
        return RecordCounts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def under_way(self) -> int:
        """Neither acknowledged nor given up."""
        return self.sent - self.acknowledged - self.given_up

    def in_words(self) -> str:
        """120 sent, 100 acknowledged, 20 given up, 3 lost: what there is of it."""
        told = [(name.replace("_", " "), getattr(self, name)) for name in COUNTS]
        told.insert(told.index(("lost", self.lost)), ("under way", self.under_way))
        always = ("sent", "acknowledged", "lost")
        return ", ".join(f"{count} {what}" for what, count in told if count or what in always)


COUNTS = tuple(f.name for f in fields(RecordCounts))


def reckon(
    accounts: Mapping[str, Account],
    logs: Mapping[BrokerId, ReplicaLog],
    leader: BrokerId | None,
    isr: Sequence[BrokerId],
) -> RecordCounts:
    """Count what became of one partition's records.

    Args:
        accounts: writer -> what it knows. Records of other writers count as divergent where they are, and nowhere else.
        logs: of every replica that has one, dead ones included.
    """
    reference = next((b for b in (leader, *sorted(isr)) if b is not None and b in logs), None)
    log = logs[reference] if reference is not None else None
    others = [logs[b] for b in sorted(logs) if b != reference]
    total = RecordCounts(divergent=_divergent(log, others) if log else 0)
    for writer, account in accounts.items():
        total += _reckon_writer(writer, account, log, others)
    return total


def _reckon_writer(writer: str, account: Account, log: ReplicaLog | None, others: Sequence[ReplicaLog]) -> RecordCounts:
    present = records_of(log, writer) if log else IntervalSet()
    elsewhere = [records_of(other, writer) for other in others]
    acknowledged = account.all_acknowledged
    lost = account.acknowledged_from(log.log_start_offset if log else 0).subtract(present)
    kept = acknowledged.intersection(present)
    everywhere = kept
    for sequences in elsewhere:
        everywhere = everywhere.intersection(sequences)
    return RecordCounts(
        sent=account.written,
        acknowledged=acknowledged.count,
        given_up=IntervalSet.of(account.given_up).subtract(acknowledged).count,
        lost=lost.count,
        lost_everywhere=lost.subtract(IntervalSet().union(*elsewhere)).count,
        incomplete=kept.count - everywhere.count,
        unacknowledged=present.subtract(acknowledged).count,
        duplicated=_copies(writer, log) - present.count,
    )


def _copies(writer: str, log: ReplicaLog | None) -> int:
    """How many records of a writer are in a log, one that is there twice counted twice."""
    return sum(run.count for run in log.runs if run.writer == writer) if log else 0


def _divergent(log: ReplicaLog, others: Sequence[ReplicaLog]) -> int:
    """The offsets at which any of the others has another record than this one, where both hold theirs for committed."""
    different: list[Range] = []
    for other in others:
        found = divergence(log, other)
        committed = min(log.high_watermark, other.high_watermark)
        runs = found.only_in_a if found else ()
        different += [(run.base_offset, min(run.end_offset, committed)) for run in runs]
    return IntervalSet.of(different).count
