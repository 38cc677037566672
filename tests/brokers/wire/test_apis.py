"""What requests over TCP are to a broker, and its responses to clients."""

from dataclasses import replace
from operator import attrgetter
from typing import Any

import pytest
from kio.index import load_request_schema
from msgspec import structs

from kcsim.brokers.admin.config_descriptions import broker_settings, topic_entries
from kcsim.brokers.admin.requests import (
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
from kcsim.brokers.requests import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    MetadataRequest,
    MetadataResponse,
    PartitionMetadata,
)
from kcsim.brokers.wire.apis.controller_requests import ALLOCATE_PRODUCER_IDS
from kcsim.brokers.wire.apis.metadata import METADATA
from kcsim.brokers.wire.apis.offsets import LIST_OFFSETS
from kcsim.brokers.wire.apis.records import FETCH, PRODUCE
from kcsim.brokers.wire.apis.registry import APIS, is_served, request_of
from kcsim.brokers.wire.apis.state_changes import LEADER_AND_ISR, STOP_REPLICA, UPDATE_METADATA
from kcsim.brokers.wire.frames import (
    API_VERSIONS,
    RequestFrame,
    decode_request,
    decode_response,
    encode_request,
)
from kcsim.brokers.wire.message_building import message_of
from kcsim.brokers.wire.message_reader import MalformedFrameError
from kcsim.controller.capabilities import Release
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import Endpoint, LeaderEpoch, TopicPartition
from tests.brokers.wire.recorded_frames import recorded_exchanges
from tests.brokers.wire.response_frames import response_frame

SERVED = [one for one in recorded_exchanges() if is_served(one.api_key, one.version)]


def sent(api_key: int, version: int, **values: Any) -> RequestFrame:
    """Return a request as it arrives."""
    return decode_request(encode_request(message_of(load_request_schema(api_key, version), values), 7, "test"))


def answer_to(response: Any, frame: RequestFrame) -> bytes:
    """Return the frame of a response, which a client waits for."""
    answer = response_frame(response, frame)
    assert answer is not None
    return answer


def response_to(request: Any) -> Any:
    """Return the response of a broker that knows no topic."""
    match request:
        case MetadataRequest():
            return MetadataResponse({}, None, {}, dict.fromkeys(request.topics or (), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        case ApiVersionsRequest():
            return ApiVersionsResponse()
        case DescribeConfigsRequest(resources):
            entries = topic_entries({}, broker_settings(BrokerConfig(), {}, {}))
            return DescribeConfigsResponse(tuple(DescribedConfigs(resource, entries) for resource in resources))
        case DescribeLogDirsRequest():
            return DescribeLogDirsResponse((DescribedLogDir("/data"),))
        case ListPartitionReassignmentsRequest():
            return ListPartitionReassignmentsResponse()
    raise AssertionError(request)


NEWEST = {
    "2.8": (5, 7, 3, 12, 6),
    "3.0": (5, 7, 3, 12, 7),
    "3.1": (5, 7, 3, 13, 7),
    "3.2": (6, 7, 3, 13, 7),
    "3.3": (6, 7, 3, 13, 7),
    "3.4": (7, 8, 4, 13, 7),
    "3.6": (7, 8, 4, 15, 8),
    "3.7": (7, 8, 4, 16, 8),
    "3.9": (7, 8, 4, 17, 9),
}
"""The newest versions of LeaderAndIsr, UpdateMetadata, StopReplica, Fetch and ListOffsets, from the jars of releases."""


@pytest.mark.parametrize("release", NEWEST)
def test_brokers_are_served_the_versions_that_the_release_knows(release: str) -> None:
    """Brokers do not look which versions are named in ApiVersions: theirs follow from inter.broker.protocol.version."""
    apis = (LEADER_AND_ISR, UPDATE_METADATA, STOP_REPLICA, FETCH, LIST_OFFSETS)
    newest = [max(version for version in range(30) if is_served(api, version, Release(release))) for api in apis]
    assert tuple(newest) == NEWEST[release]


@pytest.mark.parametrize("version", APIS[METADATA].versions)
def test_all_topics_and_no_topics_are_asked_for_as_in_each_version(version: int) -> None:
    settings = {
        "allow_auto_topic_creation": False,
        "include_cluster_authorized_operations": False,
        "include_topic_authorized_operations": False,
    }
    no_topics = request_of(sent(METADATA, version, topics=[], **settings))
    may_create = version < 4
    assert no_topics == MetadataRequest(None if version == 0 else (), may_create and version > 0)
    if version > 0:
        assert request_of(sent(METADATA, version, topics=None, **settings)) == MetadataRequest(None)
    orders = request_of(sent(METADATA, version, topics=[{"name": "orders", "topic_id": None}], **settings))
    assert orders == MetadataRequest(("orders",), may_create)


@pytest.mark.parametrize("version", [10, 11])
def test_a_topic_without_a_name_is_refused(version: int) -> None:
    frame = sent(
        METADATA,
        version,
        topics=[{"name": None, "topic_id": None}],
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )
    with pytest.raises(MalformedFrameError, match="a name is null"):
        request_of(frame)


@pytest.mark.parametrize("version", APIS[METADATA].versions)
def test_an_unknown_topic_is_named_with_its_error(version: int) -> None:
    frame = next(decode_request(one.request) for one in SERVED if one.api_key == METADATA)
    errors = {"payments": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "new": ErrorCode.LEADER_NOT_AVAILABLE}
    response = answer_to(MetadataResponse({}, None, {}, errors), frame._replace(version=version))
    _, message = decode_response(response, METADATA, version)
    assert {topic.name: topic.error_code.value for topic in message.topics} == errors


def test_what_kafka_answered_is_answered_again() -> None:
    """All fields but the ids of topics are equal. The order of topics and partitions is no part of the protocol."""
    recorded = [one for one in SERVED if one.api_key == METADATA and one.response is not None]
    for exchange in recorded:
        assert exchange.response is not None
        _, kafkas = decode_response(exchange.response, METADATA, exchange.version)
        answer = answer_to(as_the_broker_knows(kafkas), decode_request(exchange.request))
        _, ours = decode_response(answer, METADATA, exchange.version)
        assert sorted_by_name(ours) == sorted_by_name(kafkas)
        assert len(answer) == len(exchange.response)
    assert len(recorded) > 70


def as_the_broker_knows(message: Any) -> MetadataResponse:
    """Return the broker's response that a message of Metadata was made of."""
    partitions = {
        TopicPartition(topic.name, one.partition_index): PartitionMetadata(
            None if one.leader_id == -1 else one.leader_id,
            getattr(one, "leader_epoch", LeaderEpoch(-1)),
            ErrorCode(one.error_code.value),
            one.replica_nodes,
            one.isr_nodes,
            getattr(one, "offline_replicas", ()),
        )
        for topic in message.topics
        for one in topic.partitions
    }
    return MetadataResponse(
        {one.node_id: Endpoint("PLAINTEXT", "PLAINTEXT", one.host, one.port) for one in message.brokers},
        getattr(message, "controller_id", None),
        partitions,
        {topic.name: ErrorCode(topic.error_code.value) for topic in message.topics if not topic.partitions},
        {one.node_id: one.rack for one in message.brokers if getattr(one, "rack", None) is not None},
        getattr(message, "cluster_id", None),
    )


def sorted_by_name(message: Any) -> Any:
    """Return a message with its topics and partitions in order, and without the ids of topics, which ours do not have."""
    topics = []
    for topic in sorted(message.topics, key=attrgetter("name")):
        in_order = tuple(sorted(topic.partitions, key=attrgetter("partition_index")))
        without_id = {"topic_id": None} if hasattr(topic, "topic_id") else {}
        topics.append(replace(topic, partitions=in_order, **without_id))
    return replace(message, topics=tuple(topics))


@pytest.mark.parametrize("has_ids", [False, True])
@pytest.mark.parametrize("version", APIS[API_VERSIONS].versions)
def test_the_versions_of_all_served_apis_are_listed(version: int, has_ids: bool) -> None:
    values = {"client_software_name": "test", "client_software_version": "1"}
    frame = sent(API_VERSIONS, version, **values)
    response = structs.replace(response_to(request_of(frame)), names_allocate_producer_ids=has_ids)
    _, message = decode_response(answer_to(response, frame), API_VERSIONS, version)
    listed = {key.api_key: (key.min_version, key.max_version) for key in message.api_keys}
    served = {key: (api.first_named, api.versions[-1]) for key, api in APIS.items()}
    if not has_ids:
        del served[ALLOCATE_PRODUCER_IDS]  # Kafka 2.8 does not have it, Kafka 3.9.1 lists it
    assert listed == served
    assert listed[METADATA] == (0, 11)
    assert listed[API_VERSIONS] == (0, 3)
    assert listed[PRODUCE] == (0, 9)  # librdkafka looks for version 0 before it compresses
