"""A broker's processing of LeaderAndIsr, UpdateMetadata and StopReplica.

Source: docs/kafka/requests.md 4, docs/kafka/controller.md 11.
"""

import pytest

from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.replication.partition import ReplicaRole
from kcsim.controller.capabilities import Release
from kcsim.controller.config import ControllerConfig
from kcsim.controller.requests import EPOCH_DURING_DELETE, LEADER_DURING_DELETE, ErrorCode, LeaderAndIsrRequest
from kcsim.eventlog.events import EventKind
from kcsim.vocabulary import BrokerId, ControllerEpoch, TopicPartition
from kcsim.znodes import paths
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
    ZkIsrBench,
    decided,
    requested_state,
)

# --- fences of the whole request (4.1)


def test_a_request_for_an_earlier_life_is_refused_whole_and_leaves_no_trace() -> None:
    """4.1-2. LeaderAndIsr answers the error for every partition, StopReplica for none."""
    bench = BrokerBench()

    async def script() -> None:
        led = await bench.lead_or_follow({ORDERS_0: requested_state(B1)}, controller_epoch=7, broker_epoch=OWN_EPOCH - 1)
        assert led.error is ErrorCode.STALE_BROKER_EPOCH
        assert led.partition_errors == {ORDERS_0: ErrorCode.STALE_BROKER_EPOCH}
        stopped = await bench.stop({ORDERS_0: (0, True)}, controller_epoch=7, broker_epoch=OWN_EPOCH - 1)
        assert (stopped.error, stopped.partition_errors) == (ErrorCode.STALE_BROKER_EPOCH, {})
        updated = await bench.update_metadata(controller_epoch=7, broker_epoch=OWN_EPOCH - 1)
        assert updated.error is ErrorCode.STALE_BROKER_EPOCH

    bench.play(script)
    assert bench.replicas.controller_epoch == 0
    assert len(bench.hosted) == 0
    assert [(e.event, e.error) for e in bench.events(EventKind.REQUEST_REFUSED)] == [
        ("LeaderAndIsr", "STALE_BROKER_EPOCH"),
        ("StopReplica", "STALE_BROKER_EPOCH"),
        ("UpdateMetadata", "STALE_BROKER_EPOCH"),
    ]


@pytest.mark.parametrize("broker_epoch", [-1, OWN_EPOCH, OWN_EPOCH + 1])
def test_other_broker_epochs_are_accepted(broker_epoch: int) -> None:
    bench = BrokerBench()

    async def script() -> None:
        assert (await bench.update_metadata(broker_epoch=broker_epoch)).error is ErrorCode.NONE

    bench.play(script)


def test_the_highest_controller_epoch_seen_fences_all_three_requests() -> None:
    """4.1-3 and 4: all three share the epoch; an equal one is accepted, and every accepted request raises it."""
    bench = BrokerBench()

    async def script() -> None:
        await bench.update_metadata(controller_epoch=5)
        led = await bench.lead_or_follow({ORDERS_0: requested_state(B1)}, controller_epoch=4)
        assert led.error is ErrorCode.STALE_CONTROLLER_EPOCH
        assert led.partition_errors == {ORDERS_0: ErrorCode.STALE_CONTROLLER_EPOCH}
        stopped = await bench.stop({ORDERS_0: (0, True)}, controller_epoch=4)
        assert (stopped.error, stopped.partition_errors) == (ErrorCode.STALE_CONTROLLER_EPOCH, {})
        assert (await bench.update_metadata(controller_epoch=4)).error is ErrorCode.STALE_CONTROLLER_EPOCH
        assert (await bench.lead_or_follow({ORDERS_0: requested_state(B1)}, controller_epoch=5)).error is ErrorCode.NONE
        assert (await bench.stop({}, controller_epoch=6)).error is ErrorCode.NONE
        assert (await bench.update_metadata(controller_epoch=5)).error is ErrorCode.STALE_CONTROLLER_EPOCH

    bench.play(script)
    assert bench.replicas.controller_epoch == 6


# --- UpdateMetadata (4.2)


def test_brokers_are_replaced_and_partitions_merged() -> None:
    """4.2-1: an older leader epoch overwrites a newer one; leader -2 removes; partitions that are not named stay."""
    bench = BrokerBench()

    async def script() -> None:
        await bench.update_metadata({ORDERS_0: decided(B1, 5), ORDERS_1: decided(B2), ORDERS_2: decided(B3)})
        await bench.update_metadata({ORDERS_0: decided(B2, 4), ORDERS_1: decided(LEADER_DURING_DELETE)}, alive=[B2])

    bench.play(script)
    known = {tp: s.state.leader_and_isr.leader_epoch for tp, s in bench.metadata.partitions.items()}
    assert known == {ORDERS_0: 4, ORDERS_2: 0}
    assert (bench.metadata.live_broker_ids, bench.metadata.controller_id) == ([B2], CONTROLLER)
    assert bench.metadata.leader_for_clients(ORDERS_0) == (B2, ErrorCode.NONE)
    assert bench.metadata.leader_for_clients(ORDERS_1) == (None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert bench.metadata.leader_for_clients(ORDERS_2) == (None, ErrorCode.LEADER_NOT_AVAILABLE)


# --- LeaderAndIsr (4.3)


def test_each_partition_is_led_or_followed_leaders_first() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.update_metadata()
        response = await bench.lead_or_follow(
            {ORDERS_0: requested_state(B2), ORDERS_1: requested_state(B1), ORDERS_2: requested_state(B3)}, cause=CAUSE
        )
        assert set(response.partition_errors.values()) == {ErrorCode.NONE}

    bench.play(script)
    became = bench.events(EventKind.BECAME_LEADER, EventKind.BECAME_FOLLOWER)
    assert [(e.kind, e.partition, e.leader, e.cause) for e in became] == [
        (EventKind.BECAME_LEADER, 1, 1, CAUSE),
        (EventKind.BECAME_FOLLOWER, 2, 3, CAUSE),
        (EventKind.BECAME_FOLLOWER, 0, 2, CAUSE),
    ]
    assert all(tp in bench.disk for tp in (ORDERS_0, ORDERS_1, ORDERS_2))


def test_an_equal_leader_epoch_changes_nothing() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead_or_follow({ORDERS_0: requested_state(B1, 3, isr=(B1, B2), zk_version=7)})
        again = await bench.lead_or_follow({ORDERS_0: requested_state(B1, 3, isr=(B1,), zk_version=8)})
        assert (again.error, again.partition_errors) == (ErrorCode.NONE, {ORDERS_0: ErrorCode.STALE_CONTROLLER_EPOCH})

    bench.play(script)
    assert (bench.partition().isr, bench.partition().zk_version) == ((B1, B2), 7)
    (refused,) = bench.events(EventKind.REQUEST_REFUSED)
    assert (refused.event, refused.error, refused.count) == ("LeaderAndIsr", "STALE_CONTROLLER_EPOCH", 1)
    assert refused.detail == "orders-0: STALE_CONTROLLER_EPOCH"


@pytest.mark.parametrize("leader", [None, B3])
def test_a_replica_that_is_to_follow_a_leader_it_does_not_know_stays_what_it_was(leader: BrokerId | None) -> None:
    """4.3, makeFollower 1: its leader epoch stays too, so a later decision with an epoch in between is still accepted."""
    bench = BrokerBench()

    async def script() -> None:
        await bench.update_metadata(alive=(B1, B2))
        await bench.lead_or_follow({ORDERS_0: requested_state(B1, 1)})
        response = await bench.lead_or_follow({ORDERS_0: requested_state(leader, 3), ORDERS_1: requested_state(leader, 3)})
        assert set(response.partition_errors.values()) == {ErrorCode.NONE}

    bench.play(script)
    assert (bench.partition().role, bench.partition().leader_epoch) == (ReplicaRole.LEADER, 1)
    assert (bench.partition(ORDERS_1).role, bench.partition(ORDERS_1).leader_epoch) == (ReplicaRole.NONE, -1)
    assert ORDERS_1 in bench.disk
    assert len(bench.events(EventKind.BECAME_FOLLOWER)) == 0
    (stayed,) = bench.events(EventKind.STAYED_LEADER)
    assert (stayed.topic, stayed.partition, stayed.leader, stayed.leader_epoch) == ("orders", 0, 1, 1)


def bench_of(release: str) -> BrokerBench:
    config = ControllerConfig(inter_broker_protocol_version="2.8", release=Release(release))
    return BrokerBench(config=BrokerConfig(controller=config))


REFUSED_STAY_ONLINE = [("3.0", ErrorCode.KAFKA_STORAGE_ERROR), ("3.1", ErrorCode.NONE)]


@pytest.mark.parametrize(("release", "then"), REFUSED_STAY_ONLINE)
def test_a_partition_of_others_is_refused_and_offline_from_then_on_until_3_0(release: str, then: ErrorCode) -> None:
    """4.3: this applies to every partition of the request without a local log."""
    bench = bench_of(release)

    async def script() -> None:
        refused = await bench.lead_or_follow({ORDERS_0: requested_state(B2, 1, replicas=(B2, B3))})
        assert refused.partition_errors == {ORDERS_0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        later = await bench.lead_or_follow({ORDERS_0: requested_state(B1, 2)})
        assert later.partition_errors == {ORDERS_0: then}

    bench.play(script)


@pytest.mark.parametrize(("release", "then"), REFUSED_STAY_ONLINE)
def test_a_partition_whose_first_leader_epoch_is_refused_is_offline_from_then_on_until_3_0(
    release: str, then: ErrorCode
) -> None:
    """4.3: an epoch below -1, as after 2147483647. The log on the disk does not matter: the partition has not opened it."""
    bench = bench_of(release)
    bench.disk.create(ORDERS_0)

    async def script() -> None:
        refused = await bench.lead_or_follow({ORDERS_0: requested_state(B1, -(2**31))})
        assert refused.partition_errors == {ORDERS_0: ErrorCode.STALE_CONTROLLER_EPOCH}
        later = await bench.lead_or_follow({ORDERS_0: requested_state(B1, 2)})
        assert later.partition_errors == {ORDERS_0: then}

    bench.play(script)


@pytest.mark.parametrize(("release", "stopped"), REFUSED_STAY_ONLINE)
def test_a_replica_of_an_earlier_topic_can_be_deleted_from_3_1_on(release: str, stopped: ErrorCode) -> None:
    """Recorded with 3.9.1: the deletion of a topic whose id was changed by hand completes (topic-id-changed-by-hand)."""
    bench = bench_of(release)
    bench.disk.create(ORDERS_0).topic_id = "earlier"

    async def script() -> None:
        request = LeaderAndIsrRequest(
            CONTROLLER, ControllerEpoch(1), OWN_EPOCH, {ORDERS_0: requested_state(B1)}, (), {"orders": "later"}
        )
        refused = await bench.replicas.become_leader_or_follower(request, CAUSE)
        assert refused.partition_errors == {ORDERS_0: ErrorCode.INCONSISTENT_TOPIC_ID}
        answer = await bench.stop({ORDERS_0: (EPOCH_DURING_DELETE, True)})
        assert answer.partition_errors == {ORDERS_0: stopped}

    bench.play(script)
    assert (ORDERS_0 in bench.disk) == (stopped is not ErrorCode.NONE)


def test_a_deleted_copy_is_made_again_by_one_more_leader_and_isr() -> None:
    """4.3, row "unknown": whatever isNew is."""
    bench = BrokerBench()

    async def script() -> None:
        await bench.update_metadata()
        await bench.lead_or_follow({ORDERS_0: requested_state(B2)})
        await bench.stop({ORDERS_0: (EPOCH_DURING_DELETE, True)})
        assert ORDERS_0 not in bench.disk
        await bench.lead_or_follow({ORDERS_0: requested_state(B2, is_new=False)})
        assert ORDERS_0 in bench.disk

    bench.play(script)


def test_settings_that_cannot_be_read_fail_the_request_and_none_of_its_followers_is_made() -> None:
    """4.5: creating a log reads /config/topics/T; here the session has expired. Leaders that have their log come first."""
    bench = BrokerBench()

    async def script() -> None:
        await bench.update_metadata()
        await bench.lead_or_follow({ORDERS_0: requested_state(B2), ORDERS_2: requested_state(B2)})
        bench.session.expire()
        failed = await bench.lead_or_follow(
            {ORDERS_0: requested_state(B1, 1), ORDERS_1: requested_state(B2), ORDERS_2: requested_state(B3, 1)}
        )
        assert failed.error is ErrorCode.UNKNOWN_SERVER_ERROR

    bench.play(script)
    roles = {p.tp: (p.role, p.leader_epoch) for p in bench.hosted}
    assert roles == {
        ORDERS_0: (ReplicaRole.LEADER, 1),
        ORDERS_1: (ReplicaRole.NONE, -1),
        ORDERS_2: (ReplicaRole.FOLLOWER, 0),
    }
    assert bench.hosted.offline == set()


def test_very_many_partitions_are_reported_in_one_event() -> None:
    bench = BrokerBench()
    many = {TopicPartition("orders", p): requested_state(B1 if p % 2 else B2) for p in range(101)}

    async def script() -> None:
        await bench.update_metadata()
        await bench.lead_or_follow(many)
        await bench.stop(dict.fromkeys(many, (0, False)))

    bench.play(script)
    became = bench.events(EventKind.BECAME_LEADER, EventKind.BECAME_FOLLOWER)
    assert [(e.kind, e.count, e.partition) for e in became] == [
        (EventKind.BECAME_LEADER, 50, None),
        (EventKind.BECAME_FOLLOWER, 51, None),
    ]
    (refused,) = bench.events(EventKind.REQUEST_REFUSED)
    assert (refused.count, refused.detail) == (
        101,
        "; ".join(f"orders-{p}: FENCED_LEADER_EPOCH" for p in range(5)) + "; and 96 more",
    )


# --- fetchers


def test_a_raised_epoch_restarts_the_fetcher_and_leading_ends_it() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.update_metadata()
        await bench.lead_or_follow({ORDERS_0: requested_state(B2), ORDERS_1: requested_state(B2)})
        assert bench.fetched() == {ORDERS_0: (B2, 0), ORDERS_1: (B2, 0)}
        await bench.lead_or_follow({ORDERS_0: requested_state(B2, 1), ORDERS_1: requested_state(B3, 1)})
        assert bench.fetched() == {ORDERS_0: (B2, 1), ORDERS_1: (B3, 1)}
        await bench.lead_or_follow({ORDERS_0: requested_state(B1, 2)})
        assert bench.fetched() == {ORDERS_1: (B3, 1)}
        assert [leader.broker_id for leader in bench.fetchers.fetchers] == [B3]

    bench.play(script)


def test_a_broker_that_is_shutting_down_follows_but_does_not_fetch() -> None:
    """4.3, makeFollower 4: it is therefore not put back into the ISR from which it was just removed."""
    bench = BrokerBench()

    async def script() -> None:
        await bench.update_metadata()
        await bench.lead_or_follow({ORDERS_0: requested_state(B1)})
        bench.replicas.is_shutting_down = True
        await bench.lead_or_follow({ORDERS_0: requested_state(B2, 1, isr=(B2,))})
        assert bench.fetched() == {}

    bench.play(script)
    assert (bench.partition().role, bench.partition().leader_epoch) == (ReplicaRole.FOLLOWER, 1)


# --- StopReplica (4.4)


def test_stop_without_delete_ends_fetching_and_leaves_the_rest() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.update_metadata()
        await bench.lead_or_follow({ORDERS_0: requested_state(B2), ORDERS_1: requested_state(B1)})
        response = await bench.stop({ORDERS_0: (1, False), ORDERS_1: (1, False)})
        assert set(response.partition_errors.values()) == {ErrorCode.NONE}
        assert bench.fetched() == {}

    bench.play(script)
    assert bench.partition(ORDERS_1).is_leader
    assert ORDERS_0 in bench.disk
    assert [e.partition for e in bench.events(EventKind.REPLICA_STOPPED)] == [0, 1]


def test_stop_with_delete_leaves_nothing() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead_or_follow({ORDERS_0: requested_state(B1)})
        assert (await bench.stop({ORDERS_0: (0, True)})).partition_errors == {ORDERS_0: ErrorCode.FENCED_LEADER_EPOCH}
        assert (await bench.stop({ORDERS_0: (1, True)})).partition_errors == {ORDERS_0: ErrorCode.NONE}

    bench.play(script)
    assert bench.hosted.get(ORDERS_0) is None
    assert ORDERS_0 not in bench.disk


def test_a_stray_copy_of_an_earlier_life_is_deleted() -> None:
    """4.4: a stop of an unknown replica is accepted, and delete=true removes what is on disk."""
    bench = BrokerBench()
    bench.disk.create(ORDERS_0)

    async def script() -> None:
        assert (await bench.stop({ORDERS_0: (0, True)})).partition_errors == {ORDERS_0: ErrorCode.NONE}

    bench.play(script)
    assert ORDERS_0 not in bench.disk


# --- serialisation


def test_a_decision_waits_for_the_isr_write_under_way_and_goes_over_it() -> None:
    """6.4-1: the partition is locked while ZooKeeper is asked; a LeaderAndIsr that arrives meanwhile is applied later."""
    bench = ZkIsrBench()

    async def script() -> None:
        await bench.lead(isr=(B1, B2))
        fetch = bench.runtime.spawn("fetch", drop(bench.fetch(B3, {ORDERS_0: 0})))
        await bench.runtime.sleep_ms(0)
        assert bench.partition().isr_write is not None
        await bench.lead_or_follow({ORDERS_0: requested_state(B1, 1, isr=(B1, B2), zk_version=9)})
        await fetch.join()

    bench.play(script)
    kinds = [e.kind for e in bench.events(EventKind.BECAME_LEADER, EventKind.ISR_EXPANDED)]
    assert kinds == [EventKind.BECAME_LEADER, EventKind.ISR_EXPANDED, EventKind.BECAME_LEADER]
    assert (bench.partition().isr, bench.partition().zk_version) == ((B1, B2), 9)


async def drop(work: object) -> None:
    await work  # type: ignore[misc]


def test_two_requests_are_processed_one_after_the_other() -> None:
    """The first request reads a topic's settings, which takes time; the second need not, and still waits."""
    bench = BrokerBench()

    async def script() -> None:
        await bench.write_znode(paths.CONFIG, None)
        slow = bench.runtime.spawn("slow", drop(bench.lead_or_follow({ORDERS_0: requested_state(B1)})))
        await bench.runtime.sleep_ms(0)
        await bench.stop({ORDERS_0: (1, True)})
        await slow.join()

    bench.play(script)
    kinds = [e.kind for e in bench.events(EventKind.BECAME_LEADER, EventKind.REPLICA_STOPPED)]
    assert kinds == [EventKind.BECAME_LEADER, EventKind.REPLICA_STOPPED]
    assert ORDERS_0 not in bench.disk
