"""What the import of single paths has to know of the cluster: the owners of sessions, and what happened when.

Pure, and small enough to be sent to every executor: its size grows with sessions, registrations, elections, administrators'
requests and the writes of topics, not with the writes of partitions.
"""

from bisect import bisect_left
from dataclasses import dataclass, field

from kcsim.scenarios.analysis.importing.zookeeper.log_file import Clock
from kcsim.scenarios.analysis.importing.zookeeper.numbering import Numbering
from kcsim.vocabulary import SessionId
from kcsim.zk.capture.session_owners import SessionOwners


@dataclass
class ImportContext:
    """The context of one run.

    Attributes:
        batch, run: of its events.
        began_ms: time of the first transaction, ms since 1970.
        opened: seq of the beginning of each session.
        changed: the seqs of each path's changes, in order.
        requests: for each path of an administrator's request, the seqs of its changes and whether it is pending after each.
        elections: the seqs of elections won, in order.
    """

    batch: str
    run: str
    began_ms: int
    names: SessionOwners
    numbering: Numbering
    clock: Clock
    opened: dict[SessionId, int] = field(default_factory=dict)
    changed: dict[str, list[int]] = field(default_factory=dict)
    requests: dict[str, list[tuple[int, bool]]] = field(default_factory=dict)
    elections: list[int] = field(default_factory=list)


class AsOf:
    """What had happened before the event with the seq `now`: the state that CauseInference queries."""

    def __init__(self, context: ImportContext) -> None:
        self._context = context
        self.now = 0

    def last(self, path: str) -> int | None:
        """Return the seq of the last change of a path; None if there is none, or if no cause depends on such a path."""
        return _before(self._context.changed.get(path, []), self.now)

    def request(self, path: str) -> int | None:
        """Return the seq of an administrator's request that is still pending."""
        requests = self._context.requests.get(path, [])
        place = bisect_left(requests, (self.now, False))
        if not place:
            return None
        seq, stands = requests[place - 1]
        return seq if stands else None

    @property
    def elected(self) -> int | None:
        """The seq of the last election won."""
        return _before(self._context.elections, self.now)


def _before(seqs: list[int], now: int) -> int | None:
    place = bisect_left(seqs, now)
    return seqs[place - 1] if place else None
