"""Injected errors in the answers to requests that real clients have sent."""

import asyncio
from dataclasses import fields, is_dataclass
from typing import Any
from unittest.mock import Mock

import pytest
from kio.schema.errors import ErrorCode as KafkaErrorCode
from msgspec.structs import replace

from kcsim.brokers.error_responses import REFUSABLE, name_of
from kcsim.brokers.groups.requests import LeaveGroupMembersRequest
from kcsim.brokers.injected_errors import INJECTABLE, ErrorInjection, InjectedErrors, is_of_broker
from kcsim.brokers.network.link_conditions import EVERYWHERE, Links
from kcsim.brokers.requests import (
    ANY_LEADER_EPOCH,
    CONSUMER,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetQuery,
    PartitionMetadata,
)
from kcsim.brokers.wire.apis.api import AnsweredRequestError
from kcsim.brokers.wire.apis.registry import is_served, request_of
from kcsim.brokers.wire.frames import RequestFrame, UnknownVersionError, decode_request, decode_response
from kcsim.brokers.wire.message_reader import MalformedFrameError
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import BrokerId, Endpoint, LeaderEpoch, TopicPartition
from tests.brokers.wire.recorded_frames import recorded_exchanges
from tests.brokers.wire.response_frames import response_frame

ERROR = ErrorCode.GROUP_AUTHORIZATION_FAILED  # which no broker here answers by itself
FAULT = 7
BROKER, CLIENT = "broker-1", "client writer"


class Arrived:
    """The Incoming port. Attributes: response: what was answered."""

    def __init__(self, request: Any, sender: str = CLIENT) -> None:
        self.request, self.sender, self.cause = request, sender, 0

    def note_fault(self, cause: int) -> None:
        assert cause == FAULT

    def respond(self, response: Any) -> None:
        raise AssertionError(f"answered with {response}")


async def never(request: Any, _: int) -> Any:
    raise AssertionError(f"carried out: {request}")


def requests_of_clients() -> list[tuple[RequestFrame, Any]]:
    found = []
    for exchange in recorded_exchanges():
        try:
            frame = decode_request(exchange.request)
            if is_served(frame.api_key, frame.version):
                found.append((frame, request_of(frame)))
        except (UnknownVersionError, AnsweredRequestError, MalformedFrameError):
            continue  # brokers' own requests, and those that are answered without the broker
    return [(frame, request) for frame, request in found if type(request) in REFUSABLE and not is_of_broker(request)]


def error_codes(message: Any) -> set[KafkaErrorCode]:
    """Return all error codes in a message."""
    if isinstance(message, tuple):
        return {code for one in message for code in error_codes(one)}
    if not is_dataclass(message):
        return set()
    own = {message.error_code} if hasattr(message, "error_code") else set()
    return own.union(*(error_codes(getattr(message, field.name)) for field in fields(message)))


@pytest.mark.parametrize("name", sorted(set(INJECTABLE) - {"Metadata"}))
def test_every_recorded_request_is_answered_with_the_error(name: str) -> None:
    checked = 0
    for frame, request in requests_of_clients():
        if name_of(type(request)) != name:
            continue
        errors = InjectedErrors()
        answered = Mock()
        errors.arm(ErrorInjection(name, ERROR, EVERYWHERE), FAULT, answered)
        if not REFUSABLE[type(request)].parts(request, ErrorInjection(name, ERROR, EVERYWHERE).concerns):
            continue  # it names no part
        response = asyncio.run(errors.at(BROKER).answer(Arrived(request), never))
        answer = response_frame(response, frame)
        answered.assert_called_once_with(BROKER, f"{BROKER} answers {name} of {CLIENT} with {ERROR.name}, 1 of 1")
        assert errors.is_empty
        assert answer is not None
        _, message = decode_response(answer, frame.api_key, frame.version)
        assert KafkaErrorCode(ERROR) in error_codes(message)
        checked += 1
    assert checked


def test_all_requests_of_clients_but_two_can_be_answered_with_an_error() -> None:
    """ApiVersions and DescribeCluster have no errors that a broker of ours answers; both classes of LeaveGroup are one."""
    assert {name_of(one) for one in REFUSABLE} == set(INJECTABLE)
    assert name_of(LeaveGroupMembersRequest) == "LeaveGroup"
    assert len(INJECTABLE) == len(REFUSABLE) - 1


def play(
    injection: ErrorInjection, request: Any, response: Any, sender: str = CLIENT, times: int = 1
) -> tuple[list[Any], list[Any]]:
    """Return what was carried out and what was answered, when a client sends a request some times."""
    errors, carried_out = InjectedErrors(), []
    errors.arm(injection, FAULT, lambda *_: None)

    async def handle(request: Any, _: int) -> Any:
        carried_out.append(request)
        return response

    async def send() -> list[Any]:
        return [await errors.at(BROKER).answer(Arrived(request, sender), handle) for _ in range(times)]

    return carried_out, asyncio.run(send())


P0, P1, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1), TopicPartition("other", 0)
QUERY = OffsetQuery()
ASKED = ListOffsetsRequest({P0: QUERY, P1: QUERY, OTHER: QUERY})
LISTED = ListedOffset(offset=7)
REFUSED = ListedOffset(ERROR)


def listed(*partitions: TopicPartition) -> ListOffsetsResponse:
    return ListOffsetsResponse(dict.fromkeys(partitions, LISTED))


def injected(**fields: Any) -> ErrorInjection:
    return ErrorInjection("ListOffsets", ERROR, fields.pop("links", EVERYWHERE), **fields)


def test_only_a_topic_or_a_partition_is_answered_with_the_error() -> None:
    carried_out, (answer,) = play(injected(topic="orders"), ASKED, listed(OTHER))
    assert carried_out == [ListOffsetsRequest({OTHER: QUERY})]
    assert answer.partitions == {OTHER: LISTED, P0: REFUSED, P1: REFUSED}
    carried_out, (answer,) = play(injected(topic="orders", partition=1), ASKED, listed(P0, OTHER))
    assert answer.partitions == {P0: LISTED, P1: REFUSED, OTHER: LISTED}
    assert play(injected(topic="absent"), ASKED, listed(P0, P1, OTHER)) == ([ASKED], [listed(P0, P1, OTHER)])


def test_a_request_can_be_carried_out_nevertheless() -> None:
    carried_out, (answer,) = play(injected(is_carried_out=True, topic="other"), ASKED, listed(P0, P1, OTHER))
    assert (carried_out, answer.partitions) == ([ASKED], {P0: LISTED, P1: LISTED, OTHER: REFUSED})


def test_only_the_given_number_of_answers_carries_the_error() -> None:
    carried_out, answers = play(injected(times=2), ASKED, listed(P0, P1, OTHER), times=4)
    assert [set(answer.partitions.values()) for answer in answers] == [{REFUSED}, {REFUSED}, {LISTED}, {LISTED}]
    assert len(carried_out) == 2


@pytest.mark.parametrize(
    ("broker", "client", "is_refused"),
    [
        (BROKER, CLIENT, True),
        (BROKER, "clients", True),
        ("broker-2", "clients", False),
        (BROKER, "client reader", False),
        (BROKER, "producer-clerk", False),
    ],
)
def test_it_concerns_some_clients_of_some_brokers(broker: str, client: str, is_refused: bool) -> None:
    links = Links(frozenset({broker}), frozenset({client}))
    _, (answer,) = play(injected(links=links), ASKED, listed(P0, P1, OTHER))
    assert set(answer.partitions.values()) == {REFUSED if is_refused else LISTED}


def test_a_fetch_with_an_error_for_a_part_is_answered_at_once() -> None:
    fetch = FetchRequest(
        CONSUMER, 500, {P0: FetchPartition(ANY_LEADER_EPOCH, 0, 0), P1: FetchPartition(ANY_LEADER_EPOCH, 0, 0)}
    )
    carried_out, _ = play(ErrorInjection("Fetch", ERROR, EVERYWHERE, "orders", 1), fetch, FetchResponse())
    ((asked,),) = [carried_out]
    assert (set(asked.partitions), asked.max_wait_ms) == ({P0}, 0)
    of_follower = replace(fetch, replica_id=BrokerId(2))
    assert play(ErrorInjection("Fetch", ERROR, EVERYWHERE), of_follower, FetchResponse())[0] == [of_follower]


def test_metadata_name_the_brokers_and_refuse_topics() -> None:
    one = PartitionMetadata(BrokerId(1), LeaderEpoch(0), ErrorCode.NONE, (BrokerId(1),), (BrokerId(1),))
    endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 9092)
    response = MetadataResponse({BrokerId(1): endpoint}, BrokerId(1), {P0: one, OTHER: one})
    _, (answer,) = play(ErrorInjection("Metadata", ERROR, EVERYWHERE, "orders"), MetadataRequest(), response)
    assert answer == MetadataResponse({BrokerId(1): endpoint}, BrokerId(1), {OTHER: one}, {"orders": ERROR})
