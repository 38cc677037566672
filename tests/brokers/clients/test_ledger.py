"""Loss, duplication and divergence are counted exactly, on runs of records: a billion records cost as much as one."""

from collections.abc import Sequence

from kcsim.brokers.clients.ledger import NO_OFFSET, Account, Ledger, RecordCounts, count_records
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.brokers.records import Run
from kcsim.vocabulary import BrokerId, LeaderEpoch, TopicPartition

ORDERS = TopicPartition("orders", 0)
B1, B2, B3 = BrokerId(1), BrokerId(2), BrokerId(3)
BILLION = 10**9


def log_of(*runs: tuple[str, int, int, int], high_watermark: int | None = None) -> ReplicaLog:
    """Return a log of (writer, first sequence, count, leader epoch), committed to its end unless high_watermark is given."""
    log = ReplicaLog(ORDERS)
    for writer, first, count, epoch in runs:
        run = Run(0, count, LeaderEpoch(epoch), writer, first, timestamp_ms=0, record_bytes=1)
        log.append_as_leader([run], LeaderEpoch(epoch), 0)
    log.high_watermark = log.log_end_offset if high_watermark is None else high_watermark
    return log


def account(written: int, acknowledged: Sequence[tuple[int, int, int]] = (), given_up: tuple[int, int] = (0, 0)) -> Account:
    """Return an account of (first sequence, count, offset) acknowledged, and (first, count) given up."""
    kept = Account(written)
    for first, count, offset in acknowledged:
        kept.acknowledge(first, count, offset)
    kept.give_up(*given_up)
    return kept


def test_what_is_on_every_replica_is_neither_lost_nor_incomplete() -> None:
    logs = {broker: log_of(("w", 0, 100, 0)) for broker in (B1, B2, B3)}
    counts = count_records({"w": account(100, [(0, 100, 0)])}, logs, B1, [B1, B2, B3])
    assert counts == RecordCounts(sent=100, acknowledged=100)


def test_what_the_leader_does_not_have_is_lost_although_another_replica_has_it() -> None:
    """The other broker died with the last 20; consumers cannot read them, and it truncates them when it comes back."""
    logs = {B1: log_of(("w", 0, 100, 0)), B2: log_of(("w", 0, 80, 0))}
    counts = count_records({"w": account(100, [(0, 100, 0)])}, logs, B2, [B2])
    assert counts == RecordCounts(sent=100, acknowledged=100, lost=20)


def test_what_nobody_has_is_lost_everywhere() -> None:
    logs = {B1: log_of(("w", 0, 80, 0)), B2: log_of(("w", 0, 80, 0))}
    counts = count_records({"w": account(100, [(0, 100, 0)])}, logs, B2, [B1, B2])
    assert counts == RecordCounts(sent=100, acknowledged=100, lost=20, lost_everywhere=20)


def test_what_one_follower_lacks_is_incomplete_and_not_lost() -> None:
    logs = {B1: log_of(("w", 0, 100, 0)), B2: log_of(("w", 0, 70, 0)), B3: log_of(("w", 0, 100, 0))}
    counts = count_records({"w": account(100, [(0, 100, 0)])}, logs, B1, [B1, B3])
    assert counts == RecordCounts(sent=100, acknowledged=100, incomplete=30)


def test_without_a_leader_the_member_of_the_isr_counts() -> None:
    logs = {B1: log_of(("w", 0, 100, 0)), B2: log_of(("w", 0, 60, 0))}
    assert count_records({"w": account(100, [(0, 100, 0)])}, logs, None, [B1]).lost == 0


def test_where_no_replica_is_left_everything_acknowledged_is_lost() -> None:
    """The only log directory failed."""
    counts = count_records({"w": account(100, [(0, 90, 0)])}, {}, B1, [B1])
    assert counts == RecordCounts(sent=100, acknowledged=90, lost=90, lost_everywhere=90)


def test_a_record_that_was_appended_again_is_a_duplicate() -> None:
    """The answer to the first request was lost, so the producer sent the records twice; 10 to 19 even three times."""
    log = log_of(("w", 0, 20, 0), ("w", 10, 10, 0), ("w", 5, 15, 1))
    counts = count_records({"w": account(20, [(0, 20, 0)])}, {B1: log}, B1, [B1])
    assert counts == RecordCounts(sent=20, acknowledged=20, duplicated=25)


def test_what_was_given_up_may_be_there_all_the_same() -> None:
    counts = count_records({"w": account(30, [(0, 10, 0)], given_up=(10, 20))}, {B1: log_of(("w", 0, 25, 0))}, B1, [B1])
    assert counts == RecordCounts(sent=30, acknowledged=10, given_up=20, unacknowledged=15)
    assert counts.under_way == 0


def test_what_is_neither_acknowledged_nor_given_up_is_under_way() -> None:
    assert count_records({"w": account(30, [(0, 10, 0)])}, {B1: log_of(("w", 0, 10, 0))}, B1, [B1]).under_way == 20


def test_replicas_that_differ_below_both_high_watermarks_are_divergent() -> None:
    """After an unclean election the new leader wrote 20 records where the dead old leader has 30 other, committed ones."""
    old = log_of(("w", 0, 130, 0))
    new = log_of(("w", 0, 100, 0), ("w", 130, 20, 1))
    accounts = {"w": account(150, [(0, 130, 0), (130, 20, 100)])}
    counts = count_records(accounts, {B1: old, B2: new}, B2, [B2])
    assert counts == RecordCounts(sent=150, acknowledged=150, lost=30, incomplete=20, divergent=20)


def test_what_is_not_committed_may_differ() -> None:
    """The tail of a leader's log that no follower has fetched is truncated as soon as the leader's broker is back."""
    old = log_of(("w", 0, 130, 0), high_watermark=100)
    new = log_of(("w", 0, 100, 0), ("w", 130, 20, 1))
    assert count_records({"w": account(150)}, {B1: old, B2: new}, B2, [B2]).divergent == 0


def test_several_writers_are_distinguished() -> None:
    logs = {B1: log_of(("a", 0, 10, 0), ("b", 0, 5, 0), ("a", 10, 10, 0))}
    counts = count_records({"a": account(20, [(0, 10, 0), (10, 10, 15)]), "b": account(9, [(0, 9, 10)])}, logs, B1, [B1])
    assert counts == RecordCounts(sent=29, acknowledged=29, lost=4, lost_everywhere=4)


def test_what_retention_has_deleted_is_not_lost() -> None:
    log = log_of(("w", 0, 100, 0))
    log.log_start_offset = 40
    assert count_records({"w": account(100, [(0, 50, 0), (50, 50, 50)])}, {B1: log}, B1, [B1]).lost == 0


def test_what_was_acknowledged_without_an_offset_cannot_be_excused_by_retention() -> None:
    """acks=0: the producer never learned an offset for the records."""
    log = log_of(("w", 0, 50, 0))
    log.log_start_offset = 40
    assert count_records({"w": account(50, [(0, 50, NO_OFFSET)])}, {B1: log}, B1, [B1]).lost == 40


def test_a_billion_records_are_counted_as_fast_as_one() -> None:
    logs = {B1: log_of(("w", 0, BILLION, 0)), B2: log_of(("w", 0, BILLION - 7, 0))}
    counts = count_records({"w": account(BILLION, [(0, BILLION, 0)])}, logs, B2, [B2])
    assert counts == RecordCounts(sent=BILLION, acknowledged=BILLION, lost=7)


def test_acknowledgements_that_continue_each_other_are_kept_as_one() -> None:
    kept = account(30, [(0, 10, 0), (10, 10, 10), (20, 10, 35)])
    assert kept.acknowledged == [(0, 20, 0), (20, 10, 35)]


def test_acknowledgements_without_offsets_are_one_too() -> None:
    assert account(20, [(0, 10, NO_OFFSET), (10, 10, NO_OFFSET)]).acknowledged == [(0, 20, NO_OFFSET)]


def test_a_ledger_keeps_an_account_for_each_partition_and_writer() -> None:
    ledger = Ledger()
    ledger.account(ORDERS, "a").written += 5
    ledger.account(TopicPartition("clicks", 1), "a").written += 7
    assert ledger.partitions == [TopicPartition("clicks", 1), ORDERS]
    assert {writer: kept.written for writer, kept in ledger.of(ORDERS).items()} == {"a": 5}


def test_counts_are_described_in_words() -> None:
    counts = RecordCounts(sent=150, acknowledged=120, given_up=20, lost=3, duplicated=1)
    assert counts.in_words() == "150 sent, 120 acknowledged, 20 given up, 10 under way, 3 lost, 1 duplicated"
