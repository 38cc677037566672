"""Records that clients delete.

Source: Kafka 2.8, DeleteRecordsRequest; docs/kafka/requests.md 14.
"""

from collections.abc import Mapping
from itertools import groupby

from kcsim.brokers.admin.requests import DeleteRecordsRequest, DeleteRecordsResponse
from kcsim.brokers.wire.apis.api import Api, Values
from kcsim.brokers.wire.frames import RequestFrame
from kcsim.brokers.wire.message_reader import milliseconds
from kcsim.vocabulary import TopicPartition

DELETE_RECORDS = 21


def _request(frame: RequestFrame) -> DeleteRecordsRequest:
    offsets = {
        TopicPartition(topic.name, one.partition_index): one.offset
        for topic in frame.message.topics
        for one in topic.partitions
    }
    return DeleteRecordsRequest(offsets, milliseconds(frame.message.timeout))


def _values(response: DeleteRecordsResponse, _: RequestFrame) -> Values:
    by_topic = groupby(sorted(response.partitions.items()), key=lambda item: item[0].topic)
    return {
        "throttle_time": 0,
        "topics": [
            {
                "name": topic,
                "partitions": [
                    {"partition_index": tp.partition, "low_watermark": one.low_watermark, "error_code": one.error}
                    for tp, one in items
                ],
            }
            for topic, items in by_topic
        ],
    }


APIS: Mapping[int, Api] = {DELETE_RECORDS: Api(range(3), _request, _values)}
