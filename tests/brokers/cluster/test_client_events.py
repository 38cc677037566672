"""What a broker does for real clients is in the event log, with what explains the errors that they get."""

import asyncio
import json
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.workload import Workload
from kcsim.brokers.ports import ConnectionEnd
from kcsim.brokers.wire.apis.metadata import METADATA
from kcsim.brokers.wire.apis.offsets import OFFSET_FOR_LEADER_EPOCH
from kcsim.brokers.wire.apis.records import PRODUCE
from kcsim.brokers.wire.apis.topics import CREATE_TOPICS
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import Event, EventKind
from kcsim.vocabulary import BrokerId
from kcsim.vocabulary import TopicPartition as Partition
from tests.brokers.cluster.environments import WITHIN_MS, controller_of, find, kill_and_expire, until_found, until_idle
from tests.brokers.cluster.test_client_ports import WITHIN_S, play_with_ports
from tests.brokers.cluster.test_client_records import RECORDS, read, servers_of, values, with_topic, written
from tests.brokers.differential.raw_client import ALL_BROKERS, CLIENT_ID, produce, raw_client
from tests.brokers.test_record_batches import batch_of, record

TP = Partition("orders", 0)

pytestmark = pytest.mark.live


def leader_of(cluster: Cluster) -> int:
    leader = cluster.state.of_topics.states[TP].leader_and_isr.leader
    assert leader is not None
    return leader


def chain(log: EventLog, event: Event) -> list[EventKind]:
    """Return the kinds of the events that an event follows from, the first of all first."""
    kinds = [event.kind]
    while event.cause is not None:
        event = log.events[event.cause]
        kinds.insert(0, event.kind)
    return kinds


def sums(log: EventLog, **fields: Any) -> dict[str, float]:
    """Return the added values of sums of requests."""
    found = [json.loads(event.data or "") for event in find(log, EventKind.CLIENT_REQUESTS, **fields)]
    return {name: sum(one[name] for one in found) for name in ("errors", "records", "bytes")}


def test_a_clients_connections_and_requests_are_events() -> None:
    async def script(cluster: Cluster) -> None:
        await with_topic(cluster, partitions=1)
        config = {"client.id": "shop", "acks": "all"}
        assert len(await asyncio.to_thread(written, servers_of(cluster), values(0), **config)) == RECORDS

    log, _ = play_with_ports(script)
    connected = find(log, EventKind.CLIENT_CONNECTED, client_id="shop")
    assert {json.loads(event.data or "")["software"] for event in connected} == {"confluent-kafka-python"}
    for event in connected:
        assert chain(log, event) == [EventKind.ADMIN_ACT, EventKind.PROCESS_STATE, EventKind.CLIENT_CONNECTED]
    ended = find(log, EventKind.CLIENT_DISCONNECTED, client_id="shop", rule=ConnectionEnd.CLOSED_BY_CLIENT.value)
    assert {event.target for event in ended} == {event.target for event in connected}
    assert {event.cause for event in ended} == {event.seq for event in connected}
    produced = sums(log, client_id="shop", event="Produce")
    assert (produced["errors"], produced["records"]) == (0, RECORDS)
    assert produced["bytes"] > RECORDS
    assert find(log, EventKind.CLIENT_ERROR, client_id="shop") == []


def test_a_client_that_writes_to_a_former_leader_learns_why_from_the_fault() -> None:
    """The leader was killed and came back as a follower."""
    former: list[int] = []

    async def script(cluster: Cluster) -> None:
        await with_topic(cluster, partitions=1)
        former.append(leader_of(cluster))
        async with raw_client(servers_of(cluster)) as client:
            await kill_and_expire(cluster, f"broker-{former[0]}")
            await cluster.start([f"broker-{former[0]}"])
            became = until_found(cluster.log, EventKind.BECAME_FOLLOWER, node=f"broker-{former[0]}", topic="orders")
            await cluster.wait_until(became, WITHIN_MS)
            for _ in range(5):
                await client.call(former[0], PRODUCE, 9, **produce("orders", 0, batch_of(record(0, 0), 1)))

    log, _ = play_with_ports(script)
    errors = find(log, EventKind.CLIENT_ERROR, client_id=CLIENT_ID, error="NOT_LEADER_OR_FOLLOWER")
    assert {(event.node, event.event, event.topic, event.partition) for event in errors} == {
        (f"broker-{former[0]}", "Produce", "orders", 0)
    }
    assert sum(event.count or 0 for event in errors) == 5
    assert len(errors) < 5
    (follower,) = find(log, EventKind.BECAME_FOLLOWER, node=f"broker-{former[0]}", topic="orders")
    assert {event.cause for event in errors} == {follower.seq}
    assert sums(log, client_id=CLIENT_ID, event="Produce")["errors"] == 5


def test_a_client_of_the_leader_that_lost_its_followers_learns_who_shrank_the_isr() -> None:
    async def script(cluster: Cluster) -> None:
        await with_topic(cluster, partitions=1)
        leader = leader_of(cluster)
        async with raw_client(servers_of(cluster)) as client:
            for broker in {1, 2, 3} - {leader}:
                await kill_and_expire(cluster, f"broker-{broker}")
            alone = until_found(cluster.log, EventKind.BECAME_LEADER, topic="orders", isr=[leader])
            await cluster.wait_until(alone, WITHIN_MS)
            await client.call(leader, PRODUCE, 9, **produce("orders", 0, batch_of(record(0, 0), 1), acks=-1))

    log, _ = play_with_ports(script, settings={"min.insync.replicas": 2})
    (error,) = find(log, EventKind.CLIENT_ERROR, error="NOT_ENOUGH_REPLICAS")
    causes = chain(log, error)
    assert causes[0] is EventKind.FAULT
    assert causes[-2:] == [EventKind.BECAME_LEADER, EventKind.CLIENT_ERROR]


def test_an_unknown_topic_is_explained_by_the_start_of_the_broker() -> None:
    async def script(cluster: Cluster) -> None:
        await with_topic(cluster, partitions=1)
        client = AdminClient({"bootstrap.servers": servers_of(cluster), "client.id": "curious", "log_level": 0})
        await asyncio.to_thread(client.list_topics, "nothing", WITHIN_S)

    log, _ = play_with_ports(script, settings={"auto.create.topics.enable": False})
    error, *_ = find(log, EventKind.CLIENT_ERROR, client_id="curious")
    assert (error.event, error.error, error.topic) == ("Metadata", "UNKNOWN_TOPIC_OR_PARTITION", "nothing")
    assert chain(log, error) == [EventKind.ADMIN_ACT, EventKind.PROCESS_STATE, EventKind.CLIENT_ERROR]


def test_what_was_lost_is_named_with_the_truncation_that_removed_it() -> None:
    """Only the leader had the records, which were acknowledged with acks=1; it comes back as a follower."""
    lost: list[int] = []

    async def script(cluster: Cluster) -> None:
        await with_topic(cluster, partitions=1)
        leader = leader_of(cluster)
        followers = [f"broker-{broker}" for broker in (1, 2, 3) if broker != leader]
        for follower in followers:
            await cluster.slow_follower(follower, 0)
        lost.append(
            len(await asyncio.to_thread(written, servers_of(cluster), values(0), **{"client.id": "shop", "acks": 1}))
        )
        await kill_and_expire(cluster, f"broker-{leader}")
        await cluster.wait_until(until_idle(cluster.log), WITHIN_MS)
        for follower in followers:
            await cluster.slow_follower(follower, None)
        await cluster.start([f"broker-{leader}"])
        await cluster.wait_until(until_found(cluster.log, EventKind.RECORDS_TRUNCATED, topic="orders"), WITHIN_MS)
        Workload(cluster, {}).take_ledger()

    log, _ = play_with_ports(script)
    (truncated,) = find(log, EventKind.RECORDS_TRUNCATED, topic="orders")
    (ledger,) = find(log, EventKind.LEDGER, topic="orders")
    (event,) = find(log, EventKind.RECORDS_LOST, topic="orders")
    assert (event.leader_epoch, event.offset, event.end_offset, event.count) == (0, 0, lost[0], lost[0])
    assert (event.detail or "").startswith("written by shop@127.0.0.1:")
    assert json.loads(ledger.data or "")["lost"] == lost[0]
    assert event.cause == ledger.cause == truncated.seq


def test_what_a_producer_without_an_id_sends_again_is_counted_as_duplicated() -> None:
    """The followers copy nothing until the broker has answered the producer twice that its records are not committed."""
    read_twice: list[int] = []

    async def script(cluster: Cluster) -> None:
        await with_topic(cluster, partitions=1)
        followers = [f"broker-{broker}" for broker in {1, 2, 3} - {leader_of(cluster)}]
        for follower in followers:
            await cluster.slow_follower(follower, 0)
        config = {"client.id": "shop", "acks": "all", "request.timeout.ms": 500, "enable.idempotence": False}
        writing = asyncio.create_task(asyncio.to_thread(written, servers_of(cluster), values(0), **config))
        again = until_found(cluster.log, EventKind.RECORDS_APPENDED, 3, topic="orders")
        await cluster.wait_until(again, WITHIN_MS)
        for follower in followers:
            await cluster.slow_follower(follower, None)
        assert len(await writing) == RECORDS
        Workload(cluster, {}).take_ledger()
        log = cluster.replica_logs(TP)[BrokerId(leader_of(cluster))]
        found = await asyncio.to_thread(read, servers_of(cluster), {0: 0}, log.log_end_offset)
        read_twice.append(len(found) - len({message.value() for message in found.values()}))

    log, _ = play_with_ports(script)
    (ledger,) = find(log, EventKind.LEDGER, topic="orders")
    assert json.loads(ledger.data or "")["duplicated"] == read_twice[0]
    assert read_twice[0] >= RECORDS
    duplicated = find(log, EventKind.RECORDS_DUPLICATED, topic="orders")
    assert sum(event.count or 0 for event in duplicated) == read_twice[0]
    reasons = [log.events[event.cause] for event in duplicated if event.cause is not None]
    assert {(one.kind, one.error, one.client_id) for one in reasons} == {
        (EventKind.CLIENT_ERROR, "REQUEST_TIMED_OUT", "shop")
    }


def test_what_an_idempotent_producer_sends_again_is_there_once() -> None:
    async def script(cluster: Cluster) -> None:
        await with_topic(cluster, partitions=1)
        followers = [f"broker-{broker}" for broker in {1, 2, 3} - {leader_of(cluster)}]
        for follower in followers:
            await cluster.slow_follower(follower, 0)
        config = {"client.id": "shop", "acks": "all", "request.timeout.ms": 500, "enable.idempotence": True}
        writing = asyncio.create_task(asyncio.to_thread(written, servers_of(cluster), values(0), **config))
        refused = until_found(cluster.log, EventKind.CLIENT_ERROR, 2, client_id="shop", error="REQUEST_TIMED_OUT")
        await cluster.wait_until(refused, WITHIN_MS)
        for follower in followers:
            await cluster.slow_follower(follower, None)
        assert len(await writing) == RECORDS
        Workload(cluster, {}).take_ledger()

    log, _ = play_with_ports(script)
    (ledger,) = find(log, EventKind.LEDGER, topic="orders")
    counts = json.loads(ledger.data or "")
    assert (counts["acknowledged"], counts["duplicated"], counts["lost"]) == (RECORDS, 0, 0)
    assert find(log, EventKind.RECORDS_DUPLICATED) == []


def test_a_broker_that_is_not_the_controller_says_since_when() -> None:
    other: list[str] = []

    async def script(cluster: Cluster) -> None:
        await with_topic(cluster, partitions=1)
        other.append(next(name for name in cluster.broker_names if name != controller_of(cluster)))
        topic = {"name": "payments", "num_partitions": 1, "replication_factor": 1, "assignments": (), "configs": ()}
        async with raw_client(servers_of(cluster)) as client:
            broker = int(other[0].removeprefix("broker-"))
            await client.call(broker, CREATE_TOPICS, 5, topics=(topic,), timeout=30_000, validate_only=False)

    log, _ = play_with_ports(script)
    (error,) = find(log, EventKind.CLIENT_ERROR, error="NOT_CONTROLLER")
    assert (error.node, error.client_id, error.event, error.topic) == (other[0], CLIENT_ID, "CreateTopics", "payments")
    (lost,) = find(log, EventKind.ELECTION_LOST, node=other[0])
    assert error.cause == lost.seq


def test_the_connections_of_a_killed_broker_end_because_of_the_fault() -> None:
    async def script(cluster: Cluster) -> None:
        await with_topic(cluster, partitions=1)
        async with raw_client(servers_of(cluster)):
            first = cluster.broker_names[0]
            await kill_and_expire(cluster, first)
            ended = until_found(cluster.log, EventKind.CLIENT_DISCONNECTED, client_id=CLIENT_ID, node=first)
            await cluster.wait_until(ended, WITHIN_MS)

    log, _ = play_with_ports(script)
    (ended,) = find(log, EventKind.CLIENT_DISCONNECTED, client_id=CLIENT_ID, rule=ConnectionEnd.PORT_CLOSED.value)
    assert chain(log, ended)[0] is EventKind.FAULT


def test_an_error_for_very_many_partitions_is_one_event() -> None:
    """The client knows a leader epoch that no broker has had."""

    async def script(cluster: Cluster) -> None:
        await with_topic(cluster, partitions=20)
        wrong = [{"partition": number, "current_leader_epoch": 9, "leader_epoch": 0} for number in range(20)]
        async with raw_client(servers_of(cluster)) as client:
            await client.call(
                1, OFFSET_FOR_LEADER_EPOCH, 3, replica_id=-1, topics=({"topic": "orders", "partitions": wrong},)
            )

    log, _ = play_with_ports(script)
    errors = find(log, EventKind.CLIENT_ERROR, client_id=CLIENT_ID)
    assert sum(event.count or 0 for event in errors) == 20
    in_one = [event for event in errors if event.partitions]
    for event in in_one:
        assert event.partition is None
        assert (event.count or 0) > len(event.partitions or ()) == 5
    assert in_one


def test_a_cluster_knows_its_clients_while_they_are_connected() -> None:
    async def script(cluster: Cluster) -> None:
        await with_topic(cluster, partitions=1)
        async with raw_client(servers_of(cluster)) as client:
            await client.call(1, METADATA, 8, **ALL_BROKERS)
            await client.call(2, METADATA, 8, **ALL_BROKERS)
            assert cluster.client_connections[CLIENT_ID] == 3  # the first one learned the brokers' addresses
        ended = until_found(cluster.log, EventKind.CLIENT_DISCONNECTED, 3, client_id=CLIENT_ID)
        await cluster.wait_until(ended, WITHIN_MS)
        assert CLIENT_ID not in cluster.client_connections

    play_with_ports(script)
