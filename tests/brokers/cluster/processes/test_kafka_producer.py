"""The settings with which a scenario's producer runs beside real brokers."""

from kcsim.brokers.clients.producer import ProducerSpec
from kcsim.brokers.clients.producer_config import ProducerConfig
from kcsim.brokers.cluster.processes.kafka_producer import client_settings
from kcsim.brokers.config import Value


def test_a_producers_settings_are_those_of_the_scenario_under_librdkafkas_names() -> None:
    given: dict[str, Value] = {
        "acks": "all",
        "request.timeout.ms": 4_000,
        "delivery.timeout.ms": 9_000,
        "buffer.memory": 1_048_576,
    }
    settings = client_settings(ProducerSpec("clerk", ("orders",), config=ProducerConfig.of(given)), "127.0.0.1:9092")
    expected = {
        "client.id": "producer-clerk",
        "acks": -1,
        "request.timeout.ms": 4_000,
        "socket.timeout.ms": 4_000,
        "delivery.timeout.ms": 9_000,
        "queue.buffering.max.kbytes": 1_024,
        "max.in.flight.requests.per.connection": 1,
    }
    assert {name: settings[name] for name in expected} == expected


def test_librdkafka_takes_the_smallest_and_the_largest_settings() -> None:
    """It refuses values out of its own ranges, which are narrower than Kafka's, at the start of a producer."""
    from confluent_kafka import Producer

    largest = 2**31 - 1
    names = ("request.timeout.ms", "delivery.timeout.ms", "retries", "retry.backoff.ms", "buffer.memory", "batch.size")
    for extreme in (dict.fromkeys(names, 1), dict.fromkeys(names, largest), {"linger.ms": largest}):
        config = ProducerConfig.of(extreme)
        Producer(dict(client_settings(ProducerSpec("clerk", ("orders",), config=config), "127.0.0.1:9")))
