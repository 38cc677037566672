"""One group at its coordinator: which requests wait, and what happens when a member joins, falls silent, leaves or is late.

Requests are parked here until the end of a join phase, or until the leader's assignment arrives. Each request changes the
group immediately, without awaiting anything; only the write of the group's record is awaited.

Source: Kafka 2.8, GroupCoordinator, DelayedJoin, InitialDelayedJoin and DelayedHeartbeat; docs/kafka/consumer_groups.md 10.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.groups.admission import commit_refusal, join_refusal, member_error, membership_error, sync_refusal
from kcsim.brokers.groups.group_events import GroupEvents
from kcsim.brokers.groups.group_metadata import GroupMetadata, GroupRecord, GroupState, MemberMetadata
from kcsim.brokers.groups.requests import (
    NO_MEMBER_ID,
    AssignmentData,
    HeartbeatResponse,
    JoinedMember,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kcsim.brokers.groups.sessions import MemberSessions
from kcsim.controller.requests import ErrorCode
from kcsim.runtime.ports import Promise, Runtime
from kcsim.zk.memory.timetable import Timetable

FIRST_JOIN_PARKED_AT_MOST_MS = 5 * 60 * 1_000
"""How long a new member's first join may wait. After that, the client is assumed to have given up (KAFKA-7610)."""

_S = GroupState
Store = Callable[[GroupRecord, int], Awaitable[ErrorCode]]


@dataclass(slots=True)
class _Phase:
    """The join phase in progress. An alarm that finds that another phase has replaced its own does nothing.

    Attributes:
        is_first: the group was empty before: it is unknown which members are still to come, so the phase does not end early.
        left_ms: how much longer a first phase may be extended.
        has_new: a member has joined since the phase was last extended.
    """

    is_first: bool
    left_ms: int = 0
    has_new: bool = False


@dataclass(frozen=True, slots=True)
class CoordinatorServices:
    """What a coordinator offers to each of its groups.

    Attributes:
        new_member_id: client id -> a member id that was never used before.
    """

    runtime: Runtime
    timetable: Timetable
    events: GroupEvents
    config: BrokerConfig
    new_member_id: Callable[[str], str]


class CoordinatedGroup:
    """A group, from its first request or from its loading until this broker no longer coordinates it.

    Args:
        store: stores a record in __consumer_offsets, on all in-sync replicas.
        cause: the event by which this broker became the group's coordinator.
    """

    def __init__(self, metadata: GroupMetadata, services: CoordinatorServices, store: Store, cause: int) -> None:
        self.metadata = metadata
        self._runtime = services.runtime
        self._timetable = services.timetable
        self._events = services.events
        self._store = store
        self._new_member_id = services.new_member_id
        self._initial_delay_ms = services.config.group_initial_rebalance_delay_ms
        self._max_size = services.config.group_max_size
        self._phase: _Phase | None = None
        self._joins: dict[str, Promise[JoinGroupResponse]] = {}
        self._syncs: dict[str, Promise[SyncGroupResponse]] = {}
        self._new: dict[str, None] = {}  # members whose first join is parked
        self._last_group_event = cause  # the last event about the whole group: the cause of the responses to its members
        self._sessions = MemberSessions(services.timetable, self._on_session_end)
        for member_id in metadata.members:
            self._renew(member_id, cause)

    # --- join

    async def join(self, request: JoinGroupRequest, cause: int) -> JoinGroupResponse:
        """Add a member to the join phase and wait for its end, or answer at once if the member need not wait."""
        answer = self._join(request, cause)
        self._complete_if_all_joined(cause)
        if isinstance(answer, JoinGroupResponse):
            return answer
        return await answer.wait()

    def _join(self, request: JoinGroupRequest, cause: int) -> "JoinGroupResponse | Promise[JoinGroupResponse]":
        group = self.metadata
        refusal = join_refusal(group, request, self._max_size, self._joins)
        if refusal is not ErrorCode.NONE:
            member_id = NO_MEMBER_ID if refusal is ErrorCode.GROUP_MAX_SIZE_REACHED else request.member_id
            return JoinGroupResponse(refusal, member_id)
        if request.member_id == NO_MEMBER_ID:
            return self._join_without_id(request, cause)
        if request.member_id in group.pending:
            return self._add(request, request.member_id, cause)
        return self._rejoin(request, group.members[request.member_id], cause)

    def _join_without_id(self, request: JoinGroupRequest, cause: int) -> "JoinGroupResponse | Promise[JoinGroupResponse]":
        member_id = self._new_member_id(request.instance_id or request.client_id)
        if request.instance_id is None and request.is_id_required:
            self.metadata.pending[member_id] = None
            self._sessions.renew(member_id, request.session_timeout_ms, cause)
            return JoinGroupResponse(ErrorCode.MEMBER_ID_REQUIRED, member_id)
        if request.instance_id is not None and request.instance_id in self.metadata.static_members:
            return self._return_of_static(request, request.instance_id, member_id, cause)
        return self._add(request, member_id, cause)

    def _add(self, request: JoinGroupRequest, member_id: str, cause: int) -> "Promise[JoinGroupResponse]":
        member = MemberMetadata(
            member_id,
            request.instance_id,
            request.session_timeout_ms,
            request.rebalance_timeout_ms,
            request.protocols,
            client_id=request.client_id,
            client_host=request.client_host,
        )
        self.metadata.add(member, request.protocol_type)
        seq = self._events.joined(self.metadata, member, cause)
        if self._phase is not None and self.metadata.generation == 0:
            self._phase.has_new = True
        self._new[member_id] = None
        self._sessions.renew(member_id, FIRST_JOIN_PARKED_AT_MOST_MS, seq)
        return self._park_join(member, request, f"member {member_id} joined", seq)

    def _rejoin(
        self, request: JoinGroupRequest, member: MemberMetadata, cause: int
    ) -> "JoinGroupResponse | Promise[JoinGroupResponse]":
        group, is_leader = self.metadata, member.member_id == self.metadata.leader
        is_same = member.protocols == request.protocols
        if group.is_in(_S.COMPLETING_REBALANCE) and is_same:
            self._renew(member.member_id, cause)
            return self._joined(member.member_id)
        if group.is_in(_S.STABLE) and is_same and not is_leader:
            self._renew(member.member_id, cause)
            return self._joined(member.member_id)
        why = "changed its subscription" if not is_same else "leads and rejoined"
        return self._park_join(member, request, f"member {member.member_id} {why}", cause)

    def _park_join(
        self, member: MemberMetadata, request: JoinGroupRequest, reason: str, cause: int
    ) -> "Promise[JoinGroupResponse]":
        member.protocols = request.protocols
        member.session_timeout_ms, member.rebalance_timeout_ms = request.session_timeout_ms, request.rebalance_timeout_ms
        parked = self._joins[member.member_id] = self._runtime.promise()
        self._prepare_rebalance(reason, cause)
        return parked

    # --- static members

    def _return_of_static(
        self, request: JoinGroupRequest, instance_id: str, member_id: str, cause: int
    ) -> "JoinGroupResponse | Promise[JoinGroupResponse]":
        """Give a returning static member its new id. In a stable group this does not cause a rebalance."""
        group, leader = self.metadata, self.metadata.leader_or_no_member_id
        self._fence(group.static_members[instance_id])
        member = group.replace_static(instance_id, member_id)
        seq = self._events.joined(group, member, cause)
        self._sessions.renew(member_id, request.session_timeout_ms, cause)
        if group.is_in(_S.STABLE):
            member.protocols = request.protocols
            member.session_timeout_ms = request.session_timeout_ms
            member.rebalance_timeout_ms = request.rebalance_timeout_ms
            if group.selected_protocol() == group.protocol:
                self._runtime.spawn("store-group", self._store_return(seq))
                # The former leader id: a returning leader must not conclude that it has to compute the assignment.
                return self._described_to(member_id, leader, ())
        return self._park_join(member, request, f"static member {instance_id} came back", seq)

    def _fence(self, member_id: str) -> None:
        """Fence a member id that is no longer valid: requests that wait under this id get FENCED_INSTANCE_ID."""
        if member_id in self._joins:
            self._joins.pop(member_id).resolve(JoinGroupResponse(ErrorCode.FENCED_INSTANCE_ID, member_id))
        if member_id in self._syncs:
            self._syncs.pop(member_id).resolve(SyncGroupResponse(ErrorCode.FENCED_INSTANCE_ID))
        self._sessions.forget(member_id)
        self._new.pop(member_id, None)

    async def _store_return(self, cause: int) -> None:
        await self._store(self.metadata.snapshot(), cause)

    # --- the join phase

    def _prepare_rebalance(self, reason: str, cause: int) -> None:
        """Begin a join phase unless one is in progress."""
        group = self.metadata
        if group.is_in(_S.PREPARING_REBALANCE, _S.DEAD):
            return
        if group.is_in(_S.COMPLETING_REBALANCE):
            self._forget_assignment(ErrorCode.REBALANCE_IN_PROGRESS, cause)
        is_first = group.is_in(_S.EMPTY)
        group.transition_to(_S.PREPARING_REBALANCE)
        seq = self._last_group_event = self._events.rebalance(group, reason, cause)
        delay_ms = group.rebalance_timeout_ms
        self._phase = phase = _Phase(is_first)
        if is_first:
            phase.left_ms = max(delay_ms - self._initial_delay_ms, 0)
            delay_ms = self._initial_delay_ms
        self._alarm(delay_ms, phase, seq)

    def _alarm(self, delay_ms: int, phase: _Phase, cause: int) -> None:
        self._timetable.at(self._runtime.now_ms() + delay_ms, self._on_phase_alarm, phase, cause)

    def _on_phase_alarm(self, phase: _Phase, cause: int) -> None:
        if phase is not self._phase:
            return
        if phase.is_first and phase.has_new and phase.left_ms:
            delay_ms = min(self._initial_delay_ms, phase.left_ms)
            phase.has_new, phase.left_ms = False, phase.left_ms - delay_ms
            self._alarm(delay_ms, phase, cause)
            return
        self._complete_join(cause)

    def _complete_if_all_joined(self, cause: int) -> None:
        group = self.metadata
        is_open = self._phase is not None and not self._phase.is_first and group.is_in(_S.PREPARING_REBALANCE)
        if is_open and not group.pending and group.members.keys() == self._joins.keys():
            self._complete_join(cause)

    def _complete_join(self, cause: int) -> None:
        """End the phase: remove the dynamic members that have not rejoined, and begin a generation with the others."""
        group = self.metadata
        for member in list(group.members.values()):
            if member.member_id not in self._joins and member.instance_id is None:
                cause = self._drop(member.member_id, "did not rejoin in time", cause)
        if group.members and not self._joins:
            # Only static members are left, and none of them has rejoined yet.
            self._phase = phase = _Phase(is_first=False)
            self._alarm(group.rebalance_timeout_ms, phase, cause)
            return
        self._phase = None
        group.choose_leader(self._joins)
        group.next_generation()
        seq = self._last_group_event = self._events.generation(group, self._last_group_event)
        if group.is_in(_S.EMPTY):
            self._runtime.spawn("store-group", self._store_return(seq))
            return
        for member_id, parked in self._take_joins().items():
            self._new.pop(member_id, None)
            self._renew(member_id, seq)
            parked.resolve(self._joined(member_id))

    def _take_joins(self) -> "dict[str, Promise[JoinGroupResponse]]":
        joins, self._joins = self._joins, {}
        return joins

    def _joined(self, member_id: str) -> JoinGroupResponse:
        group, leader = self.metadata, self.metadata.leader_or_no_member_id
        members = group.members_for_leader() if member_id == leader and not group.is_in(_S.STABLE) else ()
        return self._described_to(member_id, leader, members)

    def _described_to(self, member_id: str, leader: str, members: tuple[JoinedMember, ...]) -> JoinGroupResponse:
        """Return the response that describes the present generation to a member."""
        group = self.metadata
        return JoinGroupResponse(
            ErrorCode.NONE,
            member_id,
            group.generation,
            group.protocol,
            leader,
            members,
            self._last_group_event,
            group.protocol_type,
        )

    # --- sync

    async def sync(self, request: SyncGroupRequest, cause: int) -> SyncGroupResponse:
        """Return a member's assignment, once the leader has sent it."""
        group = self.metadata
        refusal = sync_refusal(group, request)
        if refusal is not ErrorCode.NONE:
            return SyncGroupResponse(refusal)
        self._renew(request.member_id, cause)
        if group.is_in(_S.STABLE):
            return self._assigned(group.members[request.member_id].assignment)
        parked = self._syncs[request.member_id] = self._runtime.promise()
        if request.member_id == group.leader:
            self._runtime.spawn("store-assignment", self._keep_assignment(request, cause))
        answer: SyncGroupResponse = await parked.wait()
        return answer

    def _assigned(self, assignment: AssignmentData) -> SyncGroupResponse:
        group = self.metadata
        return SyncGroupResponse(ErrorCode.NONE, assignment, self._last_group_event, group.protocol_type, group.protocol)

    async def _keep_assignment(self, request: SyncGroupRequest, cause: int) -> None:
        group = self.metadata
        generation = group.generation
        error = await self._store(group.snapshot(request.assignments, request.not_assigned), cause)
        # If a member has joined or left meanwhile, this assignment is obsolete.
        if not group.is_in(_S.COMPLETING_REBALANCE) or group.generation != generation:
            return
        if error is not ErrorCode.NONE:
            self._forget_assignment(error, cause)
            self._prepare_rebalance(f"the assignment could not be stored: {error.name}", cause)
            return
        group.take_assignment(request.assignments, request.not_assigned)
        group.transition_to(_S.STABLE)
        seq = self._last_group_event = self._events.stable(group, cause)
        syncs, self._syncs = self._syncs, {}
        for member_id, parked in syncs.items():
            self._renew(member_id, seq)
            parked.resolve(self._assigned(group.members[member_id].assignment))

    def _forget_assignment(self, error: ErrorCode, cause: int) -> None:
        self.metadata.take_assignment({})
        syncs, self._syncs = self._syncs, {}
        for member_id, parked in syncs.items():
            self._renew(member_id, cause)
            parked.resolve(SyncGroupResponse(error))

    # --- heartbeat, leave, commit

    def heartbeat(self, member_id: str, instance_id: str | None, generation: int, cause: int) -> HeartbeatResponse:
        """Renew a session, and return whether the member has to join again."""
        error = member_error(self.metadata, member_id, instance_id, generation)
        if error is ErrorCode.NONE:
            self._renew(member_id, cause)
            error = ErrorCode.REBALANCE_IN_PROGRESS if self.metadata.is_in(_S.PREPARING_REBALANCE) else error
        return HeartbeatResponse(error, self._last_group_event)

    def may_commit(self, member_id: str, instance_id: str | None, generation: int, cause: int) -> ErrorCode:
        """Return NONE if a member, or a client outside of a group that has no members, may commit offsets now."""
        refusal = commit_refusal(self.metadata, member_id, instance_id, generation)
        if member_id in self.metadata.members and refusal in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
            self._renew(member_id, cause)
        return refusal

    def leave(self, member_id: str, instance_id: str | None, cause: int) -> ErrorCode:
        """Remove a member at once; a static member by its instance id."""
        group = self.metadata
        if group.is_in(_S.DEAD):
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if member_id in group.pending:
            self._forget_pending(member_id, cause)
            return ErrorCode.NONE
        if member_id == NO_MEMBER_ID and instance_id is not None:
            member_id = group.static_members.get(instance_id, NO_MEMBER_ID)
        error = membership_error(group, member_id, instance_id)
        if error is ErrorCode.NONE:
            self._remove(member_id, "left", cause)
        return error

    # --- sessions

    def _renew(self, member_id: str, cause: int) -> None:
        """Renew a member's session."""
        self._sessions.renew(member_id, self.metadata.members[member_id].session_timeout_ms, cause)

    def _on_session_end(self, member_id: str, cause: int) -> None:
        if member_id in self.metadata.pending:
            self._forget_pending(member_id, cause)
        elif not self._is_parked(member_id):  # else its session is renewed when the parked request is answered
            self._remove(member_id, "sent no heartbeat within its session time-out", cause)

    def _forget_pending(self, member_id: str, cause: int) -> None:
        del self.metadata.pending[member_id]
        self._sessions.forget(member_id)
        self._complete_if_all_joined(cause)

    def _is_parked(self, member_id: str) -> bool:
        return member_id in self._syncs or (member_id in self._joins and member_id not in self._new)

    def _remove(self, member_id: str, why: str, cause: int) -> None:
        seq = self._drop(member_id, why, cause)
        if self.metadata.is_in(_S.STABLE, _S.COMPLETING_REBALANCE):
            self._prepare_rebalance(f"member {member_id} {why}", seq)
        self._complete_if_all_joined(seq)

    def _drop(self, member_id: str, why: str, cause: int) -> int:
        member = self.metadata.remove(member_id)
        assert member is not None, f"{member_id} is no member of {self.metadata.group_id}"
        self._sessions.forget(member_id)
        self._new.pop(member_id, None)
        if member_id in self._joins:
            self._joins.pop(member_id).resolve(JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID))
        if member_id in self._syncs:
            self._syncs.pop(member_id).resolve(SyncGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID))
        return self._events.removed(self.metadata, member, why, cause)

    def retire(self) -> None:
        """Answer all waiting members with NOT_COORDINATOR: another broker coordinates the group from now on."""
        self.metadata.transition_to(_S.DEAD)
        self._phase = None
        self._sessions.clear()
        for member_id, join in self._take_joins().items():
            join.resolve(JoinGroupResponse(ErrorCode.NOT_COORDINATOR, member_id))
        syncs, self._syncs = self._syncs, {}
        for sync in syncs.values():
            sync.resolve(SyncGroupResponse(ErrorCode.NOT_COORDINATOR))
