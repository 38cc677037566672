"""A point in time of a run, as a person writes it: seconds since the run began, the number of an event, or the end."""

import re
from dataclasses import dataclass

from kcsim.eventlog.events import Event, EventKind

TIME_POINT_PATTERN = re.compile(r"#?(?P<seq>\d+)|(?P<seconds>\d+(\.\d+)?)\s*s|(?P<ms>\d+)\s*ms")
END_WORD = "end"


class BadTimePointError(Exception):
    """The run has no such point in time. The message says which forms are valid, or what the run has."""


@dataclass(frozen=True, slots=True)
class TimePoint:
    """A point in time as text, and its meaning: the event with a seq, a time, or, with neither, the end of the run."""

    text: str
    seq: int | None = None
    t_ms: int | None = None

    @property
    def is_the_end(self) -> bool:
        return self.seq is None and self.t_ms is None

    def is_before(self, event: Event) -> bool:
        """Return whether an event comes after this point. Events at the same time do not; nothing comes after the end."""
        if self.seq is not None:
            return event.seq > self.seq
        return self.t_ms is not None and event.t_ms > self.t_ms

    def is_the_last(self, event: Event) -> bool:
        """Return whether no event after this one can be at this point: reading may stop."""
        return self.seq == event.seq

    def is_after(self, event: Event) -> bool:
        """Return whether an event comes before this point. Events at the same time do not."""
        if self.seq is not None:
            return event.seq < self.seq
        return self.t_ms is None or event.t_ms < self.t_ms

    def is_reached_by(self, last: Event) -> bool:
        """Return whether a run whose last event is this one has reached this point."""
        return self.is_the_end or not self.is_after(last)


THE_END = TimePoint(END_WORD)


def parse_time_point(text: str, may_be_end: bool = True) -> TimePoint:
    """Read 12.5s, 300ms, #123 (or 123), or end. Raises: BadTimePointError.

    Args:
        may_be_end: whether `end` is valid.
    """
    stripped = text.strip()
    if stripped == END_WORD and may_be_end:
        return THE_END
    named = TIME_POINT_PATTERN.fullmatch(stripped)
    if named is None:
        end = f", or {END_WORD}" if may_be_end else ""
        raise BadTimePointError(f"{text!r} is no moment of a run; write 12.5s, 300ms, '#123' for an event{end}")
    if named["seq"]:
        return TimePoint(text, seq=int(named["seq"]))
    return TimePoint(text, t_ms=int(named["ms"]) if named["ms"] else round(float(named["seconds"]) * 1000))


def check_order(begin: TimePoint | None, end: TimePoint | None) -> None:
    """Check that there can be events between two points in time. Raises: BadTimePointError.

    A time and an event number can be compared only by reading the trace.
    """
    if begin is None or end is None:
        return
    pairs = ((begin.seq, end.seq), (begin.t_ms, end.t_ms))
    if any(first is not None and last is not None and first > last for first, last in pairs):
        raise BadTimePointError(f"{end.text} is before {begin.text}: there is nothing between them")


def ends_run(event: Event) -> bool:
    """Return whether the run ends with this event; only clean-up comes after it."""
    return event.kind is EventKind.RUN_ENDED
