"""The cluster's own events, imported first: the import of every other path depends on them.

Pure; for one process. The input are the operations of the key "", and of the other keys those on topics' znodes and on
ephemeral znodes, without their data.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kcsim.eventlog.events import ZNODE_CHANGES, Event, EventKind
from kcsim.scenarios.analysis.importing.zookeeper.import_context import ImportContext
from kcsim.scenarios.analysis.importing.zookeeper.operation import OF_THE_CLUSTER, Op, Operation, ends
from kcsim.scenarios.analysis.importing.zookeeper.path_importer import PathImporter
from kcsim.vocabulary import SessionId
from kcsim.zk.capture.cause_inference import ADMIN
from kcsim.zk.capture.session_owners import SessionOwners
from kcsim.zk.files.data_directory import DataDirectoryError
from kcsim.zk.files.past_tree import NO_OWNER
from kcsim.znodes import paths

BELOW_IDS = f"{paths.BROKER_IDS}/"


class MixedLogsError(DataDirectoryError):
    """Logs that were given as those of one ensemble have different transactions."""

    def __init__(self, zxid: int) -> None:
        super().__init__(
            f"transaction {zxid:#x} is not the same in all of these logs: they are not of one ensemble;"
            " give each cluster a name, as east=DIR west=DIR"
        )
        self.zxid = zxid


@dataclass(frozen=True, slots=True)
class DriverOperations:
    """The operations that the driver processes, in order of zxid and place.

    Attributes:
        of_cluster: those of the key "".
        of_topics: those on topics' znodes, without data.
        ephemeral: those of other keys that create an ephemeral znode, without data.
    """

    of_cluster: Sequence[Operation]
    of_topics: Sequence[Operation]
    ephemeral: Sequence[Operation]

    @classmethod
    def of(cls, operations: Iterable[Operation]) -> "DriverOperations":
        """Return each operation once, however many files it is in. Raises: MixedLogsError."""
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


def unlogged_ends(looked: DriverOperations) -> list[Operation]:
    """Return the ends of ephemeral znodes with sessions whose log entry does not list their znodes (up to ZooKeeper 3.5).

    There is one for each znode that a session created before, in the order of creation. Whether the znode still exists is
    found when the operation is imported.
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


def names_of(looked: DriverOperations) -> SessionOwners:
    """Return the owners of the sessions."""
    names = SessionOwners()
    for one in looked.of_cluster:
        if _is_owned(one) and one.path is not None:
            names.learn_owner(one.path, SessionId(one.session_id))
    return names


def cluster_events(
    context: ImportContext, looked: DriverOperations, sessions: Mapping[SessionId, int], detail: str
) -> list[Event]:
    """Import the cluster's own operations, and record in `context` what the import of other paths depends on.

    Args:
        looked: its of_cluster includes the ends of ephemeral znodes that are the cluster's.
        sessions: the sessions that lived before the first transaction.
        detail: the source of the history.

    Returns: the events from the beginning of the run to its end, in order; those of other paths belong between them.
    """
    events: list[Event] = []

    def keep(event: Event) -> None:
        events.append(event)
        path = event.path or ""
        if event.kind is EventKind.ELECTION_WON:
            context.elections.append(event.seq)
        elif event.kind in ZNODE_CHANGES and path.startswith(ADMIN):
            context.requests.setdefault(path, []).append((event.seq, event.kind is not EventKind.ZNODE_DELETED))
        elif event.kind in ZNODE_CHANGES and path.startswith(BELOW_IDS):
            context.changed.setdefault(path, []).append(event.seq)

    importer = PathImporter(keep, context)
    importer.begin_run(sessions, detail)
    for operation in looked.of_cluster:
        importer.take_operation(operation)
    for path, seq in _changes_of_topics(context, looked.of_topics):
        context.changed.setdefault(path, []).append(seq)
    importer.end_run()
    return events


def _changes_of_topics(context: ImportContext, operations: Iterable[Operation]) -> Iterator[tuple[str, int]]:
    """Return when topics' znodes changed: the writes that had an effect, as the import of their paths finds them."""
    importers: dict[str, PathImporter] = {}
    found: list[tuple[str, int]] = []

    def keep(event: Event) -> None:
        if event.kind in ZNODE_CHANGES:
            found.append((event.path or "", event.seq))

    for operation in operations:
        assert operation.path is not None
        if operation.path not in importers:
            importers[operation.path] = PathImporter(keep, context)
        importers[operation.path].take_operation(operation)
    return iter(found)


def _is_owned(operation: Operation) -> bool:
    if operation.op == Op.PRESENT:
        return operation.session_id != NO_OWNER
    return operation.op == Op.CREATE and operation.is_ephemeral
