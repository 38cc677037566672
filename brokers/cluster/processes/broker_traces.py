"""Follows the traces of brokers in processes of their own (`kcsim broker --trace DIR`) while they are written.

Each start of a broker has a file of its own. An event is in its file as soon as it happened, so that a killed process has
left all that it did.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from kcsim.eventlog.events import Event
from kcsim.eventlog.run_record import run_record

SEQS_REMEMBERED = 200_000
"""Of how many events of a process the seq in the merged log is kept: an event follows from recent ones."""


def trace_path(directory: Path, name: str, start: int) -> Path:
    """Return the file of one start of a broker. Args: start: 1, 2, …"""
    return directory / f"{name}-{start}.jsonl"


@dataclass
class BrokerTrace:
    """The trace of one start of a broker.

    Attributes:
        unread: events that have not been taken, each with its time in ms since 1970.
    """

    node: str
    path: Path
    unread: deque[tuple[int, Event]] = field(default_factory=deque)
    _began_ms: int = 0
    _position: int = 0
    _rest: bytes = b""  # the beginning of a line that is not complete yet
    _merged_seqs: dict[int, int | None] = field(default_factory=dict)

    def read(self) -> None:
        """Read what was written since the last call."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._position)
                new = file.read()
        except FileNotFoundError:
            return
        self._position += len(new)
        *lines, self._rest = (self._rest + new).split(b"\n")
        for line in lines:
            event = msgspec.json.decode(line, type=Event)
            if (record := run_record(event)) is not None and record.began_ms is not None:
                self._began_ms = record.began_ms
            self.unread.append((self._began_ms + event.t_ms, event))

    def note_merged(self, event: Event, seq: int | None) -> None:
        """Note the seq that an event of the trace has in the merged log; None if it has none."""
        self._merged_seqs[event.seq] = seq
        if len(self._merged_seqs) > SEQS_REMEMBERED:
            del self._merged_seqs[next(iter(self._merged_seqs))]

    def merged_cause(self, event: Event) -> int | None:
        """Return the seq in the merged log of what an event follows from; None if that is not known."""
        return None if event.cause is None else self._merged_seqs.get(event.cause)


class BrokerTraces:
    """The traces of all brokers, of each the latest start whose file is there.

    Args:
        directories: broker's name -> the directory of its traces.
    """

    def __init__(self, directories: Mapping[str, Path]) -> None:
        self._directories = directories
        self._starts = dict.fromkeys(directories, 1)
        self._traces = {name: self._trace(name) for name in directories}

    def read(self) -> None:
        """Read what was written since the last call. A later start's file is begun when all before it was taken."""
        for name, trace in self._traces.items():
            trace.read()
            if not trace.unread and trace_path(self._directories[name], name, self._starts[name] + 1).exists():
                self._starts[name] += 1
                self._traces[name] = self._trace(name)
                self._traces[name].read()

    def of(self, node: str) -> BrokerTrace | None:
        """Return the present trace of a broker; None if there is no such broker."""
        return self._traces.get(node)

    def __iter__(self) -> Iterator[BrokerTrace]:
        return iter(self._traces.values())

    def _trace(self, name: str) -> BrokerTrace:
        return BrokerTrace(name, trace_path(self._directories[name], name, self._starts[name]))
