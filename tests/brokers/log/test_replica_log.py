"""One replica's log. Source: docs/kafka/log_segments.md, docs/kafka/requests.md 6 and 7."""

from dataclasses import replace
from random import Random

import pytest

from kcsim.brokers.config import LogConfig
from kcsim.brokers.log.log_retention import RetentionRule
from kcsim.brokers.log.log_segments import RecordBatchTooLargeError, RollReason
from kcsim.brokers.log.replica_log import AppendInfo, OffsetOutOfRangeError, ReplicaLog, UnexpectedAppendOffsetError
from kcsim.brokers.records import Run
from kcsim.vocabulary import LeaderEpoch, TopicPartition

ORDERS_0 = TopicPartition("orders", 0)
NOW = 1_700_000_000_000
E0, E1, E2 = LeaderEpoch(0), LeaderEpoch(1), LeaderEpoch(2)
DEFAULTS, SMALL = LogConfig(), LogConfig(segment_bytes=100)


def wanted(count: int, sequence: int, writer: str = "p", size: int = 10, at_ms: int = NOW) -> Run:
    """Return what a producer sends: no offsets, no leader epoch."""
    return Run(0, count, LeaderEpoch(-1), writer, sequence, at_ms, size)


def log_of(*counts: int, config: LogConfig = DEFAULTS, epoch: LeaderEpoch = E0) -> ReplicaLog:
    """Return a leader's log with batches of one writer."""
    log = ReplicaLog(ORDERS_0, config)
    for count in counts:
        log.append_as_leader([wanted(count, log.log_end_offset)], epoch, NOW)
    log.high_watermark = log.log_end_offset
    return log


def bases(log: ReplicaLog) -> list[int]:
    return [segment.base_offset for segment in log.segments]


# --- appending -------------------------------------------------------------------------------------------------------------


def test_a_log_that_was_never_written_to_is_empty() -> None:
    log = ReplicaLog(ORDERS_0)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (0, 0, 0)
    assert (log.runs, log.segments, log.size, log.latest_epoch) == ((), (), 0, None)
    assert (log.read(0, 1_000, upper=0), log.apply_retention(NOW)) == ((), {})


def test_the_leader_gives_offsets_and_its_epoch() -> None:
    log = log_of(3)
    appended = log.append_as_leader([wanted(2, 7, "a"), wanted(4, 0, "b")], E1, NOW)
    assert appended == AppendInfo(3, 8)
    assert log.runs == (
        Run(0, 3, E0, "p", 0, NOW, 10),
        Run(3, 2, E1, "a", 7, NOW, 10),
        Run(5, 4, E1, "b", 0, NOW, 10),
    )
    assert log.epochs.entries == ((E0, 0), (E1, 3))


def test_batches_of_one_writer_become_one_run() -> None:
    assert log_of(3, 4, 5).runs == (Run(0, 12, E0, "p", 0, NOW, 10),)


def test_a_billion_records_of_one_writer_in_three_epochs_are_three_runs() -> None:
    """100 GB; 94 segments of 1 GiB at most, each with whole batches of 10,485 records."""
    log = ReplicaLog(ORDERS_0)
    for epoch, count in ((E0, 400_000_000), (E1, 350_000_000), (E2, 250_000_000)):
        log.append_as_leader([wanted(count, log.log_end_offset, size=100)], epoch, NOW)
    assert [run.count for run in log.runs] == [400_000_000, 350_000_000, 250_000_000]
    assert log.log_end_offset == 10**9
    assert (len(log.segments), log.size) == (94, 10**11)
    assert log.end_offset_for(E1) == (E1, 750_000_000)
    removed = log.truncate_to(999_999_999).removed
    assert [run.first_sequence for run in removed] == [999_999_999]


def test_what_is_larger_than_a_batch_may_be_is_appended_in_several() -> None:
    """Each batch has 5 records here; 12 records are batches of 5, 5 and 2."""
    log = log_of(12, config=LogConfig(max_message_bytes=59, segment_bytes=100))
    assert bases(log) == [0, 10]
    assert log_of(12, config=LogConfig(max_message_bytes=59, segment_bytes=50)).segments[1].base_offset == 5


def test_a_batch_that_no_segment_holds_is_refused_and_nothing_of_its_request_is_appended() -> None:
    log = log_of(1, config=SMALL)
    with pytest.raises(RecordBatchTooLargeError):
        log.append_as_leader([wanted(1, 1), wanted(11, 2)], E0, NOW)
    assert log.runs == (Run(0, 1, E0, "p", 0, NOW, 10),)


def test_an_append_reports_which_segments_it_closed_and_why() -> None:
    log = log_of(8, config=SMALL)
    rolls = log.append_as_leader([wanted(3, 8)], E0, NOW).rolls
    assert [(rolled.closed.base_offset, rolled.closed.size, rolled.roll.base_offset) for rolled in rolls] == [(0, 80, 8)]
    assert rolls[0].roll.reasons == (RollReason.SIZE,)
    assert log.append_as_leader([wanted(1, 11)], E0, NOW).rolls == ()


def test_a_segment_is_rolled_for_its_age() -> None:
    log = log_of(1)
    late = log.append_as_leader([wanted(1, 1, at_ms=NOW + DEFAULTS.segment_ms + 1)], E0, NOW)
    assert [rolled.roll.reasons for rolled in late.rolls] == [(RollReason.TIME,)]


def test_the_jitter_of_every_segment_is_drawn() -> None:
    log = ReplicaLog(ORDERS_0, LogConfig(segment_bytes=10, segment_jitter_ms=1_000), Random(5))
    for sequence in range(3):
        log.append_as_leader([wanted(1, sequence)], E0, NOW)
    expected = Random(5)
    assert [segment.roll_jitter_ms for segment in log.segments] == [expected.randrange(1_000) for _ in range(3)]


def test_a_follower_takes_what_continues_its_log() -> None:
    leader = log_of(6)
    follower = ReplicaLog(ORDERS_0)
    appended = follower.append_as_follower(leader.read(0, 1_000, upper=6), NOW)
    assert (appended, follower.runs, follower.epochs.entries) == (AppendInfo(0, 5), leader.runs, leader.epochs.entries)


@pytest.mark.parametrize("fetched", [[5], [7], [6, 9]])
def test_a_follower_refuses_a_gap_and_what_it_has_already(fetched: list[int]) -> None:
    log = log_of(6)
    runs = [Run(base, 2, E0, "p", base, NOW, 10) for base in fetched]
    with pytest.raises(UnexpectedAppendOffsetError, match="orders-0: records from offset"):
        log.append_as_follower(runs, NOW)
    assert log.log_end_offset == 6


def test_a_fetch_is_one_append_for_the_segments() -> None:
    """1: the check applies to the whole set of batches; a follower's segments need not be those of its leader."""
    follower = log_of(6, config=SMALL)
    rolls = follower.append_as_follower([Run(6, 2, E0, "p", 6, NOW, 10), Run(8, 3, E1, "p", 8, NOW, 10)], NOW).rolls
    assert [rolled.roll.base_offset for rolled in rolls] == [6]
    assert follower.append_as_follower([], NOW) == AppendInfo(11, 10)


# --- reading ---------------------------------------------------------------------------------------------------------------


def test_a_consumer_reads_up_to_the_high_watermark_and_a_follower_to_the_end() -> None:
    log = log_of(10)
    log.high_watermark = 4
    assert [run.count for run in log.read(1, 1_000, upper=log.high_watermark)] == [3]
    assert [run.count for run in log.read(1, 1_000, upper=log.log_end_offset)] == [9]
    assert log.read(7, 1_000, upper=log.high_watermark) == ()


@pytest.mark.parametrize(("max_bytes", "count"), [(39, 3), (40, 4), (5, 1), (0, 1)])
def test_a_read_keeps_to_its_bytes_but_for_the_first_record(max_bytes: int, count: int) -> None:
    assert sum(run.count for run in log_of(10).read(2, max_bytes, upper=10)) == count


def test_a_read_ends_with_the_segment_it_began_in() -> None:
    log = log_of(6, 6, config=SMALL)
    assert log.read(4, 1_000, upper=12) == (Run(4, 2, E0, "p", 4, NOW, 10),)
    assert log.read(6, 1_000, upper=12) == (Run(6, 6, E0, "p", 6, NOW, 10),)


@pytest.mark.parametrize("offset", [4, 11])
def test_there_is_nothing_to_read_before_the_start_and_beyond_the_end(offset: int) -> None:
    log = log_of(10)
    log.increment_log_start_offset(5)
    with pytest.raises(OffsetOutOfRangeError, match="which goes from 5 to 10"):
        log.read(offset, 1_000, upper=10)
    assert log.read(10, 1_000, upper=10) == ()


def test_what_is_read_is_no_newer_than_its_segment() -> None:
    """A run has one timestamp however long it was written; this must not mislead a follower that copies it."""
    log = log_of(6, config=SMALL)
    log.append_as_leader([wanted(6, 6, at_ms=NOW + 5_000)], E0, NOW + 5_000)
    assert [len(log.runs), log.read(0, 1_000, upper=12)[0].timestamp_ms] == [1, NOW]


# --- truncating ------------------------------------------------------------------------------------------------------------


def test_a_cut_says_what_it_removed_and_drags_the_high_watermark_along() -> None:
    """docs/kafka/requests.md 7.2 (4): also below the high watermark; epochs that began there or later are removed."""
    log = log_of(10)
    log.append_as_leader([wanted(5, 0, "q")], E1, NOW)
    log.high_watermark = 14
    cut = log.truncate_to(8)
    assert cut.removed == (Run(8, 2, E0, "p", 8, NOW, 10), Run(10, 5, E1, "q", 0, NOW, 10))
    assert (cut.count, log.log_end_offset, log.high_watermark, log.epochs.entries) == (7, 8, 8, ((E0, 0),))


def test_a_cut_beyond_the_end_removes_no_record_but_the_epochs_that_have_none() -> None:
    log = log_of(10)
    log.epochs.assign(E1, 10)
    assert log.truncate_to(10).removed == ()
    assert log.epochs.entries == ((E0, 0),)


def test_a_cut_within_a_segment_makes_it_the_active_one() -> None:
    log = log_of(6, 6, 6, config=SMALL)
    log.truncate_to(9)
    assert [(segment.base_offset, segment.size) for segment in log.segments] == [(0, 60), (6, 30)]
    assert log.append_as_leader([wanted(7, 9)], E1, NOW).rolls == ()


def test_a_cut_at_the_base_of_a_segment_leaves_it_empty() -> None:
    log = log_of(6, 6, config=SMALL)
    log.truncate_to(6)
    assert [(segment.base_offset, segment.size) for segment in log.segments] == [(0, 60), (6, 0)]


def test_indexes_keep_their_share_of_what_is_left() -> None:
    log = log_of(*[1] * 20, config=LogConfig(index_interval_bytes=0))
    assert log.segments[0].offset_index_entries == 19
    log.truncate_to(10)
    assert log.segments[0].offset_index_entries == 9


def test_a_log_can_go_on_somewhere_else() -> None:
    """7.3: the leader's log begins beyond this log's end."""
    log = log_of(10)
    assert log.truncate_fully_and_start_at(25).count == 10
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (25, 25, 25)
    assert (bases(log), log.epochs.entries) == ([25], ())
    assert log.append_as_leader([wanted(1, 0)], E2, NOW).first_offset == 25


def test_a_cut_below_everything_begins_anew_there() -> None:
    log = log_of(6, 6, config=SMALL)
    log.increment_log_start_offset(6)
    log.apply_retention(NOW)
    log.truncate_to(3)
    assert (log.log_start_offset, log.log_end_offset, bases(log)) == (3, 3, [3])


# --- the log's beginning ---------------------------------------------------------------------------------------------------


def test_the_log_start_moves_up_only_and_never_beyond_what_is_committed() -> None:
    log = log_of(10)
    assert [log.increment_log_start_offset(offset) for offset in (4, 4, 3)] == [True, False, False]
    assert (log.log_start_offset, log.runs[0].base_offset, log.epochs.entries) == (4, 4, ((E0, 4),))
    log.high_watermark = 6
    with pytest.raises(AssertionError, match="7 is above the high watermark 6"):
        log.increment_log_start_offset(7)


def test_retention_deletes_segments_with_their_records() -> None:
    log = log_of(6, 6, 6, config=replace(SMALL, retention_ms=1_000))
    log.append_as_leader([wanted(6, 18, at_ms=NOW + 5_000)], E1, NOW)
    deleted = log.apply_retention(NOW + 5_000)
    assert {rule: [s.base_offset for s in segments] for rule, segments in deleted.items()} == {
        RetentionRule.TIME: [0, 6, 12]
    }
    assert (log.log_start_offset, bases(log), log.runs) == (18, [18], (Run(18, 6, E1, "p", 18, NOW + 5_000, 10),))
    assert log.epochs.entries == ((E1, 18),)


def test_what_is_not_committed_stays_however_old() -> None:
    log = log_of(6, 6, config=replace(SMALL, retention_ms=0))
    log.high_watermark = 11
    log.apply_retention(NOW + 10)
    assert bases(log) == [6]


def test_a_log_that_lost_everything_goes_on_at_its_end() -> None:
    log = log_of(6, 6, config=replace(SMALL, retention_ms=0))
    log.apply_retention(NOW + 10)
    assert (log.runs, log.log_start_offset, log.log_end_offset, bases(log)) == ((), 12, 12, [12])
    assert log.append_as_leader([wanted(1, 12)], E0, NOW).first_offset == 12


def test_the_segment_in_which_it_goes_on_has_its_own_jitter() -> None:
    log = ReplicaLog(ORDERS_0, LogConfig(segment_jitter_ms=1_000, retention_ms=0), Random(5))
    log.append_as_leader([wanted(1, 0)], E0, NOW)
    log.high_watermark = 1
    log.apply_retention(NOW + 1)
    expected = Random(5)
    expected.randrange(1_000)
    assert [segment.roll_jitter_ms for segment in log.segments] == [expected.randrange(1_000)]


def test_records_below_the_log_start_are_gone_before_their_segment_is() -> None:
    log = log_of(6, 6, config=SMALL)
    log.increment_log_start_offset(8)
    assert (log.runs, log.size) == ((Run(8, 4, E0, "p", 8, NOW, 10),), 120)
    assert log.apply_retention(NOW) == {RetentionRule.START_OFFSET: log_of(6, 6, config=SMALL).segments[:1]}
    assert (log.size, log.log_start_offset) == (60, 8)


def test_a_cut_below_the_log_start_lowers_it() -> None:
    log = log_of(10)
    log.increment_log_start_offset(6)
    assert log.truncate_to(4).removed == (Run(6, 4, E0, "p", 6, NOW, 10),)
    assert (log.log_start_offset, log.log_end_offset, log.size) == (4, 4, 40)


@pytest.mark.parametrize(("checkpointed", "known"), [(0, 3), (5, 5), (12, 10)])
def test_a_new_process_knows_the_high_watermark_as_checkpointed(checkpointed: int, known: int) -> None:
    """docs/kafka/requests.md 4.5: within log start and end."""
    log = log_of(10)
    log.increment_log_start_offset(3)
    log.checkpointed_high_watermark = checkpointed
    log.restart()
    assert log.high_watermark == known
