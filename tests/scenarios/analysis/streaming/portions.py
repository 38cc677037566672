"""Runs handed to the fold of slots in portions, without Spark."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from kcsim.eventlog.events import Event
from kcsim.scenarios.analysis.folding.mismatch import Mismatch
from kcsim.scenarios.analysis.folding.transition import Transition
from kcsim.scenarios.analysis.streaming.event_chunk import EventChunk, chunks_of, packed, unpacked
from kcsim.scenarios.analysis.streaming.run_status import RunStatus
from kcsim.scenarios.analysis.streaming.running_analyses import UnavailabilityRow
from kcsim.scenarios.analysis.streaming.slot_fold import SlotFold
from kcsim.scenarios.analysis.tables.rejects_table import Reject

BATCH = "live"
LATENESS_MS = 10_000


class MemoryStore(dict[str, bytes]):
    """A store of states in memory, which counts what is written."""

    written = 0

    def put(self, name: str, value: bytes) -> None:
        self[name] = value
        self.written += 1


@dataclass
class Slots:
    """The folds of all slots, each with a store of its own, and all that they returned."""

    count: int = 2
    lateness_ms: int = LATENESS_MS
    transitions: list[Transition] = field(default_factory=list)
    mismatches: list[Mismatch] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    windows: list[UnavailabilityRow] = field(default_factory=list)
    statuses: dict[tuple[str, str, int], RunStatus] = field(default_factory=dict)
    stores: list[MemoryStore] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stores = [MemoryStore() for _ in range(self.count)]

    def take(self, run: str, events: Sequence[Event]) -> None:
        """Have each slot fold one portion of a run."""
        self._take_chunks(chunks_of(BATCH, run, events, [], self.count))

    def flush(self) -> None:
        """Have each slot wait for nothing any more."""
        self._take_chunks([EventChunk(flush=True)] * self.count)

    def _take_chunks(self, chunks: Iterable[EventChunk]) -> None:
        for slot, chunk in enumerate(chunks):
            result = SlotFold(slot, self.lateness_ms, self.stores[slot]).take([unpacked(packed(chunk))])
            self.transitions.extend(result.transitions)
            self.mismatches.extend(result.mismatches)
            self.rejects.extend(result.rejects)
            self.windows.extend(result.unavailability)
            self.statuses.update({(status.batch, status.run, slot): status for status in result.running})


def portions(events: Sequence[Event], size: int) -> Iterator[Sequence[Event]]:
    """Cut a run into portions of `size` events."""
    return (events[at : at + size] for at in range(0, len(events), size))


def in_order(rows: Iterable[Transition]) -> list[Transition]:
    """Return transitions partition by partition, as in one process."""
    return sorted(rows, key=lambda row: (row.run, row.topic, row.partition, row.n))
