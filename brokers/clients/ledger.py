"""The fate of every record: written, acknowledged, given up; and whether it is in the replicas' logs.

Pure. Counts are exact, and computed on runs of records, never record by record.

Records are counted in the log of their partition's leader, because that is what consumers read. While there is no leader,
the log of a member of the ISR is used: one of them will lead unless an unclean election is held. Records that retention has
deleted are not lost: an acknowledged record below the start of that log existed once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

from kcsim.brokers.log.intervals import IntervalSet, Range
from kcsim.brokers.log.log_comparison import divergence, records_of
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.vocabulary import BrokerId, TopicPartition

NO_OFFSET = -1
"""In an acknowledgement without an offset: acks=0, or a batch that the broker already had."""


# --- what producers have recorded ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Account:
    """The records of one writer in one partition, as the writer knows them.

    Attributes:
        written: how many it has made, from sequence 0 on without a gap.
        acknowledged: (first sequence, count, offset of the first, or NO_OFFSET), in order of arrival; adjacent ones merged.
        given_up: ranges of records that failed, by a response or by the writer's own decision.
    """

    written: int = 0
    acknowledged: list[tuple[int, int, int]] = field(default_factory=list)
    given_up: list[Range] = field(default_factory=list)

    def acknowledge(self, first: int, count: int, offset: int) -> None:
        """Record that records were acknowledged, as appended from `offset` on."""
        if self.acknowledged:
            before, length, base = self.acknowledged[-1]
            continues = base + length == offset if NO_OFFSET not in (base, offset) else base == offset
            if before + length == first and continues:
                self.acknowledged[-1] = before, length + count, base
                return
        self.acknowledged.append((first, count, offset))

    def give_up(self, first: int, count: int) -> None:
        """Record that the writer considers records as finally failed."""
        self.given_up.append((first, first + count))

    def acknowledged_from(self, log_start_offset: int) -> IntervalSet:
        """Return the sequences that were acknowledged at this offset or later, or without an offset."""
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
        """Return a writer's account for a partition; create it if there is none."""
        accounts = self._accounts.setdefault(tp, {})
        account = accounts.get(writer)
        if account is None:
            account = accounts[writer] = Account()
        return account

    def of(self, tp: TopicPartition) -> Mapping[str, Account]:
        """Return writer -> account; read only."""
        return self._accounts.get(tp, {})

    @property
    def partitions(self) -> list[TopicPartition]:
        """The partitions that have been written to, sorted."""
        return sorted(self._accounts)


# --- where the records are -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RecordCounts:
    """The fate of the records of one partition, or of several.

    Attributes:
        sent: made by their writers.
        acknowledged: of these.
        given_up: finally failed, as their writers see it; they may be in the log all the same.
        lost: acknowledged and not in the log.
        lost_everywhere: of these, on no replica at all. The others are on replicas that do not lead, perhaps not for long.
        incomplete: acknowledged and in the log, but not on every replica.
        unacknowledged: in the log and not acknowledged.
        duplicated: additional copies in the log: a record that is there three times counts as two.
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
        """The number of records neither acknowledged nor given up."""
        return self.sent - self.acknowledged - self.given_up

    def in_words(self) -> str:
        """Return the counts that are not 0, and always sent, acknowledged and lost,: 120 sent, 100 acknowledged, 3 lost."""
        counts = [(name.replace("_", " "), getattr(self, name)) for name in COUNTS]
        counts.insert(counts.index(("lost", self.lost)), ("under way", self.under_way))
        always = ("sent", "acknowledged", "lost")
        return ", ".join(f"{count} {what}" for what, count in counts if count or what in always)


COUNTS = tuple(f.name for f in fields(RecordCounts))


def count_records(
    accounts: Mapping[str, Account],
    logs: Mapping[BrokerId, ReplicaLog],
    leader: BrokerId | None,
    isr: Sequence[BrokerId],
) -> RecordCounts:
    """Count the fate of one partition's records.

    Args:
        accounts: writer -> its account. Records of writers without one count only as divergent, if they are.
        logs: the logs of all replicas that have one, dead ones included.
    """
    reference = next((b for b in (leader, *sorted(isr)) if b is not None and b in logs), None)
    log = logs[reference] if reference is not None else None
    others = [logs[b] for b in sorted(logs) if b != reference]
    total = RecordCounts(divergent=_divergent(log, others) if log else 0)
    for writer, account in accounts.items():
        total += _count_records_of_writer(writer, account, log, others)
    return total


def _count_records_of_writer(
    writer: str, account: Account, log: ReplicaLog | None, others: Sequence[ReplicaLog]
) -> RecordCounts:
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
    """Return how many records of a writer are in a log; a record that is there twice counts twice."""
    return sum(run.count for run in log.runs if run.writer == writer) if log else 0


def _divergent(log: ReplicaLog, others: Sequence[ReplicaLog]) -> int:
    """Return at how many offsets, committed in both logs, another log has a different record than this one."""
    different: list[Range] = []
    for other in others:
        found = divergence(log, other)
        committed = min(log.high_watermark, other.high_watermark)
        runs = found.only_in_a if found else ()
        different += [(run.base_offset, min(run.end_offset, committed)) for run in runs]
    return IntervalSet.of(different).count
