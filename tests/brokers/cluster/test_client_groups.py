"""Real consumers share partitions through the coordinators of a live run, alone and with simulated consumers."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupState, KafkaException, TopicPartition
from confluent_kafka._model import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.eventlog.consumption import consumption
from kcsim.eventlog.events import EventKind
from tests.brokers.cluster.consuming import GROUP, consumer
from tests.brokers.cluster.environments import find, kill_and_expire
from tests.brokers.cluster.test_client_ports import WITHIN_S, client_of, play_with_ports
from tests.brokers.cluster.test_client_records import servers_of, with_topic, written

PARTITIONS = 4
POLL_S = 0.1
ALL = [0, 1, 2, 3]

pytestmark = pytest.mark.live


class Member:
    """A consumer of librdkafka in a group, polled by a thread of its own until it is closed.

    Attributes:
        values: of the records that it has read.
        partitions: of orders, that it is assigned.
    """

    def __init__(self, servers: str, **config: object) -> None:
        self.values: list[bytes] = []
        self.partitions: list[int] = []
        settings = {"bootstrap.servers": servers, "group.id": GROUP, "auto.offset.reset": "earliest", "log_level": 0}
        self._consumer = Consumer({**settings, **config})
        self._is_closing = threading.Event()
        self._thread = threading.Thread(target=self._poll)
        self._thread.start()

    def _poll(self) -> None:
        self._consumer.subscribe(["orders"])
        while not self._is_closing.is_set():
            message = self._consumer.poll(POLL_S)
            if message is not None and message.error() is None:
                value = message.value()
                assert value is not None
                self.values.append(value)
            self.partitions = sorted(tp.partition for tp in self._consumer.assignment())
        self._consumer.close()  # commits, and leaves the group

    async def close(self) -> None:
        self._is_closing.set()
        await asyncio.to_thread(self._thread.join)


async def until(look: Callable[[], Any], wanted: Any) -> None:
    """Wait until something has this value. Raises: TimeoutError, with what was seen last as a note."""
    seen = None
    try:
        async with asyncio.timeout(WITHIN_S):
            while True:
                if (seen := look()) == wanted:
                    return
                await asyncio.sleep(POLL_S)
    except TimeoutError as error:
        error.add_note(f"wanted {wanted}, seen last: {seen}")
        raise


async def described(client: AdminClient, group: str = GROUP) -> Any:
    (described,) = client.describe_consumer_groups([group]).values()
    return await asyncio.to_thread(described.result, WITHIN_S)


async def committed(client: AdminClient, group: str = GROUP) -> dict[int, int]:
    """Return the committed offsets of orders, by partition."""
    (listed,) = client.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).values()
    found = await asyncio.to_thread(listed.result, WITHIN_S)
    return {tp.partition: tp.offset for tp in found.topic_partitions}


def values(first: int, count: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, first + count)]


def test_a_group_goes_on_when_its_coordinator_is_lost_and_when_a_member_leaves() -> None:
    async def script(cluster: Cluster) -> None:
        await with_topic(cluster, PARTITIONS)
        servers = servers_of(cluster)
        client = client_of(cluster)
        one, two = Member(servers), Member(servers)
        try:
            await until(lambda: (len(one.partitions), sorted(one.partitions + two.partitions)), (2, ALL))
            await asyncio.to_thread(written, servers, values(0, 100))
            await until(lambda: {*one.values, *two.values}, set(values(0, 100)))

            group = await described(client)
            assert (group.state, group.partition_assignor) == (ConsumerGroupState.STABLE, "range")
            assert sorted(tp.partition for member in group.members for tp in member.assignment.topic_partitions) == ALL
            await kill_and_expire(cluster, f"broker-{group.coordinator.id}")

            await asyncio.to_thread(written, servers, values(100, 100))
            await until(lambda: set(values(0, 200)) - {*one.values, *two.values}, set())
            await two.close()
            await until(lambda: one.partitions, ALL)
            await asyncio.to_thread(written, servers, values(200, 100))
            await until(lambda: set(values(200, 100)) - set(one.values), set())
        finally:
            await one.close()
            await two.close()
        # Another client: the first one may wait for the lost broker, of which it knows that it was the coordinator.
        assert sum((await committed(client_of(cluster))).values()) == 300
        await _goes_on(servers)

    log, _ = play_with_ports(script)
    assert find(log, EventKind.CLIENT_CONNECTION_CLOSED) == []
    loaded = [event.detail for event in find(log, EventKind.GROUP_COORDINATION, state="loaded")]
    assert GROUP in loaded


async def _goes_on(servers: str) -> None:
    """Check that another consumer of the group begins where the others have ended."""
    three = Member(servers)
    try:
        await until(lambda: three.partitions, ALL)
        await asyncio.to_thread(written, servers, values(300, 10))
        await until(lambda: sorted(three.values), sorted(values(300, 10)))
    finally:
        await three.close()


def test_administrators_list_describe_and_delete_groups_and_change_offsets() -> None:
    async def script(cluster: Cluster) -> None:
        await with_topic(cluster, PARTITIONS)
        servers, client = servers_of(cluster), client_of(cluster)
        member = Member(servers, **{"client.id": "shop"})
        try:
            await until(lambda: member.partitions, ALL)
            listed = await asyncio.to_thread(client.list_consumer_groups().result, WITHIN_S)
            assert [(group.group_id, group.state, group.is_simple_consumer_group) for group in listed.valid] == [
                (GROUP, ConsumerGroupState.STABLE, False)
            ]
            (seen,) = (await described(client)).members
            assert (seen.client_id, seen.host, seen.group_instance_id) == ("shop", "/127.0.0.1", None)
            assert await error_of(client.delete_consumer_groups([GROUP])[GROUP]) == "NON_EMPTY_GROUP"
        finally:
            await member.close()

        assert (await described(client)).state is ConsumerGroupState.EMPTY
        offsets = ConsumerGroupTopicPartitions(GROUP, [TopicPartition("orders", 1, 7), TopicPartition("orders", 2, 0)])
        (altered,) = client.alter_consumer_group_offsets([offsets]).values()
        await asyncio.to_thread(altered.result, WITHIN_S)
        assert await committed(client) == {1: 7, 2: 0}
        await asyncio.to_thread(client.delete_consumer_groups([GROUP])[GROUP].result, WITHIN_S)
        assert await committed(client) == {}
        assert (await described(client)).state is ConsumerGroupState.DEAD
        assert await error_of(client.delete_consumer_groups([GROUP])[GROUP]) == "GROUP_ID_NOT_FOUND"

    play_with_ports(script)


async def error_of(future: Any) -> str:
    with pytest.raises(KafkaException) as refused:
        await asyncio.to_thread(future.result, WITHIN_S)
    name: str = refused.value.args[0].name()
    return name


@pytest.mark.parametrize("leads", ["simulated", "real"])
def test_simulated_and_real_consumers_share_a_group(leads: str) -> None:
    async def script(cluster: Cluster) -> None:
        await with_topic(cluster, PARTITIONS)
        servers, client = servers_of(cluster), client_of(cluster)
        cluster.consumers.declare([consumer("a")])

        def owned() -> list[int]:
            found = consumption(cluster.log.events).owned.get("consumer-a", ())
            return sorted(int(name.removeprefix("orders-")) for name in map(str, found))

        if leads == "simulated":
            await cluster.consumers.start(["a"])
            await until(owned, ALL)
        real = Member(servers)
        try:
            if leads == "real":
                await until(lambda: real.partitions, ALL)
                await cluster.consumers.start(["a"])
            await until(lambda: (len(real.partitions), sorted([*real.partitions, *owned()])), (2, ALL))
            group = await described(client)
            assigned = {m.client_id: [tp.partition for tp in m.assignment.topic_partitions] for m in group.members}
            assert assigned == {"rdkafka": real.partitions, "consumer-a": owned()}
            await cluster.consumers.stop("a")
            await until(lambda: real.partitions, ALL)
        finally:
            await real.close()

    play_with_ports(script)
