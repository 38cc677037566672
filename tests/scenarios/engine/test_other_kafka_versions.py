"""The logs of Kafka 2.4.1 and 3.9.1 word the same events differently from those of 2.8.2: both recordings have them all.

Broker 2 is killed and comes back; orders-0 moves from [1, 2, 3] to [2, 3]; broker 1, the controller, is killed; broker 3 is
stopped; both come back; orders is deleted and created again.
"""

from collections import Counter

import pytest

from kcsim.eventlog.events import EventKind
from tests.brokers.apache_kafka.log_feed.recorded import of, recorded
from tests.brokers.apache_kafka.log_feed.test_log_events import TAKE_OVER

every_version = pytest.mark.parametrize("version", ["2.4.1", "3.9.1"])


@pytest.mark.parametrize("version", ["2.4.1", "3.9.1", "3.9.1-session-expiry"])
def test_every_failover_goes_through_all_its_steps(version: str) -> None:
    steps = of(recorded(version), EventKind.CONTROLLER_FAILOVER, "controller_epoch", "step", "node")
    epochs = sorted({epoch for epoch, _, _ in steps if epoch is not None})
    assert len(epochs) >= 2
    for wanted in epochs:
        assert [step for epoch, step, _ in steps if epoch == wanted] == TAKE_OVER


@every_version
def test_every_leader_of_a_partition_is_recorded(version: str) -> None:
    led = of(recorded(version), EventKind.BECAME_LEADER, "node", "leader_epoch", "isr", topic="orders", partition=0)
    assert led == [
        ("broker-1", 0, [1, 2, 3]),
        ("broker-1", 1, [1, 3]),
        ("broker-2", 2, [1, 3, 2]),
        ("broker-2", 3, [3, 2]),
        ("broker-2", 4, [2]),
        ("broker-1", 0, [1, 2]),
    ]


@every_version
def test_a_broker_that_returns_is_sent_every_partition_it_hosts(version: str) -> None:
    """This is the second request to broker 2, after the one about the new topic."""
    sent = of(recorded(version), EventKind.REQUEST_SENT, "event", "count", node="broker-1", broker_id=2)
    assert [count for event, count in sent if event == "LeaderAndIsr"][:2] == [3, 3]
    alive = of(recorded(version), EventKind.REQUEST_SENT, "detail", node="broker-1", broker_id=2, event="UpdateMetadata")
    assert "3 partitions; 3 brokers are alive" in alive


@every_version
def test_a_deletion_deletes_every_replica_and_ends(version: str) -> None:
    events = recorded(version)
    assert of(events, EventKind.TOPIC_DELETION, "step", topic="orders") == ["started", "completing", "completed"]
    deleted = of(events, EventKind.REPLICA_STOPPED, "node", "partition", detail="deleted")
    by_deletion = Counter(
        {(f"broker-{b}", p): 1 for p, hosts in {0: (2, 3), 1: (1, 2, 3), 2: (1, 2, 3)}.items() for b in hosts}
    )
    assert Counter(deleted) == by_deletion + Counter({("broker-1", 0): 1})  # and by the reassignment before


@every_version
def test_a_controlled_shutdown_is_answered(version: str) -> None:
    answered = of(recorded(version), EventKind.CONTROLLED_SHUTDOWN, "step", "broker_id", "error", "count")
    assert answered == [("answered", 3, "NONE", 0)]


@every_version
def test_the_brokers_that_come_and_go_are_recorded(version: str) -> None:
    seen = of(recorded(version), EventKind.BROKER_CHANGE, "brokers", "detail")
    assert ([1, 3], "started [], stopped [2], bounced []") in seen
    assert [brokers for brokers, _ in seen][-1] == [1, 2, 3]
