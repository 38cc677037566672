"""What a test did to its servers, clients and processes, and when: the part that ZooKeeper's log does not contain."""

from typing import NamedTuple

from kcsim.runtime.wallclock import wall_clock_ms


class TimelineEntry(NamedTuple):
    """One line of a timeline. `at_ms` is milliseconds since 1970."""

    at_ms: int
    who: str
    what: str


class ActionHistory:
    """The test's timeline entries, in the order in which they were made, from any thread."""

    def __init__(self) -> None:
        self.began_ms = wall_clock_ms()
        self.entries: list[TimelineEntry] = []

    def note(self, who: str, what: str, at_ms: int | None = None) -> None:
        """Add an entry. `at_ms` is the time at which the action began; None: now."""
        self.entries.append(TimelineEntry(wall_clock_ms() if at_ms is None else at_ms, who, what))

    def now_ms(self) -> int:
        """Return the current time, for a later `at_ms`."""
        return wall_clock_ms()
