"""All APIs that clients and other brokers are served, and ApiVersions, which names them.

Source: Kafka 2.8, ApiVersionsResponse; docs/kafka/requests.md 14.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode as KafkaErrorCode

from kcsim.brokers.requests import ApiVersionsRequest, ApiVersionsResponse
from kcsim.brokers.wire.apis import (
    cluster,
    config_changes,
    controller_requests,
    describe_configs,
    group_admin,
    group_offsets,
    groups,
    leader_changes,
    metadata,
    offsets,
    producer_ids,
    record_deletions,
    records,
    state_changes,
    topics,
)
from kcsim.brokers.wire.apis.api import Api, Values
from kcsim.brokers.wire.apis.controller_requests import ALLOCATE_PRODUCER_IDS
from kcsim.brokers.wire.frames import API_VERSIONS, RequestFrame, encode_response, encode_response_header
from kcsim.brokers.wire.message_building import message_of
from kcsim.brokers.wire.packed_requests import pack_leader_and_isr_response, pack_leader_and_isr_response_by_id
from kcsim.controller.capabilities import Release, is_known_to
from kcsim.controller.requests import ErrorCode, LeaderAndIsrRequest, LeaderAndIsrResponse


def is_served(api_key: int, version: int, release: Release | None = None) -> bool:
    """Return whether a broker of this release serves this version of an API. Args: release: None: the newest."""
    if api_key not in APIS:
        return False
    since = APIS[api_key].of_newer_brokers.get(version)
    return version in APIS[api_key].versions or (since is not None and (release is None or is_known_to(since, release)))


def name_of_request(frame: bytes) -> str:
    """Return the name that the request in a frame has in the event log, such as Produce."""
    return _name(int.from_bytes(frame[:2], "big"))


@cache
def _name(api_key: int) -> str:
    if api_key not in APIS:
        return "a request"
    name = load_request_schema(api_key, APIS[api_key].versions[-1]).__name__.removesuffix("Request")
    return {"OffsetForLeaderEpoch": "OffsetsForLeaderEpoch", "AlterPartition": "AlterIsr"}.get(name, name)  # as in Kafka 2.8


def request_of(frame: RequestFrame) -> Any:
    """Return the broker's request in a frame whose version is served. Raises: MalformedFrameError, AnsweredRequestError."""
    return APIS[frame.api_key].request(frame)


def response_values(response: Any, frame: RequestFrame) -> Values | None:
    """Return the fields of the broker's response to the request in a frame; None: the client expects no answer.

    Raises: ConnectionRefusedByApiError.
    """
    return APIS[frame.api_key].values(response, frame)


def packed_response(response: Any, frame: RequestFrame) -> bytes | None:
    """Return the frame of a response that is packed without kio, because it may be large; None: it is not packed."""
    request = frame.message
    if not isinstance(response, LeaderAndIsrResponse) or not isinstance(request, LeaderAndIsrRequest):
        return None
    header = encode_response_header(frame.api_key, frame.version, frame.correlation_id)
    if request.topic_ids is None:
        return header + pack_leader_and_isr_response(response)
    return header + pack_leader_and_isr_response_by_id(response, request.topic_ids)


def answer_frame(values: Values, frame: RequestFrame) -> bytes:
    """Return the frame with these fields as the response to the request in a frame."""
    schema = load_response_schema(frame.api_key, frame.version)
    return encode_response(message_of(schema, values), frame.correlation_id)


def refusal_of_api_versions(correlation_id: int) -> bytes:
    """Return the response to an ApiVersions request whose version is not known: in version 0, it names those that are."""
    versions = _listed({API_VERSIONS: APIS[API_VERSIONS]})
    values = {"error_code": KafkaErrorCode.unsupported_version, "api_keys": versions}
    return encode_response(message_of(load_response_schema(API_VERSIONS, 0), values), correlation_id)


def _listed(apis: Mapping[int, Api]) -> list[Values]:
    return [
        {"api_key": key, "min_version": api.first_named, "max_version": api.versions[-1]}
        for key, api in sorted(apis.items())
    ]


def _api_versions_request(_: RequestFrame) -> ApiVersionsRequest:
    return ApiVersionsRequest()


def _api_versions_values(response: ApiVersionsResponse, frame: RequestFrame) -> Values:
    apis = dict(APIS)
    if not response.names_allocate_producer_ids:  # Kafka has it from 3.0 on
        del apis[ALLOCATE_PRODUCER_IDS]
    return {
        "error_code": ErrorCode.NONE,
        "api_keys": _listed(apis),
        "throttle_time": 0,
        "finalized_features_epoch": response.finalized_features_epoch,
    }


APIS: Mapping[int, Api] = {
    API_VERSIONS: Api(range(4), _api_versions_request, _api_versions_values),
    **metadata.APIS,
    **offsets.APIS,
    **producer_ids.APIS,
    **records.APIS,
    **cluster.APIS,
    **describe_configs.APIS,
    **groups.APIS,
    **group_offsets.APIS,
    **group_admin.APIS,
    **topics.APIS,
    **config_changes.APIS,
    **record_deletions.APIS,
    **leader_changes.APIS,
    **state_changes.APIS,
    **controller_requests.APIS,
}
"""All APIs that are served, by their keys."""
