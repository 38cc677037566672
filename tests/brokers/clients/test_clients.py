"""A client finds the leader by asking any broker, and asks again when its knowledge may be outdated."""

import pytest

from kcsim.brokers.clients.clients import ClientConfig, LeaderUnknownError, is_about_leadership
from kcsim.brokers.requests import MetadataRequest, MetadataResponse, ProduceRequest, ProduceResponse
from kcsim.controller.ports import BrokerConnectionError
from kcsim.controller.requests import ErrorCode
from kcsim.errors import TimedOutError
from kcsim.vocabulary import BrokerId, TopicPartition
from tests.brokers.clients.scripted_brokers import CAUSE, SILENCE, ScriptedCluster, on_scripted_brokers

ORDERS = TopicPartition("orders", 0)
CLICKS = TopicPartition("clicks", 0)
NOTHING = ProduceRequest("w", 1, 1_000, {})


def test_it_asks_once_and_believes_the_answer() -> None:
    async def script(cluster: ScriptedCluster) -> None:
        cluster.say_leaders({ORDERS: 2})
        client = cluster.client("orders")
        assert client.known_leader(ORDERS) is None
        assert [await client.leader_of(ORDERS, CAUSE), await client.leader_of(ORDERS, CAUSE)] == [2, 2]

    assert [broker.metadata_requests for broker in on_scripted_brokers(script).all] == [1, 0]


def test_a_leader_that_it_was_asked_to_forget_is_asked_for_again() -> None:
    async def script(cluster: ScriptedCluster) -> None:
        cluster.say_leaders({ORDERS: 2})
        client = cluster.client("orders")
        await client.leader_of(ORDERS, CAUSE)
        cluster.say_leaders({ORDERS: 1})
        assert client.known_leader(ORDERS) == 2
        client.forget(ORDERS)
        assert client.known_leader(ORDERS) is None
        assert await client.leader_of(ORDERS, CAUSE) == 1

    on_scripted_brokers(script)


def test_a_partition_without_a_leader_is_an_error_that_says_so() -> None:
    async def script(cluster: ScriptedCluster) -> None:
        cluster.say_leaders({ORDERS: None})
        with pytest.raises(LeaderUnknownError, match="orders-0: LEADER_NOT_AVAILABLE"):
            await cluster.client("orders").leader_of(ORDERS, CAUSE)
        with pytest.raises(LeaderUnknownError) as unknown:
            await cluster.client("orders").leader_of(CLICKS, CAUSE)
        assert unknown.value.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    on_scripted_brokers(script)


def test_a_broker_that_is_gone_is_passed_over() -> None:
    async def script(cluster: ScriptedCluster) -> None:
        cluster.say_leaders({ORDERS: 2})
        cluster.all[0].die()
        assert await cluster.client("orders").leader_of(ORDERS, CAUSE) == 2

    on_scripted_brokers(script)


def test_who_answered_last_is_asked_first() -> None:
    async def script(cluster: ScriptedCluster) -> None:
        cluster.say_leaders({ORDERS: 2})
        cluster.all[0].die()
        client = cluster.client("orders")
        await client.refresh(CAUSE)
        cluster.all[0].start()
        await client.refresh(CAUSE)

    assert [broker.metadata_requests for broker in on_scripted_brokers(script).all] == [0, 2]


def test_when_no_broker_can_be_reached_it_reports_the_last_error() -> None:
    async def script(cluster: ScriptedCluster) -> None:
        for broker in cluster.all:
            broker.die()
        with pytest.raises(BrokerConnectionError, match=r"no broker can be reached.*localhost:9094: connection refused"):
            await cluster.client("orders").refresh(CAUSE)

    on_scripted_brokers(script)


def test_a_request_goes_to_the_leader() -> None:
    async def script(cluster: ScriptedCluster) -> None:
        cluster.say_leaders({ORDERS: 2})
        assert await cluster.client("orders").send_to_leader(ORDERS, NOTHING, CAUSE) == ProduceResponse({})

    assert [broker.requests for broker in on_scripted_brokers(script).all] == [0, 1]


def test_a_leader_that_cannot_be_reached_is_forgotten() -> None:
    async def script(cluster: ScriptedCluster) -> None:
        cluster.say_leaders({ORDERS: 2})
        client = cluster.client("orders")
        await client.leader_of(ORDERS, CAUSE)
        cluster.all[1].die()
        with pytest.raises(BrokerConnectionError):
            await client.send_to_leader(ORDERS, NOTHING, CAUSE)
        assert client.known_leader(ORDERS) is None

    on_scripted_brokers(script)


def test_a_leader_that_does_not_answer_in_time_is_forgotten_and_its_connection_with_it() -> None:
    """The next request must not receive the answer to this one."""

    async def script(cluster: ScriptedCluster) -> None:
        cluster.say_leaders({ORDERS: 2})
        client = cluster.client("orders", config=ClientConfig(request_timeout_ms=300))
        cluster.all[1].scripted_errors.append(SILENCE)
        with pytest.raises(TimedOutError):
            await client.send_to_leader(ORDERS, NOTHING, CAUSE)
        assert client.known_leader(ORDERS) is None
        assert await client.send_to_leader(ORDERS, NOTHING, CAUSE) == ProduceResponse({})

    on_scripted_brokers(script)


def test_requests_on_one_channel_wait_for_each_other_and_on_two_they_do_not() -> None:
    async def script(cluster: ScriptedCluster) -> None:
        cluster.say_leaders({ORDERS: 2})
        client = cluster.client("orders", config=ClientConfig(request_timeout_ms=300))
        await client.refresh(CAUSE)
        cluster.all[1].scripted_errors.append(SILENCE)
        answered: list[tuple[str, int]] = []

        async def ask(channel: str) -> None:
            try:
                await client.send_to(BrokerId(2), NOTHING, CAUSE, channel)
            except TimedOutError:
                answered.append(("unanswered", cluster.runtime.now_ms() - began_ms))
            else:
                answered.append((channel, cluster.runtime.now_ms() - began_ms))

        began_ms = cluster.runtime.now_ms()
        tasks = [cluster.runtime.spawn("ask", ask(channel)) for channel in ("", "", "other")]
        for task in tasks:
            await task.join()
        # The second request is sent when the first one has timed out, on a new connection.
        assert answered == [("other", 4), ("unanswered", 302), ("", 306)]

    on_scripted_brokers(script)


def test_a_broker_that_no_metadata_names_cannot_be_asked() -> None:
    async def script(cluster: ScriptedCluster) -> None:
        client = cluster.client("orders")
        await client.refresh(CAUSE)
        with pytest.raises(BrokerConnectionError, match=r"broker 7 is not among those known: \[1, 2\]"):
            await client.send_to(BrokerId(7), NOTHING, CAUSE)

    on_scripted_brokers(script)


def test_any_broker_answers_any_request() -> None:
    async def script(cluster: ScriptedCluster) -> None:
        assert isinstance(await cluster.client().any_broker(MetadataRequest(), CAUSE), MetadataResponse)

    on_scripted_brokers(script)


def test_the_partitions_of_a_topic_are_those_that_a_broker_has_reported() -> None:
    async def script(cluster: ScriptedCluster) -> None:
        cluster.say_leaders({TopicPartition("orders", 1): 2, CLICKS: 1, ORDERS: None})
        client = cluster.client("orders")
        assert client.partitions_of("orders") == []
        await client.refresh(CAUSE)
        assert client.partitions_of("orders") == [ORDERS, TopicPartition("orders", 1)]

    on_scripted_brokers(script)


@pytest.mark.parametrize(
    ("error", "expected"), [("NOT_LEADER_OR_FOLLOWER", True), ("LEADER_NOT_AVAILABLE", True), ("NOT_ENOUGH_REPLICAS", False)]
)
def test_some_errors_are_about_who_leads(error: str, expected: bool) -> None:
    assert is_about_leadership(ErrorCode[error]) is expected
