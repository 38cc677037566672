"""Cluster, log directories, reassignments and settings over TCP, held against what Kafka 2.8.2 brokers have answered."""

from collections.abc import Callable
from typing import Any

import pytest

from kcsim.brokers.admin.config_definitions import TOPIC_SETTINGS
from kcsim.brokers.admin.config_descriptions import BrokerSettings, broker_settings, topic_entries
from kcsim.brokers.admin.requests import (
    ConfigResource,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribedConfigs,
    DescribedLogDir,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.requests import MetadataRequest, MetadataResponse
from kcsim.brokers.wire.apis.cluster import DESCRIBE_CLUSTER, DESCRIBE_LOG_DIRS, LIST_PARTITION_REASSIGNMENTS
from kcsim.brokers.wire.apis.describe_configs import DESCRIBE_CONFIGS
from kcsim.brokers.wire.apis.registry import APIS, request_of
from kcsim.brokers.wire.frames import decode_request, decode_response
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import BrokerId, Endpoint, ReplicaAssignment, TopicPartition
from tests.brokers.wire.recorded_frames import recorded_exchanges
from tests.brokers.wire.test_apis import answer_to, sent

TOPIC, BROKER = 2, 4
OF_TOPIC, STATIC = 1, 4
FORMAT_VERSION = "message.format.version"


def cluster_as_the_broker_knows(message: Any) -> MetadataResponse:
    brokers = {one.broker_id: Endpoint("PLAINTEXT", "PLAINTEXT", one.host, one.port) for one in message.brokers}
    return MetadataResponse(brokers, message.controller_id, {}, cluster_id=message.cluster_id)


def log_dirs_as_the_broker_knows(message: Any) -> DescribeLogDirsResponse:
    return DescribeLogDirsResponse(
        tuple(
            DescribedLogDir(
                result.log_dir,
                ErrorCode(result.error_code.value),
                {topic.name: {p.partition_index: p.partition_size for p in topic.partitions} for topic in result.topics},
            )
            for result in message.results
        )
    )


def reassignments_as_the_broker_knows(message: Any) -> ListPartitionReassignmentsResponse:
    assert message.topics == ()
    return ListPartitionReassignmentsResponse(ErrorCode(message.error_code.value))


@pytest.mark.parametrize(
    ("api_key", "known"),
    [
        (DESCRIBE_CLUSTER, cluster_as_the_broker_knows),
        (DESCRIBE_LOG_DIRS, log_dirs_as_the_broker_knows),
        (LIST_PARTITION_REASSIGNMENTS, reassignments_as_the_broker_knows),
    ],
)
def test_what_kafka_answered_is_answered_again(api_key: int, known: Callable[[Any], Any]) -> None:
    exchanges = [one for one in recorded_exchanges() if one.api_key == api_key]
    for exchange in exchanges:
        assert exchange.response is not None
        _, message = decode_response(exchange.response, api_key, exchange.version)
        assert answer_to(known(message), decode_request(exchange.request)) == exchange.response
    assert len(exchanges) >= 4


# --- settings


def test_the_settings_that_kafka_described_are_described_again() -> None:
    """Values, sources, synonyms, types, and the order. The format of messages was set for all runs, to a short form."""
    exchanges = [one for one in recorded_exchanges() if one.api_key == DESCRIBE_CONFIGS]
    for exchange in exchanges:
        assert exchange.response is not None
        _, kafkas = decode_response(exchange.response, DESCRIBE_CONFIGS, exchange.version)
        frame = decode_request(exchange.request)
        (resource,) = request_of(frame).resources
        (result,) = kafkas.results
        topic = {c.name: c.value for c in result.configs if c.config_source == OF_TOPIC}
        response = DescribeConfigsResponse((DescribedConfigs(resource, topic_entries(topic, as_configured(result))),))
        _, ours = decode_response(answer_to(response, frame), DESCRIBE_CONFIGS, exchange.version)
        assert without_format(ours) == without_format(kafkas)
        assert [one.name for one in result.configs] == list(TOPIC_SETTINGS)
    assert len(exchanges) >= 8


def as_configured(result: Any) -> BrokerSettings:
    """Return the settings of a broker that was started with those that a recorded answer shows as static."""
    names = {name: setting.broker_setting for name, setting in TOPIC_SETTINGS.items()}
    static = {names[c.name]: c.value for c in result.configs if c.config_source == STATIC}
    defaults = broker_settings(BrokerConfig(), {}, {}).defaults
    return BrokerSettings({}, {}, {name: value for name, value in static.items() if name}, defaults)


def without_format(message: Any) -> list[Any]:
    (result,) = message.results
    assert (result.error_code, result.error_message) == (0, "")
    return [(result.resource_type, result.resource_name), *(c for c in result.configs if c.name != FORMAT_VERSION)]


@pytest.mark.parametrize("version", APIS[DESCRIBE_CONFIGS].versions)
@pytest.mark.parametrize("names", [None, [], ["retention.ms", "segment.ms"]])
def test_all_or_some_settings_are_asked_for(version: int, names: list[str] | None) -> None:
    resources = [
        {"resource_type": TOPIC, "resource_name": "orders", "configuration_keys": names},
        {"resource_type": BROKER, "resource_name": "", "configuration_keys": None},
    ]
    frame = sent(DESCRIBE_CONFIGS, version, resources=resources, include_synonyms=True, include_documentation=True)
    wanted = frozenset(names) if names else None
    assert request_of(frame) == DescribeConfigsRequest((ConfigResource(TOPIC, "orders", wanted), ConfigResource(BROKER, "")))


@pytest.mark.parametrize("version", APIS[DESCRIBE_CONFIGS].versions)
def test_a_resource_that_is_refused_is_answered_with_why(version: int) -> None:
    resources = [{"resource_type": TOPIC, "resource_name": "orders", "configuration_keys": None}]
    frame = sent(DESCRIBE_CONFIGS, version, resources=resources, include_synonyms=False, include_documentation=False)
    refused = DescribedConfigs(ConfigResource(TOPIC, "orders"), (), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "no such topic")
    _, message = decode_response(answer_to(DescribeConfigsResponse((refused,)), frame), DESCRIBE_CONFIGS, version)
    (result,) = message.results
    assert (result.error_code, result.error_message, result.configs) == (3, "no such topic", ())


# --- requests, and answers that were not recorded


@pytest.mark.parametrize("version", APIS[DESCRIBE_LOG_DIRS].versions)
def test_the_log_directories_of_all_or_some_partitions_are_asked_for(version: int) -> None:
    assert request_of(sent(DESCRIBE_LOG_DIRS, version, topics=None)) == DescribeLogDirsRequest(None)
    some = request_of(sent(DESCRIBE_LOG_DIRS, version, topics=[{"topic": "orders", "partitions": [0, 2]}]))
    assert some == DescribeLogDirsRequest(frozenset({TopicPartition("orders", 0), TopicPartition("orders", 2)}))


def test_a_cluster_is_described_by_its_metadata_without_topics() -> None:
    frame = sent(DESCRIBE_CLUSTER, 0, include_cluster_authorized_operations=True)
    assert request_of(frame) == MetadataRequest(())
    _, message = decode_response(answer_to(MetadataResponse({}, None, {}), frame), DESCRIBE_CLUSTER, 0)
    assert (message.controller_id, message.cluster_authorized_operations) == (-1, 8096)


def test_reassignments_are_listed_by_topic() -> None:
    orders_0, orders_1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
    asked = [{"name": "orders", "partition_indexes": [1, 0]}]
    frame = sent(LIST_PARTITION_REASSIGNMENTS, 0, timeout=1_000, topics=asked)
    assert request_of(frame) == ListPartitionReassignmentsRequest((orders_1, orders_0))
    one, two, three = map(BrokerId, (1, 2, 3))
    going_on = {
        orders_1: ReplicaAssignment((one, two)),
        orders_0: ReplicaAssignment((one, two, three), (three,), (one,)),
    }
    _, message = decode_response(
        answer_to(ListPartitionReassignmentsResponse(reassignments=going_on), frame), LIST_PARTITION_REASSIGNMENTS, 0
    )
    (topic,) = message.topics
    assert topic.name == "orders"
    assert [(p.partition_index, p.replicas, p.adding_replicas, p.removing_replicas) for p in topic.partitions] == [
        (0, (1, 2, 3), (3,), (1,)),
        (1, (1, 2), (), ()),
    ]


def test_only_the_controller_lists_reassignments() -> None:
    frame = sent(LIST_PARTITION_REASSIGNMENTS, 0, timeout=1_000, topics=None)
    assert request_of(frame) == ListPartitionReassignmentsRequest(None)
    answer = answer_to(ListPartitionReassignmentsResponse(ErrorCode.NOT_CONTROLLER), frame)
    _, message = decode_response(answer, LIST_PARTITION_REASSIGNMENTS, 0)
    assert (message.error_code.name, message.topics) == ("not_controller", ())
    assert message.error_message == "This is not the correct controller for this cluster."
