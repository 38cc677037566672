"""What brokers answer admin clients while brokers are dead or slow, in virtual time."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any
from uuid import UUID

import pytest

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventKind
from kcsim.vocabulary import BrokerId, TopicPartition
from tests.brokers.admin.network_client import NetworkClient
from tests.brokers.admin.recorded_answers import SETTINGS
from tests.brokers.admin.requests_of_admin_clients import (
    UNCLEAN,
    SentRequest,
    create,
    delete,
    elect,
    grow,
    grown,
    reassign,
    topic,
)
from tests.brokers.cluster.environments import (
    WITHIN_MS,
    Settings,
    controller_of,
    find,
    kill_and_expire,
    play,
    start_and_elect,
    until_idle,
)

ORDERS_0 = TopicPartition("orders", 0)
Script = Callable[[Cluster, NetworkClient], Coroutine[Any, Any, None]]


def play_with_client(script: Script, settings: Settings = SETTINGS) -> EventLog:
    """Run a script on three brokers with a controller, and an admin client."""

    async def main(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        await script(cluster, NetworkClient(cluster))

    return play(main, settings=settings)


def others(cluster: Cluster) -> list[int]:
    """Return the brokers that are not the controller."""
    return [broker for broker in (1, 2, 3) if f"broker-{broker}" != controller_of(cluster)]


async def error_of(client: NetworkClient, request: SentRequest) -> tuple[str, str | None]:
    """Send a request about one topic or partition. Return the error and its message."""
    answer = await client.ask(request)
    while lists := [value for name, value in answer.items() if isinstance(value, list) and name != "configs"]:
        ((answer,),) = lists
    return answer["error_code"], answer.get("error_message")


def test_a_topic_on_a_dead_broker_is_gone_for_clients_but_its_name_is_taken() -> None:
    async def script(cluster: Cluster, client: NetworkClient) -> None:
        dead, _ = others(cluster)
        assert await error_of(client, create("", topic("orders", assigned={0: (dead,)}))) == ("none", None)
        await kill_and_expire(cluster, f"broker-{dead}")
        await cluster.wait_until(until_idle(cluster.log), WITHIN_MS)
        assert await error_of(client, delete("", "orders")) == ("none", None)
        assert await error_of(client, delete("", "orders")) == ("unknown_topic_or_partition", None)
        exists = ("topic_already_exists", "Topic 'orders' already exists.")
        assert await error_of(client, create("", topic("orders", 1, 1))) == exists
        grows = grow("", grown("orders", 2))
        assert await error_of(client, grows) == ("invalid_topic_exception", "The topic is queued for deletion.")
        await cluster.start([f"broker-{dead}"])
        await cluster.wait_until(lambda: "not deleted" if cluster.state.of_topics.topics else None, WITHIN_MS)
        assert await error_of(client, create("", topic("orders", 1, 1))) == ("none", None)

    log = play_with_client(script)
    acts = [(act.op, act.topic) for act in find(log, EventKind.ADMIN_ACT) if act.detail == "requested by a client"]
    assert acts == [(op, "orders") for op in ("create-topic", "delete-topic", "create-topic")]


@pytest.mark.parametrize(
    ("name", "topic_id", "error"),
    [("orders", UUID(int=7), "invalid_request"), (None, UUID(int=7), "unknown_topic_id"), ("orders", None, "none")],
)
def test_a_topic_is_deleted_by_its_name_alone(name: str | None, topic_id: UUID | None, error: str) -> None:
    """A client may name an id instead, but no topic has one."""

    async def script(cluster: Cluster, client: NetworkClient) -> None:
        await client.ask(create("", topic("orders", 1, 1)))
        request = delete("", name)
        topics = [{"name": name, "topic_id": topic_id}]
        assert await error_of(client, request._replace(values={**request.values, "topics": topics})) == (error, None)

    play_with_client(script)


@pytest.mark.parametrize(("version", "error"), [(2, "invalid_request"), (3, "topic_deletion_disabled")])
def test_old_clients_do_not_know_that_deletion_can_be_disabled(version: int, error: str) -> None:
    async def script(cluster: Cluster, client: NetworkClient) -> None:
        await client.ask(create("", topic("orders", 1, 1)))
        assert await error_of(client, delete("", "orders", version=version)) == (error, None)

    play_with_client(script, {**SETTINGS, "delete.topic.enable": False})


def test_a_preferred_leader_is_elected_once_it_is_back() -> None:
    async def script(cluster: Cluster, client: NetworkClient) -> None:
        preferred, other = others(cluster)
        await client.ask(create("", topic("orders", assigned={0: (preferred, other)})))
        await kill_and_expire(cluster, f"broker-{preferred}")
        await cluster.wait_until(until_led_by(cluster, other), WITHIN_MS)
        assert await error_of(client, elect("", {"orders": [0]})) == (
            "preferred_leader_not_available",
            "Failed to elect leader for partition orders-0 under strategy PreferredReplicaPartitionLeaderElectionStrategy",
        )
        await cluster.start([f"broker-{preferred}"])
        await cluster.wait_until(until_in_sync(cluster, preferred), WITHIN_MS)
        assert await error_of(client, elect("", {"orders": [0]})) == ("none", None)
        assert leader(cluster) == preferred

    play_with_client(script)


def test_no_leader_is_elected_while_no_replica_is_alive() -> None:
    async def script(cluster: Cluster, client: NetworkClient) -> None:
        only, _ = others(cluster)
        await client.ask(create("", topic("orders", assigned={0: (only,)})))
        await kill_and_expire(cluster, f"broker-{only}")
        await cluster.wait_until(until_led_by(cluster, None), WITHIN_MS)
        assert await error_of(client, elect("", None, UNCLEAN)) == (
            "eligible_leaders_not_available",
            "Failed to elect leader for partition orders-0 under strategy OfflinePartitionLeaderElectionStrategy(true)",
        )

    play_with_client(script)


def test_a_reassignment_is_cancelled() -> None:
    async def script(cluster: Cluster, client: NetworkClient) -> None:
        old, new = others(cluster)
        await client.ask(create("", topic("orders", assigned={0: (old,)})))
        await cluster.pause(f"broker-{new}")
        assert await error_of(client, reassign("", {"orders": {0: (new,)}})) == ("none", None)
        assert replicas(cluster) == (new, old)
        refused = await error_of(client, grow("", grown("orders", 2)))
        assert refused == (
            "reassignment_in_progress",
            "A partition reassignment is in progress for the topic 'orders'.",
        )
        assert await error_of(client, reassign("", {"orders": {0: None}})) == ("none", None)
        assert replicas(cluster) == (old,)

    play_with_client(script)


def leader(cluster: Cluster) -> BrokerId | None:
    return cluster.state.of_topics.states[ORDERS_0].leader_and_isr.leader


def replicas(cluster: Cluster) -> tuple[BrokerId, ...]:
    topics: Mapping[str, Any] = cluster.state.of_topics.topics
    return tuple(topics["orders"].assignments[0].replicas)


def until_led_by(cluster: Cluster, broker: int | None) -> Callable[[], str | None]:
    return lambda: None if leader(cluster) == broker else f"led by {leader(cluster)}"


def until_in_sync(cluster: Cluster, broker: int) -> Callable[[], str | None]:
    def condition() -> str | None:
        isr = cluster.state.of_topics.states[ORDERS_0].leader_and_isr.isr
        return None if broker in isr else f"in sync: {isr}"

    return condition
