"""The narration of a run's events for a lesson: the sentences of `kcsim run`."""

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.lessons.lesson_run import LessonRun
from kcsim.scenarios.views.narration.event_description import what_happened
from kcsim.scenarios.views.narration.narrator import Narrator
from kcsim.scenarios.views.narration.network_sentences import is_network_detail
from kcsim.scenarios.views.narration.topic_sentences import is_detail

REPEATED = frozenset(
    {
        EventKind.REQUEST_SENT,
        EventKind.REQUEST_FAILED,
        EventKind.REQUEST_ABANDONED,
        EventKind.REQUEST_REFUSED,
        EventKind.BECAME_LEADER,
        EventKind.REPLICA_STOPPED,
        EventKind.STATE_CHANGE_FAILED,
    }
)
"""Kinds that follow from a narrated decision, once per broker or attempt. A lesson shows them only on request."""


class RunNarration:
    """The narration of each event of a run."""

    def __init__(self, run: LessonRun) -> None:
        narrator = Narrator(len(run.brokers))
        self._events = run.events
        self._sentences = {event.seq: sentence for event in run.events if (sentence := narrator.narrate(event)) is not None}

    def sentence(self, event: Event) -> str:
        """Return an event's sentence, without the time and the node."""
        return self._sentences.get(event.seq) or what_happened(event)

    def notable_events(self, first: int, last: int) -> tuple[Event, ...]:
        """Return the notable events of a range, both ends included."""
        return tuple(event for event in self._events[first : last + 1] if self.is_notable(event))

    def is_notable(self, event: Event) -> bool:
        """Return whether `kcsim run` gives an event a line, and the event is no mere consequence of another one."""
        is_narrated = event.seq in self._sentences and event.kind not in REPEATED
        return is_narrated and not is_detail(event) and not is_network_detail(event)
