"""The part of a cluster's history that partitions depend on: small, and sent to every process.

Each action names the controller's event that it is, and carries what the controller knew then.
"""

from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

WRITTEN_AFTER_MS = 2
"""From an administrator's request for a topic to the creation of its znode."""


class GeneratedActionKind(IntEnum):
    """What the controller does."""

    FAILOVER = 0
    STARTED = 1
    STOPPED = 2
    SHUTDOWN = 3
    REBALANCE = 4


class GeneratedAction(NamedTuple):
    """One action. The actions are those that a replay finds in the events (folding/controller_action.py), in the same order.

    Attributes:
        t_ms: from when on its consequences are written.
        seq: of the event that it is; one BrokerChange can be several actions.
        brokers: the brokers that came, left, requested a shutdown or get leadership back; none at a failover.
        controller, epoch, session: of the acting controller.
        election_ms, election_seq: t_ms and seq of its elections; at a failover they come after everything else.
    """

    t_ms: int
    seq: int
    kind: GeneratedActionKind
    brokers: tuple[int, ...]
    controller: int
    epoch: int
    session: str
    election_ms: int
    election_seq: int


class ServingInterval(NamedTuple):
    """A broker serves: it has received what it leads and follows, and its session lives. `until` is exclusive."""

    since: int
    until: int
    session: str


class TopicCreation(NamedTuple):
    """The creation of a topic: when an administrator requests it, and when the controller sees it (`cause`: TopicChange)."""

    requested_ms: int
    session: str  # of the administrator
    noted_ms: int
    cause: int
    controller: int
    epoch: int
    controller_session: str


@dataclass
class ClusterHistory:
    """What partitions need to know of the cluster.

    Attributes:
        actions: in order.
        serving_intervals: broker -> its serving intervals, in order.
        creations: by number of topic.
        ended_ms: the end of the history.
    """

    actions: list[GeneratedAction] = field(default_factory=list)
    serving_intervals: dict[int, list[ServingInterval]] = field(default_factory=dict)
    creations: dict[int, TopicCreation] = field(default_factory=dict)
    ended_ms: int = 0
    _of_broker: dict[int, list[int]] = field(default_factory=dict, repr=False)
    _of_preferred: dict[int, list[int]] = field(default_factory=dict, repr=False)
    _of_all: list[int] = field(default_factory=list, repr=False)

    def index(self) -> None:
        """Index the actions. Call it once all of them are there."""
        for place, action in enumerate(self.actions):
            if action.kind is GeneratedActionKind.FAILOVER:
                self._of_all.append(place)
            places = self._of_preferred if action.kind is GeneratedActionKind.REBALANCE else self._of_broker
            for broker in action.brokers:
                places.setdefault(broker, []).append(place)

    def concerning(self, replicas: Sequence[int]) -> list[int]:
        """Return the places of the actions that can affect a partition with these replicas while it has a leader."""
        places = set(self._of_all)
        for broker in replicas:
            places.update(self._of_broker.get(broker, ()))
        for broker in replicas[:1]:
            places.update(self._of_preferred.get(broker, ()))
        return sorted(places)

    def serving_interval_at(self, broker: int, t_ms: int) -> ServingInterval | None:
        """Return the interval in which a broker serves at this time; None while it does not serve."""
        intervals = self.serving_intervals.get(broker, [])
        place = bisect_right(intervals, (t_ms, 1 << 62, "")) - 1
        return intervals[place] if place >= 0 and t_ms < intervals[place].until else None

    def is_undisturbed(self, brokers: Collection[int], since: int, until: int, all_balanced: bool = False) -> bool:
        """Return whether these brokers serve undisturbed, under the same controller, from one time to another.

        Args:
            all_balanced: whether preferred leader elections of any broker count as a disturbance.
        """
        first, last = (bisect_right(self.actions, (t,)) for t in (since, until))
        for action in self.actions[first:last]:
            is_of_all = action.kind is GeneratedActionKind.FAILOVER or (
                all_balanced and action.kind is GeneratedActionKind.REBALANCE
            )
            if is_of_all or any(broker in brokers for broker in action.brokers):
                return False
        return all((interval := self.serving_interval_at(b, since)) is not None and until < interval.until for b in brokers)

    def controller_at(self, t_ms: int) -> GeneratedAction | None:
        """Return the latest action. Its controller is the current one, unless there is no controller at this time."""
        place = bisect_right(self.actions, (t_ms, 1 << 62)) - 1
        return self.actions[place] if place >= 0 else None
