"""The latest events of a log that goes on for days."""

from collections.abc import Iterator, Sequence
from typing import overload

from kcsim.eventlog.events import Event


class RecentEvents(Sequence[Event]):
    """The latest events of a log, found by their seq as in a list of all of them; the earlier ones are forgotten.

    The length is that of the whole log. Iteration, and a slice, leave out what is forgotten.

    Args:
        events: all events so far.
        most: how many are kept at least; up to half as many more are, so that forgetting costs little.

    Attributes:
        first_seq: of the first event that is kept.
    """

    def __init__(self, events: Sequence[Event], most: int) -> None:
        self._kept = list(events)
        self._most = most
        self.first_seq = 0
        self._forget()

    def append(self, event: Event) -> None:
        self._kept.append(event)
        if len(self._kept) > self._most + self._most // 2:
            self._forget()

    def clear(self) -> None:
        """Forget all events; those to come go on counting."""
        self.first_seq += len(self._kept)
        self._kept.clear()

    def _forget(self) -> None:
        surplus = max(0, len(self._kept) - self._most)
        del self._kept[:surplus]
        self.first_seq += surplus

    def __len__(self) -> int:
        return self.first_seq + len(self._kept)

    def __iter__(self) -> Iterator[Event]:
        return iter(self._kept)

    def __reversed__(self) -> Iterator[Event]:
        return reversed(self._kept)

    @overload
    def __getitem__(self, seq: int) -> Event: ...
    @overload
    def __getitem__(self, seq: slice) -> list[Event]: ...
    def __getitem__(self, seq: int | slice) -> Event | list[Event]:
        """Return an event by its seq, counted from the end if it is negative, or a slice of them.

        Raises: IndexError, also for one that is forgotten.
        """
        if isinstance(seq, slice):
            start, stop, step = seq.indices(len(self))
            return self._kept[max(0, start - self.first_seq) : max(0, stop - self.first_seq) : step]
        place = seq + len(self) if seq < 0 else seq
        if place < self.first_seq:
            raise IndexError(f"event #{place} is forgotten; the log keeps those from #{self.first_seq} on")
        return self._kept[place - self.first_seq]
