"""Quiescence of a run, and work that is still pending when nothing happens."""

import pytest

from kcsim.brokers.cluster.quiescence import LONGEST_WAIT_MS, QUIET_PERIOD_MS, QuiescenceDetector
from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import Event, EventKind


@pytest.fixture
def rest() -> QuiescenceDetector:
    watched = QuiescenceDetector(ClusterState())
    watched.apply(Event(seq=1, t_ms=0, node="broker-1", kind=EventKind.REQUEST_SENT, broker_id=2, event="UpdateMetadata"))
    return watched


def breaks(node: str, target: str, what: str) -> Event:
    return Event(seq=2, t_ms=100, node=node, kind=EventKind.NETWORK_CONNECTION_BROKEN, target=target, event=what)


def test_the_rest_begins_with_the_last_thing_that_happened(rest: QuiescenceDetector) -> None:
    assert rest.quiet_ms(QUIET_PERIOD_MS) == QUIET_PERIOD_MS


def test_there_is_none_while_a_broker_waits_for_an_answer_that_is_lost(rest: QuiescenceDetector) -> None:
    """Nothing happens until the broker's time-out; then it sends the request again."""
    rest.apply(breaks("broker-2", "broker-1", "answer to Connect"))
    assert rest.quiet_ms(99 + LONGEST_WAIT_MS) == 0
    assert rest.quiet_ms(100 + LONGEST_WAIT_MS) == 100 + LONGEST_WAIT_MS


@pytest.mark.parametrize(
    ("node", "target", "what"), [("broker-2", "broker-1", "Connect"), ("broker-2", "producer-writer", "answer to Produce")]
)
def test_the_sender_knows_that_a_connection_broke_and_clients_do_not_disturb_quiescence(
    rest: QuiescenceDetector, node: str, target: str, what: str
) -> None:
    rest.apply(breaks(node, target, what))
    assert rest.quiet_ms(QUIET_PERIOD_MS) == QUIET_PERIOD_MS
