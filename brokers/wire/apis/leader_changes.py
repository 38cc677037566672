"""Replicas and leaders that clients change: AlterPartitionReassignments, ElectLeaders.

Source: Kafka 2.8, AlterPartitionReassignmentsRequest, ElectLeadersRequest; docs/kafka/requests.md 14.
"""

from collections.abc import Mapping

from kcsim.brokers.admin.change_requests import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
)
from kcsim.brokers.wire.apis.api import Api, Values, milliseconds, sorted_by_topic
from kcsim.brokers.wire.apis.topics import outcome_values
from kcsim.brokers.wire.frames import RequestFrame
from kcsim.brokers.wire.message_reader import MalformedFrameError
from kcsim.controller.events import ElectionType
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import TopicPartition

ALTER_PARTITION_REASSIGNMENTS, ELECT_LEADERS = 45, 43
ELECTION_TYPES: Mapping[int, ElectionType] = {0: ElectionType.PREFERRED, 1: ElectionType.UNCLEAN}


def _reassignment_request(frame: RequestFrame) -> AlterPartitionReassignmentsRequest:
    return AlterPartitionReassignmentsRequest(
        {
            TopicPartition(topic.name, one.partition_index): one.replicas
            for topic in frame.message.topics
            for one in topic.partitions
        }
    )


def _reassignment_values(response: AlterPartitionReassignmentsResponse, _: RequestFrame) -> Values:
    return {
        "throttle_time": 0,
        "error_code": response.outcome.error,
        "error_message": response.outcome.message or "",
        "responses": [
            {
                "name": topic,
                "partitions": [{"partition_index": number, **outcome_values(one)} for number, one in outcomes],
            }
            for topic, outcomes in sorted_by_topic(response.partitions)
        ],
    }


def _election_request(frame: RequestFrame) -> ElectLeadersRequest:
    message = frame.message
    number = getattr(message, "election_type", 0)  # version 0 knows preferred leaders only
    if number not in ELECTION_TYPES:
        raise MalformedFrameError(f"{number} is no type of an election")
    listed = message.topic_partitions
    partitions = None if listed is None else tuple(TopicPartition(one.topic, n) for one in listed for n in one.partitions)
    return ElectLeadersRequest(ELECTION_TYPES[number], partitions, milliseconds(message.timeout))


def _election_values(response: ElectLeadersResponse, _: RequestFrame) -> Values:
    return {
        "throttle_time": 0,
        "error_code": ErrorCode.NONE,
        "replica_election_results": [
            {
                "topic": topic,
                "partition_result": [{"partition_id": number, **outcome_values(one)} for number, one in outcomes],
            }
            for topic, outcomes in sorted_by_topic(response.partitions)
        ],
    }


APIS: Mapping[int, Api] = {
    ELECT_LEADERS: Api(range(3), _election_request, _election_values),
    ALTER_PARTITION_REASSIGNMENTS: Api(range(1), _reassignment_request, _reassignment_values),
}
