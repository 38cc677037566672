"""The story of a run: three sentences with durations, made from its events.

The first sentence says what failed and when. The second says what that cost: for how long no broker was a working
controller, how many partitions had no working leader, how many acknowledged records were lost. The third says who took
over, what became of the writes of the former controller, and how the run ended. A run without a fault is described by what
was done in it.

Pure and deterministic: the same events give the same words.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from kcsim.eventlog.controller_intervals import ControllerInterval
from kcsim.eventlog.events import Event
from kcsim.scenarios.views.narration.cost_phrases import costs_sentence
from kcsim.scenarios.views.narration.incident_phrases import incidents_sentence
from kcsim.scenarios.views.narration.outcome_phrases import outcome_sentence
from kcsim.scenarios.views.narration.run_facts import FactCollector, RunFacts
from kcsim.scenarios.views.narration.run_incidents import ACTIONS_OF_NOTE
from kcsim.scenarios.views.narration.story_words import sentence


@dataclass(frozen=True, slots=True)
class RunStory:
    """The story of a run.

    Attributes:
        sentences: what happened, what it cost, how it ended.
        controllers: the intervals with and without a working controller, for the timeline of a page.
        has_failovers: whether the log has the steps of failovers, so that working controllers are known.
        opens_at: seq of the event at which a page opens: the first fault, else the first action, else the first election.
    """

    sentences: tuple[str, ...]
    controllers: tuple[ControllerInterval, ...]
    has_failovers: bool
    opens_at: int


def story_of(events: Iterable[Event]) -> RunStory:
    """Return the story of a whole run."""
    collector = FactCollector()
    for event in events:
        collector.see(event)
    return story_from(collector.facts())


def story_from(facts: RunFacts) -> RunStory:
    """Return the story of a run with these facts."""
    texts = (incidents_sentence(facts), costs_sentence(facts), outcome_sentence(facts))
    return RunStory(tuple(sentence(text) for text in texts if text), facts.controllers, facts.has_failovers, _opening(facts))


def _opening(facts: RunFacts) -> int:
    faults = [incident for incident in facts.incidents if incident.what not in ACTIONS_OF_NOTE]
    if faults or facts.incidents:
        return (faults or facts.incidents)[0].seq
    return facts.first_elected.seq if facts.first_elected else facts.first_seq
