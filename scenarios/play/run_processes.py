"""The processes of a played cluster's runs: those that go on, and the snapshots from which others can begin."""

import os
import pickle
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

import msgspec

from kcsim.brokers.clients.ledger import RecordCounts
from kcsim.eventlog.events import Event
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.play.acts import Act
from kcsim.scenarios.play.event_stream import SEGMENT_EVENTS
from kcsim.scenarios.play.run_messages import Begin, Failed, GoOn, Happened, Reached, Refused, Report, Started
from kcsim.scenarios.play.shown_parts import RunSegments
from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot

SNAPSHOT_EVERY_S = 0.3
"""A run up to a moment from the snapshot before takes hardly longer."""
MOST_SNAPSHOTS = 32
WITHIN_S = 60.0
"""How long a run may take to begin, or to report anything at all."""


class RunFailedError(Exception):
    """A run, or its process, has ended by itself."""


class Described(NamedTuple):
    """What a run is a run of: the scenario with the snapshot in whose state it begins, pickled, and the seed."""

    scenario: bytes
    seed: int


@dataclass
class PlayedRun:
    """A run in a process of its own, and what is known of it.

    Attributes:
        acts: what was done in it and is to be done, in order.
        parts: what has happened in it, in order.
        refused: why acts could not be done, by their indices.
        limit_ms: up to where it may go.
        has_reached_limit: whether it waits there, and everything that it was asked for is done.
        reached_ms: the last limit that it is known to have reached; -1 if there is none.
        next_ms: when the next thing happens by itself; known when it has reached its limit.
        about: the facts about it as the page has them, as JSON, as of when they were last asked for.
        records: the fate of the records that its producers had written when that was last asked for.
        expected: expectations that it meets at its limit, if they were asked for.
        segments: those that the parts make up.
    """

    connection: Connection
    described: Described
    acts: list[Act]
    parts: list[Happened]
    refused: dict[int, str]
    limit_ms: int
    has_reached_limit: bool = False
    reached_ms: int = -1
    next_ms: int | None = None
    about: bytes = b"null"
    records: RecordCounts | None = None
    expected: list[dict[str, Any]] = field(default_factory=list)
    segments: RunSegments = field(init=False, default_factory=RunSegments)
    _waiting: list[Act] = field(default_factory=list)

    def allow_until(self, limit_ms: int) -> None:
        """Let time pass up to this moment, as soon as the run has reached the limit that it has."""
        self.take()
        if limit_ms > self.limit_ms:
            self.limit_ms = limit_ms
            if self.has_reached_limit:
                self._go_on()

    def act(self, step: str, declares: Mapping[str, Any] | None = None) -> Act:
        """Do a step at the limit. Args: declares: what the step is the first to name. Returns: the act, with its time."""
        act = Act(self.limit_ms, step, declares or {})
        self.acts.append(act)
        self._waiting.append(act)
        self.take()
        if self.has_reached_limit:
            self._go_on()
        return act

    def take(self, timeout_s: float = 0.0) -> None:
        """Take what the run has reported; nothing more of a run that was ended. Raises: RunFailedError."""
        if self.connection.closed:
            return
        try:
            while self.connection.poll(timeout_s):
                self._take(msgspec.msgpack.decode(self.connection.recv_bytes(), type=Report))
                timeout_s = 0.0
        except (EOFError, OSError):
            raise RunFailedError("the process of the run has ended") from None

    def ask_for_story(self) -> None:
        """Let the run report the facts about it. It has reached its limit."""
        self._go_on(is_story_wanted=True)

    def ask_for_expectations(self, topics: Sequence[str]) -> None:
        """Let the run report which expectations about these topics it meets. It has reached its limit."""
        self._go_on(expected_of=list(topics))

    def ask_for_records(self) -> None:
        """Let the run report the fate of its records. It has reached its limit."""
        self._go_on(are_records_counted=True)

    def _go_on(
        self, *, is_story_wanted: bool = False, are_records_counted: bool = False, expected_of: list[str] | None = None
    ) -> None:
        acts, self._waiting = self._waiting, []
        self.has_reached_limit = False
        order = GoOn(self.limit_ms, acts, is_story_wanted, are_records_counted, expected_of)
        try:
            self.connection.send_bytes(msgspec.msgpack.encode(order))
        except OSError:
            raise RunFailedError("the process of the run has ended") from None

    def _take(self, report: Report) -> None:
        match report:
            case Happened():
                self.parts.append(report)
                self.segments.take(report)
            case Refused(act, why):
                self.refused[act] = why
            case Reached(limit_ms):
                self.has_reached_limit, self.reached_ms = True, limit_ms
                self.next_ms, self.expected = report.next_ms, report.expected
                if report.about is not None:
                    self.about = report.about
                if report.records is not None:
                    self.records = report.records
                if self._waiting or limit_ms < self.limit_ms:
                    self._go_on()
            case Failed(error):
                raise RunFailedError(error)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A run as it was at a moment.

    Attributes:
        connection: to the process that begins other runs there.
        at_ms: up to where everything has happened in it.
        acts: what was done until then.
        parts: what had happened until then: so many of the run's parts.
        cost_s: how much processor time it takes to run up to it.
    """

    connection: Connection
    run: PlayedRun | None
    at_ms: int
    acts: Sequence[Act]
    parts: int
    cost_s: float

    def is_before(self, described: "Described", acts: Sequence[Act], until_ms: int) -> bool:
        """Return whether a run with these acts comes by, up to a time."""
        if self.run is None:
            return True
        if self.run.described != described:
            return False
        count = len(self.acts)
        is_same = list(acts[:count]) == list(self.acts)
        return self.at_ms <= until_ms and is_same and all(act.at_ms >= self.at_ms for act in acts[count:])


class RunProcesses:
    """Begins runs, of any scenarios.

    Args:
        snapshot_every_s: after how much processor time a run keeps a snapshot.
        segment_events: see EventStream.
    """

    def __init__(self, snapshot_every_s: float = SNAPSHOT_EVERY_S, segment_events: int = SEGMENT_EVENTS) -> None:
        ours, theirs = socket.socketpair()
        self._handover, handed = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._numbers = 0
        self._runs: dict[int, PlayedRun] = {}
        self._began: dict[int, Connection] = {}
        with theirs, handed:
            ends = theirs.fileno(), handed.fileno()
            arguments = [*map(str, ends), str(snapshot_every_s), str(segment_events)]
            self._process = subprocess.Popen(
                [sys.executable, "-m", "kcsim.scenarios.play.run_process", *arguments],
                pass_fds=ends,
                stdin=subprocess.DEVNULL,
            )
        self._snapshots = [Snapshot(Connection(ours.detach()), None, 0, (), 0, 0.0)]

    def begin(
        self,
        scenario: Scenario,
        seed: int,
        acts: Sequence[Act],
        until_ms: int,
        state: ControlPlaneSnapshot | None = None,
    ) -> PlayedRun:
        """Begin a run with these acts, from the last snapshot that it comes by.

        Args:
            state: what the cluster is brought into before the acts; None: it begins with nothing.

        Raises: RunFailedError.
        """
        described = Described(pickle.dumps((scenario, state)), seed)
        self.take_started()
        usable = [snapshot for snapshot in self._snapshots if snapshot.is_before(described, acts, until_ms)]
        first = max(usable, key=lambda snapshot: (snapshot.at_ms, len(snapshot.acts)))
        self._numbers += 1
        left = list(acts[len(first.acts) :])
        try:
            first.connection.send_bytes(msgspec.msgpack.encode(Begin(self._numbers, *described, left, until_ms)))
        except OSError:
            raise RunFailedError("the process of the run has ended") from None
        while self._numbers not in self._began:
            self.take_started(WITHIN_S)
        parts: list[Happened] = []
        refused: dict[int, str] = {}
        if first.run is not None:
            first.run.take()
            parts = first.run.parts[: first.parts]
            refused = {place: why for place, why in first.run.refused.items() if place < len(first.acts)}
        run = PlayedRun(self._began.pop(self._numbers), described, list(acts), parts, refused, until_ms)
        if first.run is not None:
            run.segments = first.run.segments.up_to(parts)
        self._runs[self._numbers] = run
        return run

    def end(self, run: PlayedRun) -> None:
        """End a run. Its snapshots stay, as far as they were taken."""
        self.take_started()
        run.take()
        run.connection.close()
        self._runs = {number: other for number, other in self._runs.items() if other is not run}

    def wait_until_reached(self, run: PlayedRun) -> None:
        """Wait until everything has happened up to the limit of a run. Raises: RunFailedError."""
        run.take()
        while not run.has_reached_limit:
            if not wait([run.connection, self._handover], WITHIN_S):
                raise RunFailedError(f"the run has reported nothing for {WITHIN_S:.0f} s")
            self.take_started()
            run.take()

    def close(self) -> None:
        """End all processes: each ends when nobody is connected to it."""
        for run in self._runs.values():
            run.connection.close()
        for snapshot in self._snapshots:
            snapshot.connection.close()
        self._handover.close()
        self._process.wait()

    def take_started(self, timeout_s: float = 0.0) -> None:
        """Take the connections of processes that have started since. Raises: RunFailedError."""
        for started, connection in self._started(timeout_s):
            if not started.is_snapshot:
                self._began[started.run] = connection
                continue
            run = self._runs.get(started.run)
            if run is None:
                connection.close()  # it was ended, maybe before it had sent all that was before the snapshot
                continue
            acts = tuple(run.acts[: started.acts])
            self._snapshots.append(Snapshot(connection, run, started.at_ms, acts, started.parts, started.cost_s))
        while len(self._snapshots) > MOST_SNAPSHOTS:
            self._forget_one()

    def _started(self, timeout_s: float) -> Iterator[tuple[Started, Connection]]:
        self._handover.settimeout(timeout_s)
        try:
            while True:
                message, ends, _, _ = socket.recv_fds(self._handover, Started.LONGEST, 1)
                os.set_inheritable(ends[0], False)
                yield msgspec.msgpack.decode(message, type=Started), Connection(ends[0])
                self._handover.settimeout(0.0)
        except BlockingIOError:
            pass
        except TimeoutError:
            raise RunFailedError(f"no run has begun within {timeout_s:.0f} s") from None

    def _forget_one(self) -> None:
        """Forget the snapshot without which it costs least to run up to any moment. The beginning is kept."""

        def gap(place: int) -> float:
            """Return how much a run from the snapshot before costs up to the one after."""
            one = self._snapshots[place]
            after = [other.cost_s for other in self._snapshots if other.run is one.run and other.cost_s > one.cost_s]
            before = [other.cost_s for other in self._snapshots if other.cost_s < one.cost_s]
            return min(after, default=one.cost_s) - max(before)

        place = min(range(1, len(self._snapshots)), key=gap)
        self._snapshots.pop(place).connection.close()


def events_of(parts: Sequence[Happened]) -> list[Event]:
    """Return the events of parts of a run."""
    decoder = msgspec.json.Decoder(Event)
    return [event for part in parts for event in decoder.decode_lines(part.events)]
