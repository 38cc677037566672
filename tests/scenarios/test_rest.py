"""When a run is at rest, and what is still to come when nothing happens."""

import pytest

from kcsim.scenarios.rest import LONGEST_WAIT_MS, REST_MS, Rest
from kcsim.zk.events import Event, EventKind


@pytest.fixture
def rest() -> Rest:
    watched = Rest()
    watched.apply(Event(seq=1, t_ms=0, node="broker-1", kind=EventKind.REQUEST_SENT, broker_id=2, event="UpdateMetadata"))
    return watched


def breaks(node: str, target: str, what: str) -> Event:
    return Event(seq=2, t_ms=100, node=node, kind=EventKind.NETWORK_CONNECTION_BROKEN, target=target, event=what)


def test_the_rest_begins_with_the_last_thing_that_happened(rest: Rest) -> None:
    assert rest.quiet_ms(REST_MS) == REST_MS


def test_there_is_none_while_a_broker_waits_for_an_answer_that_is_lost(rest: Rest) -> None:
    """Nothing happens until its time-out; then it asks again."""
    rest.apply(breaks("broker-2", "broker-1", "answer to Connect"))
    assert rest.quiet_ms(99 + LONGEST_WAIT_MS) == 0
    assert rest.quiet_ms(100 + LONGEST_WAIT_MS) == 100 + LONGEST_WAIT_MS


@pytest.mark.parametrize(
    ("node", "target", "what"), [("broker-2", "broker-1", "Connect"), ("broker-2", "producer-writer", "answer to Produce")]
)
def test_whoever_has_asked_knows_that_a_connection_broke_and_clients_disturb_no_rest(
    rest: Rest, node: str, target: str, what: str
) -> None:
    rest.apply(breaks(node, target, what))
    assert rest.quiet_ms(REST_MS) == REST_MS
