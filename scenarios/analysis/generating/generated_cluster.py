"""What all partitions of a generated cluster share: made once, and sent to every process."""

from collections.abc import Iterator
from typing import NamedTuple

from kcsim.eventlog.events import Event
from kcsim.scenarios.analysis.folding.replay_fact import fact_of
from kcsim.scenarios.analysis.folding.timeline import Timeline, TopicTimeline
from kcsim.scenarios.analysis.folding.timeline_builder import TimelineBuilder
from kcsim.scenarios.analysis.generating.admin_schedule import AdminSchedule, admin_schedule_of
from kcsim.scenarios.analysis.generating.cluster_event_generator import ClusterEventGenerator
from kcsim.scenarios.analysis.generating.cluster_history import ClusterHistory
from kcsim.scenarios.analysis.generating.layout import Layout, Topic, layout_of
from kcsim.scenarios.analysis.generating.settings import Settings


class GeneratedCluster(NamedTuple):
    """The shared values. `timeline` is a replay's timeline of the cluster's events: its actions are those of `history`."""

    settings: Settings
    layout: Layout
    history: ClusterHistory
    timeline: Timeline
    admin_schedule: AdminSchedule

    def select_topic(self, topic: Topic) -> None:
        """Put into the timeline what the partitions of this topic need to know of it."""
        self.timeline.topics = {topic.name: TopicTimeline(unclean=[(0, topic.unclean)])}


class GeneratedClusterMaker:
    """Makes a GeneratedCluster while the cluster's events are generated.

    Attributes:
        generated: available once all events have been taken.
    """

    def __init__(self, settings: Settings) -> None:
        """Raises: SettingsError."""
        settings.check()
        self._settings = settings
        self._layout = layout_of(settings)
        self._generated: GeneratedCluster | None = None

    def events(self) -> Iterator[Event]:
        """Yield the cluster-wide events, in order."""
        generator, builder = ClusterEventGenerator(self._settings, self._layout), TimelineBuilder()
        for event in generator.events():
            fact = fact_of(event)
            if fact is not None:
                builder.take(fact)
            yield event
        assert [m.seq for m in builder.timeline.actions] == [m.seq for m in generator.history.actions]
        plans = admin_schedule_of(self._settings, self._layout, generator.history)
        self._generated = GeneratedCluster(self._settings, self._layout, generator.history, builder.timeline, plans)

    @property
    def generated(self) -> GeneratedCluster:
        assert self._generated is not None, "the events have not been gone through"
        return self._generated
