"""How clients look at a cluster's brokers, their log directories and the reassignments of partitions.

Source: Kafka 2.8, KafkaApis.handleDescribeCluster, handleDescribeLogDirsRequest, handleListPartitionReassignmentsRequest.
"""

from collections.abc import Mapping

from kcsim.brokers.admin.requests import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from kcsim.brokers.requests import MetadataRequest, MetadataResponse
from kcsim.brokers.wire.apis.api import Api, Values, sorted_by_topic
from kcsim.brokers.wire.apis.metadata import cluster_operations, controller_id
from kcsim.brokers.wire.frames import RequestFrame
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import TopicPartition

DESCRIBE_LOG_DIRS = 35
LIST_PARTITION_REASSIGNMENTS = 46
DESCRIBE_CLUSTER = 60
NOT_CONTROLLER = "This is not the correct controller for this cluster."


def _cluster_request(_: RequestFrame) -> MetadataRequest:
    return MetadataRequest(())


def _cluster_values(response: MetadataResponse, frame: RequestFrame) -> Values:
    return {
        "throttle_time": 0,
        "error_code": ErrorCode.NONE,
        "error_message": None,
        "cluster_id": response.cluster_id or "",  # read before the broker serves
        "controller_id": controller_id(response),
        "brokers": [
            {"broker_id": broker, "host": endpoint.host, "port": endpoint.port, "rack": response.racks.get(broker)}
            for broker, endpoint in response.brokers.items()
        ],
        "cluster_authorized_operations": cluster_operations(frame),
    }


def _log_dirs_request(frame: RequestFrame) -> DescribeLogDirsRequest:
    topics = frame.message.topics
    if topics is None:
        return DescribeLogDirsRequest(None)
    return DescribeLogDirsRequest(frozenset(TopicPartition(t.topic, number) for t in topics for number in t.partitions))


def _log_dirs_values(response: DescribeLogDirsResponse, _: RequestFrame) -> Values:
    return {
        "throttle_time": 0,
        "results": [
            {
                "error_code": log_dir.error,
                "log_dir": log_dir.name,
                "topics": [
                    {"name": topic, "partitions": [_replica(*item) for item in sizes.items()]}
                    for topic, sizes in log_dir.sizes.items()
                ],
            }
            for log_dir in response.log_dirs
        ],
    }


def _replica(partition: int, size: int) -> Values:
    # A log is never shorter than its high watermark, and no replica is being moved to another directory.
    return {"partition_index": partition, "partition_size": size, "offset_lag": 0, "is_future_key": False}


def _reassignments_request(frame: RequestFrame) -> ListPartitionReassignmentsRequest:
    topics = frame.message.topics
    if topics is None:
        return ListPartitionReassignmentsRequest(None)
    return ListPartitionReassignmentsRequest(
        tuple(TopicPartition(topic.name, number) for topic in topics for number in topic.partition_indexes)
    )


def _reassignments_values(response: ListPartitionReassignmentsResponse, _: RequestFrame) -> Values:
    return {
        "throttle_time": 0,
        "error_code": response.error,
        "error_message": NOT_CONTROLLER if response.error is ErrorCode.NOT_CONTROLLER else "",
        "topics": [
            {
                "name": topic,
                "partitions": [
                    {
                        "partition_index": number,
                        "replicas": assignment.replicas,
                        "adding_replicas": assignment.adding_replicas,
                        "removing_replicas": assignment.removing_replicas,
                    }
                    for number, assignment in partitions
                ],
            }
            for topic, partitions in sorted_by_topic(response.reassignments)
        ],
    }


APIS: Mapping[int, Api] = {
    DESCRIBE_LOG_DIRS: Api(range(3), _log_dirs_request, _log_dirs_values),
    LIST_PARTITION_REASSIGNMENTS: Api(range(1), _reassignments_request, _reassignments_values),
    DESCRIBE_CLUSTER: Api(range(1), _cluster_request, _cluster_values),
}
