"""What is taken from the stock is gone, whoever stands still between two steps of taking it."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from billing.stock import take
from kazoo.client import KazooClient


@pytest.fixture
def clerks(kcsim_zookeeper):
    a, b = (KazooClient(kcsim_zookeeper.client_address(name)) for name in "ab")
    a.start()
    b.start()
    yield a, b
    a.stop()
    b.stop()


def test_nothing_is_sold_twice(kcsim_zookeeper, clerks):
    zk, (a, b) = kcsim_zookeeper, clerks
    zk.znodes.create("/stock", "10")

    with ThreadPoolExecutor() as desks, zk.member("a").pause_at_write("/stock", op="set") as pause:
        by_a = desks.submit(take, a, 2)
        pause.wait_until_reached()
        zk.member("a").disconnect()
        zk.member("a").expire()  # it is away for so long that ZooKeeper gives its lock away
        assert take(b, 3) == 7
        zk.member("a").reconnect()
        pause.release()
        by_a.result()

    assert zk.znodes.get("/stock") == b"5"
