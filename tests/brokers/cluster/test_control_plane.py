"""Controller and brokers reach each other over TCP: a cluster does the same as with requests in memory."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.brokers.network.link_conditions import Links
from kcsim.controller.admin.topics import NewTopic
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.run_actions import ClusterError
from kcsim.vocabulary import BrokerId, TopicPartition
from tests.brokers.cluster.environments import (
    SETTINGS,
    WITHIN_MS,
    Script,
    Settings,
    controller_of,
    find,
    kill_and_expire,
    play,
    spec_of,
    start_and_elect,
    until_found,
    until_idle,
    until_ready,
)

B1, B2, B3 = "broker-1", "broker-2", "broker-3"
PARTITIONS = 6
ESTABLISHED = "01"

pytestmark = pytest.mark.live


def play_over_tcp(script: Script, on: str, settings: Settings = SETTINGS) -> EventLog:
    """Run a script on three brokers that reach their controller, and it them, over TCP.

    A port that was free may be taken by another process before its broker starts; then others are tried.
    """
    for attempts_left in (2, 1, 0):
        spec = replace(spec_of((1, 2, 3), settings, on).with_free_client_ports(), control_plane_over_tcp=True)
        try:
            return run_in_environment(ZooKeeperChoice.parse(on), spec, RunInfo("test", 0, on), script)
        except ClusterError as error:
            if "is in use" not in str(error) or not attempts_left:
                raise
    raise AssertionError("the last attempt returns or raises")


def connections_to(port: int) -> int:
    """Return how many established TCP connections of this machine lead to a port."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(line[3] == ESTABLISHED and int(line[2].partition(":")[2], 16) == port for line in lines)


def until_led(cluster: Cluster, isr: set[int], but: int | None = None) -> Callable[[], str | None]:
    """Return a condition: every partition has a leader, another one than `but`, and this ISR."""

    def condition() -> str | None:
        states = cluster.state.of_topics.states
        wrong = {
            str(tp): state.leader_and_isr
            for tp, state in states.items()
            if state.leader_and_isr.leader in (None, but) or set(state.leader_and_isr.isr) != isr
        }
        return f"{wrong}, not yet all {isr}" if wrong or len(states) < PARTITIONS else None

    return condition


def states_of(cluster: Cluster) -> dict[TopicPartition, tuple[Any, ...]]:
    """Return leader, leader epoch and ISR of each partition."""
    states = cluster.state.of_topics.states.items()
    return {
        tp: (state.leader_and_isr.leader, state.leader_and_isr.leader_epoch, frozenset(state.leader_and_isr.isr))
        for tp, state in states
    }


def work_of_a_controller(seen: list[Any]) -> Script:
    """Return a script: creation of a topic, controlled shutdown, loss of a leader, loss of the controller, deletion."""

    async def script(cluster: Cluster) -> None:
        async def settled(isr: set[int], but: int | None = None) -> None:
            await cluster.wait_until(until_led(cluster, isr, but), WITHIN_MS)
            seen.append(states_of(cluster))

        await cluster.start([B1])
        await cluster.wait_until(until_ready(cluster, 1), WITHIN_MS)
        await cluster.start([B2, B3])
        assert controller_of(cluster) == B1
        await cluster.topics.create(NewTopic("orders", PARTITIONS, 3), random.Random(1))
        await settled({1, 2, 3})
        await cluster.stop(B2)
        await settled({1, 3})
        await cluster.start([B2])
        await settled({1, 2, 3})
        await kill_and_expire(cluster, B3)
        await settled({1, 2})
        await cluster.start([B3])
        await settled({1, 2, 3})
        await kill_and_expire(cluster, B1)
        await cluster.wait_until(until_ready(cluster, 2), WITHIN_MS)
        await settled({2, 3}, but=1)
        await cluster.start([B1])
        await settled({1, 2, 3})
        await cluster.topics.delete("orders")
        await cluster.wait_until(lambda: ", ".join(map(str, cluster.state.of_topics.states)) or None, WITHIN_MS)

    return script


@pytest.mark.parametrize("on", ["model", "embedded"])
def test_a_cluster_does_over_tcp_what_it_does_in_memory(on: str) -> None:
    in_memory: list[Any] = []
    over_tcp: list[Any] = []
    play(work_of_a_controller(in_memory), on=on)
    log = play_over_tcp(work_of_a_controller(over_tcp), on)
    assert over_tcp == in_memory
    assert [event.error for event in find(log, EventKind.RESPONSE_RECEIVED, event="ControlledShutdown")] == ["NONE"]
    assert find(log, EventKind.REPLICA_STOPPED, deleted=True)
    assert find(log, EventKind.CLIENT_CONNECTION_CLOSED) == []
    sent = {event.seq for event in find(log, EventKind.REQUEST_SENT, event="LeaderAndIsr")}
    roles = [*find(log, EventKind.BECAME_LEADER), *find(log, EventKind.BECAME_FOLLOWER)]
    assert roles
    assert {event.cause for event in roles} <= sent, "events follow from the request"


def test_the_controller_has_a_connection_to_every_broker() -> None:
    seen: list[int] = []

    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        await cluster.wait_until(until_idle(cluster.log), WITHIN_MS)
        seen.extend(connections_to(port) for _, port in cluster.bootstrap)

    play_over_tcp(script, "model")
    assert seen == [1, 1, 1]


def test_a_frozen_broker_gets_its_requests_when_it_goes_on() -> None:
    async def script(cluster: Cluster) -> None:
        controller = await start_and_elect(cluster)
        frozen = next(name for name in cluster.broker_names if name != controller)
        await cluster.pause(frozen)
        await cluster.topics.create(NewTopic("orders", PARTITIONS, 3), random.Random(1))
        await cluster.wait_until(until_led(cluster, {1, 2, 3}), WITHIN_MS)
        assert find(cluster.log, EventKind.BECAME_LEADER, node=frozen) == []
        await cluster.resume(frozen)
        await cluster.wait_until(
            lambda: None if find(cluster.log, EventKind.BECAME_LEADER, node=frozen) else f"{frozen} leads nothing", WITHIN_MS
        )

    play_over_tcp(script, "model")


@pytest.mark.slow
def test_a_leader_asks_for_its_isrs_over_tcp() -> None:
    """A follower that stands still leaves the ISRs, and joins them again; only the controller writes them."""
    settings = {**SETTINGS, "inter.broker.protocol.version": "2.8", "replica.lag.time.max.ms": 2_000}
    leaders: list[str] = []

    async def script(cluster: Cluster) -> None:
        controller = await start_and_elect(cluster)
        leader, frozen = (name for name in cluster.broker_names if name != controller)
        leaders.append(leader)
        replicas = tuple(BrokerId(int(name.removeprefix("broker-"))) for name in (leader, frozen, controller))
        await cluster.topics.create(NewTopic("orders", assignment=[replicas] * PARTITIONS), random.Random(1))
        await cluster.wait_until(until_led(cluster, set(replicas)), WITHIN_MS)
        await cluster.pause(frozen)
        host, port = cluster.bootstrap[replicas[0] - 1]
        producer = Producer({"bootstrap.servers": f"{host}:{port}", "acks": "all", "log_level": 0})
        for partition in range(PARTITIONS):
            producer.produce("orders", "a", partition=partition)
        await cluster.wait_until(until_led(cluster, {replicas[0], replicas[2]}), WITHIN_MS)
        assert await asyncio.to_thread(producer.flush, WITHIN_MS / 1000) == 0
        await cluster.resume(frozen)
        await cluster.wait_until(until_led(cluster, set(replicas)), WITHIN_MS)

    log = play_over_tcp(script, "model", settings)
    (leader,) = leaders
    assert len(find(log, EventKind.ISR_SHRUNK, node=leader)) == PARTITIONS
    answers = {event.seq for event in find(log, EventKind.RESPONSE_RECEIVED, node=leader, event="AlterIsr", error="NONE")}
    changed = [*find(log, EventKind.ISR_SHRUNK), *find(log, EventKind.ISR_EXPANDED)]
    assert {event.cause for event in changed} <= answers
    written = [event for event in find(log, EventKind.ZK_WRITE, node=leader) if (event.path or "").endswith("/state")]
    assert written == []


def test_requests_over_tcp_need_ports() -> None:
    spec = replace(spec_of((1, 2, 3), SETTINGS, "model"), control_plane_over_tcp=True)

    async def script(_: Cluster) -> None:
        raise AssertionError("there is no cluster")

    with pytest.raises(ClusterError, match="only where brokers have TCP ports"):
        run_in_environment(ZooKeeperChoice.parse("model"), spec, RunInfo("test", 0, "model"), script)


def until_answered(log: EventLog, controller: str) -> Callable[[], str | None]:
    """Return a condition: every request that the controller has sent has its response, or has failed."""

    def condition() -> str | None:
        sent = {event.seq for event in find(log, EventKind.REQUEST_SENT, node=controller)}
        ended = (EventKind.RESPONSE_RECEIVED, EventKind.REQUEST_FAILED)
        left = sent - {event.cause for kind in ended for event in find(log, kind, node=controller)}
        return f"{len(left)} requests of {controller} are on their way" if left else None

    return condition


def test_faults_of_links_act_on_the_controllers_requests() -> None:
    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        controller = controller_of(cluster)
        other = next(name for name in cluster.broker_names if name != controller)
        # A broker gets one request after the other: the controller must know all brokers, and wait for no answer.
        everywhere = NewTopic("everywhere", assignment=[(BrokerId(number),) for number in (1, 2, 3)])
        await cluster.topics.create(everywhere, random.Random(1))
        await cluster.wait_until(until_found(cluster.log, EventKind.BECAME_LEADER, 3, topic="everywhere"), WITHIN_MS)
        await cluster.wait_until(until_idle(cluster.log), WITHIN_MS)
        await cluster.wait_until(until_answered(cluster.log, controller), WITHIN_MS)
        cluster.network_faults.partition(Links(frozenset({controller}), frozenset({other})))
        broker = BrokerId(int(other.removeprefix("broker-")))
        await cluster.topics.create(NewTopic("orders", assignment=[(broker,)]), random.Random(1))
        stalled = until_found(cluster.log, EventKind.NETWORK_STALLED, node=controller, target=other, event="LeaderAndIsr")
        await cluster.wait_until(stalled, WITHIN_MS)
        leads = until_found(cluster.log, EventKind.BECAME_LEADER, node=other, topic="orders")
        assert leads() is not None
        cluster.network_faults.heal()
        await cluster.wait_until(leads, WITHIN_MS)

    play_over_tcp(script, "model")
