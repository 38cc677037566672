"""Passes the requests about records and metadata to the component of the broker that answers them.

Source: Kafka 2.8, KafkaApis.
"""

from dataclasses import dataclass
from typing import assert_never

from kcsim.brokers.api.client_metadata import metadata_for
from kcsim.brokers.api.consumer_fetches import ConsumerFetches
from kcsim.brokers.api.fetch_handler import FetchHandler
from kcsim.brokers.api.offsets_handler import OffsetsHandler
from kcsim.brokers.api.produce_handler import ProduceHandler
from kcsim.brokers.api.producer_ids import ProducerIdManager
from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.brokers.requests import (
    CONSUMER,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FetchRequest,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetsForLeaderEpochRequest,
    ProduceRequest,
    ProduceResponse,
    ReplicaResponse,
)

DataRequest = (
    FetchRequest
    | ProduceRequest
    | ListOffsetsRequest
    | OffsetsForLeaderEpochRequest
    | InitProducerIdRequest
    | MetadataRequest
    | ApiVersionsRequest
)
DataResponse = (
    ReplicaResponse | ProduceResponse | ListOffsetsResponse | InitProducerIdResponse | MetadataResponse | ApiVersionsResponse
)


@dataclass(frozen=True, slots=True)
class DataRequests:
    """The components that answer. `listener`: the listener on which clients reach brokers."""

    produce: ProduceHandler
    followers: FetchHandler
    consumers: ConsumerFetches
    offsets: OffsetsHandler
    producer_ids: ProducerIdManager
    metadata: MetadataCache
    listener: str

    async def handle(self, request: DataRequest, cause: int) -> DataResponse:
        match request:
            case FetchRequest():
                return await (self.consumers if request.replica_id == CONSUMER else self.followers).handle(request)
            case ProduceRequest():
                return await self.produce.handle(request, cause)
            case ListOffsetsRequest():
                return self.offsets.list_offsets(request)
            case OffsetsForLeaderEpochRequest():
                return self.offsets.ends_of_epochs(request)
            case InitProducerIdRequest():
                return await self.producer_ids.handle(request, cause)
            case MetadataRequest():
                return metadata_for(request, self.metadata, self.listener)
            case ApiVersionsRequest():
                return ApiVersionsResponse()
            case _:
                assert_never(request)
