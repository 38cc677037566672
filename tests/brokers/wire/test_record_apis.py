"""Produce, Fetch and the requests for offsets and producer ids, as real clients sent them.

The responses of Kafka 2.8.2 come out again byte for byte.
"""

from collections.abc import Callable
from typing import Any

import pytest

from kcsim.brokers.record_batches import header_of
from kcsim.brokers.records import Run
from kcsim.brokers.requests import (
    ACKS_ALL,
    CONSUMER,
    EpochEnd,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ListedOffset,
    ListOffsetsResponse,
    OffsetsForLeaderEpochResponse,
    ProduceRequest,
    ProduceResponse,
    ProduceResult,
)
from kcsim.brokers.wire.apis.api import ConnectionRefusedByApiError
from kcsim.brokers.wire.apis.offsets import LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH
from kcsim.brokers.wire.apis.producer_ids import INIT_PRODUCER_ID
from kcsim.brokers.wire.apis.records import FETCH, PRODUCE
from kcsim.brokers.wire.apis.registry import request_of
from kcsim.brokers.wire.frames import decode_request, decode_response
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import LeaderEpoch, TopicPartition
from tests.brokers.wire.recorded_frames import Exchange, recorded_exchanges
from tests.brokers.wire.response_frames import response_frame
from tests.brokers.wire.test_apis import sent

ORDERS_0 = TopicPartition("orders", 0)


def recorded(api_key: int) -> list[Exchange]:
    """Return the exchanges of consumers and producers with Kafka; followers have other sessions."""
    return [one for one in recorded_exchanges() if one.api_key == api_key and "-fetcher-" not in one.client]


def error_of(partition: Any) -> ErrorCode:
    return ErrorCode(partition.error_code.value)


def produced(message: Any) -> ProduceResponse:
    return ProduceResponse(
        {
            TopicPartition(topic.name, one.index): ProduceResult(error_of(one), one.base_offset, one.log_start_offset)
            for topic in message.responses
            for one in topic.partition_responses
        }
    )


def fetched(message: Any) -> FetchResponse:
    return FetchResponse(
        {
            TopicPartition(topic.topic, one.partition_index): FetchedPartition(
                error_of(one), one.high_watermark, getattr(one, "log_start_offset", -1), runs_of(one.records)
            )
            for topic in message.responses
            for one in topic.partitions
        }
    )


def runs_of(records: bytes) -> tuple[Run, ...]:
    runs = []
    while records:
        header = header_of(records)
        batch, records = records[: header.length + 12], records[header.length + 12 :]
        count = header.record_count
        runs.append(Run(header.base_offset, count, LeaderEpoch(header.leader_epoch), "w", 0, 0, 1, batch=batch))
    return tuple(runs)


def listed(message: Any) -> ListOffsetsResponse:
    partitions = {
        TopicPartition(topic.name, one.partition_index): ListedOffset(
            error_of(one),
            one.old_style_offsets[0] if hasattr(one, "old_style_offsets") else one.offset,
            LeaderEpoch(getattr(one, "leader_epoch", -1)),
            getattr(one, "timestamp", -1),
        )
        for topic in message.topics
        for one in topic.partitions
    }
    return ListOffsetsResponse(partitions)


def ends(message: Any) -> OffsetsForLeaderEpochResponse:
    return OffsetsForLeaderEpochResponse(
        {
            TopicPartition(topic.topic, one.partition): EpochEnd(error_of(one), one.leader_epoch, one.end_offset)
            for topic in message.topics
            for one in topic.partitions
        }
    )


def producer_id(message: Any) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_of(message), message.producer_id, message.producer_epoch)


@pytest.mark.parametrize(
    ("api_key", "response_in", "at_least"),
    [
        (PRODUCE, produced, 20),
        (LIST_OFFSETS, listed, 30),
        (OFFSET_FOR_LEADER_EPOCH, ends, 6),
        (INIT_PRODUCER_ID, producer_id, 10),
    ],
)
def test_what_kafka_answered_is_answered_again(api_key: int, response_in: Callable[[Any], Any], at_least: int) -> None:
    exchanges = [one for one in recorded(api_key) if one.response is not None]
    for exchange in exchanges:
        assert exchange.response is not None
        _, message = decode_response(exchange.response, api_key, exchange.version)
        assert response_frame(response_in(message), decode_request(exchange.request)) == exchange.response
    assert len(exchanges) >= at_least


def test_what_kafka_sent_to_consumers_without_a_session_is_sent_again() -> None:
    count = 0
    for exchange in recorded(FETCH):
        request = decode_request(exchange.request)
        assert exchange.response is not None
        _, message = decode_response(exchange.response, FETCH, exchange.version)
        if getattr(message, "session_id", 0) == 0 and request.message.replica_id == -1:
            assert response_frame(fetched(message), request) == exchange.response
            count += 1
    assert count >= 4


def test_every_request_of_a_real_client_is_read() -> None:
    for exchange in recorded(PRODUCE):
        request = request_of(decode_request(exchange.request, "10.0.0.1:5000"))
        assert isinstance(request, ProduceRequest)
        assert request.acks in (ACKS_ALL, 0, 1)
        assert request.timeout_ms > 0
        assert all(batch.count > 0 for batch in request.batches.values())
    for exchange in recorded(FETCH):
        request = request_of(decode_request(exchange.request))
        assert isinstance(request, FetchRequest)
        assert request.replica_id == CONSUMER


def test_an_idempotent_producer_asks_for_an_id() -> None:
    asked = {request_of(decode_request(one.request)) for one in recorded(INIT_PRODUCER_ID)}
    assert InitProducerIdRequest(None) in asked
    assert any(one.transactional_id for one in asked)


@pytest.mark.parametrize("version", [3, 9])
def test_without_acknowledgement_nothing_is_answered_and_an_error_closes_the_connection(version: int) -> None:
    frame = sent(PRODUCE, version, transactional_id=None, acks=0, timeout=1_000, topic_data=())
    assert response_frame(ProduceResponse({ORDERS_0: ProduceResult(ErrorCode.NONE, 4)}), frame) is None
    refused = ProduceResponse({ORDERS_0: ProduceResult(ErrorCode.NOT_LEADER_OR_FOLLOWER)})
    with pytest.raises(ConnectionRefusedByApiError, match="orders-0: NOT_LEADER_OR_FOLLOWER"):
        response_frame(refused, frame)


@pytest.mark.parametrize(("version", "error"), [(4, "leader_not_available"), (5, "offset_not_available")])
def test_old_clients_do_not_know_that_an_offset_is_not_available_yet(version: int, error: str) -> None:
    frame = sent(LIST_OFFSETS, version, replica_id=-1, isolation_level=0, topics=())
    answer = response_frame(ListOffsetsResponse({ORDERS_0: ListedOffset(ErrorCode.OFFSET_NOT_AVAILABLE)}), frame)
    assert answer is not None
    _, message = decode_response(answer, LIST_OFFSETS, version)
    assert message.topics[0].partitions[0].error_code.name == error
