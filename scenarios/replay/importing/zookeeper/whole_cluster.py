"""The cluster's own part of a history, told first: what all who tell of single paths will look to.

Pure; for one process. What it takes in are the operations of the key "", and of the others those of topics and of ephemeral
znodes, without their data.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kcsim.scenarios.imported.likely_causes import ADMIN
from kcsim.scenarios.imported.session_names import SessionNames
from kcsim.scenarios.replay.importing.zookeeper.cluster_past import ClusterPast
from kcsim.scenarios.replay.importing.zookeeper.operation import OF_THE_CLUSTER, Op, Operation, ends
from kcsim.scenarios.replay.importing.zookeeper.teller import ZNODE_CHANGES, Teller
from kcsim.zk import paths
from kcsim.zk.events import Event, EventKind
from kcsim.zk.files.data_directory import DataDirectoryError
from kcsim.zk.files.past_tree import NOBODY
from kcsim.zk.vocabulary import SessionId

BELOW_IDS = f"{paths.BROKER_IDS}/"


class MixedLogsError(DataDirectoryError):
    """Logs that were given as those of one ensemble tell different histories."""

    def __init__(self, zxid: int) -> None:
        super().__init__(
            f"transaction {zxid:#x} is not the same in all of these logs: they are not of one ensemble;"
            " give each cluster a name, as east=DIR west=DIR"
        )
        self.zxid = zxid


@dataclass(frozen=True, slots=True)
class Looked:
    """What was found in the operations that are looked at in one place, in order of zxid and place.

    Attributes:
        of_cluster: those of the key "".
        of_topics: those on topics' znodes, data left out.
        ephemeral: those of other keys that create an ephemeral znode, data left out.
    """

    of_cluster: Sequence[Operation]
    of_topics: Sequence[Operation]
    ephemeral: Sequence[Operation]

    @classmethod
    def of(cls, operations: Iterable[Operation]) -> "Looked":
        """Each operation once, whatever files it is in. Raises: MixedLogsError."""
        once: dict[tuple[int, int, str | None], Operation] = {}
        for one in operations:
            known = once.setdefault((one.zxid, one.place, one.path), one)
            if (known.session_id, known.time_ms, known.op) != (one.session_id, one.time_ms, one.op):
                raise MixedLogsError(one.zxid)
        ordered = sorted(once.values(), key=lambda one: (one.zxid, one.place))
        return cls(
            [one for one in ordered if one.key == OF_THE_CLUSTER],
            [one for one in ordered if one.key == one.path and paths.parent(one.path) == paths.BROKER_TOPICS],
            [one for one in ordered if one.key != OF_THE_CLUSTER and _is_owned(one)],
        )


def untold_ends(looked: Looked) -> list[Operation]:
    """The ends of ephemeral znodes with sessions of which the log does not tell what they take along (up to ZooKeeper 3.5).

    One for each that a session has made before, in the order in which they were made; whether it is still there shows when
    it is told.
    """
    found: list[Operation] = []
    made: dict[int, dict[str, None]] = {}
    of_cluster = (one for one in looked.of_cluster if _is_owned(one) or one.op == Op.CLOSE)
    for one in sorted((*of_cluster, *looked.ephemeral), key=lambda one: (one.zxid, one.place)):
        if one.op != Op.CLOSE:
            own = made.setdefault(one.session_id, {})
            own.pop(one.path or "", None)
            own[one.path or ""] = None
            continue
        gone = made.pop(one.session_id, {})
        if not one.number:
            found += ends(one, list(gone))
    return found


def names_of(looked: Looked) -> SessionNames:
    """Whose the sessions are."""
    names = SessionNames()
    for one in looked.of_cluster:
        if _is_owned(one) and one.path is not None:
            names.learn_owner(one.path, SessionId(one.session_id))
    return names


def tell_cluster(past: ClusterPast, looked: Looked, sessions: Mapping[SessionId, int], detail: str) -> list[Event]:
    """Tell the cluster's own operations, and put down in `past` what others have to know of them.

    Args:
        looked: with the ends of ephemeral znodes that are the cluster's among its operations.
        sessions: those that lived before the first transaction.
        detail: where the history is from.

    Returns: the events from the beginning of the run to its end, in order; those of other paths belong between them.
    """
    events: list[Event] = []

    def keep(event: Event) -> None:
        events.append(event)
        path = event.path or ""
        if event.kind is EventKind.ELECTION_WON:
            past.elections.append(event.seq)
        elif event.kind in ZNODE_CHANGES and path.startswith(ADMIN):
            past.requests.setdefault(path, []).append((event.seq, event.kind is not EventKind.ZNODE_DELETED))
        elif event.kind in ZNODE_CHANGES and path.startswith(BELOW_IDS):
            past.changed.setdefault(path, []).append(event.seq)

    teller = Teller(keep, past)
    teller.begin_run(sessions, detail)
    for operation in looked.of_cluster:
        teller.take_operation(operation)
    for path, seq in _changes_of_topics(past, looked.of_topics):
        past.changed.setdefault(path, []).append(seq)
    teller.end_run()
    return events


def _changes_of_topics(past: ClusterPast, operations: Iterable[Operation]) -> Iterator[tuple[str, int]]:
    """When topics' znodes were written: those writes that had an effect, as whoever tells of them will find."""
    tellers: dict[str, Teller] = {}
    found: list[tuple[str, int]] = []

    def keep(event: Event) -> None:
        if event.kind in ZNODE_CHANGES:
            found.append((event.path or "", event.seq))

    for operation in operations:
        assert operation.path is not None
        if operation.path not in tellers:
            tellers[operation.path] = Teller(keep, past)
        tellers[operation.path].take_operation(operation)
    return iter(found)


def _is_owned(operation: Operation) -> bool:
    if operation.op == Op.PRESENT:
        return operation.session_id != NOBODY
    return operation.op == Op.CREATE and operation.is_ephemeral
