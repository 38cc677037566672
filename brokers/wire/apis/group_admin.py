"""What administrators ask about groups: which there are, who their members are; and to delete groups.

Source: Kafka 2.8, KafkaApis.handleDescribeGroupRequest, handleListGroupsRequest, handleDeleteGroupsRequest;
docs/kafka/consumer_groups.md 12.
"""

from collections.abc import Mapping

from kcsim.brokers.groups.admin_requests import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribedMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)
from kcsim.brokers.groups.consumer_protocol import assignment_bytes, subscription_bytes
from kcsim.brokers.wire.apis.api import Api, Values
from kcsim.brokers.wire.apis.metadata import NOT_ASKED_FOR
from kcsim.brokers.wire.frames import RequestFrame
from kcsim.controller.requests import ErrorCode

DESCRIBE_GROUPS, LIST_GROUPS, DELETE_GROUPS = 15, 16, 42
READ, DELETE, DESCRIBE = 3, 6, 8
ALL_OPERATIONS = 1 << READ | 1 << DELETE | 1 << DESCRIBE
"""What may be done with a group, to a client that has asked: without an authorizer, everything."""


def _describe_request(frame: RequestFrame) -> DescribeGroupsRequest:
    return DescribeGroupsRequest(tuple(frame.message.groups))


def _describe_values(response: DescribeGroupsResponse, frame: RequestFrame) -> Values:
    has_asked = getattr(frame.message, "include_authorized_operations", False)
    return {"throttle_time": 0, "groups": [_described(group, has_asked) for group in response.groups]}


def _described(group: DescribedGroup, has_asked: bool) -> Values:
    is_known = group.error is ErrorCode.NONE
    return {
        "error_code": group.error,
        "group_id": group.group_id,
        "group_state": group.state,
        "protocol_type": group.protocol_type,
        "protocol_data": group.protocol,
        "members": [_member(member) for member in group.members],
        "authorized_operations": ALL_OPERATIONS if has_asked and is_known else NOT_ASKED_FOR,
    }


def _member(member: DescribedMember) -> Values:
    return {
        "member_id": member.member_id,
        "group_instance_id": member.instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "member_metadata": b"" if member.subscription is None else subscription_bytes(member.subscription),
        "member_assignment": b"" if member.assignment is None else assignment_bytes(member.assignment),
    }


def _list_request(frame: RequestFrame) -> ListGroupsRequest:
    return ListGroupsRequest(frozenset(getattr(frame.message, "states_filter", ())))


def _list_values(response: ListGroupsResponse, _: RequestFrame) -> Values:
    return {
        "throttle_time": 0,
        "error_code": response.error,
        "groups": [
            {"group_id": group.group_id, "protocol_type": group.protocol_type, "group_state": group.state}
            for group in response.groups
        ],
    }


def _delete_request(frame: RequestFrame) -> DeleteGroupsRequest:
    return DeleteGroupsRequest(tuple(dict.fromkeys(frame.message.groups_names)))


def _delete_values(response: DeleteGroupsResponse, _: RequestFrame) -> Values:
    results = [{"group_id": group_id, "error_code": error} for group_id, error in response.errors.items()]
    return {"throttle_time": 0, "results": results}


APIS: Mapping[int, Api] = {
    DESCRIBE_GROUPS: Api(range(6), _describe_request, _describe_values),
    LIST_GROUPS: Api(range(5), _list_request, _list_values),
    DELETE_GROUPS: Api(range(3), _delete_request, _delete_values),
}
