"""ISR changes that a leader asks the controller for. Source: Kafka 2.8, DefaultAlterIsrManager, Partition; KIP-497."""

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any

import pytest

from kcsim.brokers.config import PROTOCOL_VERSION, BrokerConfig
from kcsim.brokers.replication.alter_isr import RETRY_MS
from kcsim.brokers.requests import FetchPartition, FetchRequest
from kcsim.controller.protections import ALL_ON
from kcsim.controller.requests import AlterIsrRequest, ErrorCode, UpdateMetadataResponse
from kcsim.eventlog.events import EventKind
from kcsim.vocabulary import BrokerId, LeaderAndIsr, LeaderEpoch, PartitionState, TopicPartition, ZkVersion
from tests.brokers.broker_bench import (
    B1,
    B2,
    B3,
    CAUSE,
    CONTROLLER,
    ORDERS_0,
    ORDERS_1,
    ORDERS_2,
    OWN_EPOCH,
    BrokerBench,
    appended_at,
    requested_state,
)
from tests.brokers.scripted_controller import ScriptedController

MAX_LAG_MS = 2_000
ENOUGH_MS = 100
"""Time for a request to arrive, for its answer, and for a request that is sent again."""
SETTINGS = {"replica.lag.time.max.ms": MAX_LAG_MS}
CONFIG = BrokerConfig.of(SETTINGS | {PROTOCOL_VERSION: "2.8"})
WITH_RETRIES = BrokerConfig.of(SETTINGS | {PROTOCOL_VERSION: "3.0"})
WITH_ELIGIBILITY = BrokerConfig.of(SETTINGS | {PROTOCOL_VERSION: "3.3"})


class AlterIsrBench(BrokerBench):
    """Broker 1, which asks a scripted controller for ISRs."""

    def __init__(self, config: BrokerConfig = CONFIG) -> None:
        super().__init__(config)
        self.controller = ScriptedController(self.runtime, self.network, CONTROLLER)

    async def update_metadata(
        self,
        partitions: Mapping[TopicPartition, PartitionState] | None = None,
        alive: Iterable[BrokerId] = (B1, B2, B3, CONTROLLER),
        controller_epoch: int = 1,
        broker_epoch: int = OWN_EPOCH,
    ) -> UpdateMetadataResponse:
        return await super().update_metadata(partitions, alive, controller_epoch, broker_epoch)

    async def wait(self, ms: int = ENOUGH_MS) -> None:
        await self.runtime.sleep_ms(ms)

    async def until_asked(self, count: int = 1) -> None:
        """Wait until the controller has received so many requests, and as long as a further one may take."""
        for _ in range(10 * MAX_LAG_MS):
            if len(self.controller.received) >= count:
                break
            await self.wait(1)
        await self.wait()
        assert len(self.controller.received) == count

    async def answer(self, error: ErrorCode = ErrorCode.NONE, **refused: ErrorCode) -> None:
        """Answer the oldest request, and let the broker process the answer. Args: refused: by topic, partition 0."""
        await self.controller.answer(error, {TopicPartition(topic, 0): code for topic, code in refused.items()})
        await self.wait(5)


Script = Callable[[AlterIsrBench], Coroutine[Any, Any, None]]


def play(script: Script) -> AlterIsrBench:
    return play_with(CONFIG, script)


def play_with(config: BrokerConfig, script: Script) -> AlterIsrBench:
    bench = AlterIsrBench(config)
    bench.play(lambda: script(bench))
    return bench


def state(*isr: BrokerId, epoch: int = 0, version: int = 0) -> LeaderAndIsr:
    """Return a state that broker 1 asks for."""
    return LeaderAndIsr(B1, LeaderEpoch(epoch), isr, ZkVersion(version))


async def shrinking(bench: AlterIsrBench) -> None:
    """Let broker 3 fall behind one record, until the leader has asked for the ISR without it."""
    await bench.lead()
    for follower in (B2, B3):
        await bench.fetch(follower, {ORDERS_0: 0})
    assert await bench.produce(1) == appended_at(0)
    await bench.fetch(B2, {ORDERS_0: 0}, offset=1)
    await bench.until_asked()
    assert bench.controller.asked == [{ORDERS_0: state(B1, B2)}]


async def expanding(bench: AlterIsrBench) -> None:
    """Let broker 3 catch up, until the leader has asked for the ISR with it."""
    await bench.lead(isr=(B1, B2))
    await bench.fetch(B3, {ORDERS_0: 0})
    await bench.until_asked()
    assert bench.controller.asked == [{ORDERS_0: state(B1, B2, B3)}]


def changes(bench: AlterIsrBench) -> list[tuple[EventKind, Sequence[int] | None]]:
    kinds = (EventKind.ISR_EXPANDED, EventKind.ISR_SHRUNK, EventKind.ISR_CHANGE_FAILED)
    return [(event.kind, event.isr) for event in bench.events(*kinds)]


# --- requests


def test_the_controller_is_asked_and_nothing_is_written() -> None:
    async def script(bench: AlterIsrBench) -> None:
        await expanding(bench)
        assert bench.partition().isr == (B1, B2)
        await bench.answer()
        assert (bench.partition().isr, bench.partition().zk_version) == ((B1, B2, B3), 1)

    bench = play(script)
    assert bench.controller.received[0][0] == AlterIsrRequest(B1, OWN_EPOCH, {ORDERS_0: state(B1, B2, B3)})
    assert [event for event in bench.events(EventKind.ZK_WRITE) if event.node == "broker-1"] == []
    (expanded,) = bench.events(EventKind.ISR_EXPANDED)
    (received,) = bench.events(EventKind.RESPONSE_RECEIVED)
    assert (expanded.broker_id, expanded.isr, expanded.zk_version, expanded.cause) == (3, [1, 2, 3], 1, received.seq)
    assert (bench.isr.expands, bench.isr.failed_updates) == (1, 0)


def test_changes_wait_for_the_request_under_way_and_then_go_together() -> None:
    async def script(bench: AlterIsrBench) -> None:
        for tp in (ORDERS_0, ORDERS_1, ORDERS_2):
            await bench.lead(tp, isr=(B1, B2))
        await bench.fetch(B3, {ORDERS_0: 0})
        await bench.until_asked()
        await bench.fetch(B3, {ORDERS_1: 0, ORDERS_2: 0})
        await bench.until_asked(1)
        await bench.answer()
        await bench.until_asked(2)
        await bench.answer()
        await bench.until_asked(2)

    bench = play(script)
    isr = state(B1, B2, B3)
    assert bench.controller.asked == [{ORDERS_0: isr}, {ORDERS_1: isr, ORDERS_2: isr}]
    assert [bench.partition(tp).isr for tp in (ORDERS_0, ORDERS_1, ORDERS_2)] == [(B1, B2, B3)] * 3


def test_followers_that_catch_up_while_a_change_is_under_way_join_with_their_next_fetch() -> None:
    """They do not have to fetch other records first."""

    async def script(bench: AlterIsrBench) -> None:
        await bench.lead(isr=(B1,))
        for follower in (B3, B2):
            await bench.fetch(follower, {ORDERS_0: 0})
        await bench.until_asked()
        await bench.answer()
        await bench.wait()
        assert len(bench.controller.asked) == 1
        await bench.fetch(B2, {ORDERS_0: 0})
        await bench.until_asked(2)
        await bench.answer()

    bench = play(script)
    assert bench.controller.asked == [{ORDERS_0: state(B1, B3)}, {ORDERS_0: state(B1, B3, B2, version=1)}]
    assert bench.partition().isr == (B1, B3, B2)


def test_a_follower_that_was_caught_up_and_lost_its_log_while_a_change_was_under_way_does_not_join() -> None:
    async def script(bench: AlterIsrBench) -> None:
        await bench.lead(isr=(B1,))
        await bench.produce(1)
        for follower in (B3, B2):
            await bench.fetch(follower, {ORDERS_0: 0}, offset=1)
        await bench.until_asked()
        await bench.answer()
        await bench.fetch(B2, {ORDERS_0: 0}, offset=0)
        await bench.wait()

    bench = play(script)
    assert bench.controller.asked == [{ORDERS_0: state(B1, B3)}]


def test_a_lagging_follower_is_removed_after_the_change_that_is_under_way() -> None:
    async def script(bench: AlterIsrBench) -> None:
        await expanding(bench)
        await bench.produce(1)
        await bench.fetch(B3, {ORDERS_0: 0}, offset=1)
        await bench.wait(2 * MAX_LAG_MS)
        await bench.until_asked(1)
        await bench.answer()
        await bench.until_asked(2)
        await bench.answer()

    bench = play(script)
    assert bench.controller.asked[1] == {ORDERS_0: state(B1, B3, version=1)}
    assert changes(bench) == [(EventKind.ISR_EXPANDED, [1, 2, 3]), (EventKind.ISR_SHRUNK, [1, 3])]


def test_a_follower_that_catches_up_while_it_is_being_removed_joins_again() -> None:
    async def script(bench: AlterIsrBench) -> None:
        await shrinking(bench)
        await bench.fetch(B3, {ORDERS_0: 0}, offset=1)
        await bench.answer()
        await bench.fetch(B3, {ORDERS_0: 0}, offset=1)
        await bench.until_asked(2)
        await bench.answer()

    bench = play(script)
    assert bench.controller.asked[1] == {ORDERS_0: state(B1, B2, B3, version=1)}
    assert changes(bench) == [(EventKind.ISR_SHRUNK, [1, 2]), (EventKind.ISR_EXPANDED, [1, 2, 3])]


def test_a_follower_that_is_still_behind_when_it_has_been_removed_does_not_join_again() -> None:
    """While it is a member, the high watermark waits for it, so that it has reached that at every fetch."""

    async def script(bench: AlterIsrBench) -> None:
        await shrinking(bench)
        await bench.produce(1, sequence=1)
        await bench.fetch(B3, {ORDERS_0: 0}, offset=1)
        await bench.fetch(B2, {ORDERS_0: 0}, offset=2)
        assert bench.partition().high_watermark == 1
        await bench.answer()
        await bench.until_asked(1)
        assert (bench.partition().isr, bench.partition().high_watermark) == ((B1, B2), 2)

    play(script)


# --- meanwhile


def test_the_high_watermark_waits_for_the_follower_that_is_being_removed() -> None:
    async def script(bench: AlterIsrBench) -> None:
        await shrinking(bench)
        await bench.produce(1, sequence=1)
        await bench.fetch(B2, {ORDERS_0: 0}, offset=2)
        assert (bench.partition().isr, bench.partition().high_watermark) == ((B1, B2, B3), 0)
        await bench.answer()
        assert (bench.partition().isr, bench.partition().high_watermark) == ((B1, B2), 2)

    bench = play(script)
    assert changes(bench) == [(EventKind.ISR_SHRUNK, [1, 2])]


def test_the_high_watermark_waits_for_the_follower_that_is_being_added() -> None:
    """The follower counts also when it has not been caught up for longer than replica.lag.time.max.ms."""

    async def script(bench: AlterIsrBench) -> None:
        await expanding(bench)
        await bench.wait(MAX_LAG_MS + 1)
        await bench.produce(1)
        await bench.fetch(B2, {ORDERS_0: 0}, offset=1)
        assert bench.partition().high_watermark == 0
        await bench.answer()
        assert bench.partition().high_watermark == 0
        await bench.fetch(B3, {ORDERS_0: 0}, offset=1)
        assert bench.partition().high_watermark == 1

    play(script)


def test_records_are_written_and_fetched_while_a_change_is_under_way() -> None:
    async def script(bench: AlterIsrBench) -> None:
        await shrinking(bench)
        produced = bench.begun(bench.produce(1, sequence=1))
        await bench.wait(1)
        assert produced.is_settled
        assert await produced.wait() == appended_at(1)
        fetched = await bench.fetch(B2, {ORDERS_0: 0}, offset=1)
        assert [run.count for run in fetched.partitions[ORDERS_0].runs] == [1]
        assert (await bench.consume(0)).error is ErrorCode.NONE
        assert bench.partition().isr == (B1, B2, B3)

    play(script)


def test_a_write_with_all_acknowledgements_is_answered_once_the_isr_has_shrunk() -> None:
    async def script(bench: AlterIsrBench) -> None:
        await bench.lead()
        for follower in (B2, B3):
            await bench.fetch(follower, {ORDERS_0: 0})
        acknowledged = bench.begun(bench.produce(1, acks=-1, timeout_ms=60_000))
        await bench.wait(1)
        await bench.fetch(B2, {ORDERS_0: 0}, offset=1)
        await bench.until_asked()
        assert not acknowledged.is_settled
        await bench.answer()
        assert acknowledged.is_settled
        assert await acknowledged.wait() == appended_at(0)

    play(script)


# --- refusals


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    ],
    ids=lambda error: error.name,
)
def test_a_refused_change_stays_pending_until_the_next_leader_and_isr(error: ErrorCode) -> None:
    """So does in 2.8 one that the controller failed to write: Kafka's leader fails at asking again."""

    async def script(bench: AlterIsrBench) -> None:
        await expanding(bench)
        await bench.answer(orders=error)
        await bench.fetch(B3, {ORDERS_0: 0})
        await bench.until_asked(1)
        assert (bench.partition().isr, bench.partition().pending_isr) == ((B1, B2), (B1, B2, B3))
        await bench.lead_or_follow({ORDERS_0: requested_state(B1, 1, (B1, B2), zk_version=4)})
        assert bench.partition().pending_isr is None
        await bench.fetch(B3, {ORDERS_0: 1})
        await bench.answer()

    bench = play(script)
    assert bench.controller.asked[1:] == [{ORDERS_0: state(B1, B2, B3, epoch=1, version=4)}]
    assert changes(bench) == [(EventKind.ISR_CHANGE_FAILED, [1, 2, 3]), (EventKind.ISR_EXPANDED, [1, 2, 3])]
    assert bench.events(EventKind.ISR_CHANGE_FAILED)[0].error == error.name
    assert (bench.isr.failed_updates, bench.isr.expands) == (1, 1)


@pytest.mark.parametrize("error", [ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED], ids=lambda e: e.name)
def test_after_a_replica_was_not_eligible_its_next_fetch_asks_again(error: ErrorCode) -> None:
    """The state is the one that the leader knows. Source: Kafka 3.9, Partition.handleAlterPartitionError; KIP-841."""

    async def script(bench: AlterIsrBench) -> None:
        await expanding(bench)
        await bench.answer(orders=error)
        assert (bench.partition().isr, bench.partition().pending_isr) == ((B1, B2), None)
        await bench.until_asked(1)  # nothing is asked by itself
        await bench.fetch(B3, {ORDERS_0: 0})
        await bench.until_asked(2)
        await bench.answer()

    bench = play(script)
    assert bench.controller.asked == 2 * [{ORDERS_0: state(B1, B2, B3)}]
    assert changes(bench) == [(EventKind.ISR_CHANGE_FAILED, [1, 2, 3]), (EventKind.ISR_EXPANDED, [1, 2, 3])]
    assert bench.events(EventKind.ISR_CHANGE_FAILED)[0].detail == (
        f"ISR stays [1, 2]: the controller has refused ISR [1, 2, 3]: {error.name}"
    )


async def caught_up_while_dead(bench: AlterIsrBench) -> FetchRequest:
    """Let broker 3 catch up while the leader does not know it as alive; return its fetch, which waits a minute at most."""
    await bench.lead(isr=(B1, B2))
    await bench.update_metadata(alive=(B1, B2, CONTROLLER))
    fetch = FetchRequest(B3, 60_000, {ORDERS_0: FetchPartition(LeaderEpoch(0), 0, CAUSE)})
    began_ms = bench.runtime.now_ms()
    await bench.data.requests.followers.handle(fetch)
    assert bench.runtime.now_ms() - began_ms == BrokerConfig().replica_fetch_wait_max_ms
    return fetch


def test_a_follower_that_is_not_alive_joins_with_its_first_fetch_afterwards() -> None:
    """Its fetch is answered after replica.fetch.wait.max.ms, so that an unchanged fetch finds out that it may join."""

    async def script(bench: AlterIsrBench) -> None:
        fetch = await caught_up_while_dead(bench)
        await bench.until_asked(0)
        await bench.update_metadata()
        await bench.until_asked(0)
        bench.runtime.spawn("fetch", bench.data.requests.followers.handle(fetch))
        await bench.until_asked(1)
        await bench.answer()

    bench = play_with(WITH_ELIGIBILITY, script)
    assert changes(bench) == [(EventKind.ISR_EXPANDED, [1, 2, 3])]


def test_where_eligibility_is_not_checked_a_follower_that_is_not_alive_joins_at_once() -> None:
    async def script(bench: AlterIsrBench) -> None:
        await bench.lead(isr=(B1, B2))
        await bench.update_metadata(alive=(B1, B2, CONTROLLER))
        await bench.fetch(B3, {ORDERS_0: 0})
        await bench.until_asked(1)
        await bench.answer()

    without = ALL_ON.without(["replica-eligibility"])
    for config in (CONFIG, BrokerConfig.of(SETTINGS | {PROTOCOL_VERSION: "3.3"}, without)):
        assert changes(play_with(config, script)) == [(EventKind.ISR_EXPANDED, [1, 2, 3])]


def test_from_3_0_on_a_partition_with_another_error_is_asked_for_again_after_a_while() -> None:
    async def script(bench: AlterIsrBench) -> None:
        await expanding(bench)
        answered_ms = bench.runtime.now_ms()
        await bench.answer(orders=ErrorCode.UNKNOWN_SERVER_ERROR)
        await bench.until_asked(2)
        assert bench.runtime.now_ms() - answered_ms >= RETRY_MS
        assert changes(bench) == []
        await bench.answer()

    bench = play_with(WITH_RETRIES, script)
    assert bench.controller.asked == [{ORDERS_0: state(B1, B2, B3)}] * 2
    assert changes(bench) == [(EventKind.ISR_EXPANDED, [1, 2, 3])]


def test_an_error_of_one_partition_is_none_of_another() -> None:
    other = TopicPartition("clicks", 0)

    async def script(bench: AlterIsrBench) -> None:
        await bench.lead(ORDERS_0, isr=(B1, B2))
        await bench.lead(other, isr=(B1, B2))
        await bench.fetch(B3, {ORDERS_0: 0, other: 0})
        await bench.until_asked()
        await bench.answer(clicks=ErrorCode.FENCED_LEADER_EPOCH)
        await bench.until_asked(1)

    bench = play(script)
    assert bench.controller.asked == [{ORDERS_0: state(B1, B2, B3), other: state(B1, B2, B3)}]
    assert (bench.partition().isr, bench.partition(other).isr) == ((B1, B2, B3), (B1, B2))


def test_a_request_that_is_refused_as_a_whole_is_asked_again_with_what_came_meanwhile() -> None:
    async def script(bench: AlterIsrBench) -> None:
        await bench.lead(ORDERS_1, isr=(B1, B2))
        await expanding(bench)
        await bench.fetch(B3, {ORDERS_1: 0})
        refused_ms = bench.runtime.now_ms()
        await bench.answer(ErrorCode.STALE_BROKER_EPOCH)
        await bench.until_asked(2)
        assert bench.controller.received[1][1] - refused_ms >= RETRY_MS
        await bench.answer()

    bench = play(script)
    assert bench.controller.asked[1] == {ORDERS_0: state(B1, B2, B3), ORDERS_1: state(B1, B2, B3)}
    assert changes(bench) == [(EventKind.ISR_EXPANDED, [1, 2, 3])] * 2


def test_a_partition_that_the_answer_does_not_have_is_asked_for_again() -> None:
    async def script(bench: AlterIsrBench) -> None:
        await expanding(bench)
        await bench.controller.answer(left_out=[ORDERS_0])
        await bench.until_asked(2)
        await bench.answer()

    bench = play(script)
    assert bench.controller.asked == [{ORDERS_0: state(B1, B2, B3)}] * 2
    assert changes(bench) == [(EventKind.ISR_EXPANDED, [1, 2, 3])]


def test_a_partition_that_was_not_asked_for_is_ignored_in_an_answer() -> None:
    async def script(bench: AlterIsrBench) -> None:
        await expanding(bench)
        await bench.answer(clicks=ErrorCode.FENCED_LEADER_EPOCH)

    assert changes(play(script)) == [(EventKind.ISR_EXPANDED, [1, 2, 3])]


# --- answers that come too late


def test_an_answer_from_before_a_new_leader_epoch_has_no_effect() -> None:
    async def script(bench: AlterIsrBench) -> None:
        await expanding(bench)
        await bench.lead_or_follow({ORDERS_0: requested_state(B1, 1, (B1, B2), zk_version=4)})
        await bench.answer()
        partition = bench.partition()
        assert (partition.isr, partition.zk_version, partition.pending_isr) == ((B1, B2), 4, None)

    assert changes(play(script)) == []


def test_a_refusal_from_before_a_new_leader_epoch_does_not_keep_the_isr_from_changing() -> None:
    async def script(bench: AlterIsrBench) -> None:
        await expanding(bench)
        await bench.lead_or_follow({ORDERS_0: requested_state(B1, 1, (B1, B2), zk_version=4)})
        await bench.answer(orders=ErrorCode.FENCED_LEADER_EPOCH)
        await bench.fetch(B3, {ORDERS_0: 1})
        await bench.until_asked(2)
        await bench.answer()
        assert bench.partition().isr == (B1, B2, B3)

    play(script)


def test_a_change_in_a_new_leader_epoch_is_asked_for_once_the_former_one_is_answered() -> None:
    """The follower's next fetch is enough; a further request of the controller is not necessary."""

    async def script(bench: AlterIsrBench) -> None:
        await expanding(bench)
        await bench.lead_or_follow({ORDERS_0: requested_state(B1, 1, (B1, B2), zk_version=4)})
        await bench.fetch(B3, {ORDERS_0: 1})
        await bench.until_asked(1)
        assert not bench.partition().is_isr_change_pending
        await bench.answer(orders=ErrorCode.FENCED_LEADER_EPOCH)
        await bench.fetch(B3, {ORDERS_0: 1})
        await bench.until_asked(2)
        await bench.answer()
        assert (bench.partition().isr, bench.partition().zk_version) == ((B1, B2, B3), 5)

    bench = play(script)
    assert bench.controller.asked[1] == {ORDERS_0: state(B1, B2, B3, epoch=1, version=4)}


def test_an_answer_to_a_broker_that_does_not_lead_any_more_has_no_effect() -> None:
    async def script(bench: AlterIsrBench) -> None:
        await expanding(bench)
        await bench.lead_or_follow({ORDERS_0: requested_state(B2, 1, (B1, B2), zk_version=1)})
        await bench.answer()
        assert not bench.partition().is_leader
        assert (bench.partition().isr, bench.partition().zk_version) == ((), 1)

    assert changes(play(script)) == []


def test_a_leader_that_ceases_to_lead_before_it_has_asked_asks_for_what_it_decided() -> None:
    """Kafka submits what was proposed when the leader decided, and the request goes out by itself."""

    async def script(bench: AlterIsrBench) -> None:
        await bench.lead()
        await bench.produce(1)
        await bench.wait(1)
        partition = bench.partition()
        await bench.data.isr.maybe_shrink(partition, 0, CAUSE)
        partition.become_follower(requested_state(B2, 1, (B1, B2), zk_version=1))
        await bench.until_asked()
        await bench.answer(orders=ErrorCode.FENCED_LEADER_EPOCH)
        assert (partition.is_leader, partition.zk_version) == (False, 1)

    assert play(script).controller.asked == [{ORDERS_0: state(B1)}]


def test_after_closing_an_answer_has_no_effect_and_nothing_is_asked() -> None:
    async def script(bench: AlterIsrBench) -> None:
        await bench.lead(ORDERS_1, isr=(B1, B2))
        await expanding(bench)
        await bench.fetch(B3, {ORDERS_1: 0})
        bench.isr.close()
        await bench.answer()
        await bench.until_asked(1)
        assert bench.partition().isr == bench.partition(ORDERS_1).isr == (B1, B2)

    assert changes(play(script)) == []
