"""After any operations, a log has the records, epochs and answers of a plain list of records."""

from dataclasses import dataclass, field
from itertools import pairwise

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kcsim.brokers.config import LogConfig
from kcsim.brokers.log.leader_epochs import UNDEFINED
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.brokers.records import Run
from kcsim.vocabulary import LeaderEpoch, TopicPartition

CONFIG = LogConfig(segment_bytes=60, segment_ms=50, max_message_bytes=45, retention_bytes=100, retention_ms=-1)
NOW = 1_000


@dataclass(frozen=True, slots=True)
class Record:
    """One record of the model."""

    offset: int
    writer: str
    sequence: int
    leader_epoch: int
    record_bytes: int
    payload: object = None


@dataclass
class PlainLog:
    """The slow reference log, which keeps each record separately. `begun` maps every epoch to its start offset."""

    records: list[Record] = field(default_factory=list)
    begun: dict[int, int] = field(default_factory=dict)
    start: int = 0
    end: int = 0

    def append(self, runs: list[Run], epoch: int) -> None:
        for run in runs:
            if epoch not in self.begun:
                # An earlier epoch that began at the same offset has no records and cannot get any.
                self.begun = {e: at for e, at in self.begun.items() if at < self.end}
                self.begun[epoch] = self.end
            for n in range(run.count):
                payload = run.payloads[n] if run.payloads else None
                self.records.append(Record(self.end, run.writer, run.first_sequence + n, epoch, run.record_bytes, payload))
                self.end += 1

    def truncate(self, offset: int) -> list[Record]:
        removed = [r for r in self.records if r.offset >= offset]
        self.records = [r for r in self.records if r.offset < offset]
        self.begun = {e: at for e, at in self.begun.items() if at < offset}
        self.end = min(self.end, offset)
        self.start = min(self.start, offset)
        return removed

    def begin_at(self, offset: int) -> None:
        self.records = [r for r in self.records if r.offset >= offset]
        reached = [e for e, at in self.begun.items() if at <= offset]
        self.begun = {e: max(at, offset) for e, at in self.begun.items() if e not in reached[:-1]}
        self.start = offset

    def end_offset_for(self, epoch: int) -> tuple[int, int]:
        if epoch in self.begun and epoch == max(self.begun):
            return epoch, self.end
        later = [at for e, at in self.begun.items() if e > epoch]
        if not later:
            return UNDEFINED
        return max((e for e in self.begun if e <= epoch), default=epoch), min(later)

    def read(self, offset: int, max_bytes: int, upper: int) -> list[Record]:
        found: list[Record] = []
        for record in self.records:
            if offset <= record.offset < upper:
                if found and sum(r.record_bytes for r in found) + record.record_bytes > max_bytes:
                    break
                found.append(record)
        return found


def records_in(runs: tuple[Run, ...]) -> list[Record]:
    return [
        Record(
            run.base_offset + n,
            run.writer,
            run.first_sequence + n,
            run.leader_epoch,
            run.record_bytes,
            run.payloads[n] if run.payloads else None,
        )
        for run in runs
        for n in range(run.count)
    ]


BATCHES = st.lists(
    st.tuples(st.sampled_from("pq"), st.integers(1, 12), st.sampled_from([3, 5]), st.integers(0, 1), st.integers(0, 40)),
    min_size=1,
    max_size=3,
)


class LogMachine(RuleBasedStateMachine):
    """Machine that applies the same operations to both logs."""

    def __init__(self) -> None:
        super().__init__()
        self.log = ReplicaLog(TopicPartition("orders", 0), CONFIG)
        self.plain = PlainLog()
        self.epoch = LeaderEpoch(0)
        self.written = {"p": 0, "q": 0}

    def batches(self, drawn: list[tuple[str, int, int, int, int]]) -> list[Run]:
        """Return runs without offsets; each writer continues its sequence, sometimes with a gap."""
        made = []
        for writer, count, size, gap, age in drawn:
            first = self.written[writer] + gap
            payloads = tuple(range(count)) if writer == "q" and size == 5 else ()
            made.append(Run(0, count, LeaderEpoch(-1), writer, first, NOW - age, size, payloads))
            self.written[writer] = first + count
        return made

    @rule(drawn=BATCHES)
    def append_as_leader(self, drawn: list[tuple[str, int, int, int, int]]) -> None:
        runs = self.batches(drawn)
        appended = self.log.append_as_leader(runs, self.epoch, NOW)
        assert (appended.first_offset, appended.last_offset) == (self.plain.end, self.log.log_end_offset - 1)
        self.plain.append(runs, self.epoch)

    @rule(drawn=BATCHES, epochs_on=st.integers(0, 2))
    def append_as_follower(self, drawn: list[tuple[str, int, int, int, int]], epochs_on: int) -> None:
        """Append what one fetch returns, which may be of two epochs."""
        self.epoch = LeaderEpoch(self.epoch + epochs_on)
        at_leader = ReplicaLog(TopicPartition("orders", 0), LogConfig())
        at_leader.truncate_fully_and_start_at(self.log.log_end_offset)
        at_leader.append_as_leader(self.batches(drawn), self.epoch, NOW)
        fetched = at_leader.read(self.log.log_end_offset, CONFIG.segment_bytes, at_leader.log_end_offset)
        self.log.append_as_follower(fetched, NOW)
        for run in fetched:
            self.plain.append([run], run.leader_epoch)

    @rule(epochs_on=st.integers(1, 2))
    def become_leader(self, epochs_on: int) -> None:
        self.epoch = LeaderEpoch(self.epoch + epochs_on)
        self.log.epochs.assign(self.epoch, self.log.log_end_offset)
        self.plain.begun = {e: at for e, at in self.plain.begun.items() if at < self.plain.end}
        self.plain.begun[self.epoch] = self.plain.end

    @rule(back=st.integers(0, 15))
    def truncate(self, back: int) -> None:
        offset = max(self.log.log_end_offset - back, self.log.log_start_offset)
        assert records_in(self.log.truncate_to(offset).removed) == self.plain.truncate(offset)
        assert self.log.high_watermark <= offset

    @rule(part=st.floats(0, 1))
    def commit(self, part: float) -> None:
        self.log.high_watermark += int(part * (self.log.log_end_offset - self.log.high_watermark))

    @rule(part=st.floats(0, 1))
    @precondition(lambda self: self.log.high_watermark > self.log.log_start_offset)
    def raise_log_start(self, part: float) -> None:
        offset = self.log.log_start_offset + int(part * (self.log.high_watermark - self.log.log_start_offset))
        if self.log.increment_log_start_offset(offset):
            self.plain.begin_at(offset)

    @rule()
    def retain(self) -> None:
        self.log.apply_retention(NOW)
        if self.log.log_start_offset > self.plain.start:
            self.plain.begin_at(self.log.log_start_offset)

    @rule(part=st.floats(0, 1), max_bytes=st.integers(0, 70), upto=st.floats(0, 1))
    def read(self, part: float, max_bytes: int, upto: float) -> None:
        """Check that a read returns what the list has; it may end sooner, but only at the end of a segment."""
        log = self.log
        offset = log.log_start_offset + int(part * (log.log_end_offset - log.log_start_offset))
        upper = offset + round(upto * (log.log_end_offset - offset))
        found, expected = records_in(log.read(offset, max_bytes, upper)), self.plain.read(offset, max_bytes, upper)
        assert found == expected[: len(found)]
        if len(found) < len(expected):
            assert expected[len(found)].offset in {segment.base_offset for segment in log.segments}
            assert found

    @invariant()
    def has_the_same_records(self) -> None:
        assert (self.log.log_start_offset, self.log.log_end_offset) == (self.plain.start, self.plain.end)
        assert records_in(self.log.runs) == self.plain.records

    @invariant()
    def runs_are_as_long_as_can_be(self) -> None:
        runs = self.log.runs
        assert not any(a.can_be_followed_by(b) for a, b in pairwise(runs))

    @invariant()
    def knows_the_same_epochs(self) -> None:
        for epoch in range(self.epoch + 2):
            assert tuple(self.log.end_offset_for(LeaderEpoch(epoch))) == self.plain.end_offset_for(epoch)

    @invariant()
    def segments_hold_all_records_and_no_more_than_they_may(self) -> None:
        segments = self.log.segments
        if not segments:
            return
        ends = [segment.base_offset for segment in segments[1:]] + [self.log.log_end_offset]
        for segment, end in zip(segments, ends, strict=True):
            readable = sum(r.record_bytes for r in self.plain.records if segment.base_offset <= r.offset < end)
            assert segment.base_offset <= end
            assert readable <= segment.size <= CONFIG.segment_bytes
            assert segment.size == readable or segment.base_offset < self.log.log_start_offset
        assert segments[0].base_offset <= self.log.log_start_offset <= self.log.high_watermark <= self.log.log_end_offset


LogMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestLog = LogMachine.TestCase
