"""One partition of a recorded history: when the controller decided is taken from it, what was decided is computed anew.

Taken as facts: that a decision was made, by whom and of which sort; that the state znode was written (its version); what
others wrote there. Everything else is computed: by the controller's decisions, on the state as folded so far, on the brokers
as that controller knew them, on the assignment as it had it in mind. What the history tells of the outcome is compared and
never used; where it is something else, that is a Mismatch, and the fold goes on with what ZooKeeper has.

A controller decides on what it has read since it began the move that the decision is a part of. Where a leader has changed
the ISR meanwhile, or somebody a topic's settings, the decision may be one on what was there before: it is no mismatch if
anything that was there between the beginning of the move and the decision leads to it.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from kcsim.controller.partition_state_machine import Strategy
from kcsim.scenarios.replay.folding.choices import (
    NEW_PARTITION,
    STRATEGY_OF_RULE,
    choose,
    could_be_unclean,
    remove,
    strategy_of,
)
from kcsim.scenarios.replay.folding.controllers_mind import ControllersMind
from kcsim.scenarios.replay.folding.fact import CREATED, DELETED, ZNODE_KINDS, Fact
from kcsim.scenarios.replay.folding.mismatch import Mismatch
from kcsim.scenarios.replay.folding.moment import View
from kcsim.scenarios.replay.folding.partition_story import UNASSIGNED, PartitionKey, PartitionStory, Stored
from kcsim.scenarios.replay.folding.timeline import NO_VIEW, Timeline
from kcsim.scenarios.replay.folding.timeline_builder import OF_BROKERS
from kcsim.scenarios.replay.folding.transition import Transition
from kcsim.scenarios.replay.folding.trigger import Trigger
from kcsim.zk import znodes
from kcsim.zk.events import EventKind
from kcsim.zk.vocabulary import NO_LEADER, ZkVersion
from kcsim.zk.znodes import BadZnodeError

VERSIONS_REMEMBERED = 8
LEADER_ELECTION = EventKind.LEADER_ELECTION.value
ISR_EXPANDED, ISR_SHRUNK = EventKind.ISR_EXPANDED.value, EventKind.ISR_SHRUNK.value
ZNODE_CHANGED = EventKind.ZNODE_CHANGED.value
NOBODY_STORED = Stored(None, -1, (), 0, -1)


class _Decision(NamedTuple):
    """What a controller is about to write."""

    fact: Fact
    stored: Stored  # as it will be, with the version that the write gives
    told: Stored  # the same as the history tells it
    trigger: Trigger
    strategy: str | None = None
    rule: str | None = None
    clean: bool | None = None


class RecordedFold:
    """Give it the partition's facts with `take_in`, in order of `seq`, then `finish`.

    Attributes:
        mismatches: those found and not taken yet.
    """

    def __init__(self, key: PartitionKey, timeline: Timeline) -> None:
        self.key = key
        self.mismatches: list[Mismatch] = []
        self._story = PartitionStory(key, is_derived=False)
        self._timeline = timeline
        self._topic = timeline.story(key.topic)
        self._minds = ControllersMind(timeline, key.topic, key.partition)
        self._next_version = 0
        self._version: int | None = None  # of the state znode, readable or not
        self._earlier: deque[tuple[int, Stored]] = deque(maxlen=VERSIONS_REMEMBERED)  # (until which seq, what was stored)
        self._decided: list[_Decision] = []
        self._triggers: dict[int, Trigger] = {}
        self._last_step: Fact | None = None  # of a reassignment
        self._last_seq = -1
        self._beginning = ""  # of the data of a state znode, up to its ISR
        self._beginning_of: tuple[int | None, int, int] | None = None
        self._handlers: Mapping[str, Callable[[Fact], None]] = {
            LEADER_ELECTION: self._on_election,
            EventKind.REPLICA_REMOVED_FROM_ISR.value: self._on_removal,
            EventKind.LEADER_EPOCH_BUMPED.value: self._on_bump,
            EventKind.PARTITION_REASSIGNMENT.value: self._on_reassignment,
            EventKind.PARTITION_STATE_CHANGE.value: self._on_move,
            EventKind.REPLICA_STATE_CHANGE.value: self._on_move,
        }

    @property
    def stored(self) -> Stored | None:
        """The state as of now."""
        return self._story.stored

    def take(self) -> list[Transition]:
        """The transitions since the last time."""
        return self._story.take()

    def take_in(self, fact: Fact) -> None:
        """Take one fact of the partition in."""
        if fact.seq <= self._last_seq:
            told = f"event {fact.seq} after event {self._last_seq}"
            self._mismatch(fact, "order", told, "a record that is out of place, or there twice: passed over")
            return
        self._last_seq = fact.seq
        self._follow_topic(fact.seq)
        if fact.kind in ZNODE_KINDS:
            self._on_state(fact)
            return
        handler = self._handlers.get(fact.kind)
        if handler is not None:
            handler(fact)

    def finish(self) -> None:
        """There are no more facts."""
        self._follow_topic(None)

    # --- the topic's znode

    def _follow_topic(self, until_seq: int | None) -> None:
        versions, story = self._topic.versions, self._story
        while self._next_version < len(versions):
            seq, t_ms, cause, content = versions[self._next_version]
            if until_seq is not None and seq >= until_seq:
                return
            self._next_version += 1
            before = story.assignment
            assignment = None if content is None else content.assignments.get(self.key.partition)
            story.assignment = UNASSIGNED if assignment is None else assignment
            if before.replicas and story.assignment.replicas and before != story.assignment:
                step = self._last_step
                is_ours = step is not None and story.assignment in self._minds.wanted(step)
                trigger = Trigger.REASSIGNMENT if is_ours else Trigger.WRITTEN
                led_by = step.seq if is_ours and step is not None else cause
                story.tell(seq, t_ms, EventKind.PARTITION_REASSIGNMENT.value, trigger, led_by)

    # --- why

    def _trigger(self, fact: Fact, view: View) -> Trigger:
        cause = -1 if fact.cause is None else fact.cause
        found = self._triggers.get(cause) or self._timeline.triggers.get(cause, Trigger.UNKNOWN)
        return view.phase if found in OF_BROKERS and self._timeline.has_decisions else found

    def _on_move(self, fact: Fact) -> None:
        cause = -1 if fact.cause is None else fact.cause
        found = self._triggers.get(cause) or self._timeline.triggers.get(cause)
        if found is not None:
            self._triggers[fact.seq] = found

    def _on_reassignment(self, fact: Fact) -> None:
        self._triggers[fact.seq] = Trigger.REASSIGNMENT
        self._last_step = fact
        view = self._timeline.view(fact.node, fact.seq)
        computed = self._minds.reassignment(fact, view)
        if computed is not None:
            self._mismatch(fact, "reassignment", f"{list(fact.replicas or ())} {fact.inputs}", computed)

    # --- decisions

    def _on_election(self, fact: Fact) -> None:
        timeline = self._timeline
        view = timeline.view(fact.node, fact.seq)
        if fact.rule is None and not timeline.has_decisions:
            self._take_as_told(fact, view)
            return
        strategy = STRATEGY_OF_RULE.get(fact.rule or "")  # type: ignore[call-overload]
        if strategy is None:
            self._mismatch(fact, "rule", str(fact.rule), "no rule of the controller's")
            return
        trigger = self._trigger(fact, view)
        by_admin = trigger is Trigger.PREFERRED_ELECTION and strategy is Strategy.OFFLINE
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
            self._mismatch(fact, "election", _told(fact.rule, decision.told), _told(decision.rule, decision.stored))
        if fact.leader is None:
            kind, cause = LEADER_ELECTION, fact.cause
            told_as = strategy_of(strategy, by_admin)
            self._story.tell(fact.seq, fact.t_ms, kind, trigger, cause, strategy=told_as, rule=decision.rule, nobody=True)
        else:
            self._decided.append(decision)

    def _take_as_told(self, fact: Fact, view: View) -> None:
        """A decision in a history whose controllers told nothing: somebody has read it off the change that follows."""
        version = -1 if self._story.stored is None else self._story.stored.zk_version
        leader = None if fact.leader == NO_LEADER else fact.leader
        now = Stored(leader, _number(fact.leader_epoch), tuple(fact.isr or ()), fact.controller_epoch or 0, version + 1)
        self._decided.append(_Decision(fact, now, now, self._trigger(fact, view)))

    def _election(
        self, fact: Fact, view: View, strategy: str, by_admin: bool, trigger: Trigger, stored: Stored, unclean_allowed: bool
    ) -> _Decision:
        """Hold the election that the fact tells of on `stored`."""
        brokers = self._timeline.brokers
        assignment = self._minds.assignment(fact.node, view, fact.seq)
        candidates = assignment.target_replicas if strategy == Strategy.REASSIGN else assignment.replicas
        concerned = (*candidates, *stored.isr)
        is_shutdown = strategy == Strategy.CONTROLLED_SHUTDOWN
        online = brokers.among(concerned, view.live if is_shutdown else view.live & ~view.shutting_down)
        shutting_down = brokers.among(concerned, view.shutting_down) if is_shutdown else ()
        failed = self._timeline.offline_dirs(self.key.topic, self.key.partition, fact.node, fact.seq)
        if failed:
            online = tuple(b for b in online if b not in failed)
        offline = strategy == Strategy.OFFLINE
        unclean = offline and (by_admin or unclean_allowed) and could_be_unclean(stored.isr, online)
        chosen = choose(str(strategy), candidates, stored.leader, stored.isr, online, shutting_down, unclean)
        epoch, version = stored.leader_epoch + 1, stored.zk_version + 1
        now = Stored(chosen.leader, epoch, chosen.isr, view.epoch, version)
        if fact.leader is None:
            told = now._replace(leader=None) if chosen.leader is None else Stored(None, -1, (), view.epoch, version)
        else:
            told = Stored(fact.leader, _number(fact.leader_epoch), tuple(fact.isr or ()), view.epoch, version)
        if tuple(fact.replicas or ()) != candidates or fact.rule != chosen.rule:
            told = told._replace(controller_epoch=-1)  # whatever the outcome, it was another election
        is_clean = chosen.is_clean if chosen.leader is not None else None
        return _Decision(fact, now, told, trigger, strategy_of(strategy, by_admin), chosen.rule, is_clean)

    def _may_have_been_read(self, fact: Fact, is_new: bool = False) -> Iterator[Stored]:
        """What was stored since the beginning of the move that the fact is a part of; newest first."""
        now = self._story.stored
        if is_new or now is None:
            yield NOBODY_STORED
            if is_new:
                return
        else:
            yield now
        began = -1 if fact.cause is None else fact.cause
        for until, stored in reversed(self._earlier):
            if until < began:
                return
            yield stored

    def _unclean_as_read(self, view: View, fact: Fact) -> list[bool]:
        """What the settings said on unclean elections since the beginning of the move; newest first."""
        said = self._topic.unclean
        if not said:
            return [view.is_unclean_allowed]
        began = fact.seq if fact.cause is None else fact.cause
        values = [self._topic.unclean_at(fact.seq)]
        values.extend(self._topic.unclean_at(at) for at, _ in reversed(said) if began < at < fact.seq)
        return list(dict.fromkeys(view.is_unclean_allowed if value is None else value for value in values))

    def _on_removal(self, fact: Fact) -> None:
        if not self._timeline.has_decisions:
            self._take_as_told(fact, NO_VIEW)
            return
        broker = -1 if fact.broker_id is None else fact.broker_id

        def without(stored: Stored) -> Stored | None:
            left = remove(stored.leader, stored.isr, broker)
            return None if left is None else stored._replace(leader=left.leader, isr=left.isr)

        self._on_change(fact, without)

    def _on_bump(self, fact: Fact) -> None:
        if not self._timeline.has_decisions:
            self._take_as_told(fact, NO_VIEW)
            return
        self._on_change(fact, lambda stored: stored)

    def _on_change(self, fact: Fact, changed: Callable[[Stored], Stored | None]) -> None:
        """A decision that raises the leader epoch of what was stored, and may change more."""
        view = self._timeline.view(fact.node, fact.seq)
        is_bump = fact.kind == EventKind.LEADER_EPOCH_BUMPED  # which only reassignments need
        trigger = Trigger.REASSIGNMENT if is_bump else self._trigger(fact, view)
        decision = None
        for stored in self._may_have_been_read(fact):
            after = None if stored is NOBODY_STORED else changed(stored)
            if after is None:
                continue
            epoch, version = stored.leader_epoch + 1, stored.zk_version + 1
            now = Stored(after.leader, epoch, after.isr, view.epoch, version)
            leader = None if fact.leader == NO_LEADER else fact.leader
            told = Stored(leader, _number(fact.leader_epoch), tuple(fact.isr or ()), view.epoch, version)
            tried = _Decision(fact, now, told, trigger)
            decision = decision or tried
            if _agrees(tried):
                self._decided.append(tried)
                return
        if decision is None:
            self._mismatch(fact, fact.kind, f"ISR {list(fact.isr or ())}", "nothing: there is no such state to change")
            return
        self._decided.append(decision)
        self._mismatch(fact, fact.kind, _told(None, decision.told), _told(None, decision.stored))

    # --- the state znode

    def _on_state(self, fact: Fact) -> None:
        story = self._story
        if fact.kind == DELETED:
            self._remember(fact.seq)
            story.stored = self._version = None
            self._decided.clear()
            completing = self._topic.completing
            is_of_deletion = bool(completing) and completing[0] < fact.seq
            trigger = Trigger.TOPIC_DELETION if is_of_deletion else Trigger.WRITTEN
            story.tell(fact.seq, fact.t_ms, fact.kind, trigger, fact.cause)
            return
        version = fact.zk_version or 0
        expected = 0 if fact.kind == CREATED else -1 if self._version is None else self._version + 1
        if version != expected:
            wanted = "no such change of a znode that is not there" if expected < 0 else f"version {expected}"
            self._mismatch(fact, "a record is missing", f"{fact.kind} to version {version}", wanted)
        self._version = version
        decided = self._decided
        decision = (
            next((d for d in decided if d.stored.zk_version == version and _is_of(d, fact.data)), None) if decided else None
        )
        if decision is not None:
            now = decision.stored if decision.stored.text == fact.data else decision.told
            self._decided.clear()
            self._remember(fact.seq)
            story.stored = now
            of = decision.fact
            story.tell(
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

    def _on_others_write(self, fact: Fact, version: int) -> None:
        """A leader's change of the ISR, or anybody's by hand."""
        before = self._story.stored
        now = self._with_other_isr(before, fact.data, version) or _read(fact, version)
        owner = self._timeline.owners.get(fact.session_id or "")
        kind, trigger = fact.kind, Trigger.WRITTEN
        if before is not None and now is not None and _is_of_leader(before, now) and owner in (None, before.leader):
            kind, trigger = _isr_kind(before, now), Trigger.LEADER
        elif owner is not None and self._timeline.has_decisions:
            told = [d.stored.text for d in self._decided if d.stored.zk_version == version]
            self._mismatch(fact, "written", str(fact.data), told[-1] if told else "nothing that a broker would write")
        self._decided = [d for d in self._decided if d.stored.zk_version > version]
        self._remember(fact.seq)
        self._story.stored = now
        self._story.tell(fact.seq, fact.t_ms, kind, trigger, fact.cause)

    def _with_other_isr(self, before: Stored | None, data: str | None, version: int) -> Stored | None:
        """The state that somebody wrote, if only its ISR is new: nearly all writes of leaders are so. None: read it."""
        if before is None or data is None:
            return None
        of = before.leader, before.leader_epoch, before.controller_epoch
        if of != self._beginning_of:
            self._beginning, self._beginning_of = before.text_before_isr, of
        if not data.startswith(self._beginning) or not data.endswith("]}"):
            return None
        try:
            isr = tuple(map(int, data[len(self._beginning) : -2].split(",")))
        except ValueError:
            return None
        return Stored(before.leader, before.leader_epoch, isr, before.controller_epoch, version)

    def _remember(self, until_seq: int) -> None:
        if self._story.stored is not None:
            self._earlier.append((until_seq, self._story.stored))

    def _mismatch(self, fact: Fact, what: str, expected: str, computed: str) -> None:
        self.mismatches.append(Mismatch(*self.key, fact.seq, fact.t_ms, what, expected, computed))


def _number(given: int | None) -> int:
    return -1 if given is None else given


def _agrees(decision: _Decision) -> bool:
    return decision.stored == decision.told


def _is_of(decision: _Decision, data: str | None) -> bool:
    return data in (decision.stored.text, decision.told.text)


def _is_of_leader(before: Stored, now: Stored) -> bool:
    return (before.leader, before.leader_epoch) == (now.leader, now.leader_epoch) and before.isr != now.isr


def _isr_kind(before: Stored, now: Stored) -> str:
    was, is_now = set(before.isr), set(now.isr)
    if was < is_now:
        return ISR_EXPANDED
    return ISR_SHRUNK if is_now < was else ZNODE_CHANGED


def _read(fact: Fact, version: int) -> Stored | None:
    """The state that somebody wrote; None if it cannot be read, as for the controller."""
    data = None if fact.data is None else fact.data.encode()
    try:
        state = znodes.decode_partition_state(fact.path or "", data, ZkVersion(version), _ignore)
    except BadZnodeError:
        return None
    if state is None:
        return None
    of = state.leader_and_isr
    return Stored(of.leader, of.leader_epoch, of.isr, state.controller_epoch, version)


def _ignore(path: str, reason: str) -> None:
    """A malformed znode is told by those who meet it."""


def _told(rule: str | None, outcome: Stored) -> str:
    by = "" if rule is None else f" ({rule})"
    return f"leader {outcome.leader}, leader epoch {outcome.leader_epoch}, ISR {list(outcome.isr)}{by}"
