"""What a trace holds, event by event in a few bytes each: enough to choose what a report keeps of it.

Ten million events take some 200 MB so; the events themselves are read and forgotten.
"""

from array import array
from bisect import bisect_left

from kcsim.scenarios.reading.trace_reading import TraceReading
from kcsim.scenarios.reporting.of_note import Teller
from kcsim.zk.events import Event, EventKind

NO_CAUSE = -1


class Survey:
    """A first look at a trace. An event is named by its place, from 0.

    Attributes:
        ranks: of each event, as of_note ranks it.
        times_ms: when it happened; not before any event before it, whatever an imported log tells.
        faults: places of the faults.
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
        """Note the next event; its seq is higher than that of the one before."""
        if event.kind is EventKind.FAULT:
            self.faults.append(len(self))
        self.ranks.append(rank)
        self.times_ms.append(max(event.t_ms, self.times_ms[-1]) if self.times_ms else event.t_ms)
        self._seqs.append(event.seq)
        self._causes.append(NO_CAUSE if event.cause is None else event.cause)

    def seq(self, place: int) -> int:
        return self._seqs[place]

    def cause(self, place: int) -> int | None:
        """The place of what an event follows from; None if it names nothing, or nothing that comes before it."""
        seq = self._causes[place]
        found = bisect_left(self._seqs, seq, 0, place) if seq != NO_CAUSE else place
        return found if found < place and self._seqs[found] == seq else None

    def first_from_seq(self, seq: int) -> int:
        """The place of the first event with this seq or a later one; the length if there is none."""
        return bisect_left(self._seqs, seq)

    def first_from_ms(self, t_ms: int) -> int:
        """The place of the first event that happened then or later; the length if there is none."""
        return bisect_left(self.times_ms, t_ms)


def survey(reading: TraceReading) -> Survey:
    """Read a trace through, or as far as it can be read: the survey says what stopped it. Raises: OSError."""
    found, teller = Survey(), Teller()
    for event in reading:
        found.add(event, teller.tell(event).rank)
    found.problem = reading.problem
    return found
