"""Fetches of followers, and their questions for leader epochs: what Kafka's brokers sent to each other is sent again.

The recordings begin with a connection. Each request is read as a leader reads it and made again as a follower makes it; each
response the other way round.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kcsim.brokers.records import Run
from kcsim.brokers.requests import (
    UNDEFINED_EPOCH,
    DivergingEpoch,
    EpochEnd,
    EpochQuery,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetQuery,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
)
from kcsim.brokers.wire.apis.api import AnsweredRequestError, topic_id_in
from kcsim.brokers.wire.apis.records import FETCH
from kcsim.brokers.wire.apis.registry import answer_frame, request_of
from kcsim.brokers.wire.fetch_sessions import FetchSessions
from kcsim.brokers.wire.follower_requests import FollowerRequest, FollowerRequests, FollowerResponse
from kcsim.brokers.wire.frames import RequestFrame, decode_request, decode_response
from kcsim.brokers.wire.message_reader import MalformedFrameError
from kcsim.brokers.wire.runs_of_batches import runs_of
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import BrokerId, LeaderEpoch, TopicPartition
from tests.brokers.wire.recorded_frames import Exchange, recorded_exchanges
from tests.brokers.wire.response_frames import response_frame

FILE = Path(__file__).parents[2] / "vectors" / "wire-frames" / "followers.json"
FOLLOWER = "10.0.0.1:5000"
B2 = BrokerId(2)
E0, E2 = LeaderEpoch(0), LeaderEpoch(2)
ORDERS_0, ORDERS_1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
Conversation = list[tuple[FollowerRequest, FollowerResponse]]


class RecordedIds:
    """The session ids that Kafka's leader has drawn. Attributes: following: the next one."""

    following = 0

    def getrandbits(self, _: int) -> int:
        return self.following


class Leader:
    """Reads the requests of one follower and makes the responses, with session ids of the test's choice."""

    def __init__(self) -> None:
        self.ids = RecordedIds()
        self._sessions = FetchSessions(lambda: 0)
        self._sessions._numbers = self.ids  # type: ignore[assignment]

    def read(self, request: bytes, cause: int = 0) -> tuple[FollowerRequest, RequestFrame]:
        frame = decode_request(request, FOLLOWER, self._sessions)._replace(cause=cause)
        return request_of(frame), frame


class Recording(NamedTuple):
    protocol_version: str
    follower: str
    exchanges: list[tuple[bytes, bytes]]


def recordings() -> list[Recording]:
    return [
        Recording(
            one["protocol_version"],
            one["follower"],
            [(bytes.fromhex(each["request"]), bytes.fromhex(each["response"])) for each in one["exchanges"]],
        )
        for one in json.loads(FILE.read_text())
    ]


def conversation(recording: Recording) -> Conversation:
    """Return what a recording says; assert that it comes out again byte for byte."""
    leader, follower, exchanged = Leader(), FollowerRequests(), Conversation()
    for request_bytes, response_bytes in recording.exchanges:
        request, frame = leader.read(request_bytes)
        assert follower.encode(request, frame.correlation_id) == request_bytes
        correlation_id, response = follower.decode(response_bytes, request)
        assert correlation_id == frame.correlation_id
        if frame.api_key == FETCH:
            leader.ids.following = decode_response(response_bytes, frame.api_key, frame.version)[1].session_id
        assert response_frame(response, frame) == response_bytes
        exchanged.append((request, response))
    return exchanged


BEFORE_TOPIC_IDS = [one for one in recordings() if one.protocol_version != "3.9"]
WITH_TOPIC_IDS = [one for one in recordings() if one.protocol_version == "3.9"]


@pytest.mark.parametrize("recording", BEFORE_TOPIC_IDS, ids=lambda one: f"{one.protocol_version}-{one.follower}")
def test_what_kafkas_followers_and_leaders_sent_is_sent_again(recording: Recording) -> None:
    assert len(conversation(recording)) >= 5


def recorded(protocol_version: str, follower: str) -> Conversation:
    (found,) = (one for one in recordings() if one[:2] == (protocol_version, follower))
    return conversation(found)


def test_a_follower_lists_what_has_changed_since_its_last_fetch() -> None:
    (first, answer), (second, _), *_ = recorded("2.6", "broker-2")
    nothing = FetchPartition(E0, 0, 0, last_fetched_epoch=UNDEFINED_EPOCH)
    assert first == FetchRequest(B2, 500, {ORDERS_0: nothing, ORDERS_1: nothing}, is_full=True, names_all=True, version=11)
    assert isinstance(answer, FetchResponse)
    (run,) = answer.partitions[ORDERS_0].runs
    assert (run.base_offset, run.count, run.leader_epoch, run.writer, run.first_sequence) == (0, 1, 0, "@", 0)
    assert answer.partitions[ORDERS_1] == FetchedPartition(ErrorCode.NONE, 0, 0)
    assert second.partitions == {ORDERS_1: nothing, ORDERS_0: FetchPartition(E0, 1, 0)}


def test_an_unchanged_fetch_is_the_same_object_for_the_leader() -> None:
    """It knows by that that it need not look at the partitions."""
    requests = [request for request, _ in recorded("2.6", "broker-2")]
    assert requests[4] is requests[5]


def test_before_2_7_a_follower_asks_where_its_epoch_ends() -> None:
    (asked, answer), (fetch, _), *_ = recorded("2.6", "broker-1")
    assert asked == OffsetsForLeaderEpochRequest(BrokerId(1), {ORDERS_0: EpochQuery(E2, E0)}, version=3)
    assert answer == OffsetsForLeaderEpochResponse({ORDERS_0: EpochEnd(ErrorCode.NONE, E0, 4)})
    assert isinstance(fetch, FetchRequest)
    assert fetch.partitions[ORDERS_0].fetch_offset == 4


def test_from_2_7_on_the_answer_to_a_fetch_says_where_the_logs_diverge() -> None:
    (asked, answer), (fetch, _), *_ = recorded("2.8", "broker-1")
    assert isinstance(asked, FetchRequest)
    assert asked.partitions[ORDERS_0] == FetchPartition(E2, 5, 0, last_fetched_epoch=E0)
    assert isinstance(answer, FetchResponse)
    assert answer.partitions[ORDERS_0] == FetchedPartition(ErrorCode.NONE, 5, 0, (), DivergingEpoch(E0, 4))
    assert isinstance(fetch, FetchRequest)
    assert fetch.partitions[ORDERS_0].fetch_offset == 4


def of_followers() -> list[Exchange]:
    return [one for one in recorded_exchanges() if one.api_key == 23 and "-fetcher-" in one.client]


def test_questions_for_epochs_of_a_running_cluster_are_asked_again() -> None:
    for one in of_followers():
        request, frame = Leader().read(one.request)
        assert FollowerRequests().encode(request, frame.correlation_id) == one.request
    assert len(of_followers()) >= 4


# --- topics with ids


@pytest.mark.parametrize("recording", WITH_TOPIC_IDS, ids=lambda one: one.follower)
def test_what_a_leader_of_3_9_answered_is_answered_again(recording: Recording) -> None:
    """Followers of 3.9 fetch in version 17; ours never do, so only the leader's side is compared."""
    leader = Leader()
    for request_bytes, response_bytes in recording.exchanges:
        request, frame = leader.read(request_bytes)
        assert isinstance(request, FetchRequest)
        assert f"broker-{request.replica_id}" == recording.follower
        assert request.is_by_id
        _, message = decode_response(response_bytes, FETCH, frame.version)
        leader.ids.following = message.session_id
        assert response_frame(fetched_by_id(message), frame) == response_bytes
    assert len(recording.exchanges) >= 5


def fetched_by_id(message: Any) -> FetchResponse:
    return FetchResponse(
        {
            TopicPartition(topic_id_in(topic.topic_id) or "", one.partition_index): FetchedPartition(
                ErrorCode(one.error_code.value),
                one.high_watermark,
                one.log_start_offset,
                runs_of(one.records, 0),
                DivergingEpoch(one.diverging_epoch.epoch, one.diverging_epoch.end_offset),
            )
            for topic in message.responses
            for one in topic.partitions
        }
    )


def test_a_topic_id_stands_where_a_name_would() -> None:
    recording = next(one for one in WITH_TOPIC_IDS if one.follower == "broker-1")
    leader = Leader()
    first, _ = leader.read(recording.exchanges[0][0])
    assert first == FetchRequest(
        BrokerId(1),
        500,
        {TopicPartition("EZSkvlTtSTKUKramKPSsVw", 0): FetchPartition(E2, 5, 0, last_fetched_epoch=E0)},
        is_full=True,
        names_all=True,
        is_by_id=True,
        version=17,
    )


# --- what the recordings do not have


@pytest.mark.parametrize("version", [4, 5, 6, 7, 8, 9])
def test_questions_for_offsets(version: int) -> None:
    query = {ORDERS_1: OffsetQuery(-2, E2), TopicPartition("a", 0): OffsetQuery(-2, E0), ORDERS_0: OffsetQuery(-2, E2)}
    request = ListOffsetsRequest(query, B2, version)
    follower = FollowerRequests()
    read, frame = Leader().read(follower.encode(request, 7))
    assert read == request
    answer = ListOffsetsResponse({ORDERS_0: ListedOffset(ErrorCode.NONE, 40, E2), ORDERS_1: ListedOffset(ErrorCode.NONE, 0)})
    answer_bytes = response_frame(answer, frame)
    assert answer_bytes is not None
    assert follower.decode(answer_bytes, request) == (7, answer)


def fetch_of(*partitions: tuple[TopicPartition, int]) -> FetchRequest:
    return FetchRequest(B2, 500, {tp: FetchPartition(E2, offset, 0) for tp, offset in partitions})


def exchange(leader: Leader, follower: FollowerRequests, request: FetchRequest, answer: FetchResponse) -> FetchRequest:
    """Return the leader's view of a fetch; its answer arrives."""
    read, frame = leader.read(follower.encode(request, 0))
    answer_bytes = response_frame(answer, frame)
    assert answer_bytes is not None
    assert follower.decode(answer_bytes, request) == (0, answer)
    assert isinstance(read, FetchRequest)
    return read


def test_a_partition_that_is_fetched_no_more_is_forgotten() -> None:
    leader, follower, nothing = Leader(), FollowerRequests(), FetchResponse()
    leader.ids.following = 5
    exchange(leader, follower, fetch_of((ORDERS_0, 3), (ORDERS_1, 4)), nothing)
    read = exchange(leader, follower, fetch_of((ORDERS_1, 4)), nothing)
    assert read.partitions == {ORDERS_1: FetchPartition(E2, 4, 0)}


def test_records_that_a_follower_has_not_appended_are_fetched_again() -> None:
    """The follower does not list the partition: to the leader it is a changed one none the less."""
    leader, follower = Leader(), FollowerRequests()
    leader.ids.following = 5
    request = fetch_of((ORDERS_0, 0), (ORDERS_1, 0))
    records = (Run(0, 3, E2, "producer-a", 0, 1_000, 20),)
    first = exchange(leader, follower, request, FetchResponse({ORDERS_0: FetchedPartition(ErrorCode.NONE, 0, 0, records)}))
    again = exchange(leader, follower, request, FetchResponse())
    assert again.partitions == first.partitions
    assert again.partitions[ORDERS_0] is not first.partitions[ORDERS_0]
    assert again.partitions[ORDERS_1] is first.partitions[ORDERS_1]


def test_a_session_that_the_leader_does_not_know_is_opened_again() -> None:
    leader, follower, request = Leader(), FollowerRequests(), fetch_of((ORDERS_0, 3))
    leader.ids.following = 5
    exchange(leader, follower, request, FetchResponse())
    other, second = Leader(), follower.encode(request, 1)
    with pytest.raises(AnsweredRequestError) as refused:
        other.read(second)
    answer = answer_frame(refused.value.values, decode_request(second))
    assert follower.decode(answer, request) == (1, FetchResponse())
    read, _ = other.read(follower.encode(request, 2))
    assert isinstance(read, FetchRequest)
    assert read.is_full
    assert read.partitions == request.partitions


def test_without_a_session_every_fetch_lists_everything() -> None:
    leader, follower, request = Leader(), FollowerRequests(), fetch_of((ORDERS_0, 3))
    frame = decode_request(follower.encode(request, 0))  # of a leader that has no sessions
    answer = response_frame(FetchResponse(), frame)
    assert answer is not None
    follower.decode(answer, request)
    read, _ = leader.read(follower.encode(request, 1))
    assert isinstance(read, FetchRequest)
    assert read.is_full


def test_any_other_refusal_of_a_whole_fetch_breaks_the_connection() -> None:
    follower, request = FollowerRequests(), fetch_of((ORDERS_0, 3))
    frame = decode_request(follower.encode(request, 0))
    values = {"throttle_time": 0, "error_code": ErrorCode.UNKNOWN_SERVER_ERROR, "session_id": 0, "responses": ()}
    with pytest.raises(MalformedFrameError, match="refuses the fetch: UNKNOWN_SERVER_ERROR"):
        follower.decode(answer_frame(values, frame), request)


def test_the_cause_of_a_request_is_that_of_its_partitions() -> None:
    read, _ = Leader().read(FollowerRequests().encode(fetch_of((ORDERS_0, 3)), 0), cause=77)
    assert read.partitions == {ORDERS_0: FetchPartition(E2, 3, 77)}
