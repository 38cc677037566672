"""Virtual time, the actions that are due in it, and the cluster-wide events: each event has a millisecond of its own."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Unpack

from kcsim.eventlog.events import Event, EventFields, EventKind, hexadecimal
from kcsim.scenarios.analysis.generating.layout import Layout
from kcsim.vocabulary import SessionId

SESSION_TIMEOUT_MS = 18_000


class EventScheduler:
    """Runs a cluster's actions one after the other, and collects its events.

    Attributes:
        now: milliseconds; an action that takes time may set it forward.
        random: the cluster's own stream of random numbers.
    """

    def __init__(self, layout: Layout, random: Random) -> None:
        self.now = 0
        self.random = random
        self._layout = layout
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._order = count()
        self._last_event_ms = -1
        self._emitted: list[Event] = []
        self._opened = 0

    # --- what is due

    def at(self, t_ms: int, what: Callable[[], None]) -> None:
        """Schedule an action at a time, or as soon as the current action is over."""
        heappush(self._due, (t_ms, next(self._order), what))

    def after(self, mean_ms: int | None, what: Callable[[], None]) -> None:
        """Schedule an action after an exponentially distributed time (memoryless); never if there is no mean."""
        if mean_ms:
            self.at(self.now + 1 + int(self.random.expovariate(1 / mean_ms)), what)

    def between(self, bounds: tuple[int, int]) -> int:
        """Return a random number of milliseconds, the bounds included."""
        return self.random.randint(*bounds)

    def run_next(self, until: int) -> bool:
        """Run the next action that is due; False when no action is due before `until`."""
        if not self._due or self._due[0][0] >= until or self.now >= until:
            return False
        t_ms, _, what = heappop(self._due)
        self.now = max(self.now, t_ms)
        what()
        return True

    # --- events

    @property
    def next_ms(self) -> int:
        """The time of the next event."""
        return max(self.now, self._last_event_ms + 1)

    @property
    def next_zxid(self) -> int:
        """The zxid of the next transaction. It equals the seq of its event: the order of seq is ZooKeeper's own."""
        return self._layout.seq(self.next_ms)

    def emit(self, node: str, kind: EventKind, cause: int | None = None, **fields: Unpack[EventFields]) -> int:
        """Emit an event. Returns: its seq."""
        self.now = self._last_event_ms = self.next_ms
        seq = self._layout.seq(self._last_event_ms)
        self._emitted.append(Event(seq, self._last_event_ms, node, kind, cause, **fields))
        return seq

    def write(
        self,
        kind: EventKind,
        path: str,
        session: str,
        cause: int | None,
        *,
        data: str | None = None,
        zk_version: int = 0,
        ephemeral: bool = False,
        zxid: int | None = None,
    ) -> int:
        """Emit the change of a znode. Args: zxid: of the transaction, if it has begun before. Returns: its seq."""
        fields = EventFields(
            path=path,
            zxid=self.next_zxid if zxid is None else zxid,
            zk_version=zk_version,
            ephemeral=ephemeral,
            session_id=session,
        )
        if data is not None:
            fields["data"] = data
        return self.emit("zookeeper", kind, cause, **fields)

    def new_session(self) -> str:
        """Return the id of a new session."""
        self._opened += 1
        return hexadecimal(SessionId((1 << 56) + self._opened))

    def open_session(self, cause: int) -> str:
        """Emit a new session. Returns: its id."""
        session = self.new_session()
        self.emit(
            "zookeeper",
            EventKind.SESSION_CREATED,
            cause,
            zxid=self.next_zxid,
            session_id=session,
            duration_ms=SESSION_TIMEOUT_MS,
        )
        return session

    def take(self) -> list[Event]:
        """Return the events emitted since the last call."""
        emitted, self._emitted = self._emitted, []
        return emitted
