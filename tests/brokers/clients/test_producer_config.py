"""A producer's settings are Kafka's: the same names, defaults and refusals."""

import pytest

from kcsim.brokers.clients.producer_config import ProducerConfig
from kcsim.brokers.config import SettingError, Value


def test_the_defaults_are_those_of_kafka_2_8() -> None:
    assert ProducerConfig.of({}) == ProducerConfig(
        acks=1,
        enable_idempotence=False,
        retries=2**31 - 1,
        retry_backoff_ms=100,
        delivery_timeout_ms=120_000,
        request_timeout_ms=30_000,
        linger_ms=0,
        batch_size=16_384,
        buffer_memory=33_554_432,
        max_block_ms=60_000,
    )


@pytest.mark.parametrize(("given", "acks"), [("all", -1), ("-1", -1), (-1, -1), (0, 0), ("1", 1)])
def test_acks_are_read_as_kafka_reads_them(given: str | int, acks: int) -> None:
    assert ProducerConfig.of({"acks": given}).acks == acks


def test_an_idempotent_producer_waits_for_all() -> None:
    assert ProducerConfig.of({"enable.idempotence": True}).acks == -1


def test_a_delivery_timeout_that_was_not_asked_for_makes_room_for_the_request() -> None:
    """Source: KafkaProducer.configureDeliveryTimeout."""
    assert ProducerConfig.of({"request.timeout.ms": 200_000, "linger.ms": 5}).delivery_timeout_ms == 200_005


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"acks": 2}, "2 is no value of acks, which is 0, 1 or all"),
        ({"acks": True}, "True is no value of acks, which is 0, 1 or all"),
        ({"enable.idempotence": "yes"}, "'yes' is no value of enable.idempotence, which is true or false"),
        ({"linger.ms": -1}, "-1 is no value of linger.ms, which is a whole number from 0 to 2147483647"),
        ({"request.timeout.ms": 0}, "0 is no value of request.timeout.ms, which is a whole number from 1 to 2147483647"),
        ({"enable.idempotence": True, "acks": 1}, "acks has to be all when enable.idempotence is true"),
        ({"enable.idempotence": True, "retries": 0}, "retries has to be at least 1 when enable.idempotence is true"),
        (
            {"delivery.timeout.ms": 2_000},
            "delivery.timeout.ms is 2000; it has to be at least linger.ms plus request.timeout.ms, 30000",
        ),
    ],
)
def test_what_kafka_refuses_is_refused(settings: dict[str, Value], message: str) -> None:
    with pytest.raises(SettingError) as refused:
        ProducerConfig.of(settings)
    assert str(refused.value) == message
