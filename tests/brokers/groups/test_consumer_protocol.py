"""Subscriptions and assignments as consumers exchange them in bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.brokers.groups.consumer_protocol import (
    ConsumerProtocolError,
    assignment_bytes,
    assignment_of,
    subscription_bytes,
    subscription_of,
)
from kcsim.brokers.groups.requests import JoinGroupRequest, Subscription
from kcsim.brokers.wire.apis.groups import JOIN_GROUP, SYNC_GROUP
from kcsim.brokers.wire.apis.registry import request_of
from kcsim.brokers.wire.frames import decode_request
from kcsim.vocabulary import TopicPartition
from tests.brokers.wire.recorded_frames import recorded_exchanges

ORDERS_0, ORDERS_2 = TopicPartition("orders", 0), TopicPartition("orders", 2)
RETURNS_1 = TopicPartition("returns", 1)

TOPICS = st.lists(st.text(min_size=1, max_size=3), unique=True).map(lambda topics: tuple(sorted(topics)))
PARTITIONS = st.sets(st.builds(TopicPartition, st.text(min_size=1, max_size=3), st.integers(0, 9))).map(
    lambda partitions: tuple(sorted(partitions))
)


@given(TOPICS, PARTITIONS)
def test_what_is_written_is_read(topics: tuple[str, ...], owned: tuple[TopicPartition, ...]) -> None:
    subscription = Subscription(topics, owned)
    assert subscription_of(subscription_bytes(subscription), "cooperative-sticky") == subscription
    assert assignment_of(assignment_bytes(owned)) == owned


@given(TOPICS, PARTITIONS, st.integers(0, 2**31 - 1))
def test_the_sticky_assignor_has_what_was_owned_in_its_user_data(
    topics: tuple[str, ...], owned: tuple[TopicPartition, ...], generation: int
) -> None:
    sent = subscription_bytes(Subscription(topics, owned, generation))
    assert subscription_of(sent, "sticky") == Subscription(topics, owned, generation)
    assert subscription_of(sent, "range") == Subscription(topics)


def test_the_bytes_are_kafkas() -> None:
    """As Kafka's own consumer of 2.8.2 sent them; the sticky assignor's by its schema."""
    assert subscription_bytes(Subscription(("w",))).hex() == "00010000000100" + "0177" + "ffffffff" + "00000000"
    assert assignment_bytes(()).hex() == "0001" + "00000000" + "ffffffff"
    user_data = "00000001" + "000177" + "0000000100000002" + "00000007"
    sticky = Subscription(("w",), (TopicPartition("w", 2),), 7)
    assert subscription_bytes(sticky).hex() == "0001" + "00000001000177" + "00000013" + user_data + "00000000"


def test_what_clients_have_sent_is_understood() -> None:
    """Java, librdkafka, kafka-python and aiokafka, in their versions of the protocol."""
    topics, assigned = set(), 0
    for exchange in recorded_exchanges():
        if exchange.api_key == JOIN_GROUP:
            joining: JoinGroupRequest = request_of(decode_request(exchange.request, "127.0.0.1:5000"))
            topics |= {topic for name, sent in joining.protocols for topic in subscription_of(sent, name).topics}
        elif exchange.api_key == SYNC_GROUP:
            syncing = request_of(decode_request(exchange.request, "127.0.0.1:5000"))
            assigned += sum(len(assignment_of(one)) for one in syncing.assignments.values())
    assert {"w", "jt"} <= topics
    assert assigned > 10


def test_no_bytes_are_no_assignment() -> None:
    assert assignment_of(b"") == ()


def test_values_and_bytes_stay_what_they_are() -> None:
    subscription = Subscription(("orders",), (ORDERS_0, RETURNS_1))
    assert subscription_of(subscription) is subscription
    assert assignment_of((ORDERS_2,)) == (ORDERS_2,)
    assert (subscription_bytes(b"anything"), assignment_bytes(b"anything")) == (b"anything", b"anything")


@pytest.mark.parametrize(
    "damaged",
    [
        "",
        "00",
        "ffff",
        "0001",
        "00017fffffff",
        "0001000000010004w",
        "000100000001ffff",
        "00010000000100" + "01ff" + "ffffffff00000000",
    ],
)
def test_other_bytes_are_refused(damaged: str) -> None:
    content = bytes.fromhex(damaged.replace("w", "77"))
    with pytest.raises(ConsumerProtocolError):
        subscription_of(content)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    for read in (subscription_of, assignment_of, lambda given: subscription_of(given, "sticky")):
        try:
            read(content)
        except ConsumerProtocolError:
            continue
