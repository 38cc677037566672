"""Records that clients delete.

Source: Kafka 2.8, DeleteRecordsRequest; docs/kafka/requests.md 14.
"""

from collections.abc import Mapping

from kcsim.brokers.admin.change_requests import DeleteRecordsRequest, DeleteRecordsResponse
from kcsim.brokers.wire.apis.api import Api, Values, milliseconds, sorted_by_topic
from kcsim.brokers.wire.frames import RequestFrame
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
    return {
        "throttle_time": 0,
        "topics": [
            {
                "name": topic,
                "partitions": [
                    {"partition_index": number, "low_watermark": one.low_watermark, "error_code": one.error}
                    for number, one in results
                ],
            }
            for topic, results in sorted_by_topic(response.partitions)
        ],
    }


APIS: Mapping[int, Api] = {DELETE_RECORDS: Api(range(3), _request, _values)}
