"""Answers clients' Metadata requests, and creates topics that they ask for.

Source: Kafka 2.8, KafkaApis.handleTopicMetadataRequest.
"""

from dataclasses import dataclass

import msgspec

from kcsim.brokers.admin.auto_topic_creation import AutoTopicCreation
from kcsim.brokers.api.client_metadata import metadata_for
from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.brokers.requests import MetadataRequest, MetadataResponse


@dataclass(frozen=True, slots=True)
class MetadataHandler:
    """Answers from the broker's metadata cache. `listener`: the listener whose endpoints are returned."""

    metadata: MetadataCache
    listener: str
    creation: AutoTopicCreation

    async def handle(self, request: MetadataRequest, cause: int) -> MetadataResponse:
        response = metadata_for(request, self.metadata, self.listener)
        if not response.topic_errors:
            return response
        errors = await self.creation.errors_of(response.topic_errors, request.allow_auto_topic_creation, cause)
        return msgspec.structs.replace(response, topic_errors=errors)
