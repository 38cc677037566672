"""Records that clients write and read: Produce and Fetch.

Message formats 0 and 1 are not served: Produce begins with version 3 and Fetch with version 4, as in Kafka 4.

Source: Kafka 2.8, KafkaApis.handleProduceRequest and handleFetchRequest; docs/kafka/requests.md 7.1, 8.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import structs

from kcsim.brokers.requests import (
    ACKS_NONE,
    ANY_LEADER_EPOCH,
    CONSUMER,
    UNDEFINED_EPOCH,
    UNDEFINED_OFFSET,
    DivergingEpoch,
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
    topic_id_in,
    uuid_of,
)
from kcsim.brokers.wire.batch_checks import produced_batch, refusal_of
from kcsim.brokers.wire.batches_of_runs import batches_of
from kcsim.brokers.wire.fetch_sessions import (
    CLOSING_EPOCH,
    NO_SESSION,
    OPENING_EPOCH,
    FetchSession,
    FetchSessionError,
)
from kcsim.brokers.wire.frames import RequestFrame
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import BrokerId, TopicPartition

PRODUCE, FETCH = 0, 1
FETCH_MAX_BYTES = 55 << 20
"""fetch.max.bytes of a broker: of the records of one response, whatever the client allows."""
READ_COMMITTED = 1
FIRST_VERSION_FROM_FOLLOWERS = 11
"""From this version on a client may fetch from a replica that does not lead (KIP-392)."""

FIRST_VERSION_WITH_TOPIC_IDS = 13
FIRST_VERSION_WITH_REPLICA_STATE = 15
"""Before, the replica id is a field of the request itself."""


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
    if _replica_id(frame) >= 0:
        return _follower_fetch(frame)
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
        is_by_id=frame.version >= FIRST_VERSION_WITH_TOPIC_IDS,
    )


def _replica_id(frame: RequestFrame) -> int:
    message = frame.message
    replica_id: int = (message.replica_state if frame.version >= FIRST_VERSION_WITH_REPLICA_STATE else message).replica_id
    return replica_id


def _topic_of(topic: Any, version: int) -> str:
    """Return the name of a topic in a request, or its id."""
    if version < FIRST_VERSION_WITH_TOPIC_IDS:
        return str(topic.topic)
    return topic_id_in(topic.topic_id) or ""


def _follower_fetch(frame: RequestFrame) -> FetchRequest:
    """Return a follower's fetch: the object of its last one if nothing has changed. Raises: AnsweredRequestError."""
    listed, session = _listed_partitions(frame), _session_of(frame)
    sessions, (_, epoch) = frame.fetch_sessions, _session(frame)
    if session is None:
        if sessions is not None and epoch == OPENING_EPOCH:
            sessions.opening[frame.client] = listed
        return _of_follower(frame, listed, is_first=True)
    last, forgotten = session.request, _forgotten_partitions(frame)
    for tp in session.delivered:
        if tp in session.partitions:  # if it is not listed, its records were not appended, and are fetched again
            listed.setdefault(tp, structs.replace(session.partitions[tp]))
    if last is None or listed or forgotten or _limits(_of_follower(frame, {}, is_first=False)) != _limits(last):
        session.change({}, (*listed, *forgotten))
        session.change(listed, ())  # what is fetched from another offset moves behind the others
        session.request = last = _of_follower(frame, dict(session.partitions), is_first=False)
    return last


def _of_follower(
    frame: RequestFrame, partitions: Mapping[TopicPartition, FetchPartition], *, is_first: bool
) -> FetchRequest:
    message = frame.message
    return FetchRequest(
        BrokerId(_replica_id(frame)),
        milliseconds(message.max_wait),
        partitions,
        message.min_bytes,
        min(message.max_bytes, FETCH_MAX_BYTES),
        is_full=is_first,
        names_all=is_first,
        is_by_id=frame.version >= FIRST_VERSION_WITH_TOPIC_IDS,
        version=frame.version,
    )


def _limits(request: FetchRequest) -> tuple[int, int, int]:
    return request.max_wait_ms, request.min_bytes, request.max_bytes


def _partitions_of_session(frame: RequestFrame) -> Mapping[TopicPartition, FetchPartition]:
    """Return what a request fetches: what it lists, and, if it goes on with a session, what was listed before."""
    listed, session = _listed_partitions(frame), _session_of(frame)
    if session is None:
        return listed
    session.change(listed, _forgotten_partitions(frame))
    return dict(session.partitions)


def _session_of(frame: RequestFrame) -> FetchSession | None:
    """Return the session with which a request goes on; None: it lists all that it fetches. Raises: AnsweredRequestError."""
    sessions, (session_id, epoch) = frame.fetch_sessions, _session(frame)
    if sessions is None or epoch in (OPENING_EPOCH, CLOSING_EPOCH):
        if sessions is not None:
            sessions.close(session_id)
        return None
    try:
        return sessions.at(session_id, epoch)
    except FetchSessionError as error:
        values = {"throttle_time": 0, "error_code": error.error, "session_id": NO_SESSION, "responses": ()}
        raise AnsweredRequestError(values) from None


def _forgotten_partitions(frame: RequestFrame) -> tuple[TopicPartition, ...]:
    return tuple(
        TopicPartition(_topic_of(topic, frame.version), partition)
        for topic in getattr(frame.message, "forgotten_topics_data", ())
        for partition in topic.partitions
    )


def _listed_partitions(frame: RequestFrame) -> dict[TopicPartition, FetchPartition]:
    return {
        TopicPartition(_topic_of(topic, frame.version), one.partition): FetchPartition(
            known_epoch(getattr(one, "current_leader_epoch", ANY_LEADER_EPOCH)),
            one.fetch_offset,
            frame.cause,
            getattr(one, "log_start_offset", 0),
            one.partition_max_bytes,
            known_epoch(getattr(one, "last_fetched_epoch", UNDEFINED_EPOCH)),
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
            {
                **_topic_values(topic, frame.version),
                "partitions": [_fetched(number, one, aborted) for number, one in partitions],
            }
            for topic, partitions in by_topic(fetched)
        ],
    }


def _topic_values(topic: str, version: int) -> Values:
    """Return the field that names a topic. Args: topic: its name, or its id."""
    return {"topic": topic} if version < FIRST_VERSION_WITH_TOPIC_IDS else {"topic_id": uuid_of(topic or None)}


def _of_session(response: FetchResponse, frame: RequestFrame) -> tuple[int, Mapping[TopicPartition, FetchedPartition]]:
    """Return the session's id, and the partitions of the answer."""
    sessions, (session_id, epoch) = frame.fetch_sessions, _session(frame)
    if sessions is None or epoch == CLOSING_EPOCH:
        return NO_SESSION, response.partitions
    if epoch == OPENING_EPOCH:
        listed = sessions.opening.pop(frame.client, None) or _listed_partitions(frame)
        session_id = sessions.open(listed, response.partitions)
        _note_delivered(sessions.get(session_id), response)
        return session_id, response.partitions
    session = sessions.get(session_id)
    if _replica_id(frame) >= 0:
        _note_delivered(session, response)
        return session_id, response.partitions  # which are those with news already
    return (NO_SESSION, response.partitions) if session is None else (session_id, session.news(response.partitions))


def _note_delivered(session: FetchSession | None, response: FetchResponse) -> None:
    if session is not None:
        session.delivered = tuple(tp for tp, one in response.partitions.items() if one.runs)


def _fetched(partition: int, fetched: FetchedPartition, aborted: tuple[()] | None) -> Values:
    diverging = fetched.diverging or DivergingEpoch(UNDEFINED_EPOCH, UNDEFINED_OFFSET)
    return {
        "partition_index": partition,
        "error_code": fetched.error,
        "high_watermark": fetched.high_watermark,
        "last_stable_offset": fetched.high_watermark,
        "log_start_offset": fetched.log_start_offset,
        "diverging_epoch": {"epoch": diverging.leader_epoch, "end_offset": diverging.end_offset},
        "aborted_transactions": None if fetched.error else aborted,
        "records": batches_of(fetched.runs),
    }


# librdkafka compresses with gzip and snappy only if a broker names version 0 of Produce. For that reason Kafka 4 names it,
# and does not serve it either (KAFKA-18659).
APIS: Mapping[int, Api] = {
    PRODUCE: Api(range(3, 10), _produce_request, _produce_values, named_from=0),
    FETCH: Api(range(4, 13), _fetch_request, _fetch_values, {13: "3.1", 14: "3.5", 15: "3.5", 16: "3.7", 17: "3.9"}),
}
