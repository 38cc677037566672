"""A partition's history once more, with something different: the replay finds what the controller does then.

What the data path did is taken from the history as far as it still makes sense. Where a replica is left behind that was not
in the history, it catches up in the time that its like took there.
"""

from collections.abc import Iterable, Sequence
from statistics import median

from kcsim.scenarios.replay.folding.derived_fold import DerivedFold
from kcsim.scenarios.replay.folding.fact import Fact
from kcsim.scenarios.replay.folding.mismatch import Mismatch
from kcsim.scenarios.replay.folding.moment import MomentKind
from kcsim.scenarios.replay.folding.other_placement import placement_of
from kcsim.scenarios.replay.folding.own_facts import OwnFact, own_facts
from kcsim.scenarios.replay.folding.partition_story import PartitionKey
from kcsim.scenarios.replay.folding.recorded_fold import RecordedFold
from kcsim.scenarios.replay.folding.timeline import Timeline
from kcsim.scenarios.replay.folding.transition import Transition
from kcsim.scenarios.replay.folding.what_if import AS_IT_WAS, CATCH_UP_MS, FIRST_REBALANCE_AFTER_MS, WhatIf

PASSED_OVER = "passed over"
"""What a row of the table of mismatches says of a fact that no longer makes sense."""

Wait = tuple[int, int]
"""A broker that could catch up: who, and since which event."""


def fold_derived(
    what_if: WhatIf, key: PartitionKey, timeline: Timeline, facts: Iterable[Fact]
) -> tuple[list[Transition], list[Mismatch]]:
    """One partition as it would have been. Returns: its transitions, and which facts of its history were passed over."""
    known = list(facts)
    recorded = RecordedFold(key, timeline)
    for fact in known:
        recorded.take_in(fact)
    recorded.finish()
    history = recorded.take()
    placement = placement_of(what_if, key, timeline)
    as_it_was = _Replay(key, timeline, AS_IT_WAS, own_facts(key, timeline, known, history))
    if not what_if.changes_decisions:
        return as_it_was.run()
    as_it_was.run()
    facts_then = own_facts(key, timeline, known, history, placement)
    return _Replay(key, timeline, what_if, facts_then, as_it_was).run()


class _Replay:
    """Drives one fold through moments, facts and what is due, in the order of time.

    Attributes:
        waits: every replica that was out of the ISR and could catch up -> how long it took, None if it did not.
    """

    def __init__(
        self,
        key: PartitionKey,
        timeline: Timeline,
        what_if: WhatIf,
        facts: Sequence[OwnFact],
        as_it_was: "_Replay | None" = None,
    ) -> None:
        self.waits: dict[Wait, int | None] = {}
        self._key = key
        self._fold = DerivedFold(key, timeline, what_if)
        self._timeline = timeline
        self._what_if = what_if
        self._facts = facts
        self._as_it_was = as_it_was
        self._waiting: dict[int, tuple[int, int]] = {}  # broker -> (seq, t_ms) since when it could catch up
        self._due: dict[int, int] = {}  # broker -> when it has
        self._passed_over: list[Mismatch] = []
        self._now = (0, 0)

    def run(self) -> tuple[list[Transition], list[Mismatch]]:
        for fact in self._facts:
            self._pass_until(fact.seq, fact.t_ms)
            self._now = fact.seq, fact.t_ms
            if not fact.happen(self._fold):
                self._pass_over(fact)
            self._look_who_waits()
        self._pass_until(None, None)
        return self._fold.take(), self._passed_over

    def _pass_until(self, seq: int | None, t_ms: int | None) -> None:
        """Let everything happen that comes before a fact: moments, replicas that have caught up, looks at the balance."""
        while True:
            moments, place = self._timeline.moments, self._fold.next_place()
            moment = moments[place] if place < len(moments) else None
            if moment is not None and seq is not None and moment.seq >= seq:
                moment = None
            limit_ms = t_ms if moment is None else moment.t_ms
            if self._something_is_due(limit_ms):
                continue
            if moment is None:
                return
            self._now = moment.seq, moment.t_ms
            self._fold.step(place)
            self._look_who_waits()

    def _something_is_due(self, limit_ms: int | None) -> bool:
        """Whether something was due before that time, which has happened now; without a time, what is due for sure."""
        due = [(at, broker) for broker, at in self._due.items()]
        at_ms = self._next_look_ms()
        if at_ms is not None:
            due.append((at_ms, -1))
        at, broker = min(due, default=(None, -1))
        if at is None or (limit_ms is not None and at > limit_ms) or (limit_ms is None and at > self._end_ms):
            return False
        seq = self._now[0]
        self._now = seq, at
        if broker == -1:
            self._fold.rebalanced(seq, at)
        else:
            del self._due[broker]
            self._fold.caught_up(broker, seq, at)
        self._look_who_waits()
        return True

    @property
    def _end_ms(self) -> int:
        """As far as the history tells of anything."""
        last_moment = self._timeline.moments[-1].t_ms if self._timeline.moments else 0
        return max(last_moment, self._timeline.ended_ms, self._facts[-1].t_ms if self._facts else 0)

    def _next_look_ms(self) -> int | None:
        """When leadership is given back next, if it could be and if that is what is to be different."""
        if not self._what_if.preferred_rebalance or not self._fold.can_be_given_back:
            return None
        now = self._now[1]
        began = [m.t_ms for m in self._timeline.moments if m.kind is MomentKind.FAILOVER and m.t_ms <= now]
        if not began:
            return None
        first, period = began[-1] + FIRST_REBALANCE_AFTER_MS, self._what_if.rebalance_interval_ms
        return first if now < first else first + ((now - first) // period + 1) * period

    # --- who catches up

    def _look_who_waits(self) -> None:
        fold, (seq, t_ms) = self._fold, self._now
        for broker in [b for b in self._waiting if not fold.can_catch_up(b)]:
            since_seq, since_ms = self._waiting.pop(broker)
            self._due.pop(broker, None)
            has_caught_up = fold.stored is not None and broker in fold.stored.isr
            self.waits[broker, since_seq] = t_ms - since_ms if has_caught_up else None
        for broker in fold.assignment.replicas:
            if broker not in self._waiting and fold.can_catch_up(broker):
                self._waiting[broker] = seq, t_ms
                self.waits[broker, seq] = None
                if self._as_it_was is not None and (broker, seq) not in self._as_it_was.waits:
                    self._due[broker] = t_ms + self._as_it_was.usual_ms(broker, self._what_if)

    def usual_ms(self, broker: int, what_if: WhatIf) -> int:
        """How long a replica of this partition takes to catch up."""
        if what_if.catch_up_ms is not None:
            return what_if.catch_up_ms
        own = [took for (b, _), took in self.waits.items() if took is not None and b == broker]
        of_all = [took for took in self.waits.values() if took is not None]
        return int(median(own or of_all)) if of_all else CATCH_UP_MS

    def _pass_over(self, fact: OwnFact) -> None:
        told = f"{list(fact.brokers)} {fact.what}" if fact.brokers else fact.what
        self._passed_over.append(Mismatch(*self._key, fact.seq, fact.t_ms, PASSED_OVER, told, "it makes no sense any more"))
