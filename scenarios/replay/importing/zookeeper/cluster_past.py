"""What those who tell of single paths have to know of the cluster: whose the sessions are, and what happened when.

Pure, and of a size that goes to every executor: it grows with sessions, registrations, elections, an administrator's
requests and the writes of topics, not with those of partitions.
"""

from bisect import bisect_left
from dataclasses import dataclass, field

from kcsim.scenarios.imported.session_names import SessionNames
from kcsim.scenarios.replay.importing.zookeeper.log_file import Clock
from kcsim.scenarios.replay.importing.zookeeper.numbering import Numbering
from kcsim.zk.vocabulary import SessionId


@dataclass
class ClusterPast:
    """Of one run.

    Attributes:
        batch, run: where its events belong.
        began_ms: time of the first transaction, ms since 1970.
        opened: seq of the beginning of each session.
        changed: the seqs of each path's changes, in order.
        requests: of each path of an administrator's request, the seqs of its changes and whether it stands from then on.
        elections: the seqs of elections won, in order.
    """

    batch: str
    run: str
    began_ms: int
    names: SessionNames
    numbering: Numbering
    clock: Clock
    opened: dict[SessionId, int] = field(default_factory=dict)
    changed: dict[str, list[int]] = field(default_factory=dict)
    requests: dict[str, list[tuple[int, bool]]] = field(default_factory=dict)
    elections: list[int] = field(default_factory=list)


class AsOf:
    """What had happened before the event with the seq `now`; what LikelyCauses asks."""

    def __init__(self, past: ClusterPast) -> None:
        self._past = past
        self.now = 0

    def last(self, path: str) -> int | None:
        """seq of the last change of a path; None if nobody looks to such a path for causes."""
        return _before(self._past.changed.get(path, []), self.now)

    def asked(self, path: str) -> int | None:
        """seq of an administrator's request that still stands."""
        requests = self._past.requests.get(path, [])
        place = bisect_left(requests, (self.now, False))
        if not place:
            return None
        seq, stands = requests[place - 1]
        return seq if stands else None

    @property
    def elected(self) -> int | None:
        """seq of the last election won."""
        return _before(self._past.elections, self.now)


def _before(seqs: list[int], now: int) -> int | None:
    place = bisect_left(seqs, now)
    return seqs[place - 1] if place else None
