"""What a test did to its servers, clients and processes, and when: what ZooKeeper's log does not tell."""

from typing import NamedTuple

from kcsim.scenarios.testing.background import wall_clock_ms


class Entry(NamedTuple):
    """One line of a story; `at_ms` since 1970."""

    at_ms: int
    who: str
    what: str


class Diary:
    """Entries in the order in which they were made, from any thread."""

    def __init__(self) -> None:
        self.began_ms = wall_clock_ms()
        self.entries: list[Entry] = []

    def note(self, who: str, what: str, at_ms: int | None = None) -> None:
        """Make an entry; `at_ms`: when it began, if that was not now."""
        self.entries.append(Entry(wall_clock_ms() if at_ms is None else at_ms, who, what))

    def now_ms(self) -> int:
        """For `at_ms`."""
        return wall_clock_ms()
