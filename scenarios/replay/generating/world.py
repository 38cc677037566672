"""What all partitions of a made-up cluster share: made once, and handed to every process."""

from collections.abc import Iterator
from typing import NamedTuple

from kcsim.scenarios.replay.folding.fact import fact_of
from kcsim.scenarios.replay.folding.timeline import Timeline, TopicStory
from kcsim.scenarios.replay.folding.timeline_builder import TimelineBuilder
from kcsim.scenarios.replay.generating.cluster_life import ClusterLife
from kcsim.scenarios.replay.generating.layout import Layout, Topic, layout_of
from kcsim.scenarios.replay.generating.moments import ClusterHistory
from kcsim.scenarios.replay.generating.plans import Plans, plans_of
from kcsim.scenarios.replay.generating.settings import Settings
from kcsim.zk.events import Event


class World(NamedTuple):
    """The timeline is what a replay makes of the cluster's events: its moments are the history's, one for one."""

    settings: Settings
    layout: Layout
    history: ClusterHistory
    timeline: Timeline
    plans: Plans

    def turn_to(self, topic: Topic) -> None:
        """Have the timeline tell of this topic what its partitions need to know."""
        self.timeline.topics = {topic.name: TopicStory(unclean=[(0, topic.unclean)])}


class WorldMaker:
    """Makes a world as the cluster's events are gone through.

    Attributes:
        world: there once all events have been taken.
    """

    def __init__(self, settings: Settings) -> None:
        """Raises: SettingsError."""
        settings.check()
        self._settings = settings
        self._layout = layout_of(settings)
        self._world: World | None = None

    def events(self) -> Iterator[Event]:
        """The cluster-wide events, in order."""
        life, builder = ClusterLife(self._settings, self._layout), TimelineBuilder()
        for event in life.events():
            fact = fact_of(event)
            if fact is not None:
                builder.take(fact)
            yield event
        assert [m.seq for m in builder.timeline.moments] == [m.seq for m in life.history.moments]
        plans = plans_of(self._settings, self._layout, life.history)
        self._world = World(self._settings, self._layout, life.history, builder.timeline, plans)

    @property
    def world(self) -> World:
        assert self._world is not None, "the events have not been gone through"
        return self._world


def world_of(settings: Settings) -> World:
    """The world alone. Raises: SettingsError."""
    maker = WorldMaker(settings)
    for _ in maker.events():
        pass
    return maker.world
