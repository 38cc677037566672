"""What clients ask about the cluster as a whole: brokers, topics, leaders.

Source: Kafka 2.8, KafkaApis.handleTopicMetadataRequest; docs/kafka/requests.md 14.
"""

import itertools
from collections.abc import Iterable, Mapping

from kcsim.brokers.requests import MetadataRequest, MetadataResponse, PartitionMetadata
from kcsim.brokers.wire.apis.api import Api, Values, sorted_by_topic, uuid_of
from kcsim.brokers.wire.frames import RequestFrame
from kcsim.brokers.wire.message_reader import MalformedFrameError
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import INTERNAL_TOPICS, NO_LEADER

METADATA = 3
NO_CONTROLLER = -1
NOT_ASKED_FOR = -(2**31)
"""What operations a client may do, to a client that has not asked."""
ALL_CLUSTER_OPERATIONS, ALL_TOPIC_OPERATIONS = 8096, 3576
"""A bit per operation: a broker without an authorizer allows everything."""


def _metadata_request(frame: RequestFrame) -> MetadataRequest:
    topics = frame.message.topics
    if topics is None or (frame.version == 0 and not topics):
        return MetadataRequest(None)
    if any(topic.name is None for topic in topics):
        raise MalformedFrameError("topics are known by their names only: a name is null")
    may_create = getattr(frame.message, "allow_auto_topic_creation", True)  # the oldest versions do not ask
    return MetadataRequest(tuple(topic.name for topic in topics), may_create)


def controller_id(response: MetadataResponse) -> int:
    """Return the controller's id as it is sent."""
    return NO_CONTROLLER if response.controller_id is None else response.controller_id


def cluster_operations(frame: RequestFrame) -> int:
    """Return the operations on the cluster that a client may do, as it is sent."""
    return (
        ALL_CLUSTER_OPERATIONS if getattr(frame.message, "include_cluster_authorized_operations", False) else NOT_ASKED_FOR
    )


def _metadata_values(response: MetadataResponse, frame: RequestFrame) -> Values:
    is_asked = getattr(frame.message, "include_topic_authorized_operations", False)
    operations = ALL_TOPIC_OPERATIONS if is_asked else NOT_ASKED_FOR
    known = [
        _topic(topic, response.topic_ids.get(topic), ErrorCode.NONE, itertools.starmap(_partition, partitions), operations)
        for topic, partitions in sorted_by_topic(response.partitions)
    ]
    unknown = [_topic(topic, None, error, (), NOT_ASKED_FOR) for topic, error in response.topic_errors.items()]
    return {
        "throttle_time": 0,
        "brokers": [
            {"node_id": broker, "host": endpoint.host, "port": endpoint.port, "rack": response.racks.get(broker)}
            for broker, endpoint in response.brokers.items()
        ],
        "cluster_id": response.cluster_id,
        "controller_id": controller_id(response),
        "topics": [*known, *unknown],
        "cluster_authorized_operations": cluster_operations(frame),
    }


def _topic(name: str, topic_id: str | None, error: ErrorCode, partitions: Iterable[Values], operations: int) -> Values:
    return {
        "error_code": error,
        "name": name,
        "topic_id": uuid_of(topic_id),
        "is_internal": name in INTERNAL_TOPICS,
        "partitions": list(partitions),
        "topic_authorized_operations": operations,
    }


def _partition(number: int, partition: PartitionMetadata) -> Values:
    return {
        "error_code": partition.error,
        "partition_index": number,
        "leader_id": NO_LEADER if partition.leader is None else partition.leader,
        "leader_epoch": partition.leader_epoch,
        "replica_nodes": partition.replicas,
        "isr_nodes": partition.isr,
        "offline_replicas": partition.offline,
    }


APIS: Mapping[int, Api] = {METADATA: Api(range(12), _metadata_request, _metadata_values)}
