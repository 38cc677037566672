"""Answers of a leader to consumers' fetches. Source: docs/kafka/requests.md 7.1, 8, 14."""

from kcsim.brokers.requests import ANY_LEADER_EPOCH, CONSUMER, FetchPartition, FetchRequest
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import LeaderEpoch
from tests.brokers.broker_bench import B1, B2, CAUSE, ORDERS_0, ORDERS_1, BrokerBench, requested_state


def test_a_consumer_reads_what_is_committed_and_no_more() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        await bench.produce(5)
        assert (await bench.consume(0)).runs == ()
        await bench.fetch(B2, {ORDERS_0: 0}, offset=3)
        read = await bench.consume(1)
        assert [(run.base_offset, run.end_offset) for run in read.runs] == [(1, 3)]
        assert read.high_watermark == 3
        beyond = await bench.consume(4)
        assert (beyond.error, tuple(beyond.runs)) == (ErrorCode.NONE, ())

    bench.play(script)


def test_a_consumer_waits_for_records_to_be_committed() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        waiting = bench.begun(bench.consume(0, max_wait_ms=500))
        await bench.produce(1)
        await bench.runtime.sleep_ms(10)
        assert not waiting.is_settled
        await bench.fetch(B2, {ORDERS_0: 0}, offset=1)
        assert [run.count for run in (await waiting.wait(1)).runs] == [1]

    bench.play(script)


def test_a_consumer_that_finds_nothing_is_answered_when_its_time_is_up() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead()
        began_ms = bench.runtime.now_ms()
        assert (await bench.consume(0, max_wait_ms=500)).runs == ()
        assert bench.runtime.now_ms() - began_ms == 500

    bench.play(script)


def test_a_consumer_may_wait_for_more_bytes() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(isr=(B1,))
        wanted = {ORDERS_0: FetchPartition(ANY_LEADER_EPOCH, 0, CAUSE)}
        request = FetchRequest(CONSUMER, 10_000, wanted, min_bytes=300)
        waiting = bench.begun(bench.data.requests.consumers.handle(request))
        for n in range(2):
            await bench.produce(1, sequence=n)
        await bench.runtime.sleep_ms(10)
        assert not waiting.is_settled
        await bench.produce(1, sequence=2)
        assert [run.count for run in (await waiting.wait(1)).partitions[ORDERS_0].runs] == [3]

    bench.play(script)


def test_an_answer_has_no_more_bytes_than_asked_for_and_at_least_one_record() -> None:
    bench = BrokerBench()

    async def script() -> None:
        for tp in (ORDERS_0, ORDERS_1):
            await bench.lead(tp, isr=(B1,))
            await bench.produce(10, tp)
        wanted = {tp: FetchPartition(ANY_LEADER_EPOCH, 0, CAUSE, max_bytes=450) for tp in (ORDERS_0, ORDERS_1)}
        small = FetchRequest(CONSUMER, 0, wanted, max_bytes=50)
        large = FetchRequest(CONSUMER, 0, wanted, max_bytes=10_000)
        for request, counts in ((small, [1, 0]), (large, [4, 4])):
            read = (await bench.data.requests.consumers.handle(request)).partitions
            assert [sum(run.count for run in read[tp].runs) for tp in (ORDERS_0, ORDERS_1)] == counts

    bench.play(script)


def test_an_offset_that_the_log_does_not_have_is_reported() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(isr=(B1,))
        await bench.produce(2)
        assert (await bench.consume(3)).error is ErrorCode.OFFSET_OUT_OF_RANGE

    bench.play(script)


def test_a_consumer_that_waits_is_notified_when_the_leader_goes() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead()
        waiting = bench.begun(bench.consume(0, max_wait_ms=500))
        await bench.runtime.sleep_ms(10)
        await bench.lead_or_follow({ORDERS_0: requested_state(B2, 1)})
        assert (await waiting.wait(1)).error is ErrorCode.NOT_LEADER_OR_FOLLOWER

    bench.play(script)


def test_a_consumer_that_knows_the_leader_epoch_is_fenced_by_it() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(epoch=3)
        for epoch, error in ((2, ErrorCode.FENCED_LEADER_EPOCH), (4, ErrorCode.UNKNOWN_LEADER_EPOCH)):
            request = FetchRequest(CONSUMER, 0, {ORDERS_0: FetchPartition(LeaderEpoch(epoch), 0, CAUSE)})
            assert (await bench.data.requests.consumers.handle(request)).errors == {ORDERS_0: error}

    bench.play(script)
