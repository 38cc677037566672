"""The requests of followers to their leaders, Fetch, OffsetsForLeaderEpoch and ListOffsets, as frames, and the responses.

A follower opens a fetch session on each connection: after the first fetch it lists only the partitions that have changed.

Source: Kafka 2.8, ReplicaFetcherThread, ReplicaFetcherBlockingSend, FetchSessionHandler; docs/kafka/requests.md 7;
recordings of Kafka's followers in tests/vectors/wire-frames.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, assert_never

from kio.index import load_request_schema

from kcsim.brokers.requests import (
    UNDEFINED_EPOCH,
    UNDEFINED_OFFSET,
    DivergingEpoch,
    EpochEnd,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
)
from kcsim.brokers.wire.apis.api import Values, by_topic
from kcsim.brokers.wire.fetch_sessions import NO_SESSION, OPENING_EPOCH
from kcsim.brokers.wire.frames import decode_response, encode_request
from kcsim.brokers.wire.message_building import message_of
from kcsim.brokers.wire.message_reader import MalformedFrameError
from kcsim.brokers.wire.packed_reading import error_of
from kcsim.brokers.wire.runs_of_batches import CorruptRecordsError, runs_of
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import BrokerId, TopicPartition

FollowerRequest = FetchRequest | OffsetsForLeaderEpochRequest | ListOffsetsRequest
FollowerResponse = FetchResponse | OffsetsForLeaderEpochResponse | ListOffsetsResponse
SESSION_ERRORS = (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH)
"""The leader does not know the session, or has answered another request of it: a new session is opened."""
_LARGEST_EPOCH = 2**31 - 1
V = TypeVar("V")


class FetchSessionHandler:
    """A follower's end of its fetch session with one leader.

    Source: Kafka 2.8, org.apache.kafka.clients.FetchSessionHandler.
    """

    def __init__(self) -> None:
        self._session_id = NO_SESSION
        self._epoch = OPENING_EPOCH
        self._fetched: Mapping[TopicPartition, FetchPartition] = {}

    def values(self, request: FetchRequest) -> Values:
        """Return the fields of the next fetch."""
        wanted, known = request.partitions, self._fetched
        if self._epoch == OPENING_EPOCH:
            listed, forgotten = wanted, dict[TopicPartition, FetchPartition]()
        elif wanted is known:
            listed, forgotten = {}, {}
        else:
            listed = {tp: fetch for tp, fetch in wanted.items() if known.get(tp) != fetch}
            forgotten = {tp: fetch for tp, fetch in known.items() if tp not in wanted}
        self._fetched = wanted
        return {
            "replica_id": request.replica_id,
            "max_wait": request.max_wait_ms,
            "min_bytes": request.min_bytes,
            "max_bytes": request.max_bytes,
            "session_id": self._session_id,
            "session_epoch": self._epoch,
            "topics": [
                {"topic": topic, "partitions": [fetch_values(number, fetch) for number, fetch in partitions]}
                for topic, partitions in by_topic(listed)
            ],
            "forgotten_topics_data": [
                {"topic": topic, "partitions": [number for number, _ in partitions]}
                for topic, partitions in by_topic(forgotten)
            ],
        }

    def answered(self, error: ErrorCode, session_id: int) -> None:
        """Take note of the leader's answer."""
        if error is not ErrorCode.NONE:
            self._epoch = OPENING_EPOCH
            if error is ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
                self._session_id = NO_SESSION
        elif session_id == NO_SESSION:  # the leader has no room for it, or no longer
            self._session_id, self._epoch = NO_SESSION, OPENING_EPOCH
        else:
            self._session_id, self._epoch = session_id, self._epoch % _LARGEST_EPOCH + 1


class FollowerRequests:
    """Makes the frames of a follower's requests on one connection, and reads the responses."""

    def __init__(self) -> None:
        self._session = FetchSessionHandler()

    def encode(self, request: FollowerRequest, correlation_id: int) -> bytes:
        """Return the frame of a request. Raises: ValueError for a value that a field cannot have."""
        match request:
            case FetchRequest():
                values = self._session.values(request)
            case OffsetsForLeaderEpochRequest():
                values = _epochs_values(request)
            case ListOffsetsRequest():
                values = list_offsets_values(request)
            case _:
                assert_never(request)
        message = message_of(load_request_schema(request.api_key, request.version), values)
        return encode_request(message, correlation_id, client_id_of(request.replica_id))

    def decode(self, frame: bytes, request: FollowerRequest) -> tuple[int, FollowerResponse]:
        """Return correlation id and content of the response to a request. Raises: MalformedFrameError.

        If the leader does not know the fetch session, the response names no partition; the next fetch opens a session.
        """
        correlation_id, message = decode_response(frame, request.api_key, request.version)
        match request:
            case FetchRequest():
                return correlation_id, self._fetched(message, request)
            case OffsetsForLeaderEpochRequest():
                ends = partitions_in((topic.topic, topic.partitions, "partition") for topic in message.topics)
                return correlation_id, OffsetsForLeaderEpochResponse(
                    {tp: EpochEnd(error_of(one.error_code.value), one.leader_epoch, one.end_offset) for tp, one in ends}
                )
            case ListOffsetsRequest():
                return correlation_id, listed_offsets(message)
            case _:
                assert_never(request)

    def _fetched(self, message: Any, request: FetchRequest) -> FetchResponse:
        error = error_of(message.error_code.value)
        if error is not ErrorCode.NONE and error not in SESSION_ERRORS:
            raise MalformedFrameError(f"the leader refuses the fetch: {error.name}")
        self._session.answered(error, message.session_id)
        if error is not ErrorCode.NONE:
            return FetchResponse()
        answered = partitions_in((topic.topic, topic.partitions, "partition_index") for topic in message.responses)
        return FetchResponse(
            {tp: fetched_partition(one, request.partitions[tp]) for tp, one in answered if tp in request.partitions}
        )


def client_id_of(follower: BrokerId) -> str:
    """Return what a follower calls itself."""
    return f"broker-{follower}-fetcher-0"


# --- requests


def fetch_values(partition: int, fetch: FetchPartition) -> Values:
    """Return the fields of one partition of a fetch."""
    return {
        "partition": partition,
        "current_leader_epoch": fetch.leader_epoch,
        "fetch_offset": fetch.fetch_offset,
        "last_fetched_epoch": fetch.last_fetched_epoch,
        "log_start_offset": fetch.log_start_offset,
        "partition_max_bytes": fetch.max_bytes,
    }


def _epochs_values(request: OffsetsForLeaderEpochRequest) -> Values:
    return {
        "replica_id": request.replica_id,
        "topics": [
            {
                "topic": topic,
                "partitions": [
                    {
                        "partition": number,
                        "current_leader_epoch": query.current_leader_epoch,
                        "leader_epoch": query.leader_epoch,
                    }
                    for number, query in partitions
                ],
            }
            for topic, partitions in _each_topic_once(request.partitions)
        ],
    }


def list_offsets_values(request: ListOffsetsRequest) -> Values:
    """Return the fields of queries for offsets."""
    return {
        "replica_id": request.replica_id,
        "isolation_level": 0,
        "topics": [
            {
                "name": topic,
                "partitions": [
                    {
                        "partition_index": number,
                        "current_leader_epoch": query.current_leader_epoch,
                        "timestamp": query.timestamp,
                    }
                    for number, query in partitions
                ],
            }
            for topic, partitions in _each_topic_once(request.partitions)
        ],
    }


def _each_topic_once(partitions: Mapping[TopicPartition, V]) -> Iterable[tuple[str, list[tuple[int, V]]]]:
    topics: dict[str, list[tuple[int, V]]] = {}
    for tp, value in partitions.items():
        topics.setdefault(tp.topic, []).append((tp.partition, value))
    return topics.items()


# --- responses


def partitions_in(topics: Iterable[tuple[str, Iterable[Any], str]]) -> Iterable[tuple[TopicPartition, Any]]:
    """Yield each partition of a response. Args: topics: name, partitions, and the field of a partition's number."""
    for topic, partitions, number in topics:
        for one in partitions:
            yield TopicPartition(topic, getattr(one, number)), one


def listed_offsets(message: Any) -> ListOffsetsResponse:
    """Return the content of a response to queries for offsets."""
    listed = partitions_in((topic.name, topic.partitions, "partition_index") for topic in message.topics)
    return ListOffsetsResponse(
        {tp: ListedOffset(error_of(one.error_code.value), one.offset, one.leader_epoch, one.timestamp) for tp, one in listed}
    )


def fetched_partition(one: Any, fetch: FetchPartition) -> FetchedPartition:
    """Return what a response says of a partition. Args: one: the partition of kio's message. fetch: the request for it."""
    error = error_of(one.error_code.value)
    if error is not ErrorCode.NONE:
        return FetchedPartition(error)
    try:
        runs = runs_of(one.records or b"", fetch.fetch_offset)
    except CorruptRecordsError:
        return FetchedPartition(ErrorCode.CORRUPT_MESSAGE)
    diverging = getattr(one, "diverging_epoch", None)
    return FetchedPartition(
        ErrorCode.NONE,
        one.high_watermark,
        one.log_start_offset,
        runs,
        None
        if diverging is None or (diverging.epoch, diverging.end_offset) == (UNDEFINED_EPOCH, UNDEFINED_OFFSET)
        else DivergingEpoch(diverging.epoch, diverging.end_offset),
    )
