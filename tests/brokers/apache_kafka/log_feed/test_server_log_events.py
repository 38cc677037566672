"""Events of a broker's server.log: its session, its log directories and truncations of its logs."""

import pytest

from kcsim.brokers.apache_kafka.log_feed.log_events import LogEvent
from kcsim.eventlog.events import EventKind
from tests.brokers.apache_kafka.log_feed.recorded import CONNECTION, SESSION, of, parsed, recorded

SESSION_ID = "0x0100000331c1b003"
CONNECTED = (
    "Session establishment complete on server localhost/127.0.0.1:2181, sessionid = 0x100000331c1b003, "
    "negotiated timeout = 3000",
    CONNECTION,
)
EXPIRED = ("[ZooKeeperClient Kafka server] Session expired.", SESSION)
LOST = {
    "ZooKeeper 3.5, closed": "Unable to read additional data from server sessionid 0x100000331c1b003, likely server has "
    "closed socket, closing socket connection and attempting reconnect",
    "ZooKeeper 3.5, silent": "Client session timed out, have not heard from server in 2001ms for sessionid "
    "0x100000331c1b003, closing socket connection and attempting reconnect",
    "ZooKeeper 3.8": "Session 0x100000331c1b003 for server localhost/127.0.0.1:2181, Closing socket connection. "
    "Attempting reconnect except it is a SessionExpiredException.\njava.io.IOException: Connection reset by peer",
}


def states(events: list[LogEvent]) -> list[object]:
    return of(events, EventKind.SESSION_STATE, "state")


@pytest.mark.parametrize("lost", LOST.values(), ids=LOST)
def test_a_lost_connection_suspends_the_session_once(lost: str) -> None:
    """Every failed attempt logs the same words; the first one suspended the session."""
    events = parsed(CONNECTED, (lost, CONNECTION), (lost, CONNECTION), CONNECTED)
    assert states(events) == ["connected", "suspended", "connected"]
    assert set(of(events, EventKind.SESSION_STATE, "node", "session_id")) == {("broker-1", SESSION_ID)}


def test_an_expired_session_is_followed_by_another() -> None:
    other = (CONNECTED[0].replace("c1b003", "c1b004").replace("sessionid", "session id"), CONNECTION)
    events = parsed(CONNECTED, EXPIRED, other)
    assert of(events, EventKind.SESSION_STATE, "state", "session_id") == [
        ("connected", SESSION_ID),
        ("expired", SESSION_ID),
        ("connected", "0x0100000331c1b004"),
    ]


def test_a_connection_that_was_never_made_is_not_lost() -> None:
    lost = "Session 0x0 for server null, unexpected error, closing socket connection and attempting reconnect"
    assert parsed((lost, CONNECTION)) == []


def test_a_broker_that_stops_closes_its_session_and_has_another_when_it_is_back() -> None:
    found = of(recorded("shutdown-leader"), EventKind.SESSION_STATE, "state", node="broker-2")
    assert found == ["connected", "closed", "connected"]


def test_only_what_was_cut_off_is_truncated() -> None:
    """None of the hundreds of truncations in the recordings has an effect. Source: docs/kafka/logging.md 6, "follower"."""
    cut = "[Log partition=orders-0, dir=/d] Truncating to offset 5"
    none = "[Log partition=orders-0, dir=/d] Truncating to 5 has no effect as the largest offset in the log is 4"
    newer = "[UnifiedLog partition=orders-1, dir=/d] Truncating to offset 6"
    events = parsed((cut, "kafka.log.Log"), (none, "kafka.log.Log"), (newer, "kafka.log.UnifiedLog"))
    found = of(events, EventKind.RECORDS_TRUNCATED, "node", "topic", "partition", "offset")
    assert found == [("broker-1", "orders", 0, 5), ("broker-1", "orders", 1, 6)]


def test_a_lost_log_directory_is_reported_by_the_broker_and_by_the_controller() -> None:
    events = parsed(
        (
            "[ReplicaManager broker=1] Broker 1 stopped fetcher for partitions orders-0,orders-1 and stopped moving logs "
            "for partitions  because they are in the failed log directory /d.",
            "kafka.server.ReplicaManager",
        ),
        ("[Controller id=1] Mark replicas orders-0 on broker 2 as offline", "state.change.logger"),
    )
    found = of(events, EventKind.LOG_DIR_FAILED, "node", "broker_id", "count", "path")
    assert found == [("broker-1", 1, 2, "/d"), ("broker-1", 2, 1, None)]


def test_a_broker_that_may_not_leave_in_order_leaves_without() -> None:
    line = "[KafkaServer id=1] Proceeding to do an unclean shutdown as all the controlled shutdown attempts failed"
    found = of(parsed((line, "kafka.server.KafkaServer")), EventKind.CONTROLLED_SHUTDOWN, "node", "broker_id", "step")
    assert found == [("broker-1", 1, "proceeding with an unclean shutdown")]
