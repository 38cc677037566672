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
    sender = (BrokerId(1), ControllerEpoch(1), BrokerEpoch(1))
    leader_and_isr, update_metadata = LeaderAndIsrRequest(*sender, {}, ()), UpdateMetadataRequest(*sender, {}, ())
    requests = (leader_and_isr, StopReplicaRequest, update_metadata, ControlledShutdownRequest)
    assert [(request.api_key, request.version) for request in requests] == [(4, 4), (5, 3), (6, 6), (7, 3)]


def test_requests_with_topic_ids_have_the_versions_of_protocol_2_8() -> None:
    sender = (BrokerId(1), ControllerEpoch(1), BrokerEpoch(1))
    assert LeaderAndIsrRequest(*sender, {}, (), {}).version == 5
    assert UpdateMetadataRequest(*sender, {}, (), {}).version == 7
