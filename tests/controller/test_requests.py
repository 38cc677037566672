"""The numbers of Kafka's protocol. Source: docs/kafka/requests.md 1."""

from kio.schema.errors import ErrorCode as KafkaErrorCode

from kcsim.controller.requests import (
    ControlledShutdownRequest,
    ErrorCode,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from kcsim.vocabulary import BrokerEpoch, BrokerId, ControllerEpoch


def test_the_error_codes_are_kafkas() -> None:
    """kio generates its list from that of Kafka."""
    assert {error.name.lower(): error.value for error in ErrorCode}.items() <= {
        e.name: e.value for e in KafkaErrorCode
    }.items()


def test_requests_have_kafkas_keys_and_the_versions_of_protocol_2_6() -> None:
    requests = (StopReplicaRequest, UpdateMetadataRequest, ControlledShutdownRequest)
    assert [(request.api_key, request.version) for request in requests] == [(5, 3), (6, 6), (7, 3)]
    leader_and_isr = LeaderAndIsrRequest(BrokerId(1), ControllerEpoch(1), BrokerEpoch(1), {}, ())
    assert (leader_and_isr.api_key, leader_and_isr.version) == (4, 4)


def test_leader_and_isr_with_topic_ids_has_the_version_of_protocol_2_8() -> None:
    assert LeaderAndIsrRequest(BrokerId(1), ControllerEpoch(1), BrokerEpoch(1), {}, (), {}).version == 5
