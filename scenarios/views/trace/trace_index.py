"""An index of a trace with a few bytes per event: enough to choose which events a report keeps.

Ten million events take about 200 MB; the events themselves are not kept.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.views.trace.event_importance import EventRanker
from kcsim.scenarios.views.trace.trace_reading import TraceReading

NO_CAUSE = -1


class TraceIndex:
    """The result of a first pass over a trace. An event is identified by its index, from 0.

    Attributes:
        ranks: the importance of each event, as EventRanker ranks it.
        times_ms: the time of each event; never less than that of the event before, even if an imported log has it so.
        faults: indices of the faults.
        problem: why the trace could not be read to its end; None if it could.
    """

    def __init__(self) -> None:
        self.ranks = bytearray()
        self.times_ms = array("q")
        self.faults = array("q")
        self.problem: str | None = None
        self._seqs = array("q")
        self._causes = array("q")

    def __len__(self) -> int:
        return len(self._seqs)

    def add(self, event: Event, rank: int) -> None:
        """Add the next event; its seq is higher than that of the one before."""
        if event.kind is EventKind.FAULT:
            self.faults.append(len(self))
        self.ranks.append(rank)
        self.times_ms.append(max(event.t_ms, self.times_ms[-1]) if self.times_ms else event.t_ms)
        self._seqs.append(event.seq)
        self._causes.append(NO_CAUSE if event.cause is None else event.cause)

    def seq(self, place: int) -> int:
        return self._seqs[place]

    def cause(self, place: int) -> int | None:
        """Return the index of an event's cause; None if it has no cause, or its cause is not among the events before it."""
        seq = self._causes[place]
        found = bisect_left(self._seqs, seq, 0, place) if seq != NO_CAUSE else place
        return found if found < place and self._seqs[found] == seq else None

    def first_from_seq(self, seq: int) -> int:
        """Return the index of the first event with this seq or a later one; the length if there is none."""
        return bisect_left(self._seqs, seq)

    def first_from_ms(self, t_ms: int) -> int:
        """Return the index of the first event at this time or later; the length if there is none."""
        return bisect_left(self.times_ms, t_ms)


def index_trace(reading: TraceReading, observe: Callable[[Event], None] | None = None) -> TraceIndex:
    """Read a trace to its end, or as far as possible: `problem` of the index says what stopped it.

    Args:
        observe: called with each event, in order.

    Raises: OSError.
    """
    index, ranker = TraceIndex(), EventRanker()
    for event in reading:
        index.add(event, ranker.rank(event).rank)
        if observe is not None:
            observe(event)
    index.problem = reading.problem
    return index
