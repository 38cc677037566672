"""The APIs that clients are served: which versions of each, and what a request and its response are to the broker.

A broker sees the same requests whether they come over TCP or from a simulated client (brokers/requests.py).

Source: Kafka 2.8, ApiKeys, ApiVersionsResponse, KafkaApis.handleTopicMetadataRequest; docs/kafka/requests.md 14.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from kio.index import load_response_schema
from kio.schema.errors import ErrorCode as KafkaErrorCode

from kcsim.brokers.requests import ApiVersionsRequest, MetadataRequest, MetadataResponse
from kcsim.brokers.wire.frames import API_VERSIONS, RequestFrame, encode_response
from kcsim.brokers.wire.message_building import message_of
from kcsim.brokers.wire.message_reader import MalformedFrameError
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import INTERNAL_TOPICS, NO_LEADER, TopicPartition

METADATA = 3
NO_CONTROLLER = -1
NOT_AUTHORIZED_OPERATIONS = -(2**31)
"""What operations a client may do, to a client that has not asked."""

Values = Mapping[str, Any]
"""The fields of a message: see message_of."""


class Api(NamedTuple):
    """One API.

    Attributes:
        versions: those that are served, as a 2.8 broker serves them.
        request: from a frame to the broker's request.
        values: from the broker's response, and the frame of the request, to the fields of the response.
    """

    versions: range
    request: Callable[[RequestFrame], Any]
    values: Callable[[Any, RequestFrame], Values]


def is_served(api_key: int, version: int) -> bool:
    """Return whether a broker serves this version of an API."""
    return api_key in APIS and version in APIS[api_key].versions


def request_of(frame: RequestFrame) -> Any:
    """Return the broker's request in a frame whose version is served. Raises: MalformedFrameError."""
    return APIS[frame.api_key].request(frame)


def response_frame(response: Any, frame: RequestFrame) -> bytes:
    """Return the frame of the broker's response to the request in a frame."""
    schema = load_response_schema(frame.api_key, frame.version)
    return encode_response(message_of(schema, APIS[frame.api_key].values(response, frame)), frame.correlation_id)


def refusal_of_api_versions(correlation_id: int) -> bytes:
    """Return the response to an ApiVersions request whose version is not known: in version 0, it names those that are."""
    versions = _listed({API_VERSIONS: APIS[API_VERSIONS]})
    values = {"error_code": KafkaErrorCode.unsupported_version, "api_keys": versions}
    return encode_response(message_of(load_response_schema(API_VERSIONS, 0), values), correlation_id)


def _listed(apis: Mapping[int, Api]) -> list[Values]:
    return [
        {"api_key": key, "min_version": api.versions[0], "max_version": api.versions[-1]}
        for key, api in sorted(apis.items())
    ]


# --- ApiVersions -----------------------------------------------------------------------------------------------------------


def _api_versions_request(_: RequestFrame) -> ApiVersionsRequest:
    return ApiVersionsRequest()


def _api_versions_values(_: Any, frame: RequestFrame) -> Values:
    return {"error_code": ErrorCode.NONE, "api_keys": _listed(APIS), "throttle_time": 0}


# --- Metadata --------------------------------------------------------------------------------------------------------------


def _metadata_request(frame: RequestFrame) -> MetadataRequest:
    topics = frame.message.topics
    if topics is None or (frame.version == 0 and not topics):
        return MetadataRequest(None)
    if any(topic.name is None for topic in topics):
        raise MalformedFrameError("topics are known by their names only: a name is null")
    return MetadataRequest(tuple(topic.name for topic in topics))


def _metadata_values(response: MetadataResponse, _: RequestFrame) -> Values:
    by_topic = groupby(sorted(response.partitions.items()), key=lambda item: item[0].topic)
    known = [_topic(topic, ErrorCode.NONE, (_partition(*item) for item in items)) for topic, items in by_topic]
    unknown = [_topic(topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ()) for topic in response.unknown_topics]
    return {
        "throttle_time": 0,
        "brokers": [
            {"node_id": broker, "host": endpoint.host, "port": endpoint.port, "rack": response.racks.get(broker)}
            for broker, endpoint in response.brokers.items()
        ],
        "cluster_id": response.cluster_id,
        "controller_id": NO_CONTROLLER if response.controller_id is None else response.controller_id,
        "topics": [*known, *unknown],
        "cluster_authorized_operations": NOT_AUTHORIZED_OPERATIONS,
    }


def _topic(name: str, error: ErrorCode, partitions: Iterable[Values]) -> Values:
    return {
        "error_code": error,
        "name": name,
        "topic_id": None,
        "is_internal": name in INTERNAL_TOPICS,
        "partitions": list(partitions),
        "topic_authorized_operations": NOT_AUTHORIZED_OPERATIONS,
    }


def _partition(tp: TopicPartition, partition: Any) -> Values:
    return {
        "error_code": partition.error,
        "partition_index": tp.partition,
        "leader_id": NO_LEADER if partition.leader is None else partition.leader,
        "leader_epoch": partition.leader_epoch,
        "replica_nodes": partition.replicas,
        "isr_nodes": partition.isr,
        "offline_replicas": partition.offline,
    }


APIS = {
    METADATA: Api(range(12), _metadata_request, _metadata_values),
    API_VERSIONS: Api(range(4), _api_versions_request, _api_versions_values),
}
"""All APIs that are served, by their keys."""
