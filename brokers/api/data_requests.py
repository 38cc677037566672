"""Passes the requests about records to the component of the broker that answers them.

Source: Kafka 2.8, KafkaApis.
"""

from dataclasses import dataclass
from typing import assert_never

from kcsim.brokers.api.consumer_fetches import ConsumerFetches
from kcsim.brokers.api.fetch_handler import FetchHandler
from kcsim.brokers.api.fetches_by_topic_id import FetchesByTopicId
from kcsim.brokers.api.offsets_handler import OffsetsHandler
from kcsim.brokers.api.produce_handler import ProduceHandler
from kcsim.brokers.api.producer_ids import GivesProducerIds
from kcsim.brokers.requests import (
    CONSUMER,
    FetchRequest,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetsForLeaderEpochRequest,
    ProduceRequest,
    ProduceResponse,
    ReplicaResponse,
)

DataRequest = FetchRequest | ProduceRequest | ListOffsetsRequest | OffsetsForLeaderEpochRequest | InitProducerIdRequest
DataResponse = ReplicaResponse | ProduceResponse | ListOffsetsResponse | InitProducerIdResponse


@dataclass(frozen=True, slots=True)
class DataRequests:
    """The components that answer."""

    produce: ProduceHandler
    followers: FetchHandler
    consumers: ConsumerFetches
    offsets: OffsetsHandler
    producer_ids: GivesProducerIds
    by_topic_id: FetchesByTopicId

    async def handle(self, request: DataRequest, cause: int) -> DataResponse:
        match request:
            case FetchRequest():
                answer = (self.consumers if request.replica_id == CONSUMER else self.followers).handle
                return await (self.by_topic_id.handle(request, answer) if request.is_by_id else answer(request))
            case ProduceRequest():
                return await self.produce.handle(request, cause)
            case ListOffsetsRequest():
                return self.offsets.list_offsets(request)
            case OffsetsForLeaderEpochRequest():
                return self.offsets.ends_of_epochs(request)
            case InitProducerIdRequest():
                return await self.producer_ids.handle(request, cause)
            case _:
                assert_never(request)
