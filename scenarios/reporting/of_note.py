"""Which events of a run a reader should see first, and what each of them says.

Of note is what a narrator has words for, less what would be told of each of a crowd. The turning points among them are what
a picture of the whole run is marked with: what was done to the cluster, who came, went and ruled, and the verdicts.
"""

from collections import Counter
from typing import NamedTuple

from kcsim.scenarios.telling.narrator import CROWD, Narrator, what_happened
from kcsim.scenarios.telling.network_sentences import is_network_detail
from kcsim.scenarios.telling.timeline import OF_MANY, TOLD_OF_A_KIND
from kcsim.scenarios.telling.topic_sentences import is_detail
from kcsim.zk.events import Event, EventKind

ORDINARY, OF_NOTE, TURNING_POINT = 0, 1, 2
CROWDS_REMEMBERED = 50_000

_TURNING_POINTS = frozenset(
    {
        EventKind.RUN_STARTED,
        EventKind.RUN_ENDED,
        EventKind.PROTECTION_OFF,
        EventKind.FAULT,
        EventKind.ADMIN_ACT,
        EventKind.EXPECTATION,
        EventKind.PROCESS_STATE,
        EventKind.ELECTION_WON,
        EventKind.CONTROLLER_RESIGNED,
        EventKind.GROUP_REBALANCE,
        EventKind.WORKLOAD_STARTED,
        EventKind.WORKLOAD_STOPPED,
    }
)
"""With the sessions that expire, and /controller when it goes."""


class Told(NamedTuple):
    """An event, what the narrator says of it if anything, and how much it matters: ORDINARY, OF_NOTE or TURNING_POINT."""

    event: Event
    sentence: str | None
    rank: int

    @property
    def says(self) -> str:
        """A sentence, without time and node."""
        if self.sentence is None and self.event.kind is EventKind.PROCESS_STATE:
            return f"is {self.event.state} now"
        return self.sentence or what_happened(self.event)


class Teller:
    """Feed it every event of one run, in order."""

    def __init__(self) -> None:
        self._narrator = Narrator()
        self._like: Counter[tuple[str, EventKind, int | None]] = Counter()
        self._latecomers = 0

    def tell(self, event: Event) -> Told:
        """Take an event in, and say what it is to a reader."""
        sentence = self._narrator.tell(event)
        return Told(event, sentence, self._rank(event, sentence is not None))

    def _rank(self, event: Event, is_told: bool) -> int:
        if event.kind in _TURNING_POINTS:
            return TURNING_POINT
        if not is_told:
            return ORDINARY
        if event.kind in (EventKind.SESSION_CLOSED, EventKind.ZNODE_DELETED):
            return TURNING_POINT
        return ORDINARY if self._is_one_of_many(event) else OF_NOTE

    def _is_one_of_many(self, event: Event) -> bool:
        if is_detail(event) or is_network_detail(event):
            return True
        if event.kind is EventKind.ELECTION_LOST:
            self._latecomers += 1
            return self._latecomers > CROWD
        if event.kind is EventKind.CONTROLLER_FAILOVER:
            self._latecomers = 0
        if event.kind not in OF_MANY:
            return False
        if len(self._like) > CROWDS_REMEMBERED:  # those of causes long past
            self._like.clear()
        like = (event.node, event.kind, event.cause)
        self._like[like] += 1
        return self._like[like] > TOLD_OF_A_KIND
