"""Requests of the controller and to the controller: what was recorded of Kafka's is read, and written byte for byte."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.index import load_request_schema

from kcsim.brokers.wire.apis.api import by_topic
from kcsim.brokers.wire.apis.controller_requests import ALLOCATE_PRODUCER_IDS, ALTER_ISR, CONTROLLED_SHUTDOWN
from kcsim.brokers.wire.apis.registry import APIS, answer_frame, request_of
from kcsim.brokers.wire.apis.state_changes import LEADER_AND_ISR, STOP_REPLICA, UPDATE_METADATA
from kcsim.brokers.wire.frames import decode_request, decode_response, encode_request
from kcsim.brokers.wire.message_building import message_of
from kcsim.brokers.wire.message_reader import MalformedFrameError
from kcsim.brokers.wire.packed_reading import PACKED_REQUESTS, error_of
from kcsim.brokers.wire.packed_requests import PARTITION_ERROR, SECURITY_PROTOCOLS
from kcsim.brokers.wire.sent_requests import RequestEncoder, decode_answer
from kcsim.controller.decisions.topic_ids import number_of, topic_id_of
from kcsim.controller.requests import (
    UNKNOWN_BROKER_EPOCH,
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    AlterIsrRequest,
    AlterIsrResponse,
    BrokerRequest,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    ErrorCode,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LiveLeader,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from kcsim.vocabulary import NO_LEADER, Endpoint, LeaderAndIsr, PartitionState, ReplicaAssignment, TopicPartition
from tests.brokers.wire.recorded_frames import recorded_exchanges
from tests.brokers.wire.response_frames import response_frame

T = TypeVar("T")
R = TypeVar("R", LeaderAndIsrRequest, UpdateMetadataRequest)
KEYS = (LEADER_AND_ISR, STOP_REPLICA, UPDATE_METADATA, CONTROLLED_SHUTDOWN, ALTER_ISR)
RECORDED = [one for one in recorded_exchanges() if one.api_key in KEYS]
SENT = {LEADER_AND_ISR: (4, 5), UPDATE_METADATA: (6, 7), STOP_REPLICA: (3,), CONTROLLED_SHUTDOWN: (3,), ALTER_ISR: (0,)}
"""The versions that are sent."""
OUTSIDE = 1 << 40
"""A number that no field of 32 bits can have."""


# --- recorded --------------------------------------------------------------------------------------------------------------


def test_requests_of_kafkas_controller_and_brokers_are_written_byte_for_byte() -> None:
    recorded = [one for one in RECORDED if one.version in SENT[one.api_key]]
    for exchange in recorded:
        for packed in ({}, PACKED_REQUESTS):
            frame = decode_request(exchange.request, packed=packed)
            assert frame.client_id is not None
            assert RequestEncoder(frame.client_id).encode(request_of(frame), frame.correlation_id) == exchange.request
    assert {one.api_key for one in recorded} == set(KEYS)
    assert len(recorded) > 20


def test_responses_of_kafkas_brokers_are_read_and_written_byte_for_byte() -> None:
    recorded = [one for one in RECORDED if one.version in SENT[one.api_key]]
    for exchange in recorded:
        assert exchange.response is not None
        frame = decode_request(exchange.request)
        correlation_id, response = decode_answer(exchange.response, request_of(frame))
        assert correlation_id == frame.correlation_id
        assert response_frame(response, frame) == exchange.response


# --- generated -------------------------------------------------------------------------------------------------------------

int32s, small = st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**31 - 1)
names = st.text(max_size=200)
broker_lists = st.lists(small, max_size=4).map(tuple) | st.integers(120, 140).map(lambda count: tuple(range(count)))
partition_states = st.builds(
    PartitionState,
    st.builds(LeaderAndIsr, st.none() | st.integers(0, 9) | st.just(-2), int32s, broker_lists, int32s),
    int32s,
)
endpoints = st.builds(Endpoint, names, st.sampled_from(SECURITY_PROTOCOLS), names, int32s)
metadata_brokers = st.builds(UpdateMetadataBroker, int32s, st.lists(endpoints, max_size=3).map(tuple), st.none() | names)
sender = (int32s, int32s, st.integers(-(2**63), 2**63 - 1))


def made(kind: Callable[..., T], *content: Any) -> T:
    """Return a value made of numbers: ids and epochs are types of their own elsewhere."""
    return kind(*content)


def each_partition(states: st.SearchStrategy[T]) -> st.SearchStrategy[Mapping[TopicPartition, T]]:
    """Return states of partitions, those of a topic one after the other, as they are sent."""
    topics = st.dictionaries(names, st.dictionaries(int32s, states, min_size=1, max_size=4), max_size=4)
    return topics.map(lambda of: {TopicPartition(topic, n): one for topic, those in of.items() for n, one in those.items()})


leader_and_isr_requests_without_ids = st.builds(
    LeaderAndIsrRequest,
    *sender,
    each_partition(
        st.builds(
            LeaderAndIsrPartitionState,
            partition_states,
            st.builds(ReplicaAssignment, broker_lists, broker_lists, broker_lists),
            st.booleans(),
        )
    ),
    st.lists(st.builds(LiveLeader, int32s, names, int32s), max_size=4).map(tuple),
)
topic_ids = st.integers(1, (1 << 128) - 1).map(lambda number: topic_id_of(number.to_bytes(16)))


def with_ids(request: R) -> st.SearchStrategy[R]:
    """Return the request with ids of some of its topics."""
    topics = sorted({tp.topic for tp in request.partitions})
    some = st.sets(st.sampled_from(topics)) if topics else st.just(set())
    drawn = some.flatmap(lambda of: st.fixed_dictionaries(dict.fromkeys(sorted(of), topic_ids)))
    return drawn.map(lambda ids: msgspec.structs.replace(request, topic_ids=ids))


leader_and_isr_requests = leader_and_isr_requests_without_ids | leader_and_isr_requests_without_ids.flatmap(with_ids)
update_metadata_requests_without_ids = st.builds(
    UpdateMetadataRequest,
    *sender,
    each_partition(st.builds(UpdateMetadataPartitionState, partition_states, broker_lists, broker_lists)),
    st.lists(metadata_brokers, max_size=4).map(tuple),
)
update_metadata_requests = update_metadata_requests_without_ids | update_metadata_requests_without_ids.flatmap(with_ids)
stop_replica_requests = st.builds(
    StopReplicaRequest, *sender, each_partition(st.builds(StopReplicaPartitionState, int32s, st.booleans()))
)
alter_isr_requests = int32s.flatmap(
    lambda broker: st.builds(
        AlterIsrRequest,
        st.just(broker),
        sender[2],
        each_partition(st.builds(LeaderAndIsr, st.just(broker), int32s, broker_lists, int32s)),
    )
)
requests: st.SearchStrategy[BrokerRequest] = (
    leader_and_isr_requests
    | update_metadata_requests
    | stop_replica_requests
    | st.builds(ControlledShutdownRequest, int32s, sender[2])
    | alter_isr_requests
)


def by_kio(request: LeaderAndIsrRequest | UpdateMetadataRequest, correlation_id: int) -> bytes:
    """Return the frame that kio's classes make of a request."""
    values: dict[str, Any] = {
        "controller_id": request.controller_id,
        "controller_epoch": request.controller_epoch,
        "broker_epoch": request.broker_epoch,
    }
    if isinstance(request, LeaderAndIsrRequest):
        values["live_leaders"] = [
            {"broker_id": one.broker_id, "host_name": one.host, "port": one.port} for one in request.live_leaders
        ]
        values["type_"] = 0
        values["topic_states"] = [
            {
                "topic_name": topic,
                "topic_id": id_value(request, topic),
                "partition_states": [led_values(number, one) for number, one in partitions],
            }
            for topic, partitions in by_topic(request.partitions)
        ]
    else:
        values["live_brokers"] = list(map(broker_values, request.live_brokers))
        values["topic_states"] = [
            {
                "topic_name": topic,
                "topic_id": id_value(request, topic),
                "partition_states": [metadata_values(number, one) for number, one in partitions],
            }
            for topic, partitions in by_topic(request.partitions)
        ]
    return encode_request(message_of(load_request_schema(request.api_key, request.version), values), correlation_id, "1")


def id_value(request: LeaderAndIsrRequest | UpdateMetadataRequest, topic: str) -> UUID | None:
    topic_id = (request.topic_ids or {}).get(topic)
    return None if topic_id is None else UUID(bytes=number_of(topic_id))


def state_values(number: int, state: PartitionState) -> dict[str, Any]:
    decided = state.leader_and_isr
    return {
        "partition_index": number,
        "controller_epoch": state.controller_epoch,
        "leader": NO_LEADER if decided.leader is None else decided.leader,
        "leader_epoch": decided.leader_epoch,
        "isr": decided.isr,
        "zk_version": decided.zk_version,
        "partition_epoch": decided.zk_version,
    }


def led_values(number: int, one: LeaderAndIsrPartitionState) -> dict[str, Any]:
    return {
        **state_values(number, one.state),
        "replicas": one.assignment.replicas,
        "adding_replicas": one.assignment.adding_replicas,
        "removing_replicas": one.assignment.removing_replicas,
        "is_new": one.is_new,
    }


def metadata_values(number: int, one: UpdateMetadataPartitionState) -> dict[str, Any]:
    return {**state_values(number, one.state), "replicas": one.replicas, "offline_replicas": one.offline_replicas}


def broker_values(broker: UpdateMetadataBroker) -> dict[str, Any]:
    return {
        "id_": broker.broker_id,
        "rack": broker.rack,
        "endpoints": [
            {
                "port": one.port,
                "host": one.host,
                "listener": one.listener,
                "security_protocol": SECURITY_PROTOCOLS.index(one.protocol),
            }
            for one in broker.endpoints
        ],
    }


@given(leader_and_isr_requests | update_metadata_requests)
def test_packed_requests_are_those_of_kio(request: LeaderAndIsrRequest | UpdateMetadataRequest) -> None:
    assert RequestEncoder("1").encode(request, 7) == by_kio(request, 7)


@given(requests)
def test_a_request_arrives_as_it_was_sent(request: BrokerRequest) -> None:
    sent = RequestEncoder("1").encode(request, 7)
    for packed in ({}, PACKED_REQUESTS):
        frame = decode_request(sent, packed=packed)
        assert (frame.correlation_id, frame.client_id, frame.version) == (7, "1", request.version)
        assert request_of(frame) == request


def test_partitions_that_are_not_in_the_order_of_topics_are_grouped() -> None:
    state = made(PartitionState, made(LeaderAndIsr, 1, 2, (1,), 3), 4)
    tps = (TopicPartition("a", 0), TopicPartition("b", 0), TopicPartition("a", 1))
    led = dict.fromkeys(tps, made(LeaderAndIsrPartitionState, state, made(ReplicaAssignment, (1,)), True))
    known = dict.fromkeys(tps, made(UpdateMetadataPartitionState, state, (1,), ()))
    requests = made(LeaderAndIsrRequest, 1, 1, 1, led, ()), made(UpdateMetadataRequest, 1, 1, 1, known, ())
    for request in requests:
        frame = decode_request(RequestEncoder("1").encode(request, 7))
        assert [topic.topic_name for topic in frame.message.topic_states] == ["a", "b"]
        assert request_of(frame).partitions == request.partitions


def test_a_request_and_a_response_for_isrs_have_each_topic_once() -> None:
    state = made(LeaderAndIsr, 1, 2, (1,), 3)
    tps = (TopicPartition("b", 0), TopicPartition("a", 0), TopicPartition("b", 1))
    frame = decode_request(RequestEncoder("1").encode(made(AlterIsrRequest, 1, 1, dict.fromkeys(tps, state)), 7))
    assert [topic.topic_name for topic in frame.message.topics] == ["a", "b"]
    answer = response_frame(AlterIsrResponse(partitions=dict.fromkeys(tps, state)), frame)
    assert answer is not None
    _, message = decode_response(answer, ALTER_ISR, 0)
    assert [topic.topic_name for topic in message.topics] == ["a", "b"]


@pytest.mark.parametrize(
    "response",
    [AllocateProducerIdsResponse(first=3_000, count=1_000), AllocateProducerIdsResponse(ErrorCode.NOT_CONTROLLER)],
    ids=lambda response: response.error.name,
)
def test_a_request_for_producer_ids_and_its_response_are_read_as_they_were_sent(
    response: AllocateProducerIdsResponse,
) -> None:
    request = made(AllocateProducerIdsRequest, 2, 77)
    frame = decode_request(RequestEncoder("1").encode(request, 7))
    assert (frame.api_key, request_of(frame)) == (ALLOCATE_PRODUCER_IDS, request)
    answer = response_frame(response, frame)
    assert answer is not None
    assert decode_answer(answer, request) == (7, response)


@given(st.lists(leader_and_isr_requests | update_metadata_requests, min_size=2, max_size=3), st.data())
def test_requests_for_other_brokers_and_changes_in_between_are_packed_as_the_first(
    changes: list[LeaderAndIsrRequest | UpdateMetadataRequest], data: st.DataObject
) -> None:
    """What brokers share is packed once only; what a sender has packed before must not show."""
    encoder = RequestEncoder("1")
    for _ in range(6):
        request = msgspec.structs.replace(data.draw(st.sampled_from(changes)), broker_epoch=data.draw(sender[2]))
        assert encoder.encode(request, 7) == RequestEncoder("1").encode(request, 7)


@pytest.mark.parametrize(
    "request_",
    [
        made(LeaderAndIsrRequest, OUTSIDE, 1, 1, {}, ()),
        made(UpdateMetadataRequest, 1, OUTSIDE, 1, {}, ()),
        made(StopReplicaRequest, 1, OUTSIDE, 1, {}),
        made(ControlledShutdownRequest, OUTSIDE, 1),
        made(AlterIsrRequest, OUTSIDE, 1, {}),
    ],
)
def test_a_number_that_a_field_cannot_have_is_refused_when_it_is_written(request_: Any) -> None:
    name = "AlterPartitionRequest" if isinstance(request_, AlterIsrRequest) else type(request_).__name__  # as kio calls it
    with pytest.raises(ValueError, match=name):
        RequestEncoder("1").encode(request_, 7)


errors_of_partitions = each_partition(st.sampled_from(ErrorCode))
answered = st.one_of(
    st.tuples(
        st.just(made(LeaderAndIsrRequest, 1, 1, 1, {}, ())),
        st.builds(LeaderAndIsrResponse, st.sampled_from(ErrorCode), errors_of_partitions),
    ),
    st.tuples(
        st.just(made(StopReplicaRequest, 1, 1, 1, {})),
        st.builds(StopReplicaResponse, st.sampled_from(ErrorCode), errors_of_partitions),
    ),
    st.tuples(
        st.just(made(UpdateMetadataRequest, 1, 1, 1, {}, ())), st.builds(UpdateMetadataResponse, st.sampled_from(ErrorCode))
    ),
    st.tuples(
        st.just(made(ControlledShutdownRequest, 1, 1)),
        st.builds(
            ControlledShutdownResponse,
            st.sampled_from(ErrorCode),
            st.lists(st.builds(TopicPartition, names, int32s), max_size=4).map(tuple),
        ),
    ),
    st.tuples(
        st.just(made(AlterIsrRequest, 1, 1, {})),
        st.builds(
            AlterIsrResponse,
            st.sampled_from(ErrorCode),
            each_partition(
                st.sampled_from([code for code in ErrorCode if code not in (ErrorCode.NONE, ErrorCode.INELIGIBLE_REPLICA)])
                | st.builds(LeaderAndIsr, st.none() | small, int32s, broker_lists, int32s)
            ),
        ),
    ),
)


def by_ids(response: LeaderAndIsrResponse) -> st.SearchStrategy[tuple[LeaderAndIsrRequest, LeaderAndIsrResponse]]:
    """Return the response with a request that has an id for each of its topics."""
    topics = sorted({tp.topic for tp in response.partition_errors})
    ids = st.lists(topic_ids, min_size=len(topics), max_size=len(topics), unique=True)
    state = made(PartitionState, made(LeaderAndIsr, 1, 2, (1,), 3), 4)
    led = made(LeaderAndIsrPartitionState, state, made(ReplicaAssignment, (1,)), True)
    states = dict.fromkeys(response.partition_errors, led)
    return ids.map(
        lambda drawn: (
            made(LeaderAndIsrRequest, 1, 1, 1, states, (), dict(zip(topics, drawn, strict=True))),
            response,
        )
    )


@given(st.builds(LeaderAndIsrResponse, st.sampled_from(ErrorCode), errors_of_partitions).flatmap(by_ids))
def test_a_packed_response_by_topic_ids_is_that_of_kio(exchange: tuple[LeaderAndIsrRequest, LeaderAndIsrResponse]) -> None:
    request, response = exchange
    sent = RequestEncoder("1").encode(request, 7)
    plain, packed = decode_request(sent), decode_request(sent, packed=PACKED_REQUESTS)
    answer = response_frame(response, packed)
    assert answer == answer_frame(APIS[LEADER_AND_ISR].values(response, plain) or {}, plain)
    assert answer is not None
    assert decode_answer(answer, request) == (7, response)


def test_a_topic_that_was_not_asked_for_is_left_out_of_a_response() -> None:
    asked = {"orders": topic_id_of(bytes(15) + b"\1"), "bills": topic_id_of(bytes(15) + b"\2")}
    state = made(PartitionState, made(LeaderAndIsr, 1, 2, (1,), 3), 4)
    led = made(LeaderAndIsrPartitionState, state, made(ReplicaAssignment, (1,)), True)
    errors = {TopicPartition(topic, 0): ErrorCode.INCONSISTENT_TOPIC_ID for topic in asked}
    request = made(LeaderAndIsrRequest, 1, 1, 1, dict.fromkeys(errors, led), (), asked)
    frame = decode_request(RequestEncoder("1").encode(request, 7), packed=PACKED_REQUESTS)
    answer = response_frame(LeaderAndIsrResponse(ErrorCode.NONE, errors), frame)
    assert answer is not None
    only = made(LeaderAndIsrRequest, 1, 1, 1, {}, (), {"bills": asked["bills"]})
    expected = {TopicPartition("bills", 0): ErrorCode.INCONSISTENT_TOPIC_ID}
    assert decode_answer(answer, only) == (7, LeaderAndIsrResponse(ErrorCode.NONE, expected))


@pytest.mark.parametrize(("version", "error"), [(1, "OPERATION_NOT_ATTEMPTED"), (2, "INELIGIBLE_REPLICA")])
def test_an_error_that_older_versions_do_not_have_arrives_as_another(version: int, error: str) -> None:
    tp = TopicPartition("orders", 0)
    frame = decode_request(RequestEncoder("1").encode(made(AlterIsrRequest, 1, 1, {}), 7))
    refused = AlterIsrResponse(partitions={tp: ErrorCode.INELIGIBLE_REPLICA})
    values = APIS[ALTER_ISR].values(refused, frame._replace(version=version))
    assert values is not None
    assert values["topics"][0]["partitions"][0]["error_code"].name == error


@given(answered)
def test_a_response_arrives_as_it_was_sent(exchange: tuple[Any, Any]) -> None:
    request, response = exchange
    frame = decode_request(RequestEncoder("1").encode(request, 7))
    answer = response_frame(response, frame)
    assert answer is not None
    assert decode_answer(answer, request) == (7, response)


@given(st.builds(LeaderAndIsrResponse, st.sampled_from(ErrorCode), errors_of_partitions))
def test_a_packed_response_is_that_of_kio(response: LeaderAndIsrResponse) -> None:
    frame = decode_request(RequestEncoder("1").encode(made(LeaderAndIsrRequest, 1, 1, 1, {}, ()), 7))
    assert response_frame(response, frame) == answer_frame(APIS[LEADER_AND_ISR].values(response, frame) or {}, frame)


@pytest.mark.parametrize("tagged", range(3))
def test_tagged_fields_of_a_partition_in_a_response_are_passed_over(tagged: int) -> None:
    entries = [b"\x02w" + PARTITION_ERROR.pack(number, ErrorCode.KAFKA_STORAGE_ERROR) + b"\0" for number in range(3)]
    entries[tagged] = entries[tagged][:-1] + b"\x01\x09\x01x"
    answer = b"\0\0\0\7\0" + b"\0\0\x04" + b"".join(entries) + b"\0"
    errors = {TopicPartition("w", number): ErrorCode.KAFKA_STORAGE_ERROR for number in range(3)}
    request = made(LeaderAndIsrRequest, 1, 1, 1, {}, ())
    assert decode_answer(answer, request) == (7, LeaderAndIsrResponse(ErrorCode.NONE, errors))


def test_an_error_that_is_not_known_is_an_unknown_server_error() -> None:
    assert error_of(12_345) is ErrorCode.UNKNOWN_SERVER_ERROR


# --- other versions --------------------------------------------------------------------------------------------------------

TP = TopicPartition("orders", 3)
STATE = made(PartitionState, made(LeaderAndIsr, None, 5, (2, 3), 6), 7)
SENDER = {"controller_id": 1, "controller_epoch": 8, "broker_epoch": 9}


def received(api_key: int, version: int, **values: Any) -> Any:
    """Return the broker's request in a message of this version."""
    message = message_of(load_request_schema(api_key, version), {**SENDER, **values})
    return request_of(decode_request(encode_request(message, 7, "1"), packed=PACKED_REQUESTS))


def epoch_of(version: int, first: int) -> int:
    """Return the broker epoch that arrives. Args: first: the first version that has one."""
    return 9 if version >= first else UNKNOWN_BROKER_EPOCH


def partition_values(values: dict[str, Any]) -> dict[str, Any]:
    """Return the arrays of partitions of all versions."""
    return {
        "ungrouped_partition_states": [{"topic_name": TP.topic, **values}],
        "topic_states": [{"topic_name": TP.topic, "topic_id": None, "partition_states": [values]}],
    }


@pytest.mark.parametrize("version", APIS[LEADER_AND_ISR].versions)
def test_leader_and_isr_is_read_in_every_version(version: int) -> None:
    sent = made(LeaderAndIsrPartitionState, STATE, made(ReplicaAssignment, (2, 3, 4), (4,), (2,)), True)
    leaders = [{"broker_id": 2, "host_name": "b2", "port": 9092}]
    request = received(
        LEADER_AND_ISR, version, type_=0, live_leaders=leaders, **partition_values(led_values(TP.partition, sent))
    )
    changes = ((4,), (2,)) if version >= 3 else ((), ())
    expected = made(LeaderAndIsrPartitionState, STATE, made(ReplicaAssignment, (2, 3, 4), *changes), version >= 1)
    assert request == made(
        LeaderAndIsrRequest,
        1,
        8,
        epoch_of(version, 2),
        {TP: expected},
        (made(LiveLeader, 2, "b2", 9092),),
        {} if version >= 5 else None,
    )


@pytest.mark.parametrize("version", APIS[UPDATE_METADATA].versions)
def test_update_metadata_is_read_in_every_version(version: int) -> None:
    sent = made(UpdateMetadataPartitionState, STATE, (2, 3, 4), (4,))
    broker = made(UpdateMetadataBroker, 2, (Endpoint("INTERNAL", "SSL", "b2", 9093),), "east")
    first = {**broker_values(broker), "v0_host": "b2", "v0_port": 9093}
    request = received(
        UPDATE_METADATA, version, live_brokers=[first], **partition_values(metadata_values(TP.partition, sent))
    )
    names = ("PLAINTEXT", "PLAINTEXT") if version == 0 else ("SSL", "SSL") if version < 3 else ("INTERNAL", "SSL")
    expected = made(UpdateMetadataBroker, 2, (Endpoint(*names, "b2", 9093),), "east" if version >= 2 else None)
    state = made(UpdateMetadataPartitionState, STATE, (2, 3, 4), (4,) if version >= 4 else ())
    ids: dict[str, str] | None = {} if version >= 7 else None
    assert request == made(UpdateMetadataRequest, 1, 8, epoch_of(version, 5), {TP: state}, (expected,), ids)


@pytest.mark.parametrize("version", APIS[STOP_REPLICA].versions)
def test_stop_replica_is_read_in_every_version(version: int) -> None:
    one = {"partition_index": TP.partition, "leader_epoch": 5, "delete_partition": True}
    request = received(
        STOP_REPLICA,
        version,
        delete_partitions=True,
        ungrouped_partitions=[{"topic_name": TP.topic, "partition_index": TP.partition}],
        topics=[{"name": TP.topic, "partition_indexes": [TP.partition]}],
        topic_states=[{"topic_name": TP.topic, "partition_states": [one]}],
    )
    state = made(StopReplicaPartitionState, 5 if version >= 3 else -1, True)
    assert request == made(StopReplicaRequest, 1, 8, epoch_of(version, 1), {TP: state})


@pytest.mark.parametrize("version", APIS[CONTROLLED_SHUTDOWN].versions)
def test_controlled_shutdown_is_read_in_every_version(version: int) -> None:
    request = received(CONTROLLED_SHUTDOWN, version, broker_id=4)
    assert request == made(ControlledShutdownRequest, 4, epoch_of(version, 2))


@pytest.mark.parametrize("version", APIS[UPDATE_METADATA].versions[1:])
def test_a_security_protocol_that_is_not_known_is_malformed(version: int) -> None:
    endpoint = {"port": 1, "host": "b2", "listener": "L", "security_protocol": 9}
    with pytest.raises(MalformedFrameError, match="9 is no security protocol"):
        received(
            UPDATE_METADATA,
            version,
            ungrouped_partition_states=[],
            topic_states=[],
            live_brokers=[{"id_": 2, "rack": None, "endpoints": [endpoint]}],
        )


# --- damaged ---------------------------------------------------------------------------------------------------------------


@given(leader_and_isr_requests | update_metadata_requests, st.data())
def test_a_damaged_packed_request_is_read_or_refused(
    request: LeaderAndIsrRequest | UpdateMetadataRequest, data: st.DataObject
) -> None:
    damaged = bytearray(RequestEncoder("1").encode(request, 7))
    header = 12
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(header, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(header, len(damaged)))
    for frame in (bytes(damaged), bytes(damaged[:end])):
        with suppress(MalformedFrameError):
            request_of(decode_request(frame, packed=PACKED_REQUESTS))


@given(answered, st.data())
def test_a_damaged_response_is_read_or_refused(exchange: tuple[Any, Any], data: st.DataObject) -> None:
    request, response = exchange
    answer = response_frame(response, decode_request(RequestEncoder("1").encode(request, 7)))
    assert answer is not None
    damaged = bytearray(answer)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    for frame in (bytes(damaged), bytes(damaged[: data.draw(st.integers(0, len(damaged)))])):
        with suppress(MalformedFrameError):
            decode_answer(frame, request)
