"""Requests and responses of admin clients as Kafka's clients and brokers exchanged them."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from kcsim.brokers.admin.change_requests import (
    AlterConfigsResource,
    AlterConfigsResponse,
    AlterPartitionReassignmentsResponse,
    CreatableTopicResult,
    CreatePartitionsResponse,
    CreateTopicsResponse,
    DeletableTopic,
    DeletedRecords,
    DeleteRecordsResponse,
    DeleteTopicsResponse,
    ElectLeadersResponse,
)
from kcsim.brokers.admin.config_definitions import ConfigType
from kcsim.brokers.admin.requests import ConfigEntry, ConfigSource, ConfigSynonym
from kcsim.brokers.wire.apis.registry import request_of
from kcsim.brokers.wire.frames import decode_request, decode_response
from kcsim.controller.requests import ApiError, ErrorCode
from kcsim.vocabulary import TopicPartition
from tests.brokers.admin.requests_of_admin_clients import (
    ALTER_CONFIGS,
    ALTER_PARTITION_REASSIGNMENTS,
    CREATE_PARTITIONS,
    CREATE_TOPICS,
    DELETE_RECORDS,
    DELETE_TOPICS,
    ELECT_LEADERS,
    INCREMENTAL_ALTER_CONFIGS,
)
from tests.brokers.wire.plain_messages import plain
from tests.brokers.wire.recorded_frames import Exchange, recorded_exchanges
from tests.brokers.wire.response_frames import response_frame

Plain = Mapping[str, Any]


def outcome(result: Plain) -> ApiError:
    return ApiError(ErrorCode[result["error_code"].upper()], result.get("error_message"))


def created(response: Plain) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        tuple(
            CreatableTopicResult(
                one["name"],
                outcome(one),
                one.get("num_partitions", -1),
                one.get("replication_factor", -1),
                tuple(map(entry, one.get("configs", ()))),
            )
            for one in response["topics"]
        )
    )


def entry(config: Plain) -> ConfigEntry:
    synonym = ConfigSynonym(config["name"], config["value"], ConfigSource(config["config_source"]))
    return ConfigEntry(config["name"], config["value"], ConfigType.STRING, config["read_only"], (synonym,))


def deleted(response: Plain) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(tuple((DeletableTopic(one["name"]), outcome(one)) for one in response["responses"]))


def grown(response: Plain) -> CreatePartitionsResponse:
    return CreatePartitionsResponse({one["name"]: outcome(one) for one in response["results"]})


def altered(response: Plain) -> AlterConfigsResponse:
    return AlterConfigsResponse(
        {AlterConfigsResource(one["resource_type"], one["resource_name"]): outcome(one) for one in response["responses"]}
    )


def removed(response: Plain) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        {
            TopicPartition(topic["name"], one["partition_index"]): DeletedRecords(outcome(one).error, one["low_watermark"])
            for topic in response["topics"]
            for one in topic["partitions"]
        }
    )


def reassigned(response: Plain) -> AlterPartitionReassignmentsResponse:
    results = {
        TopicPartition(topic["name"], one["partition_index"]): outcome(one)
        for topic in response["responses"]
        for one in topic["partitions"]
    }
    return AlterPartitionReassignmentsResponse(outcome(response), results)


def elected(response: Plain) -> ElectLeadersResponse:
    return ElectLeadersResponse(
        {
            TopicPartition(topic["topic"], one["partition_id"]): outcome(one)
            for topic in response["replica_election_results"]
            for one in topic["partition_result"]
        }
    )


READERS: Mapping[int, Callable[[Plain], Any]] = {
    CREATE_TOPICS: created,
    DELETE_TOPICS: deleted,
    CREATE_PARTITIONS: grown,
    ALTER_CONFIGS: altered,
    INCREMENTAL_ALTER_CONFIGS: altered,
    DELETE_RECORDS: removed,
    ALTER_PARTITION_REASSIGNMENTS: reassigned,
    ELECT_LEADERS: elected,
}
"""By API: from a response, as plain values, to the broker's response that it was made of."""
RECORDED = [one for one in recorded_exchanges() if one.api_key in READERS]


@pytest.mark.parametrize("exchange", RECORDED, ids=lambda one: f"{one.api_key} v{one.version} {one.client}")
def test_what_kafka_answered_is_answered_again(exchange: Exchange) -> None:
    """All fields but the ids of topics are equal. The order of topics and partitions is no part of the protocol."""
    assert exchange.response is not None
    frame = decode_request(exchange.request)
    assert request_of(frame)
    _, message = decode_response(exchange.response, exchange.api_key, exchange.version)
    kafkas = without_ids(plain(message))
    answer = response_frame(READERS[exchange.api_key](kafkas), frame)
    assert answer is not None
    assert len(answer) == len(exchange.response)
    assert without_ids(plain(decode_response(answer, exchange.api_key, exchange.version)[1])) == kafkas


def without_ids(answer: Any) -> Any:
    """Return an answer without the ids of topics, in order of names."""
    if isinstance(answer, dict):
        return {name: without_ids(value) for name, value in answer.items() if name != "topic_id"}
    return sorted(map(without_ids, answer), key=repr) if isinstance(answer, list) else answer


def test_every_api_was_recorded() -> None:
    assert {one.api_key for one in RECORDED} == set(READERS)
