"""The checks that decide which members may join, sync, send heartbeats and commit. Pure functions.

Source: Kafka 2.8, GroupCoordinator; docs/kafka/consumer_groups.md 10.1, 10.3, 10.4.
"""

from collections.abc import Collection

from kcsim.brokers.groups.group_metadata import GroupMetadata, GroupState
from kcsim.brokers.groups.requests import NO_MEMBER_ID, JoinGroupRequest, SyncGroupRequest
from kcsim.controller.requests import ErrorCode

_S = GroupState


def join_refusal(group: GroupMetadata, request: JoinGroupRequest, max_size: int, waiting: Collection[str]) -> ErrorCode:
    """Return the error with which a join is refused, or NONE if the member may join.

    Args:
        max_size: group.max.size.
        waiting: members whose join is parked.
    """
    if not _has_room(group, request.member_id, max_size, waiting):
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    if group.is_in(_S.DEAD):
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if not group.supports(request.protocol_type, [name for name, _ in request.protocols]):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if request.member_id == NO_MEMBER_ID or request.member_id in group.pending:
        return ErrorCode.NONE
    error = membership_error(group, request.member_id, request.instance_id)
    is_unknown = request.instance_id is not None and request.instance_id not in group.static_members
    return ErrorCode.UNKNOWN_MEMBER_ID if is_unknown else error


def _has_room(group: GroupMetadata, member_id: str, max_size: int, waiting: Collection[str]) -> bool:
    if group.is_in(_S.PREPARING_REBALANCE):
        return member_id in waiting or len(waiting) < max_size
    if group.is_in(_S.EMPTY, _S.DEAD):
        return True
    return member_id in group.members or len(group.members) < max_size


def membership_error(group: GroupMetadata, member_id: str, instance_id: str | None) -> ErrorCode:
    """Return UNKNOWN_MEMBER_ID for an unknown member, FENCED_INSTANCE_ID for a replaced static member, or NONE."""
    if instance_id is not None and group.static_members.get(instance_id, member_id) != member_id:
        return ErrorCode.FENCED_INSTANCE_ID
    return ErrorCode.NONE if member_id in group.members else ErrorCode.UNKNOWN_MEMBER_ID


def member_error(group: GroupMetadata, member_id: str, instance_id: str | None, generation: int) -> ErrorCode:
    """Return the error of a request that is not from a member of this generation, or NONE."""
    if group.is_in(_S.DEAD):
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    error = membership_error(group, member_id, instance_id)
    if error is ErrorCode.NONE and generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    return error


def sync_refusal(group: GroupMetadata, request: SyncGroupRequest) -> ErrorCode:
    """Return the error with which a sync is refused, or NONE."""
    error = member_error(group, request.member_id, request.instance_id, request.generation)
    if error is not ErrorCode.NONE:
        return error
    if request.protocol_type not in (None, group.protocol_type) or request.protocol not in (None, group.protocol):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return ErrorCode.REBALANCE_IN_PROGRESS if group.is_in(_S.PREPARING_REBALANCE) else ErrorCode.NONE


def commit_refusal(group: GroupMetadata, member_id: str, instance_id: str | None, generation: int) -> ErrorCode:
    """Return the error with which a commit is refused, or NONE.

    A client outside of the group, which gives no generation, may commit while the group is empty.
    """
    if group.is_in(_S.EMPTY) and generation < 0:
        return ErrorCode.NONE
    error = member_error(group, member_id, instance_id, generation)
    if error is ErrorCode.NONE and group.is_in(_S.COMPLETING_REBALANCE):
        return ErrorCode.REBALANCE_IN_PROGRESS
    return error
