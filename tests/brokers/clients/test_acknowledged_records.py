"""What has become of the records that were acknowledged to real clients, held against a count record by record."""

from hypothesis import given
from hypothesis import strategies as st

from kcsim.brokers.clients.acknowledged_records import AcknowledgedRecords
from kcsim.brokers.clients.ledger import RecordCounts
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.brokers.records import Run
from kcsim.vocabulary import BrokerId, LeaderEpoch, TopicPartition

TP = TopicPartition("orders", 0)
B1, B2 = BrokerId(1), BrokerId(2)


def log_of(*epochs: tuple[int, int], start: int = 0) -> ReplicaLog:
    """Return a log with these numbers of records: (leader epoch, count), …"""
    log = ReplicaLog(TP)
    for epoch, count in epochs:
        log.append_as_leader([Run(0, count, LeaderEpoch(0), "w", log.log_end_offset, 0, 1)], LeaderEpoch(epoch), 0)
    log.high_watermark = log.log_end_offset
    log.increment_log_start_offset(start)
    return log


def counted(acknowledged: list[tuple[int, int, int]], logs: dict[BrokerId, ReplicaLog]) -> RecordCounts:
    """Count records that were acknowledged as (epoch, first offset, count), …, of which broker 1 leads the partition."""
    records = AcknowledgedRecords()
    for epoch, first, count in acknowledged:
        records.acknowledge(TP, LeaderEpoch(epoch), first, count)
    return records.count(TP, logs, B1, [B1])


def test_records_that_another_leader_wrote_at_the_same_offsets_do_not_count() -> None:
    """Broker 2 led in epoch 0, its last three records were never copied, and broker 1 wrote others there."""
    logs = {B1: log_of((0, 7), (1, 5)), B2: log_of((0, 10))}
    found = counted([(0, 0, 5), (0, 5, 5), (1, 7, 5)], logs)
    assert found == RecordCounts(sent=15, acknowledged=15, lost=3, incomplete=5)


def test_what_retention_deleted_is_not_lost() -> None:
    logs = {B1: log_of((0, 10), start=6), B2: log_of((0, 10), start=6)}
    assert counted([(0, 0, 10)], logs) == RecordCounts(sent=10, acknowledged=10)


def test_without_any_log_all_is_lost_everywhere() -> None:
    assert counted([(0, 0, 10)], {}) == RecordCounts(sent=10, acknowledged=10, lost=10, lost_everywhere=10)


def test_partitions_are_those_with_acknowledged_records() -> None:
    records = AcknowledgedRecords()
    assert records.partitions == []
    records.acknowledge(TP, LeaderEpoch(0), 0, 1)
    assert records.partitions == [TP]
    assert records.count(TopicPartition("other", 0), {}, None, []) == RecordCounts()


small = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), max_size=4).map(sorted)


@given(small, small, st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12), st.integers(1, 5)), max_size=6))
def test_counts_are_those_of_single_records(
    of_leader: list[tuple[int, int]], of_follower: list[tuple[int, int]], acknowledged: list[tuple[int, int, int]]
) -> None:
    logs = {B1: log_of(*of_leader), B2: log_of(*of_follower)}
    there = {
        broker: {(run.leader_epoch, offset) for run in log.runs for offset in range(run.base_offset, run.end_offset)}
        for broker, log in logs.items()
    }
    records = {(epoch, offset) for epoch, first, count in acknowledged for offset in range(first, first + count)}
    found = counted(acknowledged, logs)
    assert found.acknowledged == len(records)
    assert found.lost == len(records - there[B1])
    assert found.lost_everywhere == len(records - there[B1] - there[B2])
    assert found.incomplete == len((records & there[B1]) - there[B2])
