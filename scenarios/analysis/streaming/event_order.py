"""The order of a run's events: late ones are waited for, repeated ones are dropped.

`seq` counts the events of a run from 0. An event is folded when all before it have been. Where one is missing, those after
it wait, until the run's time has gone on by the allowed lateness, or nothing more comes for a while. Then the fold goes on
without it; if it comes after all, it is too late. A history that was generated has gaps in its seq from the start: it
always waits.
"""

from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from kcsim.scenarios.analysis.folding.replay_fact import ReplayFact

GAPS_KEPT = 10_000
Int64s = NDArray[np.int64]


class OrderState(msgspec.Struct, array_like=True):
    """The state of an EventOrder.

    Attributes:
        next_seq: all events before it have been released, or are not waited for any more.
        reached_ms: the greatest time of any event; of several partitions of a topic, in the one that has come least far.
        released_ms: the time of the last event that was released.
        seqs, times: of the events that wait, sorted.
        facts: of these events.
        gaps: first and last seq of the latest gaps that were not waited for any more.
        events, repeated, late: how many there were of each; those that are late came too late.
    """

    next_seq: int = 0
    reached_ms: int = 0
    released_ms: int = 0
    seqs: bytes = b""
    times: bytes = b""
    facts: list[ReplayFact] = []
    gaps: bytes = b""
    events: int = 0
    repeated: int = 0
    late: int = 0


class Released(NamedTuple):
    """What can be folded now, in order of seq; and the seqs of the events that came too late."""

    facts: list[ReplayFact]
    late: list[int]


class EventOrder:
    """Puts the events of one run in order.

    Args:
        lateness_ms: how far the run's time may go on while an event is missing.
    """

    def __init__(self, lateness_ms: int, state: OrderState | None = None) -> None:
        self.state = state or OrderState()
        self._lateness_ms = lateness_ms

    def take(self, seqs: Int64s, times: Int64s, facts: list[ReplayFact], reached_ms: int, flush: bool = False) -> Released:
        """Take in events, in any order.

        Args:
            seqs, times: of all of them.
            facts: of some of them.
            reached_ms: the run's time up to which events have come.
            flush: wait for nothing any more.
        """
        state = self.state
        waiting, waiting_ms = np.frombuffer(state.seqs, np.int64), np.frombuffer(state.times, np.int64)
        is_past = seqs < state.next_seq
        late: list[int] = []
        if is_past.any():
            late = self._late(seqs[is_past])
            state.late += len(late)
            state.repeated += int(is_past.sum()) - len(late)
            seqs, times = seqs[~is_past], times[~is_past]
            facts = [fact for fact in facts if fact.seq >= state.next_seq]
        merged, places = np.unique(np.concatenate([waiting, seqs]), return_index=True)
        state.repeated += len(waiting) + len(seqs) - len(merged)
        merged_ms = np.concatenate([waiting_ms, times])[places]
        state.reached_ms = max(state.reached_ms, reached_ms)
        count = len(merged) if flush else self._releasable(merged, merged_ms)
        state.events += count
        known: dict[int, ReplayFact] = {}
        for fact in (*state.facts, *facts):
            known.setdefault(fact.seq, fact)
        in_order = [known[seq] for seq in sorted(known)]
        if count:
            self._remember_gaps(merged[:count])
            state.next_seq = int(merged[count - 1]) + 1
            state.released_ms = max(state.released_ms, int(merged_ms[:count].max()))
        state.seqs, state.times = merged[count:].tobytes(), merged_ms[count:].tobytes()
        cut = next((place for place, fact in enumerate(in_order) if fact.seq >= state.next_seq), len(in_order))
        state.facts = in_order[cut:]
        return Released(in_order[:cut], late)

    def _releasable(self, seqs: Int64s, times: Int64s) -> int:
        """Return how many of the events, which are sorted by seq, need not wait."""
        if not len(seqs):
            return 0
        overdue = np.nonzero(times < self.state.reached_ms - self._lateness_ms)[0]
        count = int(overdue[-1]) + 1 if len(overdue) else 0
        expected = int(seqs[count - 1]) + 1 if count else self.state.next_seq
        follows = seqs[count:] == expected + np.arange(len(seqs) - count)
        return count + (int(np.argmin(follows)) if not follows.all() else len(follows))

    def _remember_gaps(self, released: Int64s) -> None:
        before = np.concatenate([[self.state.next_seq - 1], released[:-1]])
        is_after_gap = released != before + 1
        if is_after_gap.any():
            gaps = np.stack([before[is_after_gap] + 1, released[is_after_gap] - 1], axis=1).astype(np.int64)
            known = np.frombuffer(self.state.gaps, np.int64).reshape(-1, 2)
            self.state.gaps = np.concatenate([known, gaps])[-GAPS_KEPT:].tobytes()

    def _late(self, seqs: Int64s) -> list[int]:
        """Return which of the events that come after their turn were missing then. Each closes its part of a gap."""
        gaps = [tuple(gap) for gap in np.frombuffer(self.state.gaps, np.int64).reshape(-1, 2).tolist()]
        late = []
        for seq in sorted({int(seq) for seq in seqs}):
            place = next((place for place, (first, last) in enumerate(gaps) if first <= seq <= last), None)
            if place is not None:
                first, last = gaps[place]
                gaps[place : place + 1] = [gap for gap in ((first, seq - 1), (seq + 1, last)) if gap[0] <= gap[1]]
                late.append(seq)
        if late:
            self.state.gaps = np.array(gaps, np.int64).reshape(-1, 2).tobytes()
        return late
