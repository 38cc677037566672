"""Deletion of records by a leader, and its wait for the followers."""

from kcsim.brokers.admin.change_requests import HIGH_WATERMARK, DeletedRecords, DeleteRecordsRequest, DeleteRecordsResponse
from kcsim.brokers.requests import FetchPartition, FetchRequest
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.events import EventKind
from kcsim.vocabulary import BrokerId, LeaderEpoch
from tests.brokers.broker_bench import B2, B3, CAUSE, ORDERS_0, BrokerBench

TIMEOUT_MS = 1_000


async def fetch(bench: BrokerBench, follower: BrokerId, offset: int, log_start_offset: int) -> None:
    wanted = {ORDERS_0: FetchPartition(LeaderEpoch(0), offset, CAUSE, log_start_offset)}
    await bench.data.requests.followers.handle(FetchRequest(follower, 0, wanted))


async def delete(bench: BrokerBench, offset: int, timeout_ms: int = TIMEOUT_MS) -> DeletedRecords:
    response = await bench.handlers.handle(DeleteRecordsRequest({ORDERS_0: offset}, timeout_ms), CAUSE)
    assert isinstance(response, DeleteRecordsResponse)
    return response.partitions[ORDERS_0]


async def commit(bench: BrokerBench, records: int = 10) -> None:
    """Produce records that both followers then have."""
    await bench.lead()
    await bench.produce(records)
    for follower in (B2, B3):
        await fetch(bench, follower, records, 0)
    assert bench.partition().high_watermark == records


def test_the_answer_waits_for_the_last_live_follower() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await commit(bench)
        deletion = bench.begun(delete(bench, HIGH_WATERMARK))
        await fetch(bench, B2, 10, 10)
        await bench.runtime.sleep_ms(1)
        assert not deletion.is_settled
        await fetch(bench, B3, 10, 10)
        assert await deletion.wait(TIMEOUT_MS) == DeletedRecords(low_watermark=10)
        assert bench.partition().written_log.log_start_offset == 10

    bench.play(script)
    (act,) = bench.events(EventKind.ADMIN_ACT)
    assert (act.op, act.topic, act.partition, act.cause) == ("delete-records", "orders", 0, CAUSE)


def test_a_dead_follower_is_not_waited_for() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await commit(bench)
        await bench.update_metadata(alive=[BrokerId(1), B2])
        await fetch(bench, B2, 10, 4)
        assert await delete(bench, 4) == DeletedRecords(low_watermark=4)

    bench.play(script)


def test_a_follower_that_does_not_follow_lets_the_time_run_out() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await commit(bench)
        await fetch(bench, B2, 10, 4)
        begun_ms = bench.runtime.now_ms()
        assert await delete(bench, 4) == DeletedRecords(ErrorCode.REQUEST_TIMED_OUT, 0)
        assert bench.runtime.now_ms() == begun_ms + TIMEOUT_MS
        assert await delete(bench, 4, timeout_ms=0) == DeletedRecords(ErrorCode.REQUEST_TIMED_OUT, 0)
        assert bench.partition().written_log.log_start_offset == 4

    bench.play(script)


def test_uncommitted_records_stay() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await commit(bench)
        await bench.produce(5, sequence=10)
        assert await delete(bench, 11) == DeletedRecords(ErrorCode.OFFSET_OUT_OF_RANGE)
        assert bench.partition().written_log.log_start_offset == 0

    bench.play(script)
