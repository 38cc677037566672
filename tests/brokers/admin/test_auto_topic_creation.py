"""Topics that are created because a client asks for their metadata.

The expected errors are those of Kafka 2.8.2 brokers that were asked the same.
"""

from collections.abc import Sequence

import pytest

from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.requests import MetadataRequest
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import OFFSETS_TOPIC, BrokerId, BrokerInfo
from tests.brokers.broker_bench import B1, B2, B3, CAUSE, ORDERS_0, BrokerBench, decided, registered

SETTINGS: dict[str, int | bool] = {"num.partitions": 4, "default.replication.factor": 2}


def errors_of(
    *topics: str,
    settings: dict[str, int | bool] = SETTINGS,
    alive: Sequence[BrokerId] = (B1, B2, B3),
    may_create: bool = True,
) -> tuple[dict[str, ErrorCode], dict[str, dict[int, int]]]:
    """Ask a broker that knows orders for these topics.

    Returns: the errors, and the topics that then exist, with the number of replicas of each partition.
    """
    bench = BrokerBench(BrokerConfig.of(settings))
    errors: dict[str, ErrorCode] = {}
    created: dict[str, dict[int, int]] = {}

    async def script() -> None:
        await bench.kafka_zk.cluster.create_top_level_paths()
        await bench.kafka_zk.brokers.register(BrokerInfo(B1, registered(B1).endpoints, None))
        await bench.update_metadata({ORDERS_0: decided(B1)}, alive)
        response = await bench.handlers.handle(MetadataRequest(topics, may_create), CAUSE)
        errors.update(response.topic_errors)
        for topic, state in (await bench.kafka_zk.topics.read(await bench.kafka_zk.topics.names())).items():
            created[topic] = {partition: len(one.replicas) for partition, one in state.assignments.items()}

    bench.play(script)
    return errors, created


def test_a_topic_is_created_with_the_broker_s_defaults_and_has_no_leader_yet() -> None:
    errors, created = errors_of("orders", "clicks")
    assert errors == {"clicks": ErrorCode.LEADER_NOT_AVAILABLE}
    assert created == {"clicks": dict.fromkeys(range(4), 2)}


def test_a_topic_that_is_asked_for_again_before_it_is_announced_is_not_created_again() -> None:
    assert errors_of("clicks", "clicks")[0] == {"clicks": ErrorCode.LEADER_NOT_AVAILABLE}


@pytest.mark.parametrize(
    ("settings", "may_create"), [(SETTINGS, False), ({**SETTINGS, "auto.create.topics.enable": False}, True)]
)
def test_nothing_is_created_unless_client_and_broker_allow_it(settings: dict[str, int | bool], may_create: bool) -> None:
    errors, created = errors_of("clicks", "a/b", settings=settings, may_create=may_create)
    assert errors == {"clicks": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "a/b": ErrorCode.INVALID_TOPIC_EXCEPTION}
    assert created == {}


@pytest.mark.parametrize("name", ["bad/name", "..", "", "x" * 250])
def test_a_name_that_kafka_refuses_is_refused(name: str) -> None:
    assert errors_of(name) == ({name: ErrorCode.INVALID_TOPIC_EXCEPTION}, {})


def test_a_name_that_collides_with_another_is_refused() -> None:
    errors, created = errors_of("a.b", "a_b")
    assert errors == {"a.b": ErrorCode.LEADER_NOT_AVAILABLE, "a_b": ErrorCode.INVALID_TOPIC_EXCEPTION}
    assert list(created) == ["a.b"]


def test_fewer_brokers_than_replicas_are_refused() -> None:
    errors, created = errors_of("clicks", OFFSETS_TOPIC, "bad/name", alive=(B1,))
    assert errors == {
        "clicks": ErrorCode.INVALID_REPLICATION_FACTOR,
        OFFSETS_TOPIC: ErrorCode.INVALID_REPLICATION_FACTOR,
        "bad/name": ErrorCode.INVALID_TOPIC_EXCEPTION,
    }
    assert created == {}


def test_the_topic_of_offsets_has_settings_of_its_own() -> None:
    settings = {**SETTINGS, "offsets.topic.num.partitions": 3, "offsets.topic.replication.factor": 1}
    errors, created = errors_of(OFFSETS_TOPIC, settings=settings)
    assert errors == {OFFSETS_TOPIC: ErrorCode.LEADER_NOT_AVAILABLE}
    assert created == {OFFSETS_TOPIC: dict.fromkeys(range(3), 1)}


def test_the_topic_of_transactions_is_not_created() -> None:
    assert errors_of("__transaction_state") == ({"__transaction_state": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}, {})
