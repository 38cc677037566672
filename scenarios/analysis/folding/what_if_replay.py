"""The what-if replay of one partition: its history with changes, for which the replay finds out what the controller does.

What the data path did is taken from the history as far as it still applies. Where a replica falls out of sync that did not
in the history, it catches up in the time that such replicas usually took in the history.
"""

from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from kcsim.scenarios.analysis.folding.controller_action import ControllerActionKind
from kcsim.scenarios.analysis.folding.external_inputs import ExternalInput, external_inputs
from kcsim.scenarios.analysis.folding.mismatch import Mismatch
from kcsim.scenarios.analysis.folding.partition_simulator import PartitionSimulator
from kcsim.scenarios.analysis.folding.partition_state import PartitionKey
from kcsim.scenarios.analysis.folding.replay_fact import ReplayFact
from kcsim.scenarios.analysis.folding.timeline import Timeline
from kcsim.scenarios.analysis.folding.transition import Transition
from kcsim.scenarios.analysis.folding.verifying_replay import VerifyingReplay
from kcsim.scenarios.analysis.folding.what_if import AS_IT_WAS, CATCH_UP_MS, FIRST_REBALANCE_AFTER_MS, WhatIf
from kcsim.scenarios.analysis.folding.what_if_placement import placement_of

PASSED_OVER = "passed over"
"""The value of `what` in the table of mismatches for a fact that no longer applies."""

Wait = tuple[int, int]
"""A replica that could catch up: its broker, and the seq of the event since which it could."""


def fold_what_if(
    what_if: WhatIf, key: PartitionKey, timeline: Timeline, facts: Iterable[ReplayFact]
) -> Iterator[tuple[list[Transition], list[Mismatch]]]:
    """Fold one partition as it would have been. Yields: its transitions, and the facts of its history that were skipped."""
    known = list(facts)
    recorded = VerifyingReplay(key, timeline)
    for fact in known:
        recorded.take_in(fact)
    recorded.finish()
    history = recorded.take()
    placement = placement_of(what_if, key, timeline)
    as_it_was = _WhatIfReplay(key, timeline, AS_IT_WAS, external_inputs(key, timeline, known, history))
    found = as_it_was.run()
    if what_if.changes_decisions:
        facts_then = external_inputs(key, timeline, known, history, placement)
        found = _WhatIfReplay(key, timeline, what_if, facts_then, as_it_was).run()
    yield found


class _WhatIfReplay:
    """Drives one simulation through actions, facts and due times, in the order of time.

    Attributes:
        waits: every replica that was out of the ISR and could catch up -> how long that took, None if it did not.
    """

    def __init__(
        self,
        key: PartitionKey,
        timeline: Timeline,
        what_if: WhatIf,
        facts: Sequence[ExternalInput],
        as_it_was: "_WhatIfReplay | None" = None,
    ) -> None:
        self.waits: dict[Wait, int | None] = {}
        self._key = key
        self._simulator = PartitionSimulator(key, timeline, what_if)
        self._timeline = timeline
        self._what_if = what_if
        self._facts = facts
        self._as_it_was = as_it_was
        self._waiting: dict[int, tuple[int, int]] = {}  # broker -> (seq, t_ms) since when it could catch up
        self._due: dict[int, int] = {}  # broker -> when it catches up
        self._passed_over: list[Mismatch] = []
        self._now = (0, 0)

    def run(self) -> tuple[list[Transition], list[Mismatch]]:
        for fact in self._facts:
            self._pass_until(fact.seq, fact.t_ms)
            self._now = fact.seq, fact.t_ms
            if not fact.apply(self._simulator):
                self._pass_over(fact)
            self._look_who_waits()
        self._pass_until(None, None)
        return self._simulator.take(), self._passed_over

    def _pass_until(self, seq: int | None, t_ms: int | None) -> None:
        """Apply everything that comes before a fact: actions, replicas that catch up, checks for leadership imbalance."""
        while True:
            actions, place = self._timeline.actions, self._simulator.next_place()
            action = actions[place] if place < len(actions) else None
            if action is not None and seq is not None and action.seq >= seq:
                action = None
            limit_ms = t_ms if action is None else action.t_ms
            if self._something_is_due(limit_ms):
                continue
            if action is None:
                return
            self._now = action.seq, action.t_ms
            self._simulator.step(place)
            self._look_who_waits()

    def _something_is_due(self, limit_ms: int | None) -> bool:
        """Apply the next thing that is due up to `limit_ms`, or up to the end of the history if it is None.

        Returns: whether there was such a thing.
        """
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
            self._simulator.rebalanced(seq, at)
        else:
            del self._due[broker]
            self._simulator.caught_up(broker, seq, at)
        self._look_who_waits()
        return True

    @property
    def _end_ms(self) -> int:
        """The time of the last event of the history."""
        last_action_ms = self._timeline.actions[-1].t_ms if self._timeline.actions else 0
        return max(last_action_ms, self._timeline.ended_ms, self._facts[-1].t_ms if self._facts else 0)

    def _next_look_ms(self) -> int | None:
        """Return when leadership next moves back to the preferred leader; None if it cannot, or not in this what-if."""
        if not self._what_if.preferred_rebalance or not self._simulator.can_be_given_back:
            return None
        now = self._now[1]
        began = [m.t_ms for m in self._timeline.actions if m.kind is ControllerActionKind.FAILOVER and m.t_ms <= now]
        if not began:
            return None
        first, period = began[-1] + FIRST_REBALANCE_AFTER_MS, self._what_if.rebalance_interval_ms
        return first if now < first else first + ((now - first) // period + 1) * period

    # --- replicas that catch up

    def _look_who_waits(self) -> None:
        simulator, (seq, t_ms) = self._simulator, self._now
        for broker in [b for b in self._waiting if not simulator.can_catch_up(b)]:
            since_seq, since_ms = self._waiting.pop(broker)
            self._due.pop(broker, None)
            has_caught_up = simulator.stored is not None and broker in simulator.stored.isr
            self.waits[broker, since_seq] = t_ms - since_ms if has_caught_up else None
        for broker in simulator.assignment.replicas:
            if broker not in self._waiting and simulator.can_catch_up(broker):
                self._waiting[broker] = seq, t_ms
                self.waits[broker, seq] = None
                if self._as_it_was is not None and (broker, seq) not in self._as_it_was.waits:
                    self._due[broker] = t_ms + self._as_it_was.usual_ms(broker, self._what_if)

    def usual_ms(self, broker: int, what_if: WhatIf) -> int:
        """Return how long a replica of this partition takes to catch up."""
        if what_if.catch_up_ms is not None:
            return what_if.catch_up_ms
        own = [took for (b, _), took in self.waits.items() if took is not None and b == broker]
        of_all = [took for took in self.waits.values() if took is not None]
        return int(median(own or of_all)) if of_all else CATCH_UP_MS

    def _pass_over(self, fact: ExternalInput) -> None:
        description = f"{list(fact.brokers)} {fact.what}" if fact.brokers else fact.what
        self._passed_over.append(
            Mismatch(*self._key, fact.seq, fact.t_ms, PASSED_OVER, description, "it is not applicable any more")
        )
