"""What administrators learn about a group, and what of it they may delete. Pure functions.

Source: Kafka 2.8, GroupMetadata.summary and overview, GroupCoordinator.handleDeleteGroups and handleDeleteOffsets;
docs/kafka/consumer_groups.md 12.
"""

from kcsim.brokers.groups.admin_requests import DescribedGroup, DescribedMember, ListedGroup
from kcsim.brokers.groups.consumer_protocol import ConsumerProtocolError, subscription_of
from kcsim.brokers.groups.group_metadata import GroupMetadata, GroupState, MemberMetadata
from kcsim.brokers.groups.requests import CONSUMER_PROTOCOL_TYPE
from kcsim.controller.requests import ErrorCode


def described(group: GroupMetadata) -> DescribedGroup:
    """Describe a group; assignor, subscriptions and assignments only if it is stable."""
    protocol = group.protocol if group.is_in(GroupState.STABLE) else None
    members = tuple(_described_member(member, protocol) for member in group.members.values())
    state = group.state.value
    return DescribedGroup(ErrorCode.NONE, group.group_id, state, group.protocol_type or "", protocol or "", members)


def _described_member(member: MemberMetadata, protocol: str | None) -> DescribedMember:
    of_client = DescribedMember(member.member_id, member.instance_id, member.client_id, member.client_host)
    if protocol is None:
        return of_client
    return of_client._replace(subscription=member.subscription(protocol), assignment=member.assignment)


def described_as_dead(group_id: str) -> DescribedGroup:
    """Describe a group that does not exist."""
    return DescribedGroup(ErrorCode.NONE, group_id, GroupState.DEAD.value)


def listed(group: GroupMetadata) -> ListedGroup:
    return ListedGroup(group.group_id, group.protocol_type or "", group.state.value)


def deletion_refusal(group: GroupMetadata) -> ErrorCode:
    """Return NONE if the group may be deleted: it must have no members."""
    return ErrorCode.NONE if group.is_in(GroupState.EMPTY) else ErrorCode.NON_EMPTY_GROUP


def offset_deletion_refusal(group: GroupMetadata) -> ErrorCode:
    """Return NONE if some offsets of the group may be deleted: all of an empty one, only some of one of consumers."""
    may_be_deleted = group.is_in(GroupState.EMPTY) or group.protocol_type == CONSUMER_PROTOCOL_TYPE
    return ErrorCode.NONE if may_be_deleted else ErrorCode.NON_EMPTY_GROUP


def is_subscribed(group: GroupMetadata, topic: str) -> bool:
    """Return whether a member is subscribed to a topic, or may be: before the first generation nobody knows it.

    Args:
        group: of consumers.
    """
    if not group.members:
        return False
    if group.protocol is None:
        return True
    try:
        subscriptions = (member.subscription(group.protocol) for member in group.members.values())
        return any(topic in subscription_of(one, group.protocol).topics for one in subscriptions)
    except (ConsumerProtocolError, KeyError):
        return True
