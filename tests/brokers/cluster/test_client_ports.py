"""Kafka's clients reach the brokers of a live run over TCP, and see what the controller does."""

import asyncio
import random
import socket
import struct
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.controller.admin.topics import NewTopic
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.run_actions import ClusterError
from kcsim.zk.servers.free_ports import free_ports
from tests.brokers.cluster.environments import (
    SETTINGS,
    SIMULATED,
    WITHIN_MS,
    Script,
    Settings,
    controller_of,
    find,
    kill_and_expire,
    spec_of,
    start_and_elect,
    until_idle,
    until_ready,
)

WITHIN_S = WITHIN_MS / 1000
MOMENT_S = 2.0
HOST = "127.0.0.1"

pytestmark = pytest.mark.live


def play_with_ports(script: Script, on: str = "model", settings: Settings = SETTINGS) -> tuple[EventLog, dict[int, int]]:
    """Run a script on three brokers with TCP ports. Return the event log, and the ports by broker id.

    A port that was free may be taken by another process before its broker starts; then others are tried.
    """
    for attempts_left in (2, 1, 0):
        ports = dict(zip((1, 2, 3), free_ports(3), strict=True))
        spec = replace(spec_of(ports, settings, on), client_ports=ports)
        try:
            return run_in_environment(ZooKeeperChoice.parse(on), spec, RunInfo("test", 0, on), script), ports
        except ClusterError as error:
            if "is in use" not in str(error) or not attempts_left:
                raise
    raise AssertionError("the last attempt returns or raises")


def client_of(cluster: Cluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": ",".join(f"{host}:{port}" for host, port in cluster.bootstrap), "log_level": 0})


async def metadata(client: AdminClient, within_s: float = WITHIN_S) -> Any:
    return await asyncio.to_thread(client.list_topics, timeout=within_s)


async def until_seen(client: AdminClient, cluster: Cluster) -> Any:
    """Wait until a client sees the leaders that the state znodes name, all of them alive."""
    while True:
        seen = await metadata(client)
        found = {p.id: p.leader for p in seen.topics["orders"].partitions.values()} if "orders" in seen.topics else {}
        wanted = {tp.partition: state.leader_and_isr.leader for tp, state in cluster.state.of_topics.states.items()}
        if found and found == wanted:
            return seen
        await asyncio.sleep(0.1)


@pytest.mark.parametrize("on", ["model", "embedded"])
def test_a_client_sees_the_leaders_before_and_after_the_loss_of_the_controller(on: str) -> None:
    seen: list[Any] = []

    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        await cluster.topics.create(NewTopic("orders", 6, 3), random.Random(1))
        client = client_of(cluster)
        async with asyncio.timeout(WITHIN_S):
            seen.append(await until_seen(client, cluster))
            lost = controller_of(cluster)
            await kill_and_expire(cluster, lost)
            await cluster.wait_until(until_ready(cluster, 2), WITHIN_MS)
            await cluster.wait_until(until_idle(cluster.log), WITHIN_MS)
            seen.append((lost, controller_of(cluster), await until_seen(client, cluster)))

    log, ports = play_with_ports(script, on)
    before, (lost, controller, after) = seen
    assert {broker.id: (str(broker.host), broker.port) for broker in before.brokers.values()} == {
        broker: (HOST, port) for broker, port in ports.items()
    }
    assert before.cluster_id == after.cluster_id
    assert f"broker-{before.controller_id}" == lost
    assert f"broker-{after.controller_id}" == controller
    assert set(after.brokers) == {1, 2, 3} - {int(lost.removeprefix("broker-"))}
    assert find(log, EventKind.CLIENT_CONNECTION_CLOSED) == []


def test_a_frozen_broker_accepts_connections_and_answers_when_it_goes_on() -> None:
    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        await cluster.pause("broker-1")
        (host, port), *_ = cluster.bootstrap
        request = struct.pack(">hhih", 18, 0, 7, -1)
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(struct.pack(">i", len(request)) + request)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.readexactly(4), MOMENT_S)
        await cluster.resume("broker-1")
        async with asyncio.timeout(WITHIN_S):
            assert len(await reader.readexactly(4)) == 4
        writer.transport.abort()

    play_with_ports(script)


def test_a_dead_broker_has_no_port_and_gets_it_back() -> None:
    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        _, (host, port), _ = cluster.bootstrap
        await kill_and_expire(cluster, "broker-2")
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(host, port)
        await cluster.start(["broker-2"])
        _, writer = await asyncio.open_connection(host, port)
        writer.transport.abort()

    play_with_ports(script)


def test_what_is_no_request_closes_the_connection_and_is_in_the_event_log() -> None:
    addresses = []

    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        (host, port), *_ = cluster.bootstrap
        reader, writer = await asyncio.open_connection(host, port)
        addresses.append("{}:{}".format(*writer.get_extra_info("sockname")))
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        async with asyncio.timeout(WITHIN_S):
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                await reader.readexactly(1)
        writer.transport.abort()

    log, _ = play_with_ports(script)
    (closed,) = find(log, EventKind.CLIENT_CONNECTION_CLOSED)
    assert (closed.node, closed.target, closed.detail) == (
        "broker-1",
        addresses[0],
        "a frame of 1195725856 bytes; socket.request.max.bytes is 104857600",
    )


def test_in_virtual_time_there_are_no_ports() -> None:
    async def script(_: Cluster) -> None:
        pass

    spec = replace(spec_of([1], SETTINGS, SIMULATED), client_ports={1: 9092})
    with pytest.raises(ClusterError, match="only on the wall clock"):
        run_in_environment(ZooKeeperChoice.parse(SIMULATED), spec, RunInfo("test", 0, SIMULATED), script)


def test_a_broker_whose_port_is_taken_does_not_start() -> None:
    async def script(cluster: Cluster) -> None:
        (_, port), *_ = cluster.bootstrap
        with socket.create_server((HOST, port)), pytest.raises(Exception, match=f"{HOST}:{port} is in use"):
            await cluster.start(["broker-1"])
        await cluster.start(["broker-1"])

    play_with_ports(script)
