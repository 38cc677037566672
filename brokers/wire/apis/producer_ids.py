"""Ids for idempotent producers: InitProducerId.

Source: Kafka 2.8, KafkaApis.handleInitProducerIdRequest.
"""

from collections.abc import Mapping

from kcsim.brokers.requests import InitProducerIdRequest, InitProducerIdResponse
from kcsim.brokers.wire.apis.api import Api, Values
from kcsim.brokers.wire.frames import RequestFrame

INIT_PRODUCER_ID = 22


def _request(frame: RequestFrame) -> InitProducerIdRequest:
    return InitProducerIdRequest(frame.message.transactional_id)


def _values(response: InitProducerIdResponse, _: RequestFrame) -> Values:
    return {
        "throttle_time": 0,
        "error_code": response.error,
        "producer_id": response.producer_id,
        "producer_epoch": response.producer_epoch,
    }


APIS: Mapping[int, Api] = {INIT_PRODUCER_ID: Api(range(5), _request, _values)}
