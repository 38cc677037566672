"""Bills are sent by one worker at a time, whatever happens to its connection."""

import pytest
from billing.worker import Worker


@pytest.fixture
def workers(kcsim_zookeeper):
    bills = []
    a, b = (Worker(kcsim_zookeeper.client_address(name), name, bills) for name in "ab")
    yield a, b, bills
    a.stop()
    b.stop()


def test_a_worker_that_has_lost_its_session_sends_no_bills(kcsim_zookeeper, workers):
    zk, (a, b, bills) = kcsim_zookeeper, workers
    a.start()
    zk.wait_until(lambda: a.is_leader)
    b.start()
    zk.znodes.wait_until_children("/leader", 2)

    zk.member("a").disconnect()
    zk.wait_until(lambda: not a.client.connected)
    zk.member("a").expire()
    zk.wait_until(lambda: b.is_leader)
    a.work()
    b.work()

    assert bills == ["sent by b"]
