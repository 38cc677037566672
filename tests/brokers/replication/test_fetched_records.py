"""Records and high watermarks that a leader sends to followers. Source: docs/kafka/requests.md 5, 6.2, 6.3, 7.1."""

from collections.abc import Mapping

from kcsim.brokers.requests import FetchedPartition, FetchPartition, FetchRequest, FetchResponse
from kcsim.controller.requests import ErrorCode
from kcsim.runtime.ports import Promise
from kcsim.vocabulary import BrokerId, LeaderEpoch, TopicPartition
from tests.brokers.broker_bench import (
    B1,
    B2,
    B3,
    CAUSE,
    ORDERS_0,
    ORDERS_1,
    BrokerBench,
    ZkIsrBench,
    refused,
    requested_state,
)


def of(offset: int, epoch: int = 0, max_bytes: int = 1 << 20) -> FetchPartition:
    return FetchPartition(LeaderEpoch(epoch), offset, CAUSE, max_bytes=max_bytes)


class Session:
    """A follower whose fetcher uses one connection: unchanged partitions are requested with the very same objects."""

    def __init__(self, bench: BrokerBench, follower: BrokerId = B2) -> None:
        self._bench = bench
        self._follower = follower
        self.request = FetchRequest(follower, 500, {})

    async def ask(
        self, partitions: Mapping[TopicPartition, FetchPartition] | None = None, max_bytes: int = 10 << 20
    ) -> FetchResponse:
        """Fetch these partitions in place of their former entries; None: send the same request again."""
        if partitions is not None:
            self.request = FetchRequest(self._follower, 500, {**self.request.partitions, **partitions}, max_bytes=max_bytes)
        return await self._bench.data.requests.followers.handle(self.request)

    def asking(self, partitions: Mapping[TopicPartition, FetchPartition] | None = None) -> "Promise[FetchResponse]":
        return self._bench.begun(self.ask(partitions))


def counts(response: FetchResponse) -> dict[TopicPartition, int]:
    """Return the number of records per partition."""
    return {tp: sum(run.count for run in part.runs) for tp, part in response.partitions.items()}


def test_records_that_are_there_are_sent_at_once_up_to_the_end_of_the_log() -> None:
    """Followers read beyond the high watermark; the answer has the high watermark from before this fetch counted."""
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        await bench.produce(5)
        began_ms = bench.runtime.now_ms()
        response = await Session(bench).ask({ORDERS_0: of(2)})
        assert bench.runtime.now_ms() == began_ms
        sent = response.partitions[ORDERS_0]
        assert [(run.base_offset, run.end_offset) for run in sent.runs] == [(2, 5)]
        assert (sent.high_watermark, bench.partition().high_watermark) == (0, 2)

    bench.play(script)


def test_the_high_watermark_travels_with_the_next_answer_once() -> None:
    """A new high watermark does not trigger an answer, but is part of the next one; it is sent only once. Source: 7.1."""
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        await bench.produce(5)
        session = Session(bench)
        await session.ask({ORDERS_0: of(0)})
        assert await session.ask({ORDERS_0: of(5)}) == FetchResponse({ORDERS_0: FetchedPartition(ErrorCode.NONE, 5, 0)})
        assert await session.ask() == FetchResponse()

    bench.play(script)


def test_the_high_watermark_of_one_partition_comes_with_the_records_of_another() -> None:
    bench = BrokerBench()

    async def script() -> None:
        for tp in (ORDERS_0, ORDERS_1):
            await bench.lead(tp, isr=(B1, B2))
        await bench.produce(5)
        session = Session(bench)
        await session.ask({ORDERS_0: of(0), ORDERS_1: of(0)})
        parked = session.asking({ORDERS_0: of(5)})
        await bench.runtime.sleep_ms(10)
        await bench.produce(1, ORDERS_1)
        response = await parked.wait(1)
        assert counts(response) == {ORDERS_0: 0, ORDERS_1: 1}
        assert response.partitions[ORDERS_0].high_watermark == 5

    bench.play(script)


def test_a_new_connection_hears_everything_again() -> None:
    """What the leader has sent on the old connection may not have arrived."""
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        await bench.produce(5)
        lost = Session(bench)
        await lost.ask({ORDERS_0: of(0)})
        await lost.ask({ORDERS_0: of(5)})
        full = FetchRequest(B2, 0, lost.request.partitions, is_full=True)
        response = await bench.data.requests.followers.handle(full)
        assert response.partitions[ORDERS_0].high_watermark == 5

    bench.play(script)


def test_a_fetch_that_arrives_twice_costs_nothing_but_an_empty_answer() -> None:
    """The answer to the second copy is received by no client: everything in it is sent again."""
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        session = Session(bench)
        first, copy = session.asking({ORDERS_0: of(0)}), session.asking()
        assert await first.wait(1) == FetchResponse()
        await bench.produce(1)
        assert counts(await copy.wait(1)) == {ORDERS_0: 1}
        assert counts(await session.ask()) == {ORDERS_0: 1}

    bench.play(script)


def test_what_an_answer_has_no_room_for_is_sent_with_the_next() -> None:
    bench = BrokerBench()

    async def script() -> None:
        for tp in (ORDERS_0, ORDERS_1):
            await bench.lead(tp, isr=(B1, B2))
            await bench.produce(5, tp)
        session = Session(bench)
        assert counts(await session.ask({ORDERS_0: of(0), ORDERS_1: of(0)}, max_bytes=500)) == {ORDERS_0: 5}
        assert counts(await session.ask({ORDERS_0: of(5)}, max_bytes=500)) == {ORDERS_0: 0, ORDERS_1: 5}

    bench.play(script)


def test_a_partition_sends_no_more_than_its_share() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        await bench.produce(50)
        assert counts(await Session(bench).ask({ORDERS_0: of(0, max_bytes=1_000)})) == {ORDERS_0: 10}

    bench.play(script)


def test_an_offset_beyond_the_leaders_log_is_out_of_range_and_says_nothing_of_the_follower() -> None:
    """5, last line: an error updates no state."""
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        await bench.produce(5)
        assert await Session(bench).ask({ORDERS_0: of(6)}) == refused({ORDERS_0: ErrorCode.OFFSET_OUT_OF_RANGE})
        assert bench.partition().followers[B2].log_end_offset == -1
        assert bench.partition().high_watermark == 0

    bench.play(script)


def test_a_broker_that_is_no_replica_gets_no_records_and_no_high_watermark() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(isr=(B1,))
        await bench.produce(5)
        stranger = Session(bench, BrokerId(7))
        assert await stranger.ask({ORDERS_0: of(0)}) == FetchResponse()

    bench.play(script)


def test_a_follower_joins_the_isr_when_it_has_all_that_is_committed() -> None:
    """6.2: from then on nothing is committed that the follower does not have."""
    bench = ZkIsrBench()

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        await bench.produce(5)
        await bench.fetch(B2, {ORDERS_0: 0}, offset=5)
        await bench.fetch(B3, {ORDERS_0: 0}, offset=4)
        assert bench.partition().isr == (B1, B2)
        await bench.fetch(B3, {ORDERS_0: 0}, offset=5)
        assert bench.partition().isr == (B1, B2, B3)
        await bench.produce(1, sequence=5)
        await bench.fetch(B2, {ORDERS_0: 0}, offset=6)
        assert bench.partition().high_watermark == 5

    bench.play(script)


def test_a_new_leader_commits_nothing_before_its_isr_has_fetched_and_lets_nobody_in_below_its_epoch() -> None:
    """6.2, 6.3: the leader's epoch begins where its log ends."""
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        await bench.produce(5)
        await bench.lead_or_follow({ORDERS_0: requested_state(B2, 1)})
        await bench.lead_or_follow({ORDERS_0: requested_state(B1, 2, (B1, B2))})
        assert bench.partition().high_watermark == 0
        await bench.fetch(B3, {ORDERS_0: 2}, offset=3)
        assert bench.partition().isr == (B1, B2)
        await bench.fetch(B2, {ORDERS_0: 2}, offset=5)
        assert bench.partition().high_watermark == 5
        assert [entry.start_offset for entry in bench.partition().written_log.epochs.entries] == [0, 5]

    bench.play(script)


def test_a_leader_that_is_alone_commits_what_it_has_as_soon_as_it_leads() -> None:
    """4.3, makeLeader 5."""
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        await bench.produce(5)
        await bench.lead_or_follow({ORDERS_0: requested_state(B1, 1, (B1,))})
        assert bench.partition().high_watermark == 5

    bench.play(script)
