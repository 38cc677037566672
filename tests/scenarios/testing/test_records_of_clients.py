"""Two mistakes of client programs that a fixture's faults reveal, and what the programs should have done."""

import itertools
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from kcsim.scenarios.testing.cluster import ClusterForTest

PATIENCE_S = 300.0
ORDERS = [b"order %d" % number for number in range(50)]

pytestmark = pytest.mark.live


def publish(servers: str, orders: list[bytes], acks: str) -> list[bytes]:
    """Write orders, and return those that were acknowledged."""
    acknowledged: list[bytes] = []

    def delivered(error: Any, message: Any) -> None:
        if error is None:
            acknowledged.append(message.value())

    producer = Producer({"bootstrap.servers": servers, "acks": acks, "message.timeout.ms": 3_000, "log_level": 0})
    for order in orders:
        producer.produce("orders", order, on_delivery=delivered)
    producer.flush(PATIENCE_S)
    return acknowledged


@pytest.mark.parametrize(("acks", "lost"), [("1", len(ORDERS)), ("all", 0)])
def test_acks_1_is_believed_safe(kcsim_cluster: ClusterForTest, acks: str, lost: int) -> None:
    """The leader acknowledges alone, and dies before others have copied anything. With acks=all it does not acknowledge."""
    cluster = kcsim_cluster
    cluster.create_topic("orders", partitions=1, replication_factor=3)
    leader = cluster.wait_for_leader("orders", within_s=PATIENCE_S)
    followers = [broker for broker in cluster.brokers if broker != leader]
    for follower in followers:
        cluster.slow_follower(follower, 0)
    acknowledged = publish(cluster.bootstrap_servers, ORDERS, acks)
    cluster.kill(leader)
    cluster.wait_for_leader("orders", other_than=leader, within_s=PATIENCE_S)
    for follower in followers:
        cluster.slow_follower(follower, None)
    assert len(acknowledged) == lost
    assert (cluster.records("orders").acknowledged, cluster.records("orders").lost) == (lost, lost)


class Shop:
    """A consumer that crashes in the middle of its work, and is started again. Attributes: done: the orders that it did."""

    def __init__(self, servers: str, *, commits_first: bool) -> None:
        self.done: list[bytes] = []
        self._servers = servers
        self._commits_first = commits_first

    def work(self, until: int, crash_at: int | None = None) -> None:
        """Do orders until this many are done; crash before the order of that number is."""
        config = {"group.id": "shop", "enable.auto.commit": False, "auto.offset.reset": "earliest", "log_level": 0}
        consumer = Consumer({"bootstrap.servers": self._servers, **config})
        consumer.subscribe(["orders"])
        for number in itertools.count(len(self.done)):
            if number == until:
                break
            message = consumer.poll(PATIENCE_S)
            assert message is not None
            assert message.error() is None
            if self._commits_first:
                consumer.commit(message=message, asynchronous=False)
            if number == crash_at:
                break
            value = message.value()
            assert value is not None
            self.done.append(value)
            if not self._commits_first:
                consumer.commit(message=message, asynchronous=False)
        consumer.close()


@pytest.mark.parametrize(("commits_first", "missing"), [(True, [ORDERS[20]]), (False, [])])
def test_offsets_are_committed_before_the_work_is_done(
    kcsim_cluster: ClusterForTest, commits_first: bool, missing: list[bytes]
) -> None:
    cluster = kcsim_cluster
    cluster.create_topic("orders", partitions=1, replication_factor=3)
    cluster.wait_for_leader("orders", within_s=PATIENCE_S)
    assert len(publish(cluster.bootstrap_servers, ORDERS, "all")) == len(ORDERS)
    shop = Shop(cluster.bootstrap_servers, commits_first=commits_first)
    shop.work(len(ORDERS), crash_at=20)
    shop.work(len(ORDERS) - len(missing))
    assert shop.done == [order for order in ORDERS if order not in missing]
