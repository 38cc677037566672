"""Tells events of a run again: the sentences of `kcsim run`, for those that a page shows."""

from kcsim.scenarios.lessons.lesson_run import LessonRun
from kcsim.scenarios.telling.narrator import Narrator, what_happened
from kcsim.scenarios.telling.network_sentences import is_network_detail
from kcsim.scenarios.telling.topic_sentences import is_detail
from kcsim.zk.events import Event, EventKind

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
"""Kinds that follow from a decision that is told, one for each broker or attempt: a lesson shows them when it says so."""


class Retelling:
    """What is said of each event of a run."""

    def __init__(self, run: LessonRun) -> None:
        narrator = Narrator(len(run.brokers))
        self._events = run.events
        self._told = {event.seq: told for event in run.events if (told := narrator.tell(event)) is not None}

    def of(self, event: Event) -> str:
        """A sentence without the time and the node."""
        return self._told.get(event.seq) or what_happened(event)

    def of_note(self, first: int, last: int) -> tuple[Event, ...]:
        """The events of a stretch, both ends included, that are worth a line."""
        return tuple(event for event in self._events[first : last + 1] if self.is_of_note(event))

    def is_of_note(self, event: Event) -> bool:
        """Whether `kcsim run` would give it a line, and it is no mere consequence of one."""
        is_told = event.seq in self._told and event.kind not in REPEATED
        return is_told and not is_detail(event) and not is_network_detail(event)
