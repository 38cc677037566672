"""A member finds its group's coordinator before it sends anything to it."""

from kcsim.brokers.clients.clients import ClusterClient
from kcsim.brokers.clients.consumer_config import ConsumerSpec
from kcsim.brokers.clients.membership import GroupMembership
from kcsim.brokers.groups.assignors.subscriptions import TopicList
from kcsim.vocabulary import BrokerId, TopicPartition
from tests.brokers.clients.scripted_brokers import CAUSE, ScriptedCluster, on_scripted_brokers

ORDERS = TopicPartition("orders", 0)


def member(client: ClusterClient) -> GroupMembership:
    return GroupMembership(client, ConsumerSpec("reader", "readers", TopicList(("orders",))))


def test_a_coordinator_is_reached_before_the_client_has_asked_for_any_metadata() -> None:
    async def script(cluster: ScriptedCluster) -> None:
        cluster.committed = {ORDERS: 7}
        assert await member(cluster.client("orders")).committed((ORDERS,), CAUSE) == {ORDERS: 7}

    on_scripted_brokers(script)


def test_a_coordinator_that_came_after_the_last_metadata_is_looked_up() -> None:
    """The client can send only to brokers of its metadata, so it asks for new metadata."""

    async def script(cluster: ScriptedCluster) -> None:
        cluster.committed = {ORDERS: 7}
        cluster.reported = {BrokerId(1)}
        client = cluster.client("orders")
        await client.refresh(CAUSE)
        cluster.reported = {BrokerId(1), BrokerId(2)}
        assert await member(client).committed((ORDERS,), CAUSE) == {ORDERS: 7}

    on_scripted_brokers(script)


def test_for_a_known_coordinator_no_new_metadata_is_asked_for() -> None:
    async def script(cluster: ScriptedCluster) -> None:
        client = cluster.client("orders")
        await client.refresh(CAUSE)
        await member(client).committed((ORDERS,), CAUSE)

    assert sum(broker.metadata_requests for broker in on_scripted_brokers(script).all) == 1
