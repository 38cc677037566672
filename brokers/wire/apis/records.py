"""Records that clients write and read: Produce and Fetch.

Message formats 0 and 1 are not served: Produce begins with version 3 and Fetch with version 4, as in Kafka 4.

Source: Kafka 2.8, KafkaApis.handleProduceRequest and handleFetchRequest; docs/kafka/requests.md 7.1, 8.
"""

from collections.abc import Mapping

from kcsim.brokers.requests import (
    ACKS_NONE,
    CONSUMER,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ProduceRequest,
    ProduceResponse,
)
from kcsim.brokers.wire.apis.api import Api, ConnectionRefusedByApiError, Values, by_topic, milliseconds
from kcsim.brokers.wire.batch_checks import produced_batch
from kcsim.brokers.wire.batches_of_runs import batches_of
from kcsim.brokers.wire.frames import RequestFrame
from kcsim.brokers.wire.message_reader import MalformedFrameError
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.run_actions import RUN_STARTED_SEQ
from kcsim.vocabulary import LeaderEpoch, TopicPartition

PRODUCE, FETCH = 0, 1
FETCH_MAX_BYTES = 55 << 20
"""fetch.max.bytes of a broker: of the records of one response, whatever the client allows."""
READ_COMMITTED = 1


# --- Produce ---------------------------------------------------------------------------------------------------------------


def _produce_request(frame: RequestFrame) -> ProduceRequest:
    message, client = frame.message, frame.client_id or ""
    batches = {
        TopicPartition(topic.name, one.index): produced_batch(one.records, client, frame.client, frame.version)
        for topic in message.topic_data
        for one in topic.partition_data
    }
    return ProduceRequest(client, message.acks, milliseconds(message.timeout), batches)


def _produce_values(response: ProduceResponse, frame: RequestFrame) -> Values | None:
    if frame.message.acks == ACKS_NONE:
        refused = [f"{tp}: {result.error.name}" for tp, result in response.results.items() if result.error]
        if refused:
            raise ConnectionRefusedByApiError(f"records with acks=0 are refused: {', '.join(refused)}")
        return None
    return {
        "throttle_time": 0,
        "responses": [
            {
                "name": topic,
                "partition_responses": [
                    {
                        "index": partition,
                        "error_code": result.error,
                        "base_offset": result.base_offset,
                        "log_append_time": None,
                        "log_start_offset": result.log_start_offset,
                        "record_errors": (),
                        "error_message": None,
                    }
                    for partition, result in results
                ],
            }
            for topic, results in by_topic(response.results)
        ],
    }


# --- Fetch -----------------------------------------------------------------------------------------------------------------


def _fetch_request(frame: RequestFrame) -> FetchRequest:
    message = frame.message
    if message.replica_id >= 0:
        raise MalformedFrameError(f"a fetch of broker {message.replica_id}: brokers fetch within the run only")
    partitions = {
        TopicPartition(topic.topic, one.partition): FetchPartition(
            LeaderEpoch(getattr(one, "current_leader_epoch", -1)),
            one.fetch_offset,
            RUN_STARTED_SEQ,
            max_bytes=one.partition_max_bytes,
        )
        for topic in message.topics
        for one in topic.partitions
    }
    return FetchRequest(
        CONSUMER,
        milliseconds(message.max_wait),
        partitions,
        message.min_bytes,
        min(message.max_bytes, FETCH_MAX_BYTES),
    )


def _fetch_values(response: FetchResponse, frame: RequestFrame) -> Values:
    aborted = () if frame.message.isolation_level == READ_COMMITTED else None
    return {
        "throttle_time": 0,
        "error_code": ErrorCode.NONE,
        "session_id": 0,
        "responses": [
            {"topic": topic, "partitions": [_fetched(partition, fetched, aborted) for partition, fetched in partitions]}
            for topic, partitions in by_topic(response.partitions)
        ],
    }


def _fetched(partition: int, fetched: FetchedPartition, aborted: tuple[()] | None) -> Values:
    return {
        "partition_index": partition,
        "error_code": fetched.error,
        "high_watermark": fetched.high_watermark,
        "last_stable_offset": fetched.high_watermark,
        "log_start_offset": fetched.log_start_offset,
        "aborted_transactions": None if fetched.error else aborted,
        "records": batches_of(fetched.runs),
    }


APIS: Mapping[int, Api] = {
    PRODUCE: Api(range(3, 10), _produce_request, _produce_values),
    FETCH: Api(range(4, 13), _fetch_request, _fetch_values),
}
