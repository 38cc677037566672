"""The filter of a run's events that a reader asks for."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.views.trace.event_importance import ORDINARY, RankedEvent
from kcsim.scenarios.views.trace.time_point import TimePoint
from kcsim.text import did_you_mean
from kcsim.vocabulary import TopicPartition
from kcsim.znodes import paths

FAULTS = frozenset(
    {EventKind.PROTECTION_OFF, EventKind.FAULT, EventKind.FAULT_CONFIRMED, EventKind.ADMIN_ACT, EventKind.STEP_SKIPPED}
)
"""Kinds of actions from outside the cluster, and of their immediate results."""


@dataclass(frozen=True, slots=True)
class EventFilter:
    """The wanted events. An empty field matches all events; values of one field are alternatives; all fields must match.

    Attributes:
        nodes: the node of the event, or a target of its action.
        topics, partitions: the subject of the event; a topic includes its partitions.
        paths: the event's znode is one of these, or below one.
        faults: only actions from outside the cluster.
        notable_only: only events with a narration.
        begin, end: both included.
    """

    nodes: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    partitions: tuple[TopicPartition, ...] = ()
    kinds: frozenset[EventKind] = frozenset()
    paths: tuple[str, ...] = ()
    faults: bool = False
    notable_only: bool = True
    begin: TimePoint | None = None
    end: TimePoint | None = None

    def wants(self, ranked: RankedEvent) -> bool:
        """Return whether an event is wanted. The end is not checked here: the code that reads the trace stops there."""
        event = ranked.event
        if self.begin is not None and self.begin.is_after(event):
            return False
        if self.notable_only and not self.faults and ranked.rank == ORDINARY:
            return False
        return self.is_about(event)

    def is_about(self, event: Event) -> bool:
        """Return whether an event has the wanted nodes, subjects and kinds, whether narrated or not, at whatever time."""
        return (
            (not self.kinds or event.kind in self.kinds)
            and (not self.faults or event.kind in FAULTS)
            and (not self.nodes or event.node in self.nodes or any(who in self.nodes for who in targets(event)))
            and (not self.paths or any(is_below(event.path, path) for path in self.paths))
            and (not (self.topics or self.partitions) or self._is_about_records(event))
        )

    def _is_about_records(self, event: Event) -> bool:
        if event.topic in self.topics or any(is_of_topic(event, topic) for topic in self.topics):
            return True
        return any(is_of_partition(event, partition) for partition in self.partitions)


def targets(event: Event) -> Iterator[str]:
    """Yield the targets of an action: broker-1, then broker-2, of `broker-1, broker-2`."""
    if event.target is not None:
        yield from event.target.split(", ")


def is_below(path: str | None, top: str) -> bool:
    """Return whether a path is equal to another one, or below it."""
    return path is not None and (path == top or path.startswith(top.rstrip("/") + "/"))


def is_of_topic(event: Event, topic: str) -> bool:
    """Return whether an event is about a topic, one of its partitions or one of its znodes."""
    places = (paths.topic(topic), paths.topic_config(topic), paths.delete_topic(topic))
    return (
        event.topic == topic
        or any(is_below(event.path, place) for place in places)
        or any(partition.rpartition("-")[0] == topic for partition in event.partitions or ())
    )


def is_of_partition(event: Event, partition: TopicPartition) -> bool:
    """Return whether an event is about one partition."""
    return (
        (event.topic, event.partition) == partition
        or is_below(event.path, paths.topic_partition(partition))
        or str(partition) in (event.partitions or ())
    )


@dataclass
class NamesSeen:
    """Nodes and topics of a trace, to suggest a name when a requested one does not occur."""

    nodes: set[str] = field(default_factory=set)
    topics: set[str] = field(default_factory=set)

    def see(self, event: Event) -> None:
        """Add the names of an event."""
        self.nodes.add(event.node)
        self.nodes.update(targets(event))
        if event.topic is not None:
            self.topics.add(event.topic)

    def unknown(self, wanted: EventFilter) -> Iterator[str]:
        """Yield a sentence for each name of a filter that the trace does not have."""
        for node in wanted.nodes:
            if node not in self.nodes:
                yield f"the trace has no node {node!r}{did_you_mean(node, sorted(self.nodes))}"
        for topic in (*wanted.topics, *(partition.topic for partition in wanted.partitions)):
            if topic not in self.topics:
                yield f"the trace has no topic {topic!r}{did_you_mean(topic, sorted(self.topics))}"
