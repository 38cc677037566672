"""A consumer's place in its group: finding the coordinator, joining, syncing, heartbeats, leaving, offsets.

Only the requests to the coordinator and the meaning of its responses are here; consumer.py deals with the partitions.
Source: Kafka 2.8, AbstractCoordinator; docs/kafka/consumer_groups.md 10, 11.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kcsim.brokers.clients.clients import UNREACHABLE, ClusterClient
from kcsim.brokers.clients.consumer_config import ConsumerSpec
from kcsim.brokers.groups.consumer_protocol import ConsumerProtocolError, assignment_of
from kcsim.brokers.groups.requests import (
    NO_GENERATION,
    NO_MEMBER_ID,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Subscription,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import BrokerId, TopicPartition

Protocols = tuple[tuple[str, Subscription], ...]
Assignments = Mapping[str, tuple[TopicPartition, ...]]
Assign = Callable[[JoinGroupResponse], Awaitable[tuple[Assignments, int]]]
"""The leader's computation: returns the members' partitions, and the seq of the event that reports them."""

JOIN_EXTRA_MS = 5_000
"""How much longer than the rebalance time-out a member waits for the response to its join."""
GROUP, HEARTBEAT = "group", "heartbeat"
"""The channels to the coordinator: a heartbeat does not wait for a commit."""

ELSEWHERE = frozenset({ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR})
FORGOTTEN = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})
FATAL = frozenset(
    {
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
        ErrorCode.INVALID_SESSION_TIMEOUT,
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        ErrorCode.INVALID_GROUP_ID,
    }
)


class FatalGroupError(Exception):
    """The consumer can no longer be a member of the group, and ends."""

    def __init__(self, error: ErrorCode) -> None:
        super().__init__(error.name)
        self.error = error


@dataclass(frozen=True, slots=True)
class Joined:
    """The member's assignment in a generation. `cause`: the event at the coordinator, if it is known."""

    assignment: tuple[TopicPartition, ...]
    cause: int


class GroupMembership:
    """The membership of one consumer.

    Attributes:
        member_id: NO_MEMBER_ID before the first join, and after the coordinator has forgotten the member.
        generation: NO_GENERATION while the member is in none.
        is_leader: whether it computed the assignment of this generation.
        is_stable: whether it is in a generation and has its assignment.
        must_rejoin: whether it has to join, or to join again.
        may_retry_at_once: whether a join failed because the group has moved on, so that no back-off is needed.
    """

    def __init__(self, client: ClusterClient, spec: ConsumerSpec) -> None:
        self.member_id = NO_MEMBER_ID
        self.generation = NO_GENERATION
        self.is_leader = False
        self.is_stable = False
        self.must_rejoin = True
        self.may_retry_at_once = False
        self._client = client
        self._spec = spec
        self._coordinator: BrokerId | None = None

    # --- the coordinator

    async def _send(self, request: Any, cause: int, channel: str = GROUP, timeout_ms: int | None = None) -> Any:
        """Send a request to the coordinator, finding it first if needed; None if it is unknown or cannot be reached."""
        try:
            coordinator = await self._find(cause)
            if coordinator is None:
                return None
            return await self._client.send_to(coordinator, request, cause, channel, timeout_ms)
        except UNREACHABLE:
            self._coordinator = None
            return None

    async def _find(self, cause: int) -> BrokerId | None:
        if self._coordinator is None:
            request = FindCoordinatorRequest(self._spec.group_id)
            found: FindCoordinatorResponse = await self._client.any_broker(request, cause)
            if found.node is not None and (self._client.metadata is None or found.node not in self._client.metadata.brokers):
                await self._client.refresh(cause)
            self._coordinator = found.node
        return self._coordinator

    def _heed(self, error: ErrorCode) -> None:
        """Apply an error of the coordinator to the membership. Raises: FatalGroupError."""
        if error in FATAL:
            raise FatalGroupError(error)
        if error in ELSEWHERE:
            self._coordinator = None
        self.may_retry_at_once = error in FORGOTTEN or error is ErrorCode.REBALANCE_IN_PROGRESS
        if error in FORGOTTEN:
            self.reset()

    def reset(self) -> None:
        """Become a non-member: the coordinator no longer knows this member."""
        self.member_id, self.generation = NO_MEMBER_ID, NO_GENERATION
        self.is_leader = self.is_stable = False
        self.must_rejoin = True

    # --- a generation

    async def join(self, protocols: Protocols, assign: Assign, cause: int) -> Joined | None:
        """Join and get an assignment; None if that failed and has to be tried again after a back-off.

        Raises: FatalGroupError.
        """
        self.is_stable = self.may_retry_at_once = False
        config = self._spec.config
        request = JoinGroupRequest(
            self._spec.group_id,
            config.session_timeout_ms,
            config.max_poll_interval_ms,
            self.member_id,
            protocols,
            self._spec.node,
            self._spec.instance_id,
        )
        timeout_ms = max(config.request_timeout_ms, config.max_poll_interval_ms + JOIN_EXTRA_MS)
        joined: JoinGroupResponse | None = await self._send(request, cause, timeout_ms=timeout_ms)
        if joined is None:
            return None
        joined = replace(joined, cause=joined.cause or cause)
        if joined.error is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = joined.member_id
            return await self.join(protocols, assign, cause)
        if joined.error is not ErrorCode.NONE:
            self._heed(joined.error)
            return None
        self.member_id, self.generation = joined.member_id, joined.generation
        self.is_leader = joined.leader == joined.member_id
        self.must_rejoin = False
        assignments, known = await assign(joined) if self.is_leader else ({}, joined.cause)
        sync = SyncGroupRequest(
            self._spec.group_id,
            self.generation,
            self.member_id,
            self._spec.instance_id,
            assignments,
            protocol_type=joined.protocol_type,
            protocol=joined.protocol,
        )
        return await self._sync(sync, known)

    async def _sync(self, request: SyncGroupRequest, cause: int) -> Joined | None:
        synced: SyncGroupResponse | None = await self._send(request, cause)
        if synced is None or synced.error is not ErrorCode.NONE:
            self.must_rejoin = True
            if synced is not None:
                self._heed(synced.error)
            return None
        self.is_stable = True
        try:
            return Joined(assignment_of(synced.assignment), synced.cause or cause)
        except ConsumerProtocolError as error:
            raise FatalGroupError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL) from error

    async def heartbeat(self, cause: int) -> int | None:
        """Send a heartbeat. Return the event that requires the member to rejoin, or None; `must_rejoin` is set as well.

        Raises: FatalGroupError.
        """
        generation = self.generation
        request = HeartbeatRequest(self._spec.group_id, generation, self.member_id, self._spec.instance_id)
        answer: HeartbeatResponse | None = await self._send(request, cause, HEARTBEAT)
        if answer is None or answer.error is ErrorCode.NONE or generation != self.generation or not self.is_stable:
            return None
        self._heed(answer.error)
        if answer.error is ErrorCode.REBALANCE_IN_PROGRESS:
            self.must_rejoin = True
        return (answer.cause or cause) if self.must_rejoin else None

    async def leave(self, cause: int) -> None:
        """Leave the group; the coordinator is sent a request if it knows this member and the member is dynamic."""
        if self._spec.instance_id is None and self.member_id != NO_MEMBER_ID and self._coordinator is not None:
            await self._send(LeaveGroupRequest(self._spec.group_id, self.member_id), cause)
        self.reset()

    # --- offsets

    async def commit(self, offsets: Mapping[TopicPartition, int], cause: int) -> bool:
        """Commit offsets. Return True if the coordinator stored them. Raises: FatalGroupError."""
        spec = self._spec
        request = OffsetCommitRequest(spec.group_id, offsets, self.generation, self.member_id, spec.instance_id)
        answer: OffsetCommitResponse | None = await self._send(request, cause)
        if answer is None:
            return False
        self._heed(answer.error)
        return answer.error is ErrorCode.NONE and not answer.partition_errors

    async def committed(self, partitions: tuple[TopicPartition, ...], cause: int) -> Mapping[TopicPartition, int] | None:
        """Return the committed offsets of those partitions that have one; None if not answered. Raises: FatalGroupError."""
        request = OffsetFetchRequest(self._spec.group_id, partitions)
        answer: OffsetFetchResponse | None = await self._send(request, cause)
        if answer is None:
            return None
        self._heed(answer.error)
        return answer.offsets if answer.error is ErrorCode.NONE else None
