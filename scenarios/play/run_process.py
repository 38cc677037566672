"""A process in which a run goes on, or in which a run is kept as it was at a moment.

A process that is started by the operating system's fork is a copy of the one that forks. While a run goes on, it forks a
snapshot every now and then: a process that waits in the middle of the run. To begin a run at a moment in the past, the last
snapshot before that moment forks again, and its copy runs up to the moment. So it takes less than a second to go back in a
run that took a minute. The first process has not begun a run: it is the snapshot of all beginnings.

All processes end when the program that started them does: they then have nobody to read from.
"""

import gc
import json
import os
import pickle
import signal
import socket
import sys
import time
from multiprocessing.connection import Connection
from typing import NoReturn

import msgspec

from kcsim.brokers.clients.ledger import RecordCounts
from kcsim.eventlog.events import Event
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.play.acts import Act
from kcsim.scenarios.play.event_stream import EventStream
from kcsim.scenarios.play.paced_run import PacedRun
from kcsim.scenarios.play.proposed_expectations import proposed_expectations
from kcsim.scenarios.play.run_messages import Begin, Failed, GoOn, Happened, Order, Reached, Refused, Report, Started
from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot

PART_EVERY_S = 0.2
"""How often a run that takes long to reach its limit sends what has happened."""


class RunProcess:
    """Follows the run of this process, as its RunWatcher, and obeys what it is sent."""

    def __init__(
        self, connection: Connection, handover: socket.socket, snapshot_every_s: float, segment_events: int
    ) -> None:
        self._connection = connection
        self._handover = handover
        self._snapshot_every_s = snapshot_every_s
        self._run = 0
        self._parts = 0
        self._cost_before_s = 0.0
        self._began_s = 0.0
        self._snapshot_s = 0.0
        self._part_s = 0.0
        self._events: list[Event] = []
        self._is_story_wanted = True  # at first: a page that shows this future needs it
        self._are_records_counted = False
        self._expected_of: list[str] | None = None
        self._name, self._seed = "", 0
        self._stream = EventStream(segment_events=segment_events)

    def begin_runs(self) -> None:
        """Run in a copy of this process, whenever that is asked for. Returns: when the run of this copy has failed."""
        self._began_s = time.process_time()  # what was needed to start is no part of any run
        order = self._wait_as_snapshot(None)
        scenario: Scenario
        snapshot: ControlPlaneSnapshot | None
        scenario, snapshot = pickle.loads(order.scenario)
        self._name, self._seed = scenario.name, order.seed
        self._paced = run = PacedRun(scenario, order.seed, self, snapshot)
        self._begin(order, run)
        try:
            run.run()
        except BaseException as error:
            self._send(Failed(str(error)))

    # --- the watcher

    def see(self, event: Event) -> None:
        self._events.append(event)

    def see_snapshot_reached(self) -> None:
        self._send_events()
        self._stream.begin_story()

    def see_refusal(self, act: Act, why: str) -> None:
        place = next(place for place, done in enumerate(self._paced.done) if done is act)
        self._send(Refused(place, why))

    def before_time_passes(self, run: PacedRun) -> None:
        cost_s = time.process_time()
        if cost_s - self._part_s >= PART_EVERY_S:
            self._send_events()
        if cost_s - self._snapshot_s >= self._snapshot_every_s:
            self._keep_snapshot(run)

    def at_limit(self, run: PacedRun) -> None:
        self._send_events()
        about = None
        if self._is_story_wanted:
            about = json.dumps(self._stream.about(self._name, self._seed), ensure_ascii=False).encode(
                "utf-8", "surrogatepass"
            )
        records = sum(run.counts().values(), RecordCounts()) if self._are_records_counted else None
        expected = []
        if self._expected_of is not None:
            expected = proposed_expectations(self._stream.state, run.counts(), self._expected_of, run.limit_ms)
        self._send(Reached(run.limit_ms, run.next_ms, about, records, expected))
        match self._receive():
            case GoOn() as order:
                run.limit_ms = max(run.limit_ms, order.until_ms)
                run.plan(order.acts)
                self._is_story_wanted, self._expected_of = order.is_story_wanted, order.expected_of
                self._are_records_counted = order.are_records_counted
            case _:
                raise AssertionError("a run goes on, and does not begin")

    # --- processes

    def _keep_snapshot(self, run: PacedRun) -> None:
        """Fork a process that stays as this one is now."""
        self._send_events()
        gc.freeze()  # else the collector would write to objects that the two processes share, and copy them
        if self._fork(self._run, run, is_snapshot=True):
            self._begin(self._wait_as_snapshot(run), run)
        self._snapshot_s = time.process_time()

    def _wait_as_snapshot(self, run: PacedRun | None) -> Begin:
        """Fork a copy for each run that is to begin here. Returns: in the copy only."""
        while True:
            order = self._receive()
            assert isinstance(order, Begin), "a snapshot does not go on"
            if self._fork(order.run, run, is_snapshot=False):
                return order

    def _begin(self, order: Begin, run: PacedRun) -> None:
        self._run = order.run
        self._is_story_wanted, self._are_records_counted, self._expected_of = True, False, None
        run.forget_planned()  # of the run in which the snapshot was taken: the order has all that come after it
        run.plan(order.acts)
        run.limit_ms = order.until_ms

    def _fork(self, number: int, run: PacedRun | None, *, is_snapshot: bool) -> bool:
        """Fork. Returns: whether this is the new process, which has a connection of its own."""
        theirs, ours = socket.socketpair()
        cost_s = self._cost_before_s + time.process_time() - self._began_s
        if os.fork() == 0:
            theirs.close()
            self._connection.close()
            self._connection = Connection(ours.detach())
            self._cost_before_s = cost_s
            self._began_s = self._snapshot_s = self._part_s = time.process_time()
            return True
        ours.close()
        at_ms, acts = (0, 0) if run is None else (run.now_ms, len(run.done))
        started = Started(is_snapshot, number, at_ms, acts, self._parts, cost_s)
        try:
            flags = socket.MSG_DONTWAIT if is_snapshot else 0
            socket.send_fds(self._handover, [msgspec.msgpack.encode(started)], [theirs.fileno()], flags)
        except BlockingIOError:
            pass  # nobody takes snapshots at present; this one ends, as nobody is connected to it
        except OSError:
            _end()
        theirs.close()
        return False

    # --- messages

    def _send_events(self) -> None:
        if self._events:
            events, self._events = self._events, []
            self._parts += 1
            part, last_ms, first_seq = self._stream.add(events), events[-1].t_ms, events[0].seq
            self._send(Happened(part, lines_of(events), last_ms, len(events), first_seq, self._stream.end_segment()))
        self._part_s = time.process_time()

    def _send(self, report: Report) -> None:
        try:
            self._connection.send_bytes(msgspec.msgpack.encode(report))
        except OSError:
            _end()

    def _receive(self) -> Order:
        try:
            order: Order = msgspec.msgpack.decode(self._connection.recv_bytes(), type=Order)
        except (EOFError, OSError):
            _end()
        return order


def lines_of(events: list[Event]) -> bytes:
    """Return events as lines of a trace."""
    return b"".join(msgspec.json.encode(event) + b"\n" for event in events)


def _end() -> NoReturn:
    """End this process: the program that has started it has ended, or does not need it any more."""
    os._exit(0)


def main(connection: str, handover: str, snapshot_every_s: str, segment_events: str) -> None:
    """Be the first process.

    Args:
        connection, handover: file descriptors of the sockets for orders and reports, and for those of other processes.
        snapshot_every_s, segment_events: see RunProcesses.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program that has started this process
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for copies of this process
    ends = Connection(int(connection)), socket.socket(fileno=int(handover))
    RunProcess(*ends, float(snapshot_every_s), int(segment_events)).begin_runs()


if __name__ == "__main__":
    main(*sys.argv[1:])
