"""Answers of a leader to followers' fetches. Source: docs/kafka/requests.md 4.2-5, 5, 7.1."""

from collections.abc import Coroutine
from typing import Any

import pytest

from kcsim.brokers.requests import DivergingEpoch, FetchedPartition, FetchPartition, FetchRequest, FetchResponse
from kcsim.controller.requests import EPOCH_DURING_DELETE, LEADER_DURING_DELETE, ErrorCode
from kcsim.runtime.ports import Promise
from kcsim.vocabulary import LeaderEpoch
from tests.brokers.broker_bench import (
    B1,
    B2,
    B3,
    CAUSE,
    ORDERS_0,
    ORDERS_1,
    BrokerBench,
    ZkIsrBench,
    decided,
    refused,
    requested_state,
)

WAIT_MS = 15_000


def under_way(bench: BrokerBench, work: Coroutine[Any, Any, FetchResponse]) -> "Promise[FetchResponse]":
    """Return a promise of the answer to a fetch that begins now."""
    answer: Promise[FetchResponse] = bench.runtime.promise()

    async def fetch() -> None:
        answer.resolve(await work)

    bench.runtime.spawn("fetch", fetch())
    return answer


def test_a_fetch_that_finds_nothing_waits_its_time() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead()
        began_ms = bench.runtime.now_ms()
        assert await bench.fetch(B2, {ORDERS_0: 0}, WAIT_MS) == FetchResponse()
        assert bench.runtime.now_ms() - began_ms == WAIT_MS

    bench.play(script)


def test_a_partition_that_is_not_in_the_metadata_cache_is_unknown_even_to_its_leader() -> None:
    """4.2-5: this happens right after a creation, and again in a deletion between UpdateMetadata and StopReplica."""
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead_or_follow({ORDERS_0: requested_state(B1)})
        unknown = refused({ORDERS_0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})
        assert await bench.fetch(B2, {ORDERS_0: 0}, WAIT_MS) == unknown
        await bench.update_metadata({ORDERS_0: decided(B1)})
        assert await bench.fetch(B2, {ORDERS_0: 0}) == FetchResponse()
        parked = under_way(bench, bench.fetch(B2, {ORDERS_0: 0}, WAIT_MS))
        await bench.runtime.sleep_ms(10)
        await bench.update_metadata({ORDERS_0: decided(LEADER_DURING_DELETE)})
        assert await parked.wait(1) == unknown

    bench.play(script)


@pytest.mark.parametrize(
    ("epoch", "error"), [(4, ErrorCode.UNKNOWN_LEADER_EPOCH), (2, ErrorCode.FENCED_LEADER_EPOCH), (3, None)]
)
def test_leader_epochs_must_agree(epoch: int, error: ErrorCode | None) -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(epoch=3)
        assert await bench.fetch(B2, {ORDERS_0: epoch}) == refused({ORDERS_0: error} if error else {})

    bench.play(script)


def test_a_broker_that_does_not_lead_says_so() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.update_metadata({ORDERS_0: decided(B3), ORDERS_1: decided(B3)})
        await bench.lead_or_follow({ORDERS_0: requested_state(B3)})
        answer = await bench.fetch(B2, {ORDERS_0: 0, ORDERS_1: 0})
        assert answer.errors == dict.fromkeys((ORDERS_0, ORDERS_1), ErrorCode.NOT_LEADER_OR_FOLLOWER)

    bench.play(script)


def test_one_error_answers_the_fetch_at_once_and_the_others_are_noted_all_the_same() -> None:
    bench = ZkIsrBench()

    async def script() -> None:
        await bench.lead(ORDERS_0, isr=(B1, B2))
        await bench.lead(ORDERS_1, isr=(B1, B2), epoch=1)
        answer = await bench.fetch(B3, {ORDERS_0: 0, ORDERS_1: 0}, WAIT_MS)
        assert answer == refused({ORDERS_1: ErrorCode.FENCED_LEADER_EPOCH})
        assert bench.partition(ORDERS_0).isr == (B1, B2, B3)

    bench.play(script)


def test_a_raised_epoch_answers_the_fetch_that_waits() -> None:
    """A follower that did not receive the new epoch is fenced: this ends the fetching of a broker in controlled shutdown."""
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(ORDERS_0)
        await bench.lead(ORDERS_1)
        parked = under_way(bench, bench.fetch(B2, {ORDERS_0: 0, ORDERS_1: 0}, WAIT_MS))
        await bench.runtime.sleep_ms(10)
        await bench.lead_or_follow({ORDERS_1: requested_state(B1, 1, isr=(B1, B3))})
        assert await parked.wait(1) == refused({ORDERS_1: ErrorCode.FENCED_LEADER_EPOCH})

    bench.play(script)


def test_a_deleted_and_a_lost_replica_answer_the_fetch_that_waits() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(ORDERS_0)
        await bench.lead(ORDERS_1)
        parked = under_way(bench, bench.fetch(B2, {ORDERS_0: 0, ORDERS_1: 0}, WAIT_MS))
        await bench.runtime.sleep_ms(10)
        await bench.stop({ORDERS_1: (EPOCH_DURING_DELETE, True)})
        assert await parked.wait(1) == refused({ORDERS_1: ErrorCode.NOT_LEADER_OR_FOLLOWER})
        parked = under_way(bench, bench.fetch(B2, {ORDERS_0: 0}, WAIT_MS))
        await bench.runtime.sleep_ms(10)
        bench.replicas.fail_log_dir(bench.disk.log_dirs[0], cause=0)
        assert await parked.wait(1) == refused({ORDERS_0: ErrorCode.KAFKA_STORAGE_ERROR})

    bench.play(script)


@pytest.mark.parametrize(
    ("last_fetched_epoch", "offset", "answer"),
    [
        pytest.param(3, 4, None, id="all that the leader has"),
        pytest.param(1, 3, DivergingEpoch(LeaderEpoch(1), 2), id="beyond the end of its epoch"),
        pytest.param(2, 3, DivergingEpoch(LeaderEpoch(1), 2), id="an epoch that the leader does not have"),
        pytest.param(0, 1, DivergingEpoch(LeaderEpoch(0), 0), id="an epoch before all that the leader has"),
        pytest.param(4, 4, ErrorCode.OFFSET_OUT_OF_RANGE, id="an epoch after all that the leader has"),
        pytest.param(-1, 3, None, id="not compared"),
    ],
)
def test_a_fetch_that_names_its_last_epoch_gets_where_the_logs_diverge(
    last_fetched_epoch: int, offset: int, answer: DivergingEpoch | ErrorCode | None
) -> None:
    """The leader has epochs 1 from 0 on and 3 from 2 on, and four records. Source: Kafka 2.8, Partition.readRecords."""
    bench = BrokerBench()
    fetch = FetchPartition(LeaderEpoch(3), offset, CAUSE, last_fetched_epoch=LeaderEpoch(last_fetched_epoch))

    async def script() -> None:
        await bench.lead(epoch=1)
        await bench.produce(2)
        await bench.lead_or_follow({ORDERS_0: requested_state(B1, 3)})
        await bench.produce(2, sequence=2)
        known = bench.partition(ORDERS_0).followers[B2].log_end_offset
        for _ in range(2):  # a fetch that is sent again as it is
            response = await bench.data.requests.followers.handle(FetchRequest(B2, 0, {ORDERS_0: fetch}))
            fetched = response.partitions.get(ORDERS_0)
            if isinstance(answer, ErrorCode):
                assert response == refused({ORDERS_0: answer})
            elif answer is not None:
                assert fetched is not None
                assert (fetched.diverging, fetched.runs) == (answer, ())
            else:
                assert fetched is None or fetched.diverging is None
        position = bench.partition(ORDERS_0).followers[B2].log_end_offset
        assert position == (offset if answer is None else known)  # else the follower would count as caught up

    bench.play(script)


def test_a_newer_fetch_of_the_same_follower_ends_the_older() -> None:
    """The follower's fetcher has abandoned the older fetch, and waits for the newer one only."""
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead()
        older = under_way(bench, bench.fetch(B2, {ORDERS_0: 0}, WAIT_MS))
        other = under_way(bench, bench.fetch(B3, {ORDERS_0: 0}, WAIT_MS))
        await bench.runtime.sleep_ms(10)
        newer = under_way(bench, bench.fetch(B2, {ORDERS_0: 0}, WAIT_MS))
        assert await older.wait(1) == FetchResponse()
        assert not newer.is_settled
        assert not other.is_settled

    bench.play(script)


def test_a_fetch_sent_again_as_it_is_hears_what_has_changed_since() -> None:
    """The leader need not check every partition for such a fetch, but no change between the two fetches may be missed."""
    bench = BrokerBench()
    request = FetchRequest(B2, 100, {ORDERS_0: FetchPartition(LeaderEpoch(0), 0, CAUSE)})

    async def script() -> None:
        await bench.lead()
        for _ in range(2):
            assert await bench.data.requests.followers.handle(request) == FetchResponse()
        await bench.lead_or_follow({ORDERS_0: requested_state(B1, 1)})
        assert await bench.data.requests.followers.handle(request) == refused({ORDERS_0: ErrorCode.FENCED_LEADER_EPOCH})

    bench.play(script)


def test_what_was_refused_is_looked_at_when_it_is_asked_for_again_the_same_way() -> None:
    """Otherwise the leader would never learn the follower's position, and would consider the follower lagging."""
    bench = BrokerBench()
    request = FetchRequest(B2, 100, {ORDERS_0: FetchPartition(LeaderEpoch(0), 0, CAUSE)})

    async def script() -> None:
        await bench.lead_or_follow({ORDERS_0: requested_state(B1)})
        unknown = refused({ORDERS_0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})
        for _ in range(2):
            assert await bench.data.requests.followers.handle(request) == unknown
        await bench.update_metadata({ORDERS_0: decided(B1)})
        assert await bench.data.requests.followers.handle(request) == FetchResponse()
        assert bench.partition(ORDERS_0).followers[B2].log_end_offset == 0

    bench.play(script)


def test_the_first_fetch_over_tcp_is_answered_with_every_partition() -> None:
    """Kafka's followers drop an answer to it that lacks one; later ones have only what is new."""
    bench = BrokerBench()
    partitions = {tp: FetchPartition(LeaderEpoch(0), 0, CAUSE) for tp in (ORDERS_0, ORDERS_1)}
    request = FetchRequest(B2, 100, partitions, is_full=True, names_all=True)

    async def script() -> None:
        await bench.lead(ORDERS_0)
        await bench.lead(ORDERS_1)
        nothing = FetchedPartition(ErrorCode.NONE, 0, 0)
        answer = await bench.data.requests.followers.handle(request)
        assert answer.partitions == {ORDERS_0: nothing, ORDERS_1: nothing}
        later = FetchRequest(B2, 100, partitions)
        assert await bench.data.requests.followers.handle(later) == FetchResponse()

    bench.play(script)
