"""The replay of one partition of a recorded history: when the controller decided is read; what it decided is computed anew.

Taken as facts: that a decision was made, by which controller and of which kind; that the state znode was written (its
version); what others wrote there. Everything else is computed with the controller's decisions: from the state as folded so
far, the brokers as that controller knew them, and the assignment as that controller knew it. The recorded outcome is only
compared with the computed one. Where the two differ, that is a Mismatch, and the fold continues with the content of the
znode. Exception: a history that was imported without the controller's decisions, whose recorded outcomes are accepted.

A controller decides on what it has read since it began the state change that the decision is a part of. Where a leader
changed the ISR meanwhile, or an administrator a topic's settings, the decision may be based on the earlier values. It is no
mismatch if any of the values between the beginning of the state change and the decision leads to it.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping

from kcsim import znodes
from kcsim.controller.decisions.election import PartitionLeaderElectionStrategy
from kcsim.eventlog.events import ZNODE_CHANGES, EventKind
from kcsim.scenarios.analysis.folding.controller_action import ControllerView
from kcsim.scenarios.analysis.folding.controller_assignment_view import (
    ControllerAssignmentView,
    assignment_of,
    describe_assignment,
)
from kcsim.scenarios.analysis.folding.decision_cache import (
    NEW_PARTITION,
    STRATEGY_OF_RULE,
    could_be_unclean,
    elect,
    remove_from_isr,
    strategy_of,
)
from kcsim.scenarios.analysis.folding.mismatch import Mismatch
from kcsim.scenarios.analysis.folding.partition_state import UNASSIGNED, PartitionKey, StateZnode, TransitionLog
from kcsim.scenarios.analysis.folding.replay_fact import ReplayFact
from kcsim.scenarios.analysis.folding.replay_state import PendingDecision, ReplayState
from kcsim.scenarios.analysis.folding.timeline import NO_VIEW, Timeline
from kcsim.scenarios.analysis.folding.timeline_builder import OF_BROKERS
from kcsim.scenarios.analysis.folding.transition import Transition
from kcsim.scenarios.analysis.folding.trigger import Trigger
from kcsim.vocabulary import NO_LEADER, ZkVersion
from kcsim.znodes import BadZnodeError

VERSIONS_REMEMBERED = 8
TRIGGERS_SAVED = 64
"""A decision follows from a recent event of the partition, so that a saved state holds the triggers of the latest only."""
LEADER_ELECTION = EventKind.LEADER_ELECTION.value
ISR_EXPANDED, ISR_SHRUNK = EventKind.ISR_EXPANDED.value, EventKind.ISR_SHRUNK.value
ZNODE_CHANGED = EventKind.ZNODE_CHANGED.value
NO_STORED_STATE = StateZnode(None, -1, (), 0, -1)


class VerifyingReplay:
    """Give it the partition's facts with `take_in`, in order of `seq`, then call `finish`.

    Attributes:
        mismatches: the mismatches found since `take_mismatches` was called last.
    """

    def __init__(self, key: PartitionKey, timeline: Timeline) -> None:
        self.key = key
        self.mismatches: list[Mismatch] = []
        self._log = TransitionLog(key, is_derived=False)
        self._timeline = timeline
        self._topic = timeline.topic_timeline(key.topic)
        self._assignment_view = ControllerAssignmentView(timeline, key.topic, key.partition)
        self._next_version = 0
        self._version: int | None = None  # of the state znode, whether or not it can be read
        self._earlier: deque[tuple[int, StateZnode]] = deque(
            maxlen=VERSIONS_REMEMBERED
        )  # (until which seq, what was stored)
        self._decided: list[PendingDecision] = []
        self._triggers: dict[int, Trigger] = {}
        self._last_step: ReplayFact | None = None  # of a reassignment
        self._last_seq = -1
        self._beginning = ""  # of the data of a state znode, up to its ISR
        self._beginning_of: tuple[int | None, int, int] | None = None
        self._handlers: Mapping[str, Callable[[ReplayFact], None]] = {
            LEADER_ELECTION: self._on_election,
            EventKind.REPLICA_REMOVED_FROM_ISR.value: self._on_removal,
            EventKind.LEADER_EPOCH_BUMPED.value: self._on_bump,
            EventKind.PARTITION_REASSIGNMENT.value: self._on_reassignment,
            EventKind.PARTITION_STATE_CHANGE.value: self._on_move,
            EventKind.REPLICA_STATE_CHANGE.value: self._on_move,
        }

    @property
    def stored(self) -> StateZnode | None:
        """The state now."""
        return self._log.stored

    def save(self) -> ReplayState:
        """Return the state for `restored`. Call it when all transitions and mismatches have been taken."""
        triggers = self._triggers
        if len(triggers) > TRIGGERS_SAVED:
            triggers = dict(list(triggers.items())[-TRIGGERS_SAVED:])
        return ReplayState(
            self._log.stored,
            self._log.assignment,
            self._log.n,
            self._assignment_view.known,
            self._next_version,
            self._version,
            list(self._earlier),
            self._decided,
            triggers,
            self._last_step,
            self._last_seq,
        )

    @classmethod
    def restored(cls, key: PartitionKey, timeline: Timeline, state: ReplayState) -> "VerifyingReplay":
        """Return a replay that continues where another one was saved."""
        replay = cls(key, timeline)
        replay._log.stored, replay._log.assignment, replay._log.n = state.stored, state.assignment, state.n
        replay._assignment_view.known = state.known
        replay._next_version, replay._version = state.next_version, state.version
        replay._earlier.extend(state.earlier)
        replay._decided, replay._triggers = state.decided, state.triggers
        replay._last_step, replay._last_seq = state.last_step, state.last_seq
        return replay

    def follow_topic(self) -> None:
        """Take over the changes of the topic's znode so far. Without this call, the partition's next fact does it."""
        self._follow_topic(None)

    def take(self) -> list[Transition]:
        """Return the transitions since the last call."""
        return self._log.take()

    def take_mismatches(self) -> list[Mismatch]:
        """Return the mismatches since the last call."""
        found, self.mismatches = self.mismatches, []
        return found

    def take_in(self, fact: ReplayFact) -> None:
        """Take in one fact of the partition."""
        if fact.seq <= self._last_seq:
            order = f"event {fact.seq} after event {self._last_seq}"
            self._mismatch(fact, "order", order, "a record that is out of place, or there twice: passed over")
            return
        self._last_seq = fact.seq
        self._follow_topic(fact.seq)
        if fact.kind in ZNODE_CHANGES:
            self._on_state(fact)
            return
        handler = self._handlers.get(fact.kind)
        if handler is not None:
            handler(fact)

    def finish(self) -> None:
        """Process the end of the facts."""
        self.follow_topic()

    # --- the topic's znode

    def _follow_topic(self, until_seq: int | None) -> None:
        versions, log = self._topic.versions, self._log
        while self._next_version < len(versions):
            seq, t_ms, cause, content = versions[self._next_version]
            if until_seq is not None and seq >= until_seq:
                return
            self._next_version += 1
            before = log.assignment
            assignment = None if content is None else content.assignments.get(self.key.partition)
            log.assignment = UNASSIGNED if assignment is None else assignment
            if before.replicas and log.assignment.replicas and before != log.assignment:
                step = self._last_step
                is_ours = step is not None and log.assignment in self._assignment_view.wanted(step)
                trigger = Trigger.REASSIGNMENT if is_ours else Trigger.WRITTEN
                led_by = step.seq if is_ours and step is not None else cause
                log.append(seq, t_ms, EventKind.PARTITION_REASSIGNMENT.value, trigger, led_by)

    # --- triggers

    def _trigger(self, fact: ReplayFact, view: ControllerView) -> Trigger:
        cause = -1 if fact.cause is None else fact.cause
        found = self._triggers.get(cause) or self._timeline.triggers.get(cause, Trigger.UNKNOWN)
        return view.phase if found in OF_BROKERS and self._timeline.has_decisions else found

    def _on_move(self, fact: ReplayFact) -> None:
        cause = -1 if fact.cause is None else fact.cause
        found = self._triggers.get(cause) or self._timeline.triggers.get(cause)
        if found is not None:
            self._triggers[fact.seq] = found

    def _on_reassignment(self, fact: ReplayFact) -> None:
        self._triggers[fact.seq] = Trigger.REASSIGNMENT
        self._last_step = fact
        view = self._timeline.view(fact.node, fact.seq)
        computed = self._assignment_view.reassignment(fact, view)
        if computed is not None:
            self._mismatch(fact, "reassignment", describe_assignment(assignment_of(fact)), computed)

    # --- decisions

    def _on_election(self, fact: ReplayFact) -> None:
        timeline = self._timeline
        view = timeline.view(fact.node, fact.seq)
        if fact.rule is None and not timeline.has_decisions:
            self._accept_recorded(fact, view)
            return
        strategy = STRATEGY_OF_RULE.get(fact.rule or "")  # type: ignore[call-overload]
        if strategy is None:
            self._mismatch(fact, "rule", str(fact.rule), "no rule of the controller's")
            return
        trigger = self._trigger(fact, view)
        by_admin = trigger is Trigger.PREFERRED_ELECTION and strategy is PartitionLeaderElectionStrategy.OFFLINE
        if by_admin:
            trigger = Trigger.UNCLEAN_ELECTION
        decision = None
        for stored in self._may_have_been_read(fact, is_new=strategy == NEW_PARTITION):
            for allowed in self._unclean_as_read(view, fact):
                tried = self._election(fact, view, strategy, by_admin, trigger, stored, allowed)
                if decision is None or _agrees(tried):
                    decision = tried
                if _agrees(tried):
                    break
            if decision is not None and _agrees(decision):
                break
        assert decision is not None, "there is always something to decide on"
        if not _agrees(decision):
            self._mismatch(
                fact, "election", _describe(fact.rule, decision.recorded), _describe(decision.rule, decision.stored)
            )
        if fact.leader is None:
            kind, cause = LEADER_ELECTION, fact.cause
            strategy_name = strategy_of(strategy, by_admin)
            self._log.append(
                fact.seq, fact.t_ms, kind, trigger, cause, strategy=strategy_name, rule=decision.rule, no_leader=True
            )
        else:
            self._decided.append(decision)

    def _accept_recorded(self, fact: ReplayFact, view: ControllerView) -> None:
        """Accept a decision in a history without controllers' decisions: an import inferred it from the change after it."""
        version = -1 if self._log.stored is None else self._log.stored.zk_version
        leader = None if fact.leader == NO_LEADER else fact.leader
        now = StateZnode(leader, _number(fact.leader_epoch), tuple(fact.isr or ()), fact.controller_epoch or 0, version + 1)
        self._decided.append(PendingDecision(fact, now, now, self._trigger(fact, view)))

    def _election(
        self,
        fact: ReplayFact,
        view: ControllerView,
        strategy: str,
        by_admin: bool,
        trigger: Trigger,
        stored: StateZnode,
        unclean_allowed: bool,
    ) -> PendingDecision:
        """Hold the election that the fact records on `stored`."""
        brokers = self._timeline.brokers
        assignment = self._assignment_view.assignment(fact.node, view, fact.seq)
        candidates = (
            assignment.target_replicas if strategy == PartitionLeaderElectionStrategy.REASSIGN else assignment.replicas
        )
        concerned = (*candidates, *stored.isr)
        is_shutdown = strategy == PartitionLeaderElectionStrategy.CONTROLLED_SHUTDOWN
        online = brokers.among(concerned, view.live if is_shutdown else view.live & ~view.shutting_down)
        shutting_down = brokers.among(concerned, view.shutting_down) if is_shutdown else ()
        failed = self._timeline.offline_dirs(self.key.topic, self.key.partition, fact.node, fact.seq)
        if failed:
            online = tuple(b for b in online if b not in failed)
        offline = strategy == PartitionLeaderElectionStrategy.OFFLINE
        unclean = offline and (by_admin or unclean_allowed) and could_be_unclean(stored.isr, online)
        chosen = elect(str(strategy), candidates, stored.leader, stored.isr, online, shutting_down, unclean)
        epoch, version = stored.leader_epoch + 1, stored.zk_version + 1
        now = StateZnode(chosen.leader, epoch, chosen.isr, view.epoch, version)
        if fact.leader is None:
            recorded = now._replace(leader=None) if chosen.leader is None else StateZnode(None, -1, (), view.epoch, version)
        else:
            recorded = StateZnode(fact.leader, _number(fact.leader_epoch), tuple(fact.isr or ()), view.epoch, version)
        if tuple(fact.replicas or ()) != candidates or fact.rule != chosen.rule:
            recorded = recorded._replace(controller_epoch=-1)  # a different election, whatever its outcome
        is_clean = chosen.is_clean if chosen.leader is not None else None
        return PendingDecision(fact, now, recorded, trigger, strategy_of(strategy, by_admin), chosen.rule, is_clean)

    def _may_have_been_read(self, fact: ReplayFact, is_new: bool = False) -> Iterator[StateZnode]:
        """Yield what was stored since the beginning of the state change that the fact is a part of; newest first."""
        now = self._log.stored
        if is_new or now is None:
            yield NO_STORED_STATE
            if is_new:
                return
        else:
            yield now
        began = -1 if fact.cause is None else fact.cause
        for until, stored in reversed(self._earlier):
            if until < began:
                return
            yield stored

    def _unclean_as_read(self, view: ControllerView, fact: ReplayFact) -> list[bool]:
        """Return what the settings allowed of unclean elections since the beginning of the state change; newest first."""
        settings = self._topic.unclean
        if not settings:
            return [view.is_unclean_allowed]
        began = fact.seq if fact.cause is None else fact.cause
        values = [self._topic.unclean_at(fact.seq)]
        values.extend(self._topic.unclean_at(at) for at, _ in reversed(settings) if began < at < fact.seq)
        return list(dict.fromkeys(view.is_unclean_allowed if value is None else value for value in values))

    def _on_removal(self, fact: ReplayFact) -> None:
        if not self._timeline.has_decisions:
            self._accept_recorded(fact, NO_VIEW)
            return
        broker = -1 if fact.broker_id is None else fact.broker_id

        def without(stored: StateZnode) -> StateZnode | None:
            left = remove_from_isr(stored.leader, stored.isr, broker)
            return None if left is None else stored._replace(leader=left.leader, isr=left.isr)

        self._on_change(fact, without)

    def _on_bump(self, fact: ReplayFact) -> None:
        if not self._timeline.has_decisions:
            self._accept_recorded(fact, NO_VIEW)
            return
        self._on_change(fact, lambda stored: stored)

    def _on_change(self, fact: ReplayFact, changed: Callable[[StateZnode], StateZnode | None]) -> None:
        """Process a decision that raises the leader epoch of what was stored, and may change more."""
        view = self._timeline.view(fact.node, fact.seq)
        is_bump = fact.kind == EventKind.LEADER_EPOCH_BUMPED  # which only reassignments need
        trigger = Trigger.REASSIGNMENT if is_bump else self._trigger(fact, view)
        decision = None
        for stored in self._may_have_been_read(fact):
            after = None if stored is NO_STORED_STATE else changed(stored)
            if after is None:
                continue
            epoch, version = stored.leader_epoch + 1, stored.zk_version + 1
            now = StateZnode(after.leader, epoch, after.isr, view.epoch, version)
            leader = None if fact.leader == NO_LEADER else fact.leader
            recorded = StateZnode(leader, _number(fact.leader_epoch), tuple(fact.isr or ()), view.epoch, version)
            tried = PendingDecision(fact, now, recorded, trigger)
            decision = decision or tried
            if _agrees(tried):
                self._decided.append(tried)
                return
        if decision is None:
            self._mismatch(fact, fact.kind, f"ISR {list(fact.isr or ())}", "nothing: there is no such state to change")
            return
        self._decided.append(decision)
        self._mismatch(fact, fact.kind, _describe(None, decision.recorded), _describe(None, decision.stored))

    # --- the state znode

    def _on_state(self, fact: ReplayFact) -> None:
        log = self._log
        if fact.kind == EventKind.ZNODE_DELETED:
            self._remember(fact.seq)
            log.stored = self._version = None
            self._decided.clear()
            completing = self._topic.completing
            is_of_deletion = bool(completing) and completing[0] < fact.seq
            trigger = Trigger.TOPIC_DELETION if is_of_deletion else Trigger.WRITTEN
            log.append(fact.seq, fact.t_ms, fact.kind, trigger, fact.cause)
            return
        version = fact.zk_version or 0
        expected = 0 if fact.kind == EventKind.ZNODE_CREATED else -1 if self._version is None else self._version + 1
        if version != expected:
            wanted = "no such change of a znode that is not there" if expected < 0 else f"version {expected}"
            self._mismatch(fact, "a record is missing", f"{fact.kind} to version {version}", wanted)
        self._version = version
        decided = self._decided
        decision = (
            next((d for d in decided if d.stored.zk_version == version and _is_of(d, fact.data)), None) if decided else None
        )
        if decision is not None:
            now = decision.stored if decision.stored.text == fact.data else decision.recorded
            self._decided.clear()
            self._remember(fact.seq)
            log.stored = now
            of = decision.fact
            log.append(
                fact.seq,
                fact.t_ms,
                of.kind,
                decision.trigger,
                of.seq,
                strategy=decision.strategy,
                rule=decision.rule,
                clean=decision.clean,
            )
            return
        self._on_others_write(fact, version)

    def _on_others_write(self, fact: ReplayFact, version: int) -> None:
        """Process a change of the ISR by a leader, or by the controller for it (AlterIsr), or a write by hand."""
        before = self._log.stored
        now = self._with_other_isr(before, fact.data, version) or _read(fact, version)
        owner = self._timeline.owners.get(fact.session_id or "")
        kind, trigger = str(fact.kind), Trigger.WRITTEN
        if (
            before is not None
            and now is not None
            and _is_of_leader(before, now)
            and (owner in (None, before.leader) or self._is_by_controller(fact, owner, now))
        ):
            kind, trigger = _isr_kind(before, now), Trigger.LEADER
        elif owner is not None and self._timeline.has_decisions:
            computed = [d.stored.text for d in self._decided if d.stored.zk_version == version]
            self._mismatch(
                fact, "written", str(fact.data), computed[-1] if computed else "nothing that a broker would write"
            )
        self._decided = [d for d in self._decided if d.stored.zk_version > version]
        self._remember(fact.seq)
        self._log.stored = now
        self._log.append(fact.seq, fact.t_ms, kind, trigger, fact.cause)

    def _is_by_controller(self, fact: ReplayFact, owner: int, now: StateZnode) -> bool:
        """Return whether a broker has written a state as the controller of that epoch."""
        return self._timeline.view(f"broker-{owner}", fact.seq).epoch == now.controller_epoch

    def _with_other_isr(self, before: StateZnode | None, data: str | None, version: int) -> StateZnode | None:
        """Return the written state if only its ISR is new, as in nearly all writes of leaders; None: decode the data."""
        if before is None or data is None:
            return None
        of = before.leader, before.leader_epoch, before.controller_epoch
        if of != self._beginning_of:
            self._beginning, self._beginning_of = before.text_before_isr, of
        isr = znodes.decode_isr_after(self._beginning, data)
        if isr is None:
            return None
        return StateZnode(before.leader, before.leader_epoch, isr, before.controller_epoch, version)

    def _remember(self, until_seq: int) -> None:
        if self._log.stored is not None:
            self._earlier.append((until_seq, self._log.stored))

    def _mismatch(self, fact: ReplayFact, what: str, recorded: str, computed: str) -> None:
        self.mismatches.append(Mismatch(*self.key, fact.seq, fact.t_ms, what, recorded, computed))


def _number(given: int | None) -> int:
    return -1 if given is None else given


def _agrees(decision: PendingDecision) -> bool:
    return decision.stored == decision.recorded


def _is_of(decision: PendingDecision, data: str | None) -> bool:
    return data in (decision.stored.text, decision.recorded.text)


def _is_of_leader(before: StateZnode, now: StateZnode) -> bool:
    return (before.leader, before.leader_epoch) == (now.leader, now.leader_epoch) and before.isr != now.isr


def _isr_kind(before: StateZnode, now: StateZnode) -> str:
    was, is_now = set(before.isr), set(now.isr)
    if was < is_now:
        return ISR_EXPANDED
    return ISR_SHRUNK if is_now < was else ZNODE_CHANGED


def _read(fact: ReplayFact, version: int) -> StateZnode | None:
    """Return the written state; None if it cannot be read, which the controller cannot do either."""
    data = None if fact.data is None else fact.data.encode()
    try:
        state = znodes.decode_partition_state(fact.path or "", data, ZkVersion(version), _ignore)
    except BadZnodeError:
        return None
    if state is None:
        return None
    of = state.leader_and_isr
    return StateZnode(of.leader, of.leader_epoch, of.isr, state.controller_epoch, version)


def _ignore(path: str, reason: str) -> None:
    """Ignore a malformed znode: the brokers that read it report it."""


def _describe(rule: str | None, outcome: StateZnode) -> str:
    by = "" if rule is None else f" ({rule})"
    return f"leader {outcome.leader}, leader epoch {outcome.leader_epoch}, ISR {list(outcome.isr)}{by}"
