"""Records that clients write and read: Produce and Fetch.

Message formats 0 and 1 are not served: Produce begins with version 3 and Fetch with version 4, as in Kafka 4.

Source: Kafka 2.8, KafkaApis.handleProduceRequest and handleFetchRequest; docs/kafka/requests.md 7.1, 8.
"""

from collections.abc import Iterator, Mapping

from kcsim.brokers.requests import (
    ACKS_NONE,
    ANY_LEADER_EPOCH,
    CONSUMER,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ProduceRequest,
    ProduceResponse,
    ProduceResult,
)
from kcsim.brokers.wire.apis.api import (
    AnsweredRequestError,
    Api,
    ConnectionRefusedByApiError,
    Values,
    by_topic,
    known_epoch,
    milliseconds,
)
from kcsim.brokers.wire.batch_checks import produced_batch, refusal_of
from kcsim.brokers.wire.batches_of_runs import batches_of
from kcsim.brokers.wire.fetch_sessions import CLOSING_EPOCH, NO_SESSION, OPENING_EPOCH, FetchSessionError
from kcsim.brokers.wire.frames import RequestFrame
from kcsim.brokers.wire.message_reader import MalformedFrameError
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.run_actions import RUN_STARTED_SEQ
from kcsim.vocabulary import TopicPartition

PRODUCE, FETCH = 0, 1
FETCH_MAX_BYTES = 55 << 20
"""fetch.max.bytes of a broker: of the records of one response, whatever the client allows."""
READ_COMMITTED = 1
FIRST_VERSION_FROM_FOLLOWERS = 11
"""From this version on a client may fetch from a replica that does not lead (KIP-392)."""


# --- Produce ---------------------------------------------------------------------------------------------------------------


def _produce_request(frame: RequestFrame) -> ProduceRequest:
    client = frame.client_id or ""
    batches = {
        tp: produced_batch(records, client, frame.client)
        for tp, records in records_in(frame)
        if refusal_of(records, frame.version) is None
    }
    return ProduceRequest(client, frame.message.acks, milliseconds(frame.message.timeout), batches)


def records_in(frame: RequestFrame) -> Iterator[tuple[TopicPartition, bytes]]:
    """Yield each partition of a Produce request with its records."""
    for topic in frame.message.topic_data:
        for one in topic.partition_data:
            yield TopicPartition(topic.name, one.index), one.records or b""


def _produce_values(response: ProduceResponse, frame: RequestFrame) -> Values | None:
    results = dict(response.results)
    for tp, records in records_in(frame):
        refusal = refusal_of(records, frame.version)
        if refusal is not None:
            results[tp] = ProduceResult(refusal.error, message=refusal.message)
    if frame.message.acks == ACKS_NONE:
        refused = [f"{tp}: {result.error.name}" for tp, result in results.items() if result.error]
        if refused:
            raise ConnectionRefusedByApiError(f"records with acks=0 are refused: {', '.join(refused)}")
        return None
    return {
        "throttle_time": 0,
        "responses": [
            {
                "name": topic,
                "partition_responses": [_produced(partition, result) for partition, result in of_topic],
            }
            for topic, of_topic in by_topic(results)
        ],
    }


def _produced(partition: int, result: ProduceResult) -> Values:
    return {
        "index": partition,
        "error_code": result.error,
        "base_offset": result.base_offset,
        "log_append_time": result.append_time_ms,
        "log_start_offset": result.log_start_offset,
        "record_errors": (),
        "error_message": result.message,
    }


# --- Fetch -----------------------------------------------------------------------------------------------------------------


def _fetch_request(frame: RequestFrame) -> FetchRequest:
    message = frame.message
    if message.replica_id >= 0:
        raise MalformedFrameError(f"a fetch of broker {message.replica_id}: brokers fetch within the run only")
    max_bytes = min(message.max_bytes, FETCH_MAX_BYTES)
    may_ask_followers = frame.version >= FIRST_VERSION_FROM_FOLLOWERS
    partitions = _partitions_of_session(frame)
    return FetchRequest(
        CONSUMER,
        milliseconds(message.max_wait),
        partitions,
        message.min_bytes,
        max_bytes,
        may_ask_followers=may_ask_followers,
    )


def _partitions_of_session(frame: RequestFrame) -> Mapping[TopicPartition, FetchPartition]:
    """Return what a request fetches: what it lists, and, if it goes on with a session, what was listed before."""
    listed, sessions = _listed_partitions(frame), frame.fetch_sessions
    session_id, epoch = _session(frame)
    if sessions is None or epoch in (OPENING_EPOCH, CLOSING_EPOCH):
        if sessions is not None:
            sessions.close(session_id)
        return listed
    try:
        session = sessions.at(session_id, epoch)
    except FetchSessionError as error:
        values = {"throttle_time": 0, "error_code": error.error, "session_id": NO_SESSION, "responses": ()}
        raise AnsweredRequestError(values) from None
    forgotten = (
        TopicPartition(topic.topic, partition)
        for topic in frame.message.forgotten_topics_data
        for partition in topic.partitions
    )
    session.change(listed, forgotten)
    return dict(session.partitions)


def _listed_partitions(frame: RequestFrame) -> dict[TopicPartition, FetchPartition]:
    return {
        TopicPartition(topic.topic, one.partition): FetchPartition(
            known_epoch(getattr(one, "current_leader_epoch", ANY_LEADER_EPOCH)),
            one.fetch_offset,
            RUN_STARTED_SEQ,
            max_bytes=one.partition_max_bytes,
        )
        for topic in frame.message.topics
        for one in topic.partitions
    }


def _session(frame: RequestFrame) -> tuple[int, int]:
    """Return session id and epoch of a request."""
    message = frame.message
    return getattr(message, "session_id", NO_SESSION), getattr(message, "session_epoch", CLOSING_EPOCH)


def _fetch_values(response: FetchResponse, frame: RequestFrame) -> Values:
    aborted = () if frame.message.isolation_level == READ_COMMITTED else None
    session_id, fetched = _of_session(response, frame)
    return {
        "throttle_time": 0,
        "error_code": ErrorCode.NONE,
        "session_id": session_id,
        "responses": [
            {"topic": topic, "partitions": [_fetched(partition, one, aborted) for partition, one in partitions]}
            for topic, partitions in by_topic(fetched)
        ],
    }


def _of_session(response: FetchResponse, frame: RequestFrame) -> tuple[int, Mapping[TopicPartition, FetchedPartition]]:
    """Return the session's id, and the partitions of the answer."""
    sessions, (session_id, epoch) = frame.fetch_sessions, _session(frame)
    if sessions is None or epoch == CLOSING_EPOCH:
        return NO_SESSION, response.partitions
    if epoch == OPENING_EPOCH:
        return sessions.open(_listed_partitions(frame), response.partitions), response.partitions
    session = sessions.get(session_id)
    return (NO_SESSION, response.partitions) if session is None else (session_id, session.news(response.partitions))


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
