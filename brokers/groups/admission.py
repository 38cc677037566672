"""Whom a coordinator lets join, sync, send heartbeats and commit. Pure.

Source: Kafka 2.8, GroupCoordinator; reference consumer_groups.md 10.1, 10.3, 10.4.
"""

from collections.abc import Collection

from kcsim.brokers.groups.group_metadata import GroupMetadata, GroupState
from kcsim.brokers.groups.requests import NO_MEMBER_ID, JoinGroupRequest
from kcsim.controller.requests import ErrorCode

_S = GroupState


def join_refusal(group: GroupMetadata, request: JoinGroupRequest, max_size: int, waiting: Collection[str]) -> ErrorCode:
    """Why somebody may not join; NONE if it may.

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
    return stranger_error(group, request.member_id, request.instance_id)


def _has_room(group: GroupMetadata, member_id: str, max_size: int, waiting: Collection[str]) -> bool:
    if group.is_in(_S.PREPARING_REBALANCE):
        return member_id in waiting or len(waiting) < max_size
    if group.is_in(_S.EMPTY, _S.DEAD):
        return True
    return member_id in group.members or len(group.members) < max_size


def stranger_error(group: GroupMetadata, member_id: str, instance_id: str | None) -> ErrorCode:
    """Whether somebody who says to be a member is none (UNKNOWN_MEMBER_ID), or none any more (FENCED_INSTANCE_ID)."""
    if instance_id is not None and group.static_members.get(instance_id, member_id) != member_id:
        return ErrorCode.FENCED_INSTANCE_ID
    is_known = member_id in group.members and (instance_id is None or instance_id in group.static_members)
    return ErrorCode.NONE if is_known else ErrorCode.UNKNOWN_MEMBER_ID


def member_error(group: GroupMetadata, member_id: str, instance_id: str | None, generation: int) -> ErrorCode:
    """Why somebody does not speak for a member of this generation; NONE if it does."""
    if group.is_in(_S.DEAD):
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    error = stranger_error(group, member_id, instance_id)
    if error is ErrorCode.NONE and generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    return error
