"""Which events of a run a reader asked for."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from kcsim.scenarios.language.words import did_you_mean
from kcsim.scenarios.reading.moments import Moment
from kcsim.scenarios.reporting.of_note import ORDINARY, Told
from kcsim.zk import paths
from kcsim.zk.events import Event, EventKind
from kcsim.zk.vocabulary import TopicPartition

FAULTS = frozenset(
    {EventKind.PROTECTION_OFF, EventKind.FAULT, EventKind.FAULT_CONFIRMED, EventKind.ADMIN_ACT, EventKind.STEP_SKIPPED}
)
"""What somebody outside did to the cluster, and what came of it at once."""


@dataclass(frozen=True, slots=True)
class EventFilter:
    """What is wanted; of an empty field nothing is asked. Values of one field are alternatives, fields add up.

    Attributes:
        nodes: in whose name an event stands, or to whom it was done.
        topics, partitions: what it is about; a topic stands for its partitions.
        paths: its znode is one of these, or below one.
        faults: only what somebody outside did.
        of_note: only what a narrator has words for.
        begin, end: both included.
    """

    nodes: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    partitions: tuple[TopicPartition, ...] = ()
    kinds: frozenset[EventKind] = frozenset()
    paths: tuple[str, ...] = ()
    faults: bool = False
    of_note: bool = True
    begin: Moment | None = None
    end: Moment | None = None

    def wants(self, told: Told) -> bool:
        """Whether an event is meant; that it comes before the end is the reader's to see."""
        event = told.event
        if self.begin is not None and self.begin.is_after(event):
            return False
        if self.of_note and not self.faults and told.rank == ORDINARY:
            return False
        return self.is_about(event)

    def is_about(self, event: Event) -> bool:
        """Whether it is of the nodes, things and kinds that are wanted, told or not, at whatever time."""
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
    """To whom something was done: broker-1 of `broker-1, broker-2`."""
    if event.target is not None:
        yield from event.target.split(", ")


def is_below(path: str | None, top: str) -> bool:
    """Whether a path is another one, or below it."""
    return path is not None and (path == top or path.startswith(top.rstrip("/") + "/"))


def is_of_topic(event: Event, topic: str) -> bool:
    """Whether an event is about a topic, or anything of it."""
    places = (paths.topic(topic), paths.topic_config(topic), paths.delete_topic(topic))
    return (
        event.topic == topic
        or any(is_below(event.path, place) for place in places)
        or any(partition.rpartition("-")[0] == topic for partition in event.partitions or ())
    )


def is_of_partition(event: Event, partition: TopicPartition) -> bool:
    """Whether an event is about one partition."""
    return (
        (event.topic, event.partition) == partition
        or is_below(event.path, paths.topic_partition(partition))
        or str(partition) in (event.partitions or ())
    )


@dataclass
class NamesSeen:
    """Nodes and topics of a trace: to say which is meant, when one that was asked for never came."""

    nodes: set[str] = field(default_factory=set)
    topics: set[str] = field(default_factory=set)

    def see(self, event: Event) -> None:
        """Take an event in."""
        self.nodes.add(event.node)
        self.nodes.update(targets(event))
        if event.topic is not None:
            self.topics.add(event.topic)

    def unknown(self, wanted: EventFilter) -> Iterator[str]:
        """A sentence for each name of a filter that the trace does not have."""
        for node in wanted.nodes:
            if node not in self.nodes:
                yield f"the trace tells of no node {node!r}{did_you_mean(node, sorted(self.nodes))}"
        for topic in (*wanted.topics, *(partition.topic for partition in wanted.partitions)):
            if topic not in self.topics:
                yield f"the trace tells of no topic {topic!r}{did_you_mean(topic, sorted(self.topics))}"
