"""What members ask the coordinator of their group: to find it, to join, sync, stay in the group, and leave.

Source: Kafka 2.8, KafkaApis.handleFindCoordinatorRequest, handleJoinGroupRequest, handleSyncGroupRequest,
handleHeartbeatRequest, handleLeaveGroupRequest; docs/kafka/consumer_groups.md 10.
"""

from collections.abc import Mapping

from kcsim.brokers.groups.consumer_protocol import assignment_bytes, subscription_bytes
from kcsim.brokers.groups.requests import (
    CoordinatorKind,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupMembersRequest,
    LeaveGroupMembersResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kcsim.brokers.wire.apis.api import AnsweredRequestError, Api, Values, milliseconds
from kcsim.brokers.wire.frames import RequestFrame
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import NO_LEADER

FIND_COORDINATOR, JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP = range(10, 15)
NO_PORT = -1
MESSAGES = {
    ErrorCode.NONE: "NONE",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.INVALID_REQUEST: (
        "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
        "incompatible broker. See the broker logs for more details."
    ),
}
"""The texts that accompany the errors of FindCoordinator."""
FIRST_VERSION_THAT_REQUIRES_IDS = 4
FIRST_VERSION_WITHOUT_A_PROTOCOL = 7
"""From here on JoinGroup can say that there is no protocol: before, its name is empty."""
FIRST_VERSION_THAT_NAMES_ITS_PROTOCOL = 5
"""From here on SyncGroup must name protocol type and protocol."""
FIRST_VERSION_WITH_MEMBERS = 3


def _find_request(frame: RequestFrame) -> FindCoordinatorRequest:
    kind = getattr(frame.message, "key_type", CoordinatorKind.GROUP)
    if kind not in set(CoordinatorKind):
        raise AnsweredRequestError(_find_values(FindCoordinatorResponse(ErrorCode.INVALID_REQUEST), frame))
    return FindCoordinatorRequest(frame.message.key, CoordinatorKind(kind))


def _find_values(response: FindCoordinatorResponse, _: RequestFrame) -> Values:
    endpoint = response.endpoint
    return {
        "throttle_time": 0,
        "error_code": response.error,
        "error_message": MESSAGES.get(response.error, response.error.name),
        "node_id": NO_LEADER if response.node is None else response.node,
        "host": "" if endpoint is None else endpoint.host,
        "port": NO_PORT if endpoint is None else endpoint.port,
    }


def _join_request(frame: RequestFrame) -> JoinGroupRequest:
    message = frame.message
    return JoinGroupRequest(
        message.group_id,
        milliseconds(message.session_timeout),
        milliseconds(getattr(message, "rebalance_timeout", message.session_timeout)),
        message.member_id,
        tuple((one.name, one.metadata) for one in message.protocols),
        frame.client_id or "",
        _instance_id(message),
        message.protocol_type,
        "/" + frame.client.rpartition(":")[0],
        frame.version >= FIRST_VERSION_THAT_REQUIRES_IDS,
    )


def _instance_id(message: object) -> str | None:
    return getattr(message, "group_instance_id", None)


def _join_values(response: JoinGroupResponse, frame: RequestFrame) -> Values:
    no_protocol = None if frame.version >= FIRST_VERSION_WITHOUT_A_PROTOCOL else ""
    return {
        "throttle_time": 0,
        "error_code": response.error,
        "generation_id": response.generation,
        "protocol_type": response.protocol_type,
        "protocol_name": no_protocol if response.protocol is None else response.protocol,
        "leader": response.leader,
        "member_id": response.member_id,
        "members": [
            {
                "member_id": member.member_id,
                "group_instance_id": member.instance_id,
                "metadata": subscription_bytes(member.subscription),
            }
            for member in response.members
        ],
    }


def _sync_request(frame: RequestFrame) -> SyncGroupRequest:
    message = frame.message
    protocol_type, protocol = getattr(message, "protocol_type", None), getattr(message, "protocol_name", None)
    if frame.version >= FIRST_VERSION_THAT_NAMES_ITS_PROTOCOL and (protocol_type is None or protocol is None):
        raise AnsweredRequestError(_sync_values(SyncGroupResponse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL), frame))
    return SyncGroupRequest(
        message.group_id,
        message.generation_id,
        message.member_id,
        _instance_id(message),
        {one.member_id: one.assignment for one in message.assignments},
        b"",
        protocol_type,
        protocol,
    )


def _sync_values(response: SyncGroupResponse, _: RequestFrame) -> Values:
    return {
        "throttle_time": 0,
        "error_code": response.error,
        "protocol_type": response.protocol_type,
        "protocol_name": response.protocol,
        "assignment": assignment_bytes(response.assignment) if response.error is ErrorCode.NONE else b"",
    }


def _heartbeat_request(frame: RequestFrame) -> HeartbeatRequest:
    message = frame.message
    return HeartbeatRequest(message.group_id, message.generation_id, message.member_id, _instance_id(message))


def _heartbeat_values(response: HeartbeatResponse, _: RequestFrame) -> Values:
    return {"throttle_time": 0, "error_code": response.error}


def _leave_request(frame: RequestFrame) -> LeaveGroupRequest | LeaveGroupMembersRequest:
    message = frame.message
    if frame.version < FIRST_VERSION_WITH_MEMBERS:
        return LeaveGroupRequest(message.group_id, message.member_id)
    members = tuple(MemberIdentity(one.member_id, one.group_instance_id) for one in message.members)
    return LeaveGroupMembersRequest(message.group_id, members)


def _leave_values(response: LeaveGroupResponse | LeaveGroupMembersResponse, _: RequestFrame) -> Values:
    members = response.members if isinstance(response, LeaveGroupMembersResponse) else ()
    return {
        "throttle_time": 0,
        "error_code": response.error,
        "members": [
            {"member_id": member.member_id, "group_instance_id": member.instance_id, "error_code": error}
            for member, error in members
        ],
    }


APIS: Mapping[int, Api] = {
    FIND_COORDINATOR: Api(range(4), _find_request, _find_values),
    JOIN_GROUP: Api(range(8), _join_request, _join_values),
    HEARTBEAT: Api(range(5), _heartbeat_request, _heartbeat_values),
    LEAVE_GROUP: Api(range(5), _leave_request, _leave_values),
    SYNC_GROUP: Api(range(6), _sync_request, _sync_values),
}
