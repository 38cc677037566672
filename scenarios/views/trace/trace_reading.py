"""One pass over a trace, as far as it can be read: first all events before the damage, then the description of the damage.

No event is kept: a trace may be larger than memory.
"""

from collections.abc import Iterator
from pathlib import Path

from kcsim.eventlog.event_log import BadTraceError, read_trace
from kcsim.eventlog.events import Event


class TraceReading:
    """An iterable over a trace, for one iteration.

    Attributes:
        path: of the trace.
        first, last: the first and last event read so far; None before any was read.
        problem: why the trace cannot be read further, with file and place; None if it can.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.first: Event | None = None
        self.last: Event | None = None
        self.problem: str | None = None

    def __iter__(self) -> Iterator[Event]:
        """Yield the events. Raises: OSError, if nothing can be read at all."""
        try:
            for event in read_trace(self.path):
                if self.last is not None and event.seq <= self.last.seq:
                    came = f"event #{event.seq} comes after #{self.last.seq}"
                    raise BadTraceError(f"{self.path}: {came}: this is not the log of one run")
                self.first = self.first or event
                self.last = event
                yield event
        except BadTraceError as problem:
            self.problem = str(problem)
        except OSError as error:
            if self.last is None:
                raise
            self.problem = f"{self.path}: cannot be read after #{self.last.seq}: {error.strerror or error}"

    @property
    def nothing_read(self) -> str | None:
        """Why not a single event was read, after the iteration; None if there was one."""
        if self.last is not None:
            return None
        return self.problem or f"{self.path}: it has no events"
