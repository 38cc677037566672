"""Offsets that clients ask for: ListOffsets and OffsetForLeaderEpoch.

Source: Kafka 2.8, KafkaApis.handleListOffsetRequest and handleOffsetForLeaderEpochRequest; docs/kafka/requests.md 7.2, 8.
"""

from collections.abc import Mapping
from typing import Any

from kcsim.brokers.requests import (
    ANY_LEADER_EPOCH,
    EpochQuery,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetQuery,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
)
from kcsim.brokers.wire.apis.api import Api, Values, by_topic, known_epoch
from kcsim.brokers.wire.frames import RequestFrame
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import BrokerId, LeaderEpoch, TopicPartition

LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH = 2, 23
FIRST_VERSION_WITH_OFFSET_NOT_AVAILABLE = 5


def _list_offsets_request(frame: RequestFrame) -> ListOffsetsRequest:
    partitions = {
        TopicPartition(topic.name, one.partition_index): OffsetQuery(one.timestamp, _leader_epoch(one))
        for topic in frame.message.topics
        for one in topic.partitions
    }
    return ListOffsetsRequest(partitions, BrokerId(frame.message.replica_id), frame.version)


def _list_offsets_values(response: ListOffsetsResponse, frame: RequestFrame) -> Values:
    return {
        "throttle_time": 0,
        "topics": [
            {"name": topic, "partitions": [_listed(partition, listed, frame.version) for partition, listed in partitions]}
            for topic, partitions in by_topic(response.partitions)
        ],
    }


def _listed(partition: int, listed: ListedOffset, version: int) -> Values:
    error = listed.error
    if error is ErrorCode.OFFSET_NOT_AVAILABLE and version < FIRST_VERSION_WITH_OFFSET_NOT_AVAILABLE:
        error = ErrorCode.LEADER_NOT_AVAILABLE
    return {
        "partition_index": partition,
        "error_code": error,
        "old_style_offsets": () if listed.offset < 0 else (listed.offset,),
        "timestamp": listed.timestamp,
        "offset": listed.offset,
        "leader_epoch": listed.leader_epoch,
    }


def _epochs_request(frame: RequestFrame) -> OffsetsForLeaderEpochRequest:
    partitions = {
        TopicPartition(topic.topic, one.partition): EpochQuery(_leader_epoch(one), LeaderEpoch(one.leader_epoch))
        for topic in frame.message.topics
        for one in topic.partitions
    }
    return OffsetsForLeaderEpochRequest(BrokerId(getattr(frame.message, "replica_id", -2)), partitions, frame.version)


def _epochs_values(response: OffsetsForLeaderEpochResponse, _: RequestFrame) -> Values:
    return {
        "throttle_time": 0,
        "topics": [
            {
                "topic": topic,
                "partitions": [
                    {
                        "error_code": end.error,
                        "partition": partition,
                        "leader_epoch": end.leader_epoch,
                        "end_offset": end.end_offset,
                    }
                    for partition, end in partitions
                ],
            }
            for topic, partitions in by_topic(response.partitions)
        ],
    }


def _leader_epoch(partition: Any) -> LeaderEpoch:
    return known_epoch(getattr(partition, "current_leader_epoch", ANY_LEADER_EPOCH))


APIS: Mapping[int, Api] = {
    LIST_OFFSETS: Api(range(7), _list_offsets_request, _list_offsets_values, {7: "3.0", 8: "3.5", 9: "3.9"}),
    OFFSET_FOR_LEADER_EPOCH: Api(range(5), _epochs_request, _epochs_values),
}
