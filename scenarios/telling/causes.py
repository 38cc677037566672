"""Why an event happened, and what came of it: the event log as a forest in which each event hangs below its cause.

Pure. A cause always stands before what follows from it; one that does not, or that is not there, is a missing cause and ends
the chain. So no chain loops, whatever a trace says.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kcsim.zk.events import Event, EventKind

ROOTS = frozenset({EventKind.RUN_STARTED, EventKind.FAULT, EventKind.ADMIN_ACT})
"""Kinds that need no cause: the run began, or somebody outside did something."""


class NoSuchEventError(Exception):
    """A seq that the log does not have."""

    def __init__(self, seq: int, known: range) -> None:
        there_are = f"it has #{known[0]} to #{known[-1]}" if known else "it has none"
        super().__init__(f"there is no event #{seq} in the trace; {there_are}")
        self.seq = seq


@dataclass(frozen=True, slots=True)
class Branch:
    """An event that follows from the one asked about.

    Attributes:
        continues: per level down to this one, whether a sibling comes after it there: what draws a tree's lines.
    """

    event: Event
    continues: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Stands for `count` events that follow from `cause`, directly or not, and are not shown. The last of its siblings."""

    cause: int
    count: int
    continues: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Story:
    """An event with what led to it, and what it led to.

    Attributes:
        chain: from the root down to the event itself.
        missing_cause: what the root names as its cause although the log has no such event before it; else None.
        followed_by: as a tree is read: each event directly below its cause, siblings from the oldest to the latest.
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
        events: in the order of the log; it may begin late or have gaps.
    """

    def __init__(self, events: Iterable[Event]) -> None:
        self._events = {event.seq: event for event in events}
        self._followers: dict[int, list[int]] = {}
        for event in self._events.values():
            if (cause := self._cause_of(event)) is not None:
                self._followers.setdefault(cause, []).append(event.seq)
        self._descendants: dict[int, int] = {}
        for seq in sorted(self._events, reverse=True):  # whatever follows from an event comes after it
            self._descendants[seq] = sum(1 + self._descendants[follower] for follower in self._followers.get(seq, ()))

    def _cause_of(self, event: Event) -> int | None:
        """The seq of its cause, None where it has none or none that can be believed."""
        return event.cause if event.cause is not None and event.cause < event.seq and event.cause in self._events else None

    def story(self, seq: int, depth: int | None = None, breadth: int | None = None) -> Story:
        """Tell what led to an event and what it led to. Raises: NoSuchEventError.

        Args:
            depth: how many levels of what followed, None for all.
            breadth: how many direct followers of one event, None for all.
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
        # A stack and no recursion: a chain may be as long as its run.
        stack = self._below(seq, (), depth, breadth)
        while stack:
            item = stack.pop()
            yield item
            if isinstance(item, Branch):
                stack.extend(self._below(item.event.seq, item.continues, depth, breadth))

    def _below(
        self, seq: int, continues: tuple[bool, ...], depth: int | None, breadth: int | None
    ) -> list[Branch | LeftOut]:
        """What is shown directly below an event, the last one first."""
        is_deep_enough = depth is not None and len(continues) >= depth
        shown = [] if is_deep_enough else self._followers.get(seq, [])[:breadth]
        left_out = self._descendants[seq] - sum(1 + self._descendants[follower] for follower in shown)
        below: list[Branch | LeftOut] = [LeftOut(seq, left_out, (*continues, False))] if left_out else []
        for follower in reversed(shown):
            below.append(Branch(self._events[follower], (*continues, bool(below))))
        return below
