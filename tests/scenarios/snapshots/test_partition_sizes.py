"""Sizes of partitions are read from what Kafka's and other tools print; what is not known stays unknown."""

import json
from collections.abc import Mapping

import pytest

from kcsim.scenarios.snapshots.partition_sizes import SizesError, parse_sizes, with_sizes
from kcsim.vocabulary import TopicPartition
from tests.scenarios.snapshots.test_snapshot_format import FULL

ORDERS_0 = TopicPartition("orders", 0)
LOG_DIRS = {
    "version": 1,
    "brokers": [
        {
            "broker": 1,
            "logDirs": [{"partitions": [{"partition": "orders-0", "size": 70, "offsetLag": 0, "isFuture": False}]}],
        },
        {
            "broker": 2,
            "logDirs": [
                {
                    "partitions": [
                        {"partition": "orders-0", "size": 75, "offsetLag": 0, "isFuture": False},
                        {"partition": "two-dashes-1", "size": 5, "offsetLag": 0, "isFuture": False},
                        {"partition": "orders-0", "size": 900, "offsetLag": 0, "isFuture": True},
                    ]
                }
            ],
        },
    ],
}


def prometheus(name: str, value: str, **labels: str) -> str:
    sample = {"metric": {"__name__": name, **labels}, "value": [1714566600.0, value]}
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": [sample]}})


def test_of_several_replicas_the_largest_counts_and_one_that_is_being_moved_does_not() -> None:
    """kafka-log-dirs prints two lines of text before the JSON."""
    text = f"Querying brokers for log directories information\nReceived log directory information\n{json.dumps(LOG_DIRS)}\n"
    assert parse_sizes(text).sizes == {ORDERS_0: 75, TopicPartition("two-dashes", 1): 5}


def test_a_csv_has_sizes_and_rates_or_one_of_them() -> None:
    known = parse_sizes("topic,partition,size_bytes,bytes_in_per_s\norders,0,100,2.5\norders,1,,7\n")
    assert (known.sizes, known.rates) == ({ORDERS_0: 100}, {ORDERS_0: 2.5, TopicPartition("orders", 1): 7.0})


@pytest.mark.parametrize(
    ("name", "sizes", "rates"),
    [
        ("kafka_log_Log_Size", {ORDERS_0: 42}, {}),
        ("kafka_log_size", {ORDERS_0: 42}, {}),
        ("kafka_topic_partition_bytes_in_rate", {}, {ORDERS_0: 42.0}),
        ("kafka_server_BrokerTopicMetrics_BytesInPerSec", {}, {ORDERS_0: 42.0}),
    ],
)
def test_metrics_of_prometheus_are_known_by_their_names(
    name: str, sizes: Mapping[TopicPartition, int], rates: Mapping[TopicPartition, float]
) -> None:
    known = parse_sizes(prometheus(name, "42", topic="orders", partition="0"))
    assert (known.sizes, known.rates) == (sizes, rates)


def test_sizes_of_a_snapshot_are_replaced_and_the_others_stay() -> None:
    sized = with_sizes(FULL, parse_sizes("topic,partition,size_bytes\norders,1,9\nunknown,0,9\n"))
    first, second = sized.topics[0].partitions
    assert (first.size_bytes, first.bytes_in_per_s, second.size_bytes) == (1024, 12.5, 9)
    assert sized.partitions_without_size == 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "neither output of kafka-log-dirs"),
        ("{", "not JSON"),
        ("[1]", "the first line of a CSV"),
        ('{"brokers": 1}', "TypeError"),
        ('{"version": 1}', "neither output of kafka-log-dirs"),
        ("topic,partition\norders,0\n", "the first line of a CSV names its columns: topic,partition,size_bytes"),
        ("topic,partition,size_bytes\norders,0,-1\n", "-1 is no size"),
        ("topic,partition,bytes_in_per_s\norders,0,nan\n", "nan is no size"),
        ("topic,partition,size_bytes\norders,zero,1\n", "ValueError"),
        (prometheus("kafka_log_size", "1", topic="orders"), "no labels topic and partition"),
        (prometheus("up", "1", topic="orders", partition="0"), "metric 'up' is neither"),
    ],
)
def test_anything_else_is_refused_with_one_line(text: str, reason: str) -> None:
    with pytest.raises(SizesError, match=reason) as refused:
        parse_sizes(text)
    assert "\n" not in str(refused.value)
