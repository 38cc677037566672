"""What happens to the cluster, as far as a partition's history depends on it: small, and handed to every process.

Each moment names the event of the controller that it is, and carries what the controller knew then.
"""

from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

WRITTEN_AFTER_MS = 2
"""From an administrator's wish for a topic to the creation of its znode."""


class Deed(IntEnum):
    """What the controller does."""

    FAILOVER = 0
    STARTED = 1
    STOPPED = 2
    SHUTDOWN = 3
    REBALANCE = 4


class Moment(NamedTuple):
    """One deed. They are those that a replay finds in the events (folding/moment.py), one for one and in the same order.

    Attributes:
        t_ms: from when on its consequences are written.
        seq: of the event that it is; a BrokerChange can be several.
        brokers: who has come, gone, asked or is given leadership back; none at a failover.
        controller, epoch, session: who acts.
        election_ms, election_seq: the same of elections; at a failover they come after everything else.
    """

    t_ms: int
    seq: int
    deed: Deed
    brokers: tuple[int, ...]
    controller: int
    epoch: int
    session: str
    election_ms: int
    election_seq: int


class Spell(NamedTuple):
    """A broker serves: it has been told what it leads and follows, and its session lives. `until` is exclusive."""

    since: int
    until: int
    session: str


class TopicCreation(NamedTuple):
    """A topic comes: when an administrator asks for it, and when the controller takes note (`cause`: its TopicChange)."""

    asked_ms: int
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
        moments: in order.
        spells: broker -> its spells, in order.
        creations: by number of topic.
        ended_ms: the end of the history.
    """

    moments: list[Moment] = field(default_factory=list)
    spells: dict[int, list[Spell]] = field(default_factory=dict)
    creations: dict[int, TopicCreation] = field(default_factory=dict)
    ended_ms: int = 0
    _of_broker: dict[int, list[int]] = field(default_factory=dict, repr=False)
    _of_preferred: dict[int, list[int]] = field(default_factory=dict, repr=False)
    _of_all: list[int] = field(default_factory=list, repr=False)

    def index(self) -> None:
        """To be called once all moments are there."""
        for place, moment in enumerate(self.moments):
            if moment.deed is Deed.FAILOVER:
                self._of_all.append(place)
            places = self._of_preferred if moment.deed is Deed.REBALANCE else self._of_broker
            for broker in moment.brokers:
                places.setdefault(broker, []).append(place)

    def concerning(self, replicas: Sequence[int]) -> list[int]:
        """Places of the moments that can change what becomes of a partition with these replicas while it has a leader."""
        places = set(self._of_all)
        for broker in replicas:
            places.update(self._of_broker.get(broker, ()))
        for broker in replicas[:1]:
            places.update(self._of_preferred.get(broker, ()))
        return sorted(places)

    def spell(self, broker: int, t_ms: int) -> Spell | None:
        """The spell that a broker is in; None while it does not serve."""
        spells = self.spells.get(broker, [])
        place = bisect_right(spells, (t_ms, 1 << 62, "")) - 1
        return spells[place] if place >= 0 and t_ms < spells[place].until else None

    def quiet(self, brokers: Collection[int], since: int, until: int, all_balanced: bool = False) -> bool:
        """Whether these brokers serve, nothing befalls them, and the controller stays, from one time to another.

        Args:
            all_balanced: whether nobody at all may be given leadership back meanwhile.
        """
        first, last = (bisect_right(self.moments, (t,)) for t in (since, until))
        for moment in self.moments[first:last]:
            is_of_all = moment.deed is Deed.FAILOVER or (all_balanced and moment.deed is Deed.REBALANCE)
            if is_of_all or any(broker in brokers for broker in moment.brokers):
                return False
        return all((spell := self.spell(b, since)) is not None and until < spell.until for b in brokers)

    def controller_at(self, t_ms: int) -> Moment | None:
        """The latest moment: its controller is in office, unless there is none just now."""
        place = bisect_right(self.moments, (t_ms, 1 << 62)) - 1
        return self.moments[place] if place >= 0 else None
