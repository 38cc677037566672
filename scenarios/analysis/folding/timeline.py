"""What all partitions of a run share: each controller's view of the brokers over time, topics and their settings, triggers.

A timeline is small and the same for all partitions: every process receives it, and folds partitions one by one. It is made
from a run's cluster-wide events (timeline_builder.py).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from kcsim.scenarios.analysis.folding.controller_action import (
    BrokerBits,
    ControllerAction,
    ControllerActionKind,
    ControllerView,
)
from kcsim.scenarios.analysis.folding.trigger import Trigger
from kcsim.vocabulary import ReplicaAssignment, TopicState

NO_VIEW = ControllerView()
TRIGGERS_KEPT = 20_000
"""A decision follows from a recent event: so many triggers are kept when a timeline forgets the past."""
AFTER_ALL = 2**63

Run = tuple[str, str]
"""A run: its batch and its name."""


@dataclass(slots=True)
class ControllerViews:
    """The views of one node, in order."""

    seqs: list[int] = field(default_factory=list)
    views: list[ControllerView] = field(default_factory=list)

    def put(self, seq: int, view: ControllerView) -> None:
        self.seqs.append(seq)
        self.views.append(view)

    @property
    def last(self) -> ControllerView:
        return self.views[-1] if self.views else NO_VIEW

    def at(self, seq: int) -> ControllerView:
        """Return the view just before the event `seq`."""
        place = bisect_left(self.seqs, seq)
        return self.views[place - 1] if place else NO_VIEW

    def forget_before(self, seq: int) -> None:
        """Forget the views that no event from `seq` on looks up."""
        place = max(bisect_right(self.seqs, seq) - 1, 0)
        del self.seqs[:place], self.views[:place]


@dataclass(slots=True)
class TopicTimeline:
    """The versions of a topic's znode, and when controllers learned of the topic, or of its deletion.

    Attributes:
        versions: (seq, t_ms, cause, the znode's content). The content is None if the znode is deleted or cannot be read.
        noted: (seq, the controller's node, True if the topic was new to the controller, False if it was gone).
        unclean: (seq, unclean.leader.election.enable in the topic's settings; None: not set).
        completing: seq of each time that its deletion is about to delete its znodes.
    """

    versions: list[tuple[int, int, int | None, TopicState | None]] = field(default_factory=list)
    noted: list[tuple[int, str, bool]] = field(default_factory=list)
    unclean: list[tuple[int, bool | None]] = field(default_factory=list)
    completing: list[int] = field(default_factory=list)

    def assignment_at(self, seq: int, partition: int) -> ReplicaAssignment | None:
        """Return the assignment as stored just before the event `seq`; None if there was none."""
        place = bisect_left(self.versions, seq, key=_seq_of_version)
        content = self.versions[place - 1][3] if place else None
        return None if content is None else content.assignments.get(partition)

    def unclean_at(self, seq: int) -> bool | None:
        """Return unclean.leader.election.enable in the topic's settings just before the event `seq`; None: not set."""
        place = bisect_left(self.unclean, (seq,))
        return self.unclean[place - 1][1] if place else None


NO_TOPIC_TIMELINE = TopicTimeline()


@dataclass(slots=True)
class Timeline:
    """The timeline of one run.

    Attributes:
        brokers: the bits of the brokers in all views.
        views: node -> what it knew as controller.
        actions: what the controllers did, in order.
        topics: name -> its timeline.
        triggers: seq of a cluster-wide event -> the trigger of the transitions that follow from it.
        owners: session id -> the broker whose session it is.
        log_dirs: partition -> (seq, the controller's node, the broker whose replica of the partition fails).
        read_at: seq of the beginning of a term -> seq by which the new controller had read the assignments.
        racks: every broker that was ever registered, and its rack.
        ended_ms: the time of the last cluster-wide event.
        has_decisions: whether the events record what controllers decided; imported events may not.
    """

    brokers: BrokerBits = field(default_factory=BrokerBits)
    views: dict[str, ControllerViews] = field(default_factory=dict)
    actions: list[ControllerAction] = field(default_factory=list)
    topics: dict[str, TopicTimeline] = field(default_factory=dict)
    triggers: dict[int, Trigger] = field(default_factory=dict)
    owners: dict[str, int] = field(default_factory=dict)
    log_dirs: dict[tuple[str, int], list[tuple[int, str, int]]] = field(default_factory=dict)
    read_at: dict[int, int] = field(default_factory=dict)
    racks: dict[int, str | None] = field(default_factory=dict)
    ended_ms: int = 0
    has_decisions: bool = False
    _of_broker: dict[int, list[int]] = field(default_factory=dict, repr=False)
    _of_all: list[int] = field(default_factory=list, repr=False)

    def view(self, node: str, seq: int) -> ControllerView:
        """Return what a node knew as controller just before its event `seq`."""
        known = self.views.get(node)
        return NO_VIEW if known is None else known.at(seq)

    def topic_timeline(self, topic: str) -> TopicTimeline:
        """Return the timeline of a topic; an empty one if nothing is known of the topic."""
        return self.topics.get(topic, NO_TOPIC_TIMELINE)

    def forget_past(self) -> None:
        """Forget what only earlier events look up: for a fold that takes in all facts of a run in order of `seq`.

        What a new partition reads of its topic stays. Actions are all forgotten: only a what-if looks at them.
        """
        self.actions.clear()
        first: dict[str, int] = {}
        for partition, failures in list(self.log_dirs.items()):
            self.log_dirs[partition] = [f for f in failures if not self._was_back(f[1], f[2], f[0], AFTER_ALL)]
            for seq, node, _ in self.log_dirs[partition]:
                first[node] = min(seq, first.get(node, seq))
            if not self.log_dirs[partition]:
                del self.log_dirs[partition]
        for node, known in self.views.items():
            known.forget_before(first.get(node, AFTER_ALL))
        terms = {known.last.since for known in self.views.values()}
        self.read_at = {since: seq for since, seq in self.read_at.items() if since in terms}
        if len(self.triggers) > TRIGGERS_KEPT:
            self.triggers = dict(list(self.triggers.items())[-TRIGGERS_KEPT:])

    # --- actions

    def place_of(self, seq: int) -> int:
        """Return how many actions come before the event `seq`."""
        return bisect_left(self.actions, seq, key=_seq)

    def next_concerning(self, place: int, replicas: Sequence[int]) -> int:
        """Return the place of the next action, from `place` on, that can concern a partition with a leader.

        Returns: past the end if there is none.
        """
        self._index()
        found = len(self.actions)
        for places in (self._of_all, *(self._of_broker.get(b, ()) for b in replicas)):
            at = bisect_left(places, place)
            if at < len(places):
                found = min(found, places[at])
        return found

    def concerning(self, replicas: Sequence[int]) -> list[ControllerAction]:
        """Return every action that can concern a partition while it has a leader: of its replicas' brokers, and of all."""
        self._index()
        places = {p for b in replicas for p in self._of_broker.get(b, ())}.union(self._of_all)
        return [self.actions[p] for p in sorted(places)]

    def _index(self) -> None:
        if self._of_broker or self._of_all:
            return
        for place, action in enumerate(self.actions):
            of_all = action.kind in (
                ControllerActionKind.FAILOVER,
                ControllerActionKind.UNCLEAN_ENABLED,
                ControllerActionKind.DELETION,
            )
            if of_all or not action.brokers:
                self._of_all.append(place)
                continue
            for broker in action.brokers:
                self._of_broker.setdefault(broker, []).append(place)

    # --- failed log directories

    def offline_dirs(self, topic: str, partition: int, node: str, seq: int) -> frozenset[int]:
        """Return the brokers whose replica this node knows to be in a failed log directory just before its event `seq`."""
        failures = self.log_dirs.get((topic, partition))
        if not failures:
            return frozenset()
        return frozenset(b for at, by, b in failures if by == node and at < seq and not self._was_back(node, b, at, seq))

    def _was_back(self, node: str, broker: int, since: int, until: int) -> bool:
        """Return whether this node saw the broker leave between two events, or the node's term ended."""
        known = self.views[node]
        bit = self.brokers.bit(broker)
        first = max(bisect_right(known.seqs, since) - 1, 0)
        between = known.views[first : bisect_left(known.seqs, until)]
        return any(not view.live & bit or view.since != between[0].since for view in between)


def _seq(action: ControllerAction) -> int:
    return action.seq


def _seq_of_version(version: tuple[int, int, int | None, TopicState | None]) -> int:
    return version[0]
