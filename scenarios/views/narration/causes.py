"""The causes and effects of events: the event log as a forest in which each event is a child of its cause.

Pure. A cause must precede its effect in the log; a cause that does not, or that is not in the log, is a missing cause and
ends the chain. Therefore no chain has a loop, whatever a trace contains.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kcsim.eventlog.events import Event, EventKind

ROOTS = frozenset({EventKind.RUN_STARTED, EventKind.FAULT, EventKind.ADMIN_ACT})
"""Kinds that need no cause: the start of the run, and actions from outside the cluster."""


class NoSuchEventError(Exception):
    """The log has no event with this seq."""

    def __init__(self, seq: int, known: range) -> None:
        there_are = f"it has #{known[0]} to #{known[-1]}" if known else "it has none"
        super().__init__(f"there is no event #{seq} in the trace; {there_are}")
        self.seq = seq


@dataclass(frozen=True, slots=True)
class Branch:
    """An event that follows from the requested one.

    Attributes:
        continues: per level down to this one, whether a later sibling follows at that level: for drawing a tree's lines.
    """

    event: Event
    continues: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Stands for `count` events that follow from `cause`, directly or not, and are not shown.

    It is the last of its siblings.
    """

    cause: int
    count: int
    continues: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Story:
    """An event with its causes and effects.

    Attributes:
        chain: from the root down to the event itself.
        missing_cause: the cause that the root names although the log has no such event before it; else None.
        followed_by: in the order of a printed tree: each event directly below its cause, siblings from the oldest to the
            latest.
    """

    chain: tuple[Event, ...]
    missing_cause: int | None
    followed_by: tuple[Branch | LeftOut, ...]

    @property
    def event(self) -> Event:
        return self.chain[-1]

    @property
    def has_known_root(self) -> bool:
        """Whether the chain goes back to a fault, an admin act or the start of the run."""
        return self.missing_cause is None and self.chain[0].kind in ROOTS


class Causes:
    """The forest of one log.

    Args:
        events: in the order of the log, which may begin late or have gaps.
    """

    def __init__(self, events: Iterable[Event]) -> None:
        self._events = {event.seq: event for event in events}
        self._followers: dict[int, list[int]] = {}
        for event in self._events.values():
            if (cause := self._cause_of(event)) is not None:
                self._followers.setdefault(cause, []).append(event.seq)
        self._descendants: dict[int, int] = {}
        for seq in sorted(self._events, reverse=True):  # an effect has a higher seq than its cause
            self._descendants[seq] = sum(1 + self._descendants[follower] for follower in self._followers.get(seq, ()))

    def _cause_of(self, event: Event) -> int | None:
        """Return the seq of an event's cause; None if it has no cause, or no valid one."""
        return event.cause if event.cause is not None and event.cause < event.seq and event.cause in self._events else None

    def story(self, seq: int, depth: int | None = None, breadth: int | None = None) -> Story:
        """Return the causes and effects of an event. Raises: NoSuchEventError.

        Args:
            depth: how many levels of effects, None for all.
            breadth: how many direct effects of one event, None for all.
        """
        if seq not in self._events:
            known = range(min(self._events), max(self._events) + 1) if self._events else range(0)
            raise NoSuchEventError(seq, known)
        chain = self._chain(seq)
        return Story(chain, chain[0].cause, tuple(self._followed_by(seq, depth, breadth)))

    def _chain(self, seq: int) -> tuple[Event, ...]:
        upwards = [self._events[seq]]
        while (cause := self._cause_of(upwards[-1])) is not None:
            upwards.append(self._events[cause])
        return tuple(reversed(upwards))

    def _followed_by(self, seq: int, depth: int | None, breadth: int | None) -> Iterator[Branch | LeftOut]:
        # A stack instead of recursion: a chain may be as long as its run.
        stack = self._below(seq, (), depth, breadth)
        while stack:
            item = stack.pop()
            yield item
            if isinstance(item, Branch):
                stack.extend(self._below(item.event.seq, item.continues, depth, breadth))

    def _below(
        self, seq: int, continues: tuple[bool, ...], depth: int | None, breadth: int | None
    ) -> list[Branch | LeftOut]:
        """Return the items directly below an event, the last one first."""
        is_deep_enough = depth is not None and len(continues) >= depth
        shown = [] if is_deep_enough else self._followers.get(seq, [])[:breadth]
        left_out = self._descendants[seq] - sum(1 + self._descendants[follower] for follower in shown)
        below: list[Branch | LeftOut] = [LeftOut(seq, left_out, (*continues, False))] if left_out else []
        for follower in reversed(shown):
            below.append(Branch(self._events[follower], (*continues, bool(below))))
        return below
