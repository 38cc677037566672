"""What the controller asks of brokers: LeaderAndIsr, UpdateMetadata, StopReplica.

A controller of Kafka 3.4 and later says, too, whether it is one of KRaft, and whether a leader recovers from an unclean
election: neither is looked at here.

Source: Kafka 2.8, LeaderAndIsrRequest, UpdateMetadataRequest, StopReplicaRequest; docs/kafka/requests.md 1.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from kcsim.brokers.wire.apis.api import Api, Values
from kcsim.brokers.wire.frames import RequestFrame
from kcsim.brokers.wire.packed_reading import security_protocol
from kcsim.brokers.wire.packed_requests import SECURITY_PROTOCOLS
from kcsim.controller.decisions.state_change_requests import LEADER_AND_ISR_WITH_IDS, UPDATE_METADATA_WITH_IDS
from kcsim.controller.decisions.topic_ids import topic_id_of
from kcsim.controller.requests import (
    NO_LEADER_EPOCH,
    UNKNOWN_BROKER_EPOCH,
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
from kcsim.vocabulary import (
    NO_LEADER,
    Endpoint,
    LeaderAndIsr,
    PartitionState,
    ReplicaAssignment,
    TopicPartition,
)

LEADER_AND_ISR, STOP_REPLICA, UPDATE_METADATA = 4, 5, 6


def _leader_and_isr_request(frame: RequestFrame) -> LeaderAndIsrRequest:
    message = frame.message
    if isinstance(message, LeaderAndIsrRequest):
        return message
    return LeaderAndIsrRequest(
        message.controller_id,
        message.controller_epoch,
        _broker_epoch(message),
        {
            tp: LeaderAndIsrPartitionState(
                _state(one, one.partition_epoch),
                ReplicaAssignment(one.replicas, getattr(one, "adding_replicas", ()), getattr(one, "removing_replicas", ())),
                getattr(one, "is_new", False),
            )
            for tp, one in _partitions(message)
        },
        tuple(LiveLeader(leader.broker_id, leader.host_name, leader.port) for leader in message.live_leaders),
        _topic_ids(message) if frame.version >= LEADER_AND_ISR_WITH_IDS else None,
    )


def _leader_and_isr_values(response: LeaderAndIsrResponse, frame: RequestFrame) -> Values:
    errors = response.partition_errors
    if frame.version < LEADER_AND_ISR_WITH_IDS:
        return {"error_code": response.error, "partition_errors": list(_partition_errors(errors))}
    ids = {topic.topic_name: topic.topic_id for topic in frame.message.topic_states}
    return {
        "error_code": response.error,
        "topics": [
            {"topic_id": ids[topic], "partition_errors": list(_partition_errors(dict(items)))}
            for topic, items in groupby(errors.items(), key=lambda item: item[0].topic)
        ],
    }


def _update_metadata_request(frame: RequestFrame) -> UpdateMetadataRequest:
    message = frame.message
    if isinstance(message, UpdateMetadataRequest):
        return message
    return UpdateMetadataRequest(
        message.controller_id,
        message.controller_epoch,
        _broker_epoch(message),
        {
            tp: UpdateMetadataPartitionState(_state(one, one.zk_version), one.replicas, getattr(one, "offline_replicas", ()))
            for tp, one in _partitions(message)
        },
        tuple(
            UpdateMetadataBroker(one.id_, tuple(_endpoints(one)), getattr(one, "rack", None)) for one in message.live_brokers
        ),
        _topic_ids(message) if frame.version >= UPDATE_METADATA_WITH_IDS else None,
    )


def _update_metadata_values(response: UpdateMetadataResponse, _: RequestFrame) -> Values:
    return {"error_code": response.error}


def _stop_replica_request(frame: RequestFrame) -> StopReplicaRequest:
    message = frame.message
    return StopReplicaRequest(
        message.controller_id, message.controller_epoch, _broker_epoch(message), dict(_stopped(frame.version, message))
    )


def _stopped(version: int, message: Any) -> Iterator[tuple[TopicPartition, StopReplicaPartitionState]]:
    """Yield the partitions of a StopReplica request. Before version 3, all are deleted or none, and no epoch is known."""
    if version >= 3:
        for topic in message.topic_states:
            for one in topic.partition_states:
                state = StopReplicaPartitionState(one.leader_epoch, one.delete_partition)
                yield TopicPartition(topic.topic_name, one.partition_index), state
        return
    state = StopReplicaPartitionState(NO_LEADER_EPOCH, message.delete_partitions)
    if version == 0:
        for one in message.ungrouped_partitions:
            yield TopicPartition(one.topic_name, one.partition_index), state
    else:
        for topic in message.topics:
            for number in topic.partition_indexes:
                yield TopicPartition(topic.name, number), state


def _stop_replica_values(response: StopReplicaResponse, _: RequestFrame) -> Values:
    return {"error_code": response.error, "partition_errors": list(_partition_errors(response.partition_errors))}


# --- parts of the messages -------------------------------------------------------------------------------------------------


def _broker_epoch(message: Any) -> Any:
    return getattr(message, "broker_epoch", UNKNOWN_BROKER_EPOCH)


def _topic_ids(message: Any) -> Mapping[str, str]:
    return {topic.topic_name: topic_id_of(topic.topic_id.bytes) for topic in message.topic_states if topic.topic_id}


def _partitions(message: Any) -> Iterator[tuple[TopicPartition, Any]]:
    """Yield the partitions of a message: grouped by topic, but for the oldest versions."""
    if hasattr(message, "ungrouped_partition_states"):
        for one in message.ungrouped_partition_states:
            yield TopicPartition(one.topic_name, one.partition_index), one
        return
    for topic in message.topic_states:
        for one in topic.partition_states:
            yield TopicPartition(topic.topic_name, one.partition_index), one


def _state(one: Any, zk_version: Any) -> PartitionState:
    leader = None if one.leader == NO_LEADER else one.leader
    leader_and_isr = LeaderAndIsr(leader, one.leader_epoch, one.isr, zk_version)
    return PartitionState(leader_and_isr, one.controller_epoch)


def _endpoints(broker: Any) -> Iterable[Endpoint]:
    """Yield a broker's endpoints. Where a version does not name the listener, its name is that of the protocol."""
    if hasattr(broker, "v0_host"):
        yield Endpoint(SECURITY_PROTOCOLS[0], SECURITY_PROTOCOLS[0], broker.v0_host, broker.v0_port)
        return
    for one in broker.endpoints:
        protocol = security_protocol(one.security_protocol)
        yield Endpoint(getattr(one, "listener", protocol), protocol, one.host, one.port)


def _partition_errors(errors: Mapping[TopicPartition, ErrorCode]) -> Iterator[Values]:
    for tp, error in errors.items():
        yield {"topic_name": tp.topic, "partition_index": tp.partition, "error_code": error}


APIS: Mapping[int, Api] = {
    LEADER_AND_ISR: Api(range(6), _leader_and_isr_request, _leader_and_isr_values, of_newer_brokers={6: "3.2", 7: "3.4"}),
    STOP_REPLICA: Api(range(4), _stop_replica_request, _stop_replica_values, of_newer_brokers={4: "3.4"}),
    UPDATE_METADATA: Api(range(8), _update_metadata_request, _update_metadata_values, of_newer_brokers={8: "3.4"}),
}
