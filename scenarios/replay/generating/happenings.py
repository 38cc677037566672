"""Virtual time, what is due in it, and the cluster-wide events that are told: each in a millisecond of its own."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Unpack

from kcsim.scenarios.replay.generating.layout import Layout
from kcsim.zk.events import Event, EventFields, EventKind, hexadecimal
from kcsim.zk.vocabulary import SessionId

SESSION_TIMEOUT_MS = 18_000


class Happenings:
    """What happens to a cluster, one thing after the other.

    Attributes:
        now: milliseconds; may be set forward by whoever takes time.
        random: the cluster's own stream of numbers.
    """

    def __init__(self, layout: Layout, random: Random) -> None:
        self.now = 0
        self.random = random
        self._layout = layout
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._order = count()
        self._told_ms = -1
        self._told: list[Event] = []
        self._opened = 0

    # --- what is due

    def at(self, t_ms: int, what: Callable[[], None]) -> None:
        """Have something done at a time, or as soon as what is being done is over."""
        heappush(self._due, (t_ms, next(self._order), what))

    def after(self, mean_ms: int | None, what: Callable[[], None]) -> None:
        """Have it done at a time that does not depend on how long it has not been: exponential. Never, without a mean."""
        if mean_ms:
            self.at(self.now + 1 + int(self.random.expovariate(1 / mean_ms)), what)

    def between(self, bounds: tuple[int, int]) -> int:
        """A number of milliseconds, the bounds included."""
        return self.random.randint(*bounds)

    def go_on(self, until: int) -> bool:
        """Do what is due next; False when nothing more is due before `until`."""
        if not self._due or self._due[0][0] >= until or self.now >= until:
            return False
        t_ms, _, what = heappop(self._due)
        self.now = max(self.now, t_ms)
        what()
        return True

    # --- what is told

    @property
    def next_ms(self) -> int:
        """When the next event will be told."""
        return max(self.now, self._told_ms + 1)

    @property
    def next_zxid(self) -> int:
        """Transactions are numbered as their events are: the order of seq is ZooKeeper's own."""
        return self._layout.seq(self.next_ms)

    def tell(self, node: str, kind: EventKind, cause: int | None = None, **fields: Unpack[EventFields]) -> int:
        """Tell an event. Returns: its seq."""
        self.now = self._told_ms = self.next_ms
        seq = self._layout.seq(self._told_ms)
        self._told.append(Event(seq, self._told_ms, node, kind, cause, **fields))
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
        """Tell the change of a znode. Args: zxid: of the transaction, if it has begun before. Returns: its seq."""
        fields = EventFields(
            path=path,
            zxid=self.next_zxid if zxid is None else zxid,
            zk_version=zk_version,
            ephemeral=ephemeral,
            session_id=session,
        )
        if data is not None:
            fields["data"] = data
        return self.tell("zookeeper", kind, cause, **fields)

    def new_session(self) -> str:
        """The id of a session that nobody had before."""
        self._opened += 1
        return hexadecimal(SessionId((1 << 56) + self._opened))

    def open_session(self, cause: int) -> str:
        """Tell of a new session. Returns: its id."""
        session = self.new_session()
        self.tell(
            "zookeeper",
            EventKind.SESSION_CREATED,
            cause,
            zxid=self.next_zxid,
            session_id=session,
            duration_ms=SESSION_TIMEOUT_MS,
        )
        return session

    def take(self) -> list[Event]:
        """The events told since the last time."""
        told, self._told = self._told, []
        return told
