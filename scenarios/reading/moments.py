"""A moment of a run, as a person names it: seconds since it began, the number of an event, or its end."""

import re
from dataclasses import dataclass

from kcsim.zk.events import Event, EventKind

MOMENT = re.compile(r"#?(?P<seq>\d+)|(?P<seconds>\d+(\.\d+)?)\s*s|(?P<ms>\d+)\s*ms")
END_WORD = "end"


class BadMomentError(Exception):
    """No moment of this run. Says what it may be, or what the run has."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What a person wrote, and what it means: the event with a seq, a time, or with neither the end of the run."""

    text: str
    seq: int | None = None
    t_ms: int | None = None

    @property
    def is_the_end(self) -> bool:
        return self.seq is None and self.t_ms is None

    def is_before(self, event: Event) -> bool:
        """Whether an event comes after this moment. Those at the same time belong to it; nothing comes after the end."""
        if self.seq is not None:
            return event.seq > self.seq
        return self.t_ms is not None and event.t_ms > self.t_ms

    def is_the_last(self, event: Event) -> bool:
        """Whether nothing that comes after this event can belong to the moment: no need to read on."""
        return self.seq == event.seq

    def is_after(self, event: Event) -> bool:
        """Whether an event comes before this moment. Those at the same time do not."""
        if self.seq is not None:
            return event.seq < self.seq
        return self.t_ms is None or event.t_ms < self.t_ms

    def is_reached_by(self, last: Event) -> bool:
        """Whether a run that has come to this event has seen the moment."""
        return self.is_the_end or not self.is_after(last)


THE_END = Moment(END_WORD)


def parse_moment(text: str, may_be_end: bool = True) -> Moment:
    """Read 12.5s, 300ms, #123 (or 123), or end. Raises: BadMomentError.

    Args:
        may_be_end: whether `end` makes sense.
    """
    stripped = text.strip()
    if stripped == END_WORD and may_be_end:
        return THE_END
    named = MOMENT.fullmatch(stripped)
    if named is None:
        end = f", or {END_WORD}" if may_be_end else ""
        raise BadMomentError(f"{text!r} is no moment of a run; write 12.5s, 300ms, '#123' for an event{end}")
    if named["seq"]:
        return Moment(text, seq=int(named["seq"]))
    return Moment(text, t_ms=int(named["ms"]) if named["ms"] else round(float(named["seconds"]) * 1000))


def check_order(begin: Moment | None, end: Moment | None) -> None:
    """See to it that there can be something between two moments. Raises: BadMomentError.

    Of a time and the number of an event only a reading of the trace can tell which comes first.
    """
    if begin is None or end is None:
        return
    pairs = ((begin.seq, end.seq), (begin.t_ms, end.t_ms))
    if any(first is not None and last is not None and first > last for first, last in pairs):
        raise BadMomentError(f"{end.text} is before {begin.text}: there is nothing between them")


def is_over_with(event: Event) -> bool:
    """Whether a run is over with this event; what comes after it is only cleared away."""
    return event.kind is EventKind.RUN_ENDED
