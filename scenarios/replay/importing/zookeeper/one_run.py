"""One run out of the log files of its cluster, but for the way through Spark: what it holds, and who tells what of it.

Pure but for the files that are read. The steps are those of import_zookeeper.py.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

import msgspec

from kcsim.scenarios.imported.zookeeper_trace import path_of_kafka
from kcsim.scenarios.replay.importing.zookeeper.cluster_past import ClusterPast
from kcsim.scenarios.replay.importing.zookeeper.log_file import Clock, FileSurvey, holes, joined
from kcsim.scenarios.replay.importing.zookeeper.numbering import Numbering
from kcsim.scenarios.replay.importing.zookeeper.operation import OF_THE_CLUSTER, Op, Operation, present
from kcsim.scenarios.replay.importing.zookeeper.teller import Teller
from kcsim.scenarios.replay.importing.zookeeper.whole_cluster import Looked, names_of, tell_cluster, untold_ends
from kcsim.scenarios.replay.tables.rejects_table import Reject
from kcsim.zk.events import Event
from kcsim.zk.files.data_directory import DataDirectory, DataDirectoryError
from kcsim.zk.files.past_tree import PastTree
from kcsim.zk.files.transaction_log import NO_BOUND, BadLogError
from kcsim.zk.vocabulary import Zxid

TORN = "torn end"


@dataclass(frozen=True)
class Cluster:
    """What one run is made of: the data directory of a server, or those of several members of one ensemble."""

    run: str
    directories: tuple[DataDirectory, ...]
    to: Zxid = NO_BOUND


@dataclass
class RunRead:
    """What was found of one run.

    Attributes:
        transactions: how many there are, each counted once.
        first, last: their bounds.
        untold: how many of those read change nothing of Kafka's.
        size: bytes of all its logs, as they lie there.
        remarks: what a reader has to know of the files.
    """

    run: str
    batch: str
    transactions: int
    first: Zxid
    last: Zxid
    first_ms: int
    untold: int
    size: int
    files: int
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class RunInHand:
    """A run of which the cluster's part has been told.

    Attributes:
        past: what those look to who tell of the rest.
        events: the cluster's own, the run's beginning and its end among them.
        more: operations of other keys that no file tells: what was there before, and ends of ephemeral znodes.
        rejects: what of the files could not be read.
    """

    read: RunRead
    past: ClusterPast
    events: list[Event]
    more: list[Operation]
    rejects: list[Reject]


def beginning(cluster: Cluster) -> PastTree:
    """The earliest tree that any member's files tell exactly."""
    found: list[PastTree] = []
    problems: list[DataDirectoryError] = []
    for directory in cluster.directories:
        try:
            found.append(directory.beginning())
        except DataDirectoryError as error:
            problems.append(error)
    if not found:
        raise problems[0]
    return min(found, key=lambda tree: tree.zxid)


def run_of(cluster: Cluster, tree: PastTree, found: Iterable[Operation], chroot: str, batch: str | None) -> RunInHand:
    """Tell the cluster's part of a run.

    Args:
        tree: as it was before the first transaction.
        found: of the run's operations the surveys of its files, those of the key "", and, without data, those that write
            topics' znodes or create an ephemeral one.

    Raises: BadLogError; DataDirectoryError.
    """
    of_files = [one for one in found if one.op == Op.FILE]
    surveys = [msgspec.msgpack.decode(one.data or b"", type=FileSurvey) for one in of_files]
    read = _run_read(cluster, surveys, tree, batch)
    begin = list(_present(cluster.run, tree, chroot))
    looked = Looked.of([*begin, *(one for one in found if one.op != Op.FILE)])
    more = untold_ends(looked)
    looked = Looked.of([*looked.of_cluster, *looked.of_topics, *looked.ephemeral, *more])
    past = ClusterPast(
        batch=read.batch,
        run=read.run,
        began_ms=read.first_ms,
        names=names_of(looked),
        numbering=Numbering(1 + len(tree.sessions) + 2 * len(begin), [span for one in surveys for span in one.spans]),
        clock=Clock(peak for survey in surveys for peak in survey.peaks),
    )
    where = f"from {_where(cluster)}" + (f" below {chroot}" if chroot else "")
    events = tell_cluster(past, looked, tree.sessions, f"{where}, transactions {read.first:#x} to {read.last:#x}")
    untold = [one for one in (*begin, *more) if one.key != OF_THE_CLUSTER]
    return RunInHand(read, past, events, untold, list(_rejects_of(read, surveys)))


def _where(cluster: Cluster) -> str:
    return ", ".join(str(directory.directory) for directory in cluster.directories)


def _run_read(cluster: Cluster, surveys: Sequence[FileSurvey], tree: PastTree, batch: str | None) -> RunRead:
    for failed in sorted((one for one in surveys if one.failure), key=lambda one: one.path):
        assert failed.failure is not None
        raise BadLogError(Path(failed.path), failed.failure.offset, failed.failure.reason)
    spans = joined(span for survey in surveys for span in survey.spans)
    where = _where(cluster)
    if not spans:
        for directory in cluster.directories:
            directory.require_end(directory.last_zxid())
        raise DataDirectoryError(f"{where}: there is no transaction in its logs that could be told")
    first, last = Zxid(spans[0].first), Zxid(spans[-1].last)
    if cluster.to == NO_BOUND:
        for directory in cluster.directories:
            directory.require_end(last)
    remarks = [remark for directory in cluster.directories for remark in directory.remarks]
    for one, other in holes(tree.zxid, spans):
        remarks.append(f"{where}: what happened between {one:#x} and {other:#x} is not in the logs")
    remarks += [f"{one.torn_end}; all before it counts" for one in surveys if one.torn_end is not None]
    return RunRead(
        run=cluster.run,
        batch=batch or datetime.fromtimestamp(spans[0].first_ms / 1000, UTC).date().isoformat(),
        transactions=sum(span.count for span in spans),
        first=first,
        last=last,
        first_ms=spans[0].first_ms,
        untold=sum(survey.untold for survey in surveys),
        size=sum(survey.size for survey in surveys),
        files=len(surveys),
        remarks=remarks,
    )


def _present(run: str, tree: PastTree, chroot: str) -> Iterator[Operation]:
    """The znodes that a history begins with, each with room for two events, after the run's own and the sessions'."""
    place = 1 + len(tree.sessions)
    for path in sorted(tree.znodes):
        if (below := path_of_kafka(path, chroot)) is not None:
            yield present(run, below, tree.znodes[path], place)
            place += 2


def _rejects_of(read: RunRead, surveys: Iterable[FileSurvey]) -> Iterator[Reject]:
    for survey in surveys:
        if survey.torn_end is not None:
            yield Reject(read.batch, read.run, survey.path, None, TORN, survey.torn_end, None)


def tell_keys(operations: Iterable[Operation], pasts: Mapping[str, ClusterPast]) -> Iterator[tuple[ClusterPast, Event]]:
    """Tell the operations of whole keys, which are together and in order; yields whose event it is, and the event."""
    for run, of_run in groupby(operations, key=lambda one: one.run):
        past = pasts[run]
        events: list[Event] = []
        for _, of_key in groupby(of_run, key=lambda one: one.key):
            teller = Teller(events.append, past)
            for operation in of_key:
                teller.take_operation(operation)
                for event in events:
                    yield past, event
                events.clear()
