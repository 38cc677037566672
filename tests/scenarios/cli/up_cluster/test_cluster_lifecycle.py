"""The lifecycle of an interactive cluster: it starts with its topics, and stops in order, or at once."""

import random
from itertools import pairwise

import pytest

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.controller.admin.topics import NewTopic
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.run_actions import ClusterError
from kcsim.scenarios.cli.up_cluster.cluster_lifecycle import ClusterLifecycle
from tests.brokers.cluster.environments import find, play

ORDERS = NewTopic("orders", partitions=4, replication_factor=2)


def void(_: object) -> None:
    """Return nothing of what was returned."""


def lived(*, topics: tuple[NewTopic, ...] = (), paused: str | None = None) -> EventLog:
    """Return the event log of a cluster that is stopped as soon as it is up."""

    async def script(cluster: Cluster) -> None:
        def is_up() -> None:
            if paused is not None:
                cluster.runtime.spawn("pause", pause())
            else:
                playground.stop()

        async def pause() -> None:
            assert paused is not None
            await cluster.pause(paused)
            playground.stop()

        playground = ClusterLifecycle(cluster, topics, random.Random(1), is_up)
        await playground.run()
        assert not playground.was_killed

    return play(script)


def test_it_comes_up_with_its_topics() -> None:
    log = lived(topics=(ORDERS, NewTopic("payments")))
    assert [act.topic for act in find(log, EventKind.ADMIN_ACT, op="create-topic")] == ["orders", "payments"]
    assert len(find(log, EventKind.ZNODE_CREATED, path="/brokers/topics/orders")) == 1
    started = find(log, EventKind.BROKER_REGISTERED)[-1]
    assert started.seq < find(log, EventKind.ADMIN_ACT, op="create-topic")[0].seq


def test_its_brokers_are_stopped_in_order_the_controller_last() -> None:
    """So there is one election, at the beginning, and every broker finds a controller to move its leaders away."""
    log = lived()
    (won,) = find(log, EventKind.ELECTION_WON)
    stopped = [event.node for event in find(log, EventKind.PROCESS_STATE, state="stopped")]
    assert sorted(stopped) == ["broker-1", "broker-2", "broker-3"]
    assert stopped[-1] == won.node
    assert find(log, EventKind.PROCESS_STATE, state="dead") == []
    assert len(find(log, EventKind.SESSION_CLOSED, error="SESSIONEXPIRED")) == 0


def test_a_broker_that_stands_still_is_woken_to_be_stopped() -> None:
    log = lived(paused="broker-2")
    states = [event.state for event in find(log, EventKind.PROCESS_STATE, node="broker-2")]
    assert states == ["running", "paused", "running", "stopped"]


def test_a_kill_does_not_wait_for_the_brokers() -> None:
    async def script(cluster: Cluster) -> None:
        playground = ClusterLifecycle(cluster, (), random.Random(1), lambda: playground.kill())
        await playground.run()
        killed.append(playground.was_killed)

    killed: list[bool] = []
    log = play(script)
    assert killed == [True]
    assert find(log, EventKind.PROCESS_STATE, state="stopped") == []


def test_a_stop_without_zookeeper_does_not_wait_for_the_brokers() -> None:
    """No broker can shut down in order: each would ask the controller, and repeat its writes."""

    async def script(cluster: Cluster) -> None:
        async def stop_without_zookeeper() -> None:
            await cluster.servers.kill("member-1")
            stopped_ms.append(cluster.runtime.now_ms())
            lifecycle.stop()

        lifecycle = ClusterLifecycle(
            cluster, (), random.Random(1), lambda: void(cluster.runtime.spawn("stop", stop_without_zookeeper()))
        )
        await lifecycle.run()
        stopped_ms.append(cluster.runtime.now_ms())
        lost.append((lifecycle.has_lost_zookeeper, lifecycle.was_killed))

    stopped_ms: list[int] = []
    lost: list[tuple[bool, bool]] = []
    log = play(script)
    assert lost == [(True, False)]
    assert stopped_ms[1] - stopped_ms[0] < 5_000  # in virtual time
    assert find(log, EventKind.PROCESS_STATE, state="stopped") == []


def test_it_breathes_once_a_second_while_it_is_up() -> None:
    """At each of these times the pending part of its event log is written out."""

    async def script(cluster: Cluster) -> None:
        def breathe() -> None:
            breaths.append(cluster.runtime.now_ms())
            if len(breaths) == 3:
                playground.stop()

        playground = ClusterLifecycle(cluster, (), random.Random(1), lambda: None, breathe)
        await playground.run()

    breaths: list[int] = []
    play(script)
    assert [later - earlier for earlier, later in pairwise(breaths)] == [1000, 1000]


def test_a_topic_that_kafka_refuses_ends_it() -> None:
    async def script(cluster: Cluster) -> None:
        await ClusterLifecycle(cluster, (ORDERS, ORDERS), random.Random(1), lambda: None).run()

    with pytest.raises(ClusterError, match="Topic 'orders' already exists"):
        play(script)
