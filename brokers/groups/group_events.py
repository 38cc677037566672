"""The events that a coordinator appends to the event log about its groups."""

from collections.abc import Sequence

from kcsim.brokers.groups.consumer_protocol import ConsumerProtocolError, assignment_of
from kcsim.brokers.groups.group_metadata import GroupMetadata, MemberMetadata
from kcsim.brokers.groups.requests import CONSUMER_PROTOCOL_TYPE
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.sink import EventSink
from kcsim.vocabulary import TopicPartition


class GroupEvents:
    """Each method appends one event and returns its seq."""

    def __init__(self, sink: EventSink) -> None:
        self._sink = sink

    def joined(self, group: GroupMetadata, member: MemberMetadata, cause: int) -> int:
        """Append that a member is new in the group, or that a static member has come back under another id."""
        static = f" (static member {member.instance_id})" if member.instance_id is not None else ""
        return self._sink.emit(
            EventKind.GROUP_MEMBER_JOINED,
            cause,
            group=group.group_id,
            member=member.member_id,
            count=len(group.members),
            state=group.state.value,
            detail=f"{member.member_id}{static} is in group {group.group_id}",
        )

    def removed(self, group: GroupMetadata, member: MemberMetadata, why: str, cause: int) -> int:
        return self._sink.emit(
            EventKind.GROUP_MEMBER_REMOVED,
            cause,
            group=group.group_id,
            member=member.member_id,
            generation=group.generation,
            count=len(group.members),
            rule=why,
            detail=f"{member.member_id} {why}",
        )

    def rebalance(self, group: GroupMetadata, reason: str, cause: int) -> int:
        return self._sink.emit(
            EventKind.GROUP_REBALANCE,
            cause,
            group=group.group_id,
            generation=group.generation,
            count=len(group.members),
            state=group.state.value,
            rule=reason,
        )

    def generation(self, group: GroupMetadata, cause: int) -> int:
        return self._sink.emit(
            EventKind.GROUP_GENERATION,
            cause,
            group=group.group_id,
            generation=group.generation,
            member=group.leader_or_no_member_id,
            count=len(group.members),
            state=group.state.value,
            rule=group.protocol or "no member is left",
        )

    def stable(self, group: GroupMetadata, cause: int) -> int:
        return self._sink.emit(
            EventKind.GROUP_STABLE,
            cause,
            group=group.group_id,
            generation=group.generation,
            count=_assigned_partitions(group),
            detail=f"group {group.group_id}, generation {group.generation}: {len(group.members)} members are assigned",
        )

    def committed(self, group: GroupMetadata, member_id: str, count: int, detail: str, cause: int) -> int:
        return self._sink.emit(
            EventKind.OFFSETS_COMMITTED, cause, group=group.group_id, member=member_id, count=count, detail=detail
        )

    def offsets_deleted(self, group: GroupMetadata, partitions: Sequence[TopicPartition], cause: int) -> int:
        """Append that offsets were deleted; with the group, if it is dead now."""
        return self._sink.emit(
            EventKind.OFFSETS_DELETED,
            cause,
            group=group.group_id,
            count=len(partitions),
            state=group.state.value,
            detail=", ".join(map(str, partitions)),
        )


def _assigned_partitions(group: GroupMetadata) -> int:
    """Return how many partitions the members are assigned. Members that are no consumers have none."""
    return sum(map(_partition_count, group.members.values())) if group.protocol_type == CONSUMER_PROTOCOL_TYPE else 0


def _partition_count(member: MemberMetadata) -> int:
    try:
        return len(assignment_of(member.assignment))
    except ConsumerProtocolError:
        return 0
