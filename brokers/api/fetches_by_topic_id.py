"""Fetches that name topics by their ids: they are answered as those that name topics, and the answer has the ids again.

Left out: a topic's id is compared with that of the metadata, not also with that of the log.

Source: Kafka 3.9, KafkaApis.handleFetchRequest, FetchRequest.fetchData; KIP-516.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from msgspec import structs

from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.brokers.requests import FetchedPartition, FetchRequest, FetchResponse
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import BrokerId, TopicPartition

AnswersFetch = Callable[[FetchRequest], Awaitable[FetchResponse]]


class _NamedFetch(NamedTuple):
    """A fetch by topic ids, and what it is with names.

    Attributes:
        by_id, by_name: the two forms; `by_name` lacks the partitions whose ids are not known.
        ids: of the topics in `by_name`, by their names.
        known: the ids of all topics at that time.
    """

    by_id: FetchRequest
    by_name: FetchRequest
    ids: Mapping[str, str]
    known: Mapping[str, str]


class FetchesByTopicId:
    """Translates them. A fetch that comes again unchanged is the same object with names, too."""

    def __init__(self, metadata: MetadataCache) -> None:
        self._metadata = metadata
        self._last: dict[BrokerId, _NamedFetch] = {}

    async def handle(self, request: FetchRequest, answer: AnswersFetch) -> FetchResponse:
        """Answer a fetch. Args: answer: answers a fetch that names topics."""
        named = self._named(request)
        response = await answer(named.by_name) if named.by_name.partitions else FetchResponse()
        fetched = {
            TopicPartition(named.ids[tp.topic], tp.partition): one
            for tp, one in response.partitions.items()
            if tp.topic in named.ids
        }
        if len(named.by_name.partitions) < len(request.partitions):
            known = {*named.ids.values()}
            unknown = FetchedPartition(ErrorCode.UNKNOWN_TOPIC_ID)
            fetched.update({tp: unknown for tp in request.partitions if tp.topic not in known})
        return FetchResponse(fetched)

    def _named(self, request: FetchRequest) -> _NamedFetch:
        known = self._metadata.partitions.topic_ids
        last = self._last.get(request.replica_id)
        if last is not None and last.by_id is request and last.known is known:
            return last
        names = {topic_id: topic for topic, topic_id in known.items()}
        partitions = {
            TopicPartition(names[tp.topic], tp.partition): fetch
            for tp, fetch in request.partitions.items()
            if tp.topic in names
        }
        ids = {tp.topic: known[tp.topic] for tp in partitions}
        named = _NamedFetch(request, structs.replace(request, partitions=partitions, is_by_id=False), ids, known)
        self._last[request.replica_id] = named
        return named
