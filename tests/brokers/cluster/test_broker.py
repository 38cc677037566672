"""The life of a broker in a cluster. Source: docs/kafka/requests.md 4, 6, 10, 15; docs/kafka/controller.md 11;
docs/kafka/znodes.md 5.2.

Each test runs on the model in virtual time, and, marked live, on a real ZooKeeper; there `make test` runs only one.
"""

import json
from itertools import pairwise

import pytest

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.controller.events import ElectionType
from kcsim.controller.handlers.elections import NOT_NEEDED
from kcsim.controller.requests import ApiError, ErrorCode
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.run_actions import ClusterError
from kcsim.vocabulary import BrokerId, TopicPartition
from tests.brokers.cluster.environments import (
    FAST_TWINS,
    TWINS,
    WITHIN_MS,
    controller_of,
    find,
    kill_and_expire,
    start_and_elect,
    until_found,
    until_idle,
    until_ready,
)
from tests.brokers.cluster.topic_cluster import (
    ORDERS_0,
    ORDERS_1,
    ORDERS_2,
    begin,
    busy_with,
    isr_of,
    not_in_sync,
    play,
    state_of,
)
from tests.sinks import chain


@pytest.fixture(params=TWINS)
def on(request: pytest.FixtureRequest) -> str:
    environment: str = request.param
    return environment


# --- replicas


def test_a_new_topic_is_served_without_a_write_of_any_broker(on: str) -> None:
    """docs/kafka/requests.md 15: the controller has written leader and ISR, and the brokers agree."""

    async def script(cluster: Cluster) -> None:
        await begin(cluster)

    log = play(script, on)
    led = {(e.node, e.partition, e.leader_epoch) for e in find(log, EventKind.BECAME_LEADER)}
    assert led == {("broker-1", 0, 0), ("broker-2", 1, 0), ("broker-3", 2, 0)}
    assert len(find(log, EventKind.BECAME_FOLLOWER)) == 6
    assert find(log, EventKind.ISR_EXPANDED) == []


@pytest.mark.parametrize("on", FAST_TWINS, indirect=True)
def test_a_broker_that_crashed_comes_back_and_joins_every_isr(on: str) -> None:
    """Recording kill-and-return: the broker is appended to the ISR; leader epoch and controller epoch stay the same."""

    async def script(cluster: Cluster) -> None:
        await begin(cluster)
        await kill_and_expire(cluster, "broker-2")
        await cluster.wait_until(lambda: None if isr_of(cluster.log, 2) == [3, 1] else "still in the ISR", WITHIN_MS)
        await cluster.start(["broker-2"])
        await cluster.wait_until(until_found(cluster.log, EventKind.ISR_EXPANDED, 3), WITHIN_MS)

    log = play(script, on)
    assert [state_of(log, p) for p in range(3)] == [
        {"controller_epoch": 1, "leader": 1, "version": 1, "leader_epoch": 1, "isr": [1, 3, 2]},
        {"controller_epoch": 1, "leader": 3, "version": 1, "leader_epoch": 1, "isr": [3, 1, 2]},
        {"controller_epoch": 1, "leader": 3, "version": 1, "leader_epoch": 1, "isr": [3, 1, 2]},
    ]


def test_what_a_broker_does_about_a_request_can_be_traced_to_what_was_done_to_the_cluster(on: str) -> None:
    """The chain goes from the ISR's expansion over follower, controller's request and decisions, to broker 2's start."""

    async def script(cluster: Cluster) -> None:
        await begin(cluster)
        await cluster.stop("broker-2")
        await cluster.start(["broker-2"])
        await cluster.wait_until(until_found(cluster.log, EventKind.ISR_EXPANDED, 3), WITHIN_MS)

    log = play(script, on, inter_broker_protocol_version="2.6")
    kinds = chain(log, find(log, EventKind.ISR_EXPANDED)[0])
    assert kinds[:3] == [EventKind.ISR_EXPANDED, EventKind.BECAME_FOLLOWER, EventKind.REQUEST_SENT]
    assert EventKind.CONTROLLER_EVENT_BEGUN in kinds
    assert kinds[-1] is EventKind.ADMIN_ACT


def test_the_controller_is_notified_of_an_expansion(on: str) -> None:
    """Only the controller reads the notification; it deletes it and sends UpdateMetadata to all brokers.

    Source: docs/kafka/requests.md 6.5.
    """

    async def script(cluster: Cluster) -> None:
        await begin(cluster)
        await cluster.stop("broker-2")
        await cluster.start(["broker-2"])
        await cluster.wait_until(until_found(cluster.log, EventKind.ISR_EXPANDED, 3), WITHIN_MS)
        await cluster.wait_until(lambda: stale_isr(cluster), WITHIN_MS)

    play(script, on, inter_broker_protocol_version="2.6")


def stale_isr(cluster: Cluster) -> str | None:
    """Return a condition: every broker's metadata cache has all ISRs complete."""
    for name in cluster.broker_names:
        for tp, known in cluster.broker(name).metadata.partitions.items():
            if len(known.state.leader_and_isr.isr) < 3:
                return f"{name} knows of {tp} the ISR {known.state.leader_and_isr.isr}"
    return None


# --- controlled shutdown


def test_a_controlled_shutdown_moves_what_the_broker_leads_before_it_goes(on: str) -> None:
    """Recording shutdown-leader: leader epochs rise once; the broker does not rejoin an ISR before it is gone."""

    async def script(cluster: Cluster) -> None:
        await begin(cluster)
        await cluster.stop("broker-2")
        gone = until_found(cluster.log, EventKind.ZNODE_DELETED, path="/brokers/ids/2")
        await cluster.wait_until(gone, WITHIN_MS)
        context = cluster.broker("broker-1").controller.context
        await cluster.wait_until(lambda: "2 is alive" if 2 in context.live_broker_ids else None, WITHIN_MS)
        await cluster.wait_until(lambda: busy_with(cluster, "broker-1"), WITHIN_MS)

    log = play(script, on)
    (sent,) = find(log, EventKind.REQUEST_SENT, node="broker-2", event="ControlledShutdown")
    (answer,) = find(log, EventKind.RESPONSE_RECEIVED, node="broker-2", event="ControlledShutdown")
    assert (sent.broker_id, answer.error, answer.count, answer.cause) == (1, "NONE", 0, sent.seq)
    assert [state_of(log, p) for p in range(3)] == [
        {"controller_epoch": 1, "leader": 1, "version": 1, "leader_epoch": 1, "isr": [1, 3]},
        {"controller_epoch": 1, "leader": 3, "version": 1, "leader_epoch": 1, "isr": [3, 1]},
        {"controller_epoch": 1, "leader": 3, "version": 1, "leader_epoch": 1, "isr": [3, 1]},
    ]
    assert find(log, EventKind.ISR_EXPANDED) == []


def test_the_controller_asks_itself_and_then_resigns(on: str) -> None:
    """docs/kafka/requests.md 10: the next controller finds its replicas already removed from the ISRs."""

    async def script(cluster: Cluster) -> None:
        await begin(cluster)
        await cluster.stop("broker-1")
        await cluster.wait_until(until_ready(cluster, 2), WITHIN_MS)

    log = play(script, on)
    (sent,) = find(log, EventKind.REQUEST_SENT, node="broker-1", event="ControlledShutdown")
    assert sent.broker_id == 1
    assert [(state_of(log, p)["controller_epoch"], set(isr_of(log, p))) for p in range(3)] == [(1, {2, 3})] * 3


def test_what_nobody_else_could_lead_is_no_obstacle() -> None:
    """Recording shutdown-rf1: success at once, no write; the partition goes offline with the broker."""

    async def script(cluster: Cluster) -> None:
        await begin(cluster, {0: [2], 1: [3]})
        await cluster.stop("broker-2")
        await cluster.wait_until(lambda: None if state_of(cluster.log, 0)["leader"] == -1 else "led", WITHIN_MS)

    log = play(script)
    assert len(find(log, EventKind.REQUEST_SENT, event="ControlledShutdown")) == 1
    assert state_of(log, 0) == {"controller_epoch": 1, "leader": -1, "version": 1, "leader_epoch": 1, "isr": [2]}


def test_the_last_member_of_an_isr_asks_three_times_and_goes_down_uncleanly() -> None:
    """docs/kafka/controller.md 10.3: every attempt ends with the partition as remaining."""

    async def script(cluster: Cluster) -> None:
        await begin(cluster, {0: [2, 3]})
        await cluster.kill("broker-3")
        await cluster.wait_until(lambda: None if isr_of(cluster.log, 0) == [2] else "not yet", WITHIN_MS)
        await cluster.stop("broker-2")

    log = play(script)
    answers = find(log, EventKind.RESPONSE_RECEIVED, event="ControlledShutdown")
    assert [(a.error, a.count, a.detail) for a in answers] == [("NONE", 1, "remaining partitions: orders-0")] * 3
    sent = [e.t_ms for e in find(log, EventKind.REQUEST_SENT, event="ControlledShutdown")]
    assert all(later - earlier >= 200 for earlier, later in pairwise(sent))
    assert find(log, EventKind.CONTROLLED_SHUTDOWN, step="proceeding with an unclean shutdown")


def test_without_controlled_shutdown_nobody_is_asked() -> None:
    """Recording shutdown-disabled: the controller treats the broker's end as a failure."""

    async def script(cluster: Cluster) -> None:
        await begin(cluster)
        await cluster.stop("broker-2")
        await cluster.wait_until(lambda: None if isr_of(cluster.log, 2) == [3, 1] else "still in the ISR", WITHIN_MS)

    log = play(script, controlled_shutdown_enable=False)
    assert find(log, EventKind.REQUEST_SENT, event="ControlledShutdown") == []


# --- sessions, disks


def test_a_broker_whose_session_expired_comes_back_under_a_new_epoch_and_joins_every_isr(on: str) -> None:
    """Its old fetchers are fenced meanwhile; the controller's next requests carry the new epoch.

    Source: docs/kafka/requests.md 15.
    """

    async def script(cluster: Cluster) -> None:
        await begin(cluster)
        before = cluster.broker("broker-2").broker_epoch
        await cluster.expire("broker-2")
        await cluster.wait_until(until_found(cluster.log, EventKind.ISR_EXPANDED, 3), WITHIN_MS)
        after = cluster.broker("broker-2").broker_epoch
        assert before is not None
        assert after is not None
        assert after > before

    log = play(script, on)
    assert {frozenset(isr_of(log, p)) for p in range(3)} == {frozenset({1, 2, 3})}
    assert find(log, EventKind.REQUEST_REFUSED, error="STALE_BROKER_EPOCH") == []


def test_a_broker_comes_back_with_its_old_disk_and_a_deleted_topic_leaves_nothing_on_it() -> None:
    async def script(cluster: Cluster) -> None:
        await begin(cluster)
        await cluster.kill("broker-2")
        await cluster.wait_until(lambda: None if isr_of(cluster.log, 2) == [3, 1] else "still in the ISR", WITHIN_MS)
        await cluster.start(["broker-2"])
        assert all(tp in cluster.broker("broker-2").disk for tp in (ORDERS_0, ORDERS_1, ORDERS_2))
        await cluster.wait_until(until_found(cluster.log, EventKind.ISR_EXPANDED, 3), WITHIN_MS)
        await cluster.znodes.create("/admin/delete_topics/orders", None)
        gone = until_found(cluster.log, EventKind.ZNODE_DELETED, path="/brokers/topics/orders")
        await cluster.wait_until(gone, WITHIN_MS)
        for name in cluster.broker_names:
            broker = cluster.broker(name)
            assert not any(tp in broker.disk for tp in (ORDERS_0, ORDERS_1, ORDERS_2))
            assert len(broker.replicas.hosted) == 0
            assert broker.data.fetchers.fetchers == {}

    play(script)


def test_a_broken_log_directory_costs_the_broker_its_replicas_there_until_it_starts_anew(on: str) -> None:
    """Recording log-dir-breaks: of broker 2's two directories the first has orders-0 and orders-1, which it leads."""

    async def script(cluster: Cluster) -> None:
        await begin(cluster)
        await cluster.fail_log_dir("broker-2")
        await cluster.wait_until(lambda: None if isr_of(cluster.log, 0) == [1, 3] else "still in the ISR", WITHIN_MS)
        await cluster.wait_until(until_idle(cluster.log), WITHIN_MS)
        assert [isr_of(cluster.log, p) for p in range(3)] == [[1, 3], [3, 1], [3, 1, 2]]
        assert cluster.broker("broker-2").replicas.hosted.offline == {ORDERS_0, ORDERS_1}
        await cluster.stop("broker-2")
        await cluster.start(["broker-2"])
        await cluster.wait_until(lambda: not_in_sync(cluster), WITHIN_MS)

    log = play(script, on, log_dirs="/a,/b")
    (failed,) = find(log, EventKind.LOG_DIR_FAILED, node="broker-2")
    assert (failed.node, failed.path, failed.count) == ("broker-2", "/a", 2)
    (fault,) = find(log, EventKind.FAULT, fault="fail-log-dir")
    assert failed.cause == fault.seq
    notifications = [e for e in log.events if e.kind is EventKind.ZNODE_CREATED and "log_dir_event_0" in (e.path or "")]
    assert [json.loads(e.data or "") for e in notifications] == [{"version": 1, "broker": 2, "event": 1}]


def test_with_its_last_log_directory_a_broker_dies_without_a_word() -> None:
    """docs/kafka/controller.md 11-1: its death shows only when its session ends."""

    async def script(cluster: Cluster) -> None:
        await begin(cluster)
        await cluster.fail_log_dir("broker-2")
        with pytest.raises(ClusterError, match="broker-2 is not running"):
            cluster.broker("broker-2")
        await cluster.wait_until(lambda: None if isr_of(cluster.log, 2) == [3, 1] else "still in the ISR", WITHIN_MS)

    log = play(script)
    assert not any("log_dir_event_0" in (e.path or "") for e in log.events)


def test_single_replicas_can_be_lost_as_if_they_had_lain_in_a_directory_of_their_own() -> None:
    async def script(cluster: Cluster) -> None:
        await begin(cluster)
        with pytest.raises(ClusterError, match="broker-2 has no replica of orders-7"):
            await cluster.fail_log_dir("broker-2", [ORDERS_0, TopicPartition("orders", 7)])
        await cluster.fail_log_dir("broker-2", [ORDERS_0])
        await cluster.wait_until(lambda: None if isr_of(cluster.log, 0) == [1, 3] else "still in the ISR", WITHIN_MS)
        await cluster.wait_until(until_idle(cluster.log), WITHIN_MS)
        assert cluster.broker("broker-2").replicas.hosted.offline == {ORDERS_0}

    log = play(script)
    assert [isr_of(log, p) for p in range(1, 3)] == [[2, 3, 1], [3, 1, 2]]


# --- start


def test_a_broker_that_refuses_to_start_gives_its_address_back() -> None:
    """Its id is held by the session of its last life; once that session has expired, the broker starts."""

    async def script(cluster: Cluster) -> None:
        await cluster.start(["broker-1"])
        await cluster.kill("broker-1")
        with pytest.raises(ClusterError, match="has not expired yet"):
            await cluster.start(["broker-1"])
        await cluster.wait_until(until_found(cluster.log, EventKind.ZNODE_DELETED, path="/brokers/ids/1"), WITHIN_MS)
        await cluster.start(["broker-1"])

    play(script)


def test_two_brokers_cannot_share_an_address() -> None:
    async def script(cluster: Cluster) -> None:
        await cluster.start(["broker-1"])
        with pytest.raises(ClusterError, match="broker-2 does not start: localhost:9999 is in use"):
            await cluster.start(["broker-2"])

    play(script, port=9999)


# --- requests to the controller


def test_leaders_are_elected_and_partitions_moved_by_asking_the_controller(on: str) -> None:
    async def script(cluster: Cluster) -> None:
        await begin(cluster, {0: [1, 2]})
        answer = await cluster.elect_leaders(ElectionType.PREFERRED, [ORDERS_0, ORDERS_1])
        assert answer == {
            ORDERS_0: NOT_NEEDED,
            ORDERS_1: ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist."),
        }
        assert await cluster.list_partition_reassignments() == {}
        moved = await cluster.alter_partition_reassignments({ORDERS_0: (BrokerId(3), BrokerId(2))})
        assert moved == {ORDERS_0: ErrorCode.NONE}
        await cluster.wait_until(lambda: None if isr_of(cluster.log, 0) == [2, 3] else "not yet moved", WITHIN_MS)
        # The controller does not wait until the broker has deleted its replica.
        gone = until_found(cluster.log, EventKind.REPLICA_STOPPED, node="broker-1", deleted=True)
        await cluster.wait_until(gone, WITHIN_MS)
        assert ORDERS_0 not in cluster.broker("broker-1").disk

    log = play(script, on)
    assert [e.op for e in find(log, EventKind.ADMIN_ACT) if e.op not in ("start", "create")] == [
        "elect-leaders",
        "list-partition-reassignments",
        "alter-partition-reassignments",
    ]


def test_an_election_for_all_leaves_out_partitions_that_never_had_a_leader() -> None:
    """The broker takes "all" from its metadata, where such a partition is not; for it alone the election fails."""

    async def script(cluster: Cluster) -> None:
        await begin(cluster, {0: [1, 2]})
        await cluster.znodes.create("/brokers/topics/audit", '{"version":1,"partitions":{"0":[8,9]}}')
        new = until_found(cluster.log, EventKind.CONTROLLER_EVENT_DONE, at_least=2, event="TopicChange")
        await cluster.wait_until(new, WITHIN_MS)
        assert await cluster.elect_leaders(ElectionType.PREFERRED) == {ORDERS_0: NOT_NEEDED}
        with pytest.raises(ClusterError, match="does not answer"):
            await cluster.elect_leaders(ElectionType.PREFERRED, [TopicPartition("audit", 0)])

    play(script)


def test_without_a_controller_nobody_can_be_asked() -> None:
    async def script(cluster: Cluster) -> None:
        with pytest.raises(ClusterError, match="no broker is the controller"):
            await cluster.list_partition_reassignments()
        await start_and_elect(cluster)
        await cluster.kill(controller_of(cluster))
        with pytest.raises(ClusterError, match="is not running"):
            await cluster.elect_leaders(ElectionType.PREFERRED, None)

    play(script)


def test_an_election_is_asked_of_the_broker_that_the_metadata_name_and_that_may_not_be_the_controller_any_more() -> None:
    """A person has written the id of broker 2 into /controller: broker 1 resigns, and no broker sends other metadata.

    Recorded from Kafka 2.8.2 at 2.8, three runs of kafka-leader-election: NotControllerException.
    """

    async def script(cluster: Cluster) -> None:
        await begin(cluster, {0: [1, 2]})
        assert cluster.state.controller_id == 1
        await cluster.znodes.set("/controller", '{"version":1,"brokerid":2,"timestamp":"1"}')
        await cluster.wait_until(until_found(cluster.log, EventKind.CONTROLLER_RESIGNED, node="broker-1"), WITHIN_MS)
        asked = [ORDERS_0, ORDERS_1]
        refused = ApiError(ErrorCode.NOT_CONTROLLER)
        assert await cluster.elect_leaders(ElectionType.UNCLEAN, asked) == dict.fromkeys(asked, refused)

    play(script)


# --- settings


def test_unclean_elections_switched_on_for_a_topic_lead_it_again(on: str) -> None:
    """Recording unclean-enabled-later: every broker receives the setting; the controller's own broker acts on it."""

    async def script(cluster: Cluster) -> None:
        await begin(cluster, {0: [2, 3]})
        await kill_and_expire(cluster, "broker-3")
        await cluster.wait_until(lambda: None if isr_of(cluster.log, 0) == [2] else "not yet", WITHIN_MS)
        await cluster.start(["broker-3"])
        await kill_and_expire(cluster, "broker-2")
        await cluster.wait_until(lambda: None if state_of(cluster.log, 0)["leader"] == -1 else "led", WITHIN_MS)
        await cluster.znodes.create(
            "/config/topics/orders", '{"version":1,"config":{"unclean.leader.election.enable":"true"}}'
        )
        notification = '{"version":2,"entity_path":"topics/orders"}'
        await cluster.znodes.create("/config/changes/config_change_", notification, sequential=True)
        await cluster.wait_until(lambda: None if state_of(cluster.log, 0)["leader"] == 3 else "not led", WITHIN_MS)

    play(script, on)


def test_the_same_seed_gives_the_same_events() -> None:
    """Replication is included: its fetches, delays and expansions are part of the run."""

    async def script(cluster: Cluster) -> None:
        await begin(cluster)
        await cluster.stop("broker-2")
        await cluster.start(["broker-2"])
        await cluster.wait_until(until_found(cluster.log, EventKind.ISR_EXPANDED, 3), WITHIN_MS)

    assert play(script).events == play(script).events
