"""Offsets that a leader reports. Source: docs/kafka/requests.md 7.2 (2), 7.3, 8, 14."""

import pytest

from kcsim.brokers.records import Run
from kcsim.brokers.requests import (
    CONSUMER,
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    EpochEnd,
    EpochQuery,
    ListedOffset,
    ListOffsetsRequest,
    OffsetQuery,
    OffsetsForLeaderEpochRequest,
)
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import BrokerId, LeaderEpoch
from tests.brokers.broker_bench import B1, B2, CAUSE, EPOCH_MS, ORDERS_0, BrokerBench, decided, requested_state
from tests.brokers.test_record_batches import batch_of, record

NONE = ErrorCode.NONE


def listed(bench: BrokerBench, timestamp: int, replica: BrokerId = CONSUMER, epoch: int = -1) -> ListedOffset:
    request = ListOffsetsRequest({ORDERS_0: OffsetQuery(timestamp, LeaderEpoch(epoch))}, replica)
    return bench.data.requests.offsets.list_offsets(request).partitions[ORDERS_0]


def end_of(bench: BrokerBench, epoch: int, current: int) -> EpochEnd:
    asked = {ORDERS_0: EpochQuery(LeaderEpoch(current), LeaderEpoch(epoch))}
    return bench.data.requests.offsets.ends_of_epochs(OffsetsForLeaderEpochRequest(B2, asked)).partitions[ORDERS_0]


def test_a_log_ends_for_consumers_where_it_is_committed_and_for_replicas_where_it_ends() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(isr=(B1, B2), epoch=4)
        await bench.produce(5)
        await bench.fetch(B2, {ORDERS_0: 4}, offset=3)
        assert listed(bench, LATEST_TIMESTAMP) == ListedOffset(NONE, 3, LeaderEpoch(4))
        assert listed(bench, LATEST_TIMESTAMP, B2) == ListedOffset(NONE, 5, LeaderEpoch(4))
        bench.partition().written_log.increment_log_start_offset(2)
        assert listed(bench, EARLIEST_TIMESTAMP) == ListedOffset(NONE, 2, LeaderEpoch(4))

    bench.play(script)


def test_a_new_leader_does_not_know_the_latest_offset_before_it_has_committed_up_to_its_epoch() -> None:
    """Clients may have seen more records committed than the new leader knows of; the earliest offset is known."""
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        await bench.produce(5)
        await bench.lead_or_follow({ORDERS_0: requested_state(B1, 1, (B1, B2))})
        assert listed(bench, LATEST_TIMESTAMP) == ListedOffset(ErrorCode.OFFSET_NOT_AVAILABLE)
        assert listed(bench, EARLIEST_TIMESTAMP) == ListedOffset(NONE, 0, LeaderEpoch(1))
        await bench.fetch(B2, {ORDERS_0: 1}, offset=5)
        assert listed(bench, LATEST_TIMESTAMP) == ListedOffset(NONE, 5, LeaderEpoch(1))

    bench.play(script)


def test_where_an_epoch_ends_is_known_to_the_leader() -> None:
    """7.2 (2): epoch 1 has records 0..4, epoch 3 those from 5 on."""
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(epoch=1)
        await bench.produce(5)
        await bench.lead_or_follow({ORDERS_0: requested_state(B1, 3)})
        await bench.produce(2, sequence=5)
        assert end_of(bench, 3, current=3) == EpochEnd(NONE, LeaderEpoch(3), 7)
        assert end_of(bench, 2, current=3) == EpochEnd(NONE, LeaderEpoch(1), 5)
        assert end_of(bench, 1, current=3) == EpochEnd(NONE, LeaderEpoch(1), 5)
        assert end_of(bench, 0, current=3) == EpochEnd(NONE, LeaderEpoch(0), 0)
        assert end_of(bench, 4, current=3) == EpochEnd(NONE)

    bench.play(script)


@pytest.mark.parametrize(
    ("current", "error"), [(2, ErrorCode.FENCED_LEADER_EPOCH), (4, ErrorCode.UNKNOWN_LEADER_EPOCH), (3, NONE)]
)
def test_a_client_in_another_epoch_is_fenced(current: int, error: ErrorCode) -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(epoch=3)
        assert end_of(bench, 0, current).error is error
        assert listed(bench, EARLIEST_TIMESTAMP, epoch=current).error is error

    bench.play(script)


def test_who_does_not_lead_says_so() -> None:
    bench = BrokerBench()

    async def script() -> None:
        assert end_of(bench, 0, 0) == EpochEnd(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        await bench.update_metadata({ORDERS_0: decided(B2)})
        assert listed(bench, LATEST_TIMESTAMP) == ListedOffset(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        await bench.lead_or_follow({ORDERS_0: requested_state(B2)})
        assert end_of(bench, 0, 0) == EpochEnd(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        bench.replicas.fail_log_dir(bench.disk.log_dirs[0], CAUSE)
        assert end_of(bench, 0, 0) == EpochEnd(ErrorCode.KAFKA_STORAGE_ERROR)

    bench.play(script)


def test_the_first_record_since_a_time() -> None:
    """Records without bytes have one time for each run, the largest; those of a batch have each their own."""
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(isr=(B1, B2), epoch=4)
        log = bench.partition().written_log
        batch = batch_of(record(0, 0) + record(10, 1), 2)
        run = Run(0, 2, LeaderEpoch(4), "a", 0, 1_010, 40, batch=batch)
        log.append_as_leader([Run(0, 3, LeaderEpoch(4), "b", 0, 900, 100), run], LeaderEpoch(4), EPOCH_MS)
        await bench.fetch(B2, {ORDERS_0: 4}, offset=4)
        assert listed(bench, 800) == ListedOffset(NONE, 0, LeaderEpoch(4), 900)
        assert listed(bench, 1_000) == ListedOffset(NONE, 3, LeaderEpoch(4), 1_000)
        assert listed(bench, 1_001) == ListedOffset(), "that record is not committed yet"
        assert listed(bench, 1_001, B2) == ListedOffset(NONE, 4, LeaderEpoch(4), 1_010)
        assert listed(bench, 1_011) == ListedOffset()

    bench.play(script)
