"""Requests of administrators about consumer groups, and their responses. Only clients over TCP send them.

Left out: throttle times. Source: Kafka 2.8, DescribeGroups 5, ListGroups 4, DeleteGroups 2, OffsetDelete 0;
docs/kafka/consumer_groups.md 12.
"""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from kcsim.brokers.groups.requests import AssignmentData, SubscriptionData
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import TopicPartition


class DescribeGroupsRequest(msgspec.Struct, frozen=True):
    groups: tuple[str, ...]


class DescribedMember(NamedTuple):
    """A member of a group. Subscription and assignment are None unless the group is stable."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    subscription: SubscriptionData | None = None
    assignment: AssignmentData | None = None


class DescribedGroup(NamedTuple):
    """A group, or the error why this broker cannot describe it. Texts are empty where nothing is known."""

    error: ErrorCode
    group_id: str
    state: str = ""
    protocol_type: str = ""
    protocol: str = ""
    members: tuple[DescribedMember, ...] = ()


class DescribeGroupsResponse(msgspec.Struct, frozen=True):
    """The groups in the order of the request."""

    groups: tuple[DescribedGroup, ...]


class ListGroupsRequest(msgspec.Struct, frozen=True):
    """A request for the groups that a broker coordinates. `states`: only those in one of these states; empty: all."""

    states: frozenset[str] = frozenset()


class ListedGroup(NamedTuple):
    group_id: str
    protocol_type: str
    state: str


class ListGroupsResponse(msgspec.Struct, frozen=True):
    """The groups of this broker; with COORDINATOR_LOAD_IN_PROGRESS, those that it has loaded so far."""

    error: ErrorCode
    groups: tuple[ListedGroup, ...] = ()


class DeleteGroupsRequest(msgspec.Struct, frozen=True):
    groups: tuple[str, ...]


class DeleteGroupsResponse(msgspec.Struct, frozen=True):
    """One error per group of the request."""

    errors: Mapping[str, ErrorCode]


class OffsetDeleteRequest(msgspec.Struct, frozen=True):
    """A request to delete a group's offsets of some partitions."""

    group_id: str
    partitions: tuple[TopicPartition, ...]


class OffsetDeleteResponse(msgspec.Struct, frozen=True):
    """One error per partition of the request; none if the whole request was refused."""

    error: ErrorCode
    partition_errors: Mapping[TopicPartition, ErrorCode] = msgspec.field(default_factory=dict)


GroupAdminRequest = DescribeGroupsRequest | ListGroupsRequest | DeleteGroupsRequest | OffsetDeleteRequest
GroupAdminResponse = DescribeGroupsResponse | ListGroupsResponse | DeleteGroupsResponse | OffsetDeleteResponse
