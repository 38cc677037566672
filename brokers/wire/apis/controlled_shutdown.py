"""What a broker that is about to stop asks of the controller: ControlledShutdown.

Source: Kafka 2.8, ControlledShutdownRequest; docs/kafka/requests.md 10.
"""

from collections.abc import Mapping

from kcsim.brokers.wire.apis.api import Api, Values
from kcsim.brokers.wire.frames import RequestFrame
from kcsim.controller.requests import UNKNOWN_BROKER_EPOCH, ControlledShutdownRequest, ControlledShutdownResponse

CONTROLLED_SHUTDOWN = 7


def _request(frame: RequestFrame) -> ControlledShutdownRequest:
    message = frame.message
    return ControlledShutdownRequest(message.broker_id, getattr(message, "broker_epoch", UNKNOWN_BROKER_EPOCH))


def _values(response: ControlledShutdownResponse, _: RequestFrame) -> Values:
    return {
        "error_code": response.error,
        "remaining_partitions": [
            {"topic_name": tp.topic, "partition_index": tp.partition} for tp in response.remaining_partitions
        ],
    }


APIS: Mapping[int, Api] = {CONTROLLED_SHUTDOWN: Api(range(4), _request, _values)}
