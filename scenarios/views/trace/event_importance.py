"""The importance of a run's events for a reader, and the sentence of each.

Notable events are those with a narration, except the later ones of many similar events. The key events among them mark the
picture of the whole run: actions on the cluster, nodes that start, stop or become controller, and verdicts.
"""

from collections import Counter
from typing import NamedTuple

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.views.narration.client_sentences import is_client_detail
from kcsim.scenarios.views.narration.event_description import what_happened
from kcsim.scenarios.views.narration.narrator import MANY_BROKERS, Narrator
from kcsim.scenarios.views.narration.network_sentences import is_network_detail
from kcsim.scenarios.views.narration.timeline import LIKE_EVENTS_SHOWN, LIMITED_KINDS
from kcsim.scenarios.views.narration.topic_sentences import is_detail

ORDINARY, NOTABLE, KEY_EVENT = 0, 1, 2
COUNTS_REMEMBERED = 50_000

_KEY_EVENT_KINDS = frozenset(
    {
        EventKind.RUN_STARTED,
        EventKind.RUN_ENDED,
        EventKind.RUN_STALLED,
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
"""Expired sessions and the deletion of /controller are key events, too."""


class RankedEvent(NamedTuple):
    """An event, its narration if it has one, and its importance: ORDINARY, NOTABLE or KEY_EVENT."""

    event: Event
    sentence: str | None
    rank: int

    @property
    def says(self) -> str:
        """The event's sentence, without time and node."""
        return self.sentence or what_happened(self.event)


class EventRanker:
    """Ranks the events of one run. Rank every event, in order."""

    def __init__(self) -> None:
        self._narrator = Narrator()
        self._like: Counter[tuple[str, EventKind, int | None]] = Counter()
        self._latecomers = 0

    def rank(self, event: Event) -> RankedEvent:
        """Process an event, and return it with its narration and importance."""
        sentence = self._narrator.narrate(event)
        return RankedEvent(event, sentence, self._rank(event, sentence is not None))

    def _rank(self, event: Event, is_narrated: bool) -> int:
        if event.kind in _KEY_EVENT_KINDS:
            return KEY_EVENT
        if not is_narrated:
            return ORDINARY
        if event.kind in (EventKind.SESSION_CLOSED, EventKind.ZNODE_DELETED):
            return KEY_EVENT
        return ORDINARY if self._is_one_of_many(event) else NOTABLE

    def _is_one_of_many(self, event: Event) -> bool:
        if is_detail(event) or is_network_detail(event) or is_client_detail(event):
            return True
        if event.kind is EventKind.ELECTION_LOST:
            self._latecomers += 1
            return self._latecomers > MANY_BROKERS
        if event.kind is EventKind.CONTROLLER_FAILOVER:
            self._latecomers = 0
        if event.kind not in LIMITED_KINDS:
            return False
        if len(self._like) > COUNTS_REMEMBERED:  # counts of causes long past
            self._like.clear()
        like = (event.node, event.kind, event.cause)
        self._like[like] += 1
        return self._like[like] > LIKE_EVENTS_SHOWN
