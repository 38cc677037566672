"""One pass over a trace, as far as it can be read: whoever reads sees all that came before a break, and then what broke.

Nothing is kept: a trace may be longer than memory.
"""

from collections.abc import Iterator
from pathlib import Path

from kcsim.scenarios.history import BadTraceError, read_trace
from kcsim.zk.events import Event


class TraceReading:
    """Iterate over it once.

    Attributes:
        path: of the trace.
        first, last: what was read; None before anything was.
        problem: why it cannot be read on, if it cannot: with file and place.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.first: Event | None = None
        self.last: Event | None = None
        self.problem: str | None = None

    def __iter__(self) -> Iterator[Event]:
        """Yield its events. Raises: OSError, if there is nothing to read at all."""
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
        """Why there is not a single event, once it was read; None if there is one."""
        if self.last is not None:
            return None
        return self.problem or f"{self.path}: it has no events"
