"""What every partition of a run shares: which controller knew what of the brokers, and when; topics, their settings; causes.

Small, and the same for all partitions: it is handed to every process, and the partitions are folded one by one. It is made
from a run's cluster-wide events (timeline_builder.py), or from moments alone (Timeline.of_moments).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kcsim.scenarios.replay.folding.moment import Brokers, Moment, MomentKind, View
from kcsim.scenarios.replay.folding.trigger import Trigger
from kcsim.zk.vocabulary import ReplicaAssignment, TopicState

NO_VIEW = View()

Run = tuple[str, str]
"""Which run: its batch, its name."""


@dataclass(slots=True)
class Views:
    """One node's, in order."""

    seqs: list[int] = field(default_factory=list)
    views: list[View] = field(default_factory=list)

    def put(self, seq: int, view: View) -> None:
        self.seqs.append(seq)
        self.views.append(view)

    @property
    def last(self) -> View:
        return self.views[-1] if self.views else NO_VIEW

    def at(self, seq: int) -> View:
        """As of just before the event `seq`."""
        place = bisect_left(self.seqs, seq)
        return self.views[place - 1] if place else NO_VIEW


@dataclass(slots=True)
class TopicStory:
    """The versions of a topic's znode, and who of the controllers took note of it, or forgot it.

    Attributes:
        versions: (seq, t_ms, cause, its content). None: it is gone, or cannot be read.
        noted: (seq, node, whether it was new: else gone), of controllers.
        unclean: (seq, what the topic's settings say on unclean elections; None: nothing).
        completing: seq of each time that its deletion is about to take its znodes away.
    """

    versions: list[tuple[int, int, int | None, TopicState | None]] = field(default_factory=list)
    noted: list[tuple[int, str, bool]] = field(default_factory=list)
    unclean: list[tuple[int, bool | None]] = field(default_factory=list)
    completing: list[int] = field(default_factory=list)

    def assignment_at(self, seq: int, partition: int) -> ReplicaAssignment | None:
        """As stored just before the event `seq`; None if there was none."""
        found: ReplicaAssignment | None = None
        for at, _, _, content in self.versions:
            if at >= seq:
                break
            found = None if content is None else content.assignments.get(partition)
        return found

    def unclean_at(self, seq: int) -> bool | None:
        """What its settings said just before the event `seq`."""
        place = bisect_left(self.unclean, (seq,))
        return self.unclean[place - 1][1] if place else None


NO_STORY = TopicStory()


@dataclass(slots=True)
class Timeline:
    """One run's.

    Attributes:
        views: node -> what it knew as controller.
        moments: what the controllers did, in order.
        topics: name -> its story.
        triggers: seq of a cluster-wide event -> what follows from it is told to follow from.
        owners: session id -> whose it is.
        log_dirs: partition -> (seq, the controller's node, the broker whose replica of it fails).
        racks: every broker that was ever registered, and its rack.
        ended_ms: of the last cluster-wide event.
        read_at: seq of the beginning of a term -> seq by which the new controller had read who hosts what.
        has_decisions: whether the events tell what controllers decided; imported ones may not.
    """

    brokers: Brokers = field(default_factory=Brokers)
    views: dict[str, Views] = field(default_factory=dict)
    moments: list[Moment] = field(default_factory=list)
    topics: dict[str, TopicStory] = field(default_factory=dict)
    triggers: dict[int, Trigger] = field(default_factory=dict)
    owners: dict[str, int] = field(default_factory=dict)
    log_dirs: dict[tuple[str, int], list[tuple[int, str, int]]] = field(default_factory=dict)
    read_at: dict[int, int] = field(default_factory=dict)
    racks: dict[int, str | None] = field(default_factory=dict)
    ended_ms: int = 0
    has_decisions: bool = False
    _of_broker: dict[int, list[int]] = field(default_factory=dict, repr=False)
    _of_all: list[int] = field(default_factory=list, repr=False)

    @classmethod
    def of_moments(
        cls, brokers: Brokers, moments: Iterable[Moment], topics: Mapping[str, TopicStory] | None = None
    ) -> "Timeline":
        """Without events: the moments alone, in order, their views made with the same `brokers`."""
        return cls(brokers=brokers, moments=list(moments), topics=dict(topics or {}))

    def view(self, node: str, seq: int) -> View:
        """What a node knew as controller just before its event `seq`."""
        known = self.views.get(node)
        return NO_VIEW if known is None else known.at(seq)

    def story(self, topic: str) -> TopicStory:
        """Of a topic; an empty one if nothing is known of it."""
        return self.topics.get(topic, NO_STORY)

    # --- moments

    def view_at(self, seq: int) -> View:
        """What the controller in office knew after all moments before the event `seq`."""
        place = self.place_of(seq)
        return self.moments[place - 1].view if place else NO_VIEW

    def place_of(self, seq: int) -> int:
        """How many moments come before the event `seq`."""
        return bisect_left(self.moments, seq, key=_seq)

    def next_concerning(self, place: int, replicas: Sequence[int]) -> int:
        """The place of the next moment, from `place` on, that can concern a partition that is led; past the end if none."""
        self._index()
        found = len(self.moments)
        for places in (self._of_all, *(self._of_broker.get(b, ()) for b in replicas)):
            at = bisect_left(places, place)
            if at < len(places):
                found = min(found, places[at])
        return found

    def concerning(self, replicas: Sequence[int]) -> list[Moment]:
        """Every moment that can concern a partition while it is led: those of its replicas' brokers, and those of all."""
        self._index()
        places = {p for b in replicas for p in self._of_broker.get(b, ())}.union(self._of_all)
        return [self.moments[p] for p in sorted(places)]

    def _index(self) -> None:
        if self._of_broker or self._of_all:
            return
        for place, moment in enumerate(self.moments):
            of_all = moment.kind in (MomentKind.FAILOVER, MomentKind.UNCLEAN_ENABLED, MomentKind.DELETION)
            if of_all or not moment.brokers:
                self._of_all.append(place)
                continue
            for broker in moment.brokers:
                self._of_broker.setdefault(broker, []).append(place)

    # --- failed log directories

    def offline_dirs(self, topic: str, partition: int, node: str, seq: int) -> frozenset[int]:
        """The brokers whose replica this node knows to be in a failed directory, just before its event `seq`."""
        told = self.log_dirs.get((topic, partition))
        if not told:
            return frozenset()
        return frozenset(b for at, by, b in told if by == node and at < seq and not self._was_back(node, b, at, seq))

    def _was_back(self, node: str, broker: int, since: int, until: int) -> bool:
        """Whether the broker came or went, as this node saw it, between two events; or the node's term ended."""
        known = self.views[node]
        bit = self.brokers.bit(broker)
        first = max(bisect_right(known.seqs, since) - 1, 0)
        between = known.views[first : bisect_left(known.seqs, until)]
        return any(not view.live & bit or view.since != between[0].since for view in between)


def _seq(moment: Moment) -> int:
    return moment.seq
