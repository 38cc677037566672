"""ISR changes by a leader, and their notification.

Source: docs/kafka/requests.md 6.2, 6.4, 6.5, 13.5; docs/kafka/znodes.md 6.1, 6.4.
"""

import pytest

from kcsim import znodes
from kcsim.brokers.replication.zk_isr import is_notification_due
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.events import EventKind
from kcsim.vocabulary import BrokerId, TopicPartition
from kcsim.zk.operations import Create, SetData
from kcsim.znodes import paths
from tests.brokers.broker_bench import (
    B1,
    B2,
    B3,
    B4,
    B5,
    CAUSE,
    ORDERS_0,
    ORDERS_1,
    BrokerBench,
    ZkIsrBench,
    decided,
    requested_state,
)

# --- expansion


def test_a_follower_that_fetches_at_the_end_joins_at_the_end() -> None:
    """6.2: one replica in one conditional write; leader, leader epoch and the deciding controller's epoch stay."""
    bench = ZkIsrBench()

    async def script() -> None:
        await bench.lead(isr=(B2, B1), epoch=4)
        await bench.fetch(B3, {ORDERS_0: 4})
        assert await bench.state_znode() == decided(B1, 4, (B2, B1, B3), zk_version=1)

    bench.play(script)
    assert (bench.partition().isr, bench.partition().zk_version) == ((B2, B1, B3), 1)
    (expanded,) = bench.events(EventKind.ISR_EXPANDED)
    assert (expanded.broker_id, expanded.isr, expanded.zk_version, expanded.cause) == (3, [2, 1, 3], 1, CAUSE)
    assert bench.isr.expands == 1


def test_a_member_and_a_broker_that_is_no_replica_write_nothing() -> None:
    """5: a broker that is no replica is answered without an error, and leaves no trace."""
    bench = ZkIsrBench()

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        for follower in (B2, B4):
            assert (await bench.fetch(follower, {ORDERS_0: 0})).errors == {}

    bench.play(script)
    assert [event for event in bench.events(EventKind.ZK_WRITE) if event.node == "broker-1"] == []
    assert set(bench.partition().followers) == {B2, B3}


def test_five_members_are_written_in_hash_order() -> None:
    """docs/kafka/znodes.md 6.1, recorded: [1,2,3,5] and 4 give [5,1,2,3,4]."""
    bench = ZkIsrBench()
    replicas = (B1, B2, B3, B4, B5)

    async def script() -> None:
        state = decided(B1, 0, (B1, B2, B3, B5))
        path = paths.topic_partition_state(ORDERS_0)
        await bench.by_hand.znodes.create_recursively(path, znodes.encode_partition_state(state))
        await bench.update_metadata({ORDERS_0: state})
        await bench.lead_or_follow({ORDERS_0: requested_state(B1, 0, (B1, B2, B3, B5), replicas)})
        await bench.fetch(B4, {ORDERS_0: 0})
        assert (await bench.state_znode()).leader_and_isr.isr == (B5, B1, B2, B3, B4)

    bench.play(script)


def test_followers_that_fetch_together_join_one_after_the_other() -> None:
    bench = ZkIsrBench()

    async def script() -> None:
        await bench.lead(isr=(B1,))
        both = [bench.runtime.spawn(f"fetch {b}", _fetch(bench, b)) for b in (B3, B2)]
        for fetch in both:
            await fetch.join()
        assert await bench.state_znode() == decided(B1, 0, (B1, B3, B2), zk_version=2)

    bench.play(script)


async def _fetch(bench: BrokerBench, follower: BrokerId) -> None:
    await bench.fetch(follower, {ORDERS_0: 0})


# --- a write that fails


def test_a_write_that_the_controller_was_faster_than_is_not_tried_again_before_its_decision() -> None:
    """6.4-3, Kafka 2.8, and 13.6: the ISR stays as it was, with the change pending, until a LeaderAndIsr is accepted."""
    bench = ZkIsrBench()

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        removed = decided(B1, 1, (B1,), zk_version=1)
        await bench.tree(SetData(paths.topic_partition_state(ORDERS_0), znodes.encode_partition_state(removed)))
        for _ in range(2):
            assert (await bench.fetch(B3, {ORDERS_0: 0})).errors == {}
        assert await bench.state_znode() == removed
        assert len(bench.events(EventKind.ISR_CHANGE_FAILED)) == 1
        await bench.lead_or_follow({ORDERS_0: requested_state(B1, 1, (B1,), zk_version=1)})
        await bench.fetch(B3, {ORDERS_0: 1})
        assert await bench.state_znode() == decided(B1, 1, (B1, B3), zk_version=2)

    bench.play(script)
    (failed,) = bench.events(EventKind.ISR_CHANGE_FAILED)
    assert (failed.error, failed.isr, failed.zk_version, failed.leader_epoch) == ("BADVERSION", [1, 2, 3], 0, 0)
    assert (bench.isr.failed_updates, bench.isr.expands) == (1, 1)


def test_a_write_whose_answer_was_lost_is_found_and_counts() -> None:
    """docs/kafka/znodes.md 6.4-3."""
    bench = ZkIsrBench()

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        bench.zookeeper.lose_reply(lambda request: isinstance(request, SetData), is_applied=True)
        await bench.fetch(B3, {ORDERS_0: 0})

    bench.play(script)
    assert (bench.partition().isr, bench.partition().zk_version) == ((B1, B2, B3), 1)


def test_a_session_that_ends_under_the_write_leaves_the_change_pending_and_fails_the_fetch() -> None:
    """docs/kafka/requests.md 6.4-3."""
    bench = ZkIsrBench()

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        bench.session.expire()
        failed = await bench.fetch(B3, {ORDERS_0: 0})
        assert failed.errors == {ORDERS_0: ErrorCode.UNKNOWN_SERVER_ERROR}

    bench.play(script)
    assert bench.partition().is_isr_change_pending
    assert bench.partition().isr == (B1, B2)
    (failed,) = bench.events(EventKind.ISR_CHANGE_FAILED)
    assert failed.error == "SessionExpiredError"


# --- when the controller is notified


@pytest.mark.parametrize(
    ("now_ms", "last_change_ms", "last_notification_ms", "is_due"),
    [
        (5_001, 0, 0, True),
        (5_000, 0, 0, False),
        (60_001, 60_000, 0, True),
        (60_000, 60_000, 0, False),
    ],
)
def test_both_comparisons_are_strict(now_ms: int, last_change_ms: int, last_notification_ms: int, is_due: bool) -> None:
    assert is_notification_due(now_ms, last_change_ms, last_notification_ms) is is_due


def notifications(bench: BrokerBench) -> list[int]:
    """Return the times in virtual ms at which notifications were created: each takes 1 ms to ZooKeeper and back."""
    return [
        event.t_ms for event in bench.events(EventKind.ZK_WRITE) if (event.path or "").startswith(paths.ISR_CHANGE_PREFIX)
    ]


def change_at(*times_ms: int, until_ms: int) -> BrokerBench:
    """Return a broker that has expanded an ISR at each of these times."""
    bench = ZkIsrBench()

    async def script() -> None:
        await bench.make_paths()
        partitions = [TopicPartition("orders", p) for p in range(len(times_ms))]
        for tp in partitions:
            await bench.lead(tp, isr=(B1, B2))
            await bench.fetch(B2, {tp: 0})
        for at_ms, tp in zip(times_ms, partitions, strict=True):
            await bench.runtime.sleep_ms(at_ms - 1 - bench.runtime.now_ms())
            await bench.fetch(B3, {tp: 0})
            assert bench.partition(tp).isr == (B1, B2, B3)
        await bench.runtime.sleep_ms(until_ms - bench.runtime.now_ms())

    bench.play(script)
    return bench


def test_a_change_after_a_quiet_minute_is_reported_at_the_next_check() -> None:
    """13.5: the check runs every 2.5 s from the process's start."""
    assert notifications(change_at(60_300, until_ms=80_000)) == [62_500]


def test_a_change_in_the_first_minute_lingers_for_five_seconds() -> None:
    """13.5: a change at 3.0 s needs now > 8.0 s: the check at 10.0 s."""
    assert notifications(change_at(3_000, until_ms=30_000)) == [10_000]


def test_changes_that_keep_coming_are_reported_once_a_minute() -> None:
    """13.5: the linger is never satisfied; the last notification (here: the start) is more than 60 s ago at 62.5 s."""
    times_ms = range(1_000, 66_000, 3_000)
    assert notifications(change_at(*times_ms, until_ms=66_000)) == [62_500]


def test_changes_within_the_linger_are_reported_together() -> None:
    bench = change_at(1_000, 3_000, until_ms=20_000)
    assert notifications(bench) == [10_000]
    (created,) = [e for e in bench.events(EventKind.ZK_WRITE) if (e.path or "").startswith(paths.ISR_CHANGE_PREFIX)]
    assert created.cause == bench.events(EventKind.ISR_EXPANDED)[-1].seq


def test_a_failed_write_is_reported_to_nobody() -> None:
    """docs/kafka/requests.md 6.4-4."""
    bench = ZkIsrBench()

    async def script() -> None:
        await bench.make_paths()
        await bench.lead(isr=(B1, B2))
        await bench.tree(SetData(paths.topic_partition_state(ORDERS_0), b"{}"))
        await bench.fetch(B3, {ORDERS_0: 0})
        await bench.runtime.sleep_ms(70_000)

    bench.play(script)
    assert notifications(bench) == []


def test_a_notification_that_cannot_be_written_is_tried_again_at_the_next_check() -> None:
    """The notification then includes the changes made meanwhile."""
    bench = ZkIsrBench()

    async def script() -> None:
        await bench.lead(ORDERS_0, isr=(B1, B2))
        await bench.lead(ORDERS_1, isr=(B1, B2))
        await bench.fetch(B3, {ORDERS_0: 0})  # its notification finds no parent
        await bench.runtime.sleep_ms(8_000)
        await bench.tree(Create(paths.ISR_CHANGE_NOTIFICATION))
        await bench.fetch(B3, {ORDERS_1: 0})
        await bench.runtime.sleep_ms(20_000)
        (name,) = await bench.by_hand.isr_changes.names()
        assert await bench.by_hand.isr_changes.read_partitions([name]) == [ORDERS_0, ORDERS_1]

    bench.play(script)
    assert notifications(bench) == [7_500, 15_000]
