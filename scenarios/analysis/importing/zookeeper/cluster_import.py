"""The import of one run from the log files of its cluster, without Spark.

Pure but for the files that are read. import_zookeeper.py describes the steps.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

import msgspec

from kcsim.eventlog.events import Event
from kcsim.scenarios.analysis.importing.zookeeper.cluster_events import (
    DriverOperations,
    cluster_events,
    names_of,
    unlogged_ends,
)
from kcsim.scenarios.analysis.importing.zookeeper.import_context import ImportContext
from kcsim.scenarios.analysis.importing.zookeeper.log_file import Clock, TransactionLogSurvey, holes, merge_ranges
from kcsim.scenarios.analysis.importing.zookeeper.numbering import Numbering
from kcsim.scenarios.analysis.importing.zookeeper.operation import OF_THE_CLUSTER, Op, Operation, present
from kcsim.scenarios.analysis.importing.zookeeper.path_importer import PathImporter
from kcsim.scenarios.analysis.tables.rejects_table import Reject
from kcsim.vocabulary import Zxid
from kcsim.zk.capture.transaction_events import path_of_kafka
from kcsim.zk.files.data_directory import DataDirectory, DataDirectoryError
from kcsim.zk.files.past_tree import PastTree
from kcsim.zk.files.transaction_log import NO_BOUND, BadLogError

TORN = "torn end"


@dataclass(frozen=True)
class ClusterDataDirectories:
    """The sources of one run: the data directory of a server, or those of several members of one ensemble."""

    run: str
    directories: tuple[DataDirectory, ...]
    to: Zxid = NO_BOUND


@dataclass(frozen=True)
class RunSummary:
    """What was found of one run.

    Attributes:
        transactions: how many there are, each counted once.
        first, last: their bounds.
        ignored: how many of those read change nothing of Kafka's.
        size: bytes of all its log files on disk.
        remarks: what a reader has to know of the files.
    """

    run: str
    batch: str
    transactions: int
    first: Zxid
    last: Zxid
    first_ms: int
    ignored: int
    size: int
    files: int
    remarks: list[str]


@dataclass(frozen=True)
class PreparedRun:
    """A run whose cluster's own operations have been imported.

    Attributes:
        context: what the import of the other operations depends on.
        events: the cluster's own, including the run's beginning and end.
        more: operations of other keys that are in no file: what existed before, and ends of ephemeral znodes.
        rejects: the parts of the files that could not be read.
    """

    read: RunSummary
    context: ImportContext
    events: list[Event]
    more: list[Operation]
    rejects: list[Reject]


def beginning(cluster: ClusterDataDirectories) -> PastTree:
    """Return the earliest tree that any member's files show exactly."""
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


def run_of(
    cluster: ClusterDataDirectories, tree: PastTree, found: Iterable[Operation], chroot: str, batch: str | None
) -> PreparedRun:
    """Import the cluster's part of a run.

    Args:
        tree: the tree before the first transaction.
        found: of the run's operations: the surveys of its files, those of the key "", and, without data, those that write
            topics' znodes or create an ephemeral znode.

    Raises: BadLogError; DataDirectoryError.
    """
    of_files = [one for one in found if one.op == Op.FILE]
    surveys = [msgspec.msgpack.decode(one.data or b"", type=TransactionLogSurvey) for one in of_files]
    read = _run_read(cluster, surveys, tree, batch)
    begin = list(_present(cluster.run, tree, chroot))
    looked = DriverOperations.of([*begin, *(one for one in found if one.op != Op.FILE)])
    more = unlogged_ends(looked)
    looked = DriverOperations.of([*looked.of_cluster, *looked.of_topics, *looked.ephemeral, *more])
    context = ImportContext(
        batch=read.batch,
        run=read.run,
        began_ms=read.first_ms,
        names=names_of(looked),
        numbering=Numbering(1 + len(tree.sessions) + 2 * len(begin), [span for one in surveys for span in one.spans]),
        clock=Clock(peak for survey in surveys for peak in survey.peaks),
    )
    where = f"from {_where(cluster)}" + (f" below {chroot}" if chroot else "")
    events = cluster_events(context, looked, tree.sessions, f"{where}, transactions {read.first:#x} to {read.last:#x}")
    others = [one for one in (*begin, *more) if one.key != OF_THE_CLUSTER]
    return PreparedRun(read, context, events, others, list(_rejects_of(read, surveys)))


def _where(cluster: ClusterDataDirectories) -> str:
    return ", ".join(str(directory.directory) for directory in cluster.directories)


def _run_read(
    cluster: ClusterDataDirectories, surveys: Sequence[TransactionLogSurvey], tree: PastTree, batch: str | None
) -> RunSummary:
    for failed in sorted((one for one in surveys if one.failure), key=lambda one: one.path):
        assert failed.failure is not None
        raise BadLogError(Path(failed.path), failed.failure.offset, failed.failure.reason)
    spans = merge_ranges(span for survey in surveys for span in survey.spans)
    where = _where(cluster)
    if not spans:
        for directory in cluster.directories:
            directory.require_end(directory.last_zxid())
        raise DataDirectoryError(f"{where}: there is no transaction in its logs that could be imported")
    first, last = Zxid(spans[0].first), Zxid(spans[-1].last)
    if cluster.to == NO_BOUND:
        for directory in cluster.directories:
            directory.require_end(last)
    remarks = [remark for directory in cluster.directories for remark in directory.remarks]
    for one, other in holes(tree.zxid, spans):
        remarks.append(f"{where}: what happened between {one:#x} and {other:#x} is not in the logs")
    remarks += [f"{one.torn_end}; all before it counts" for one in surveys if one.torn_end is not None]
    return RunSummary(
        run=cluster.run,
        batch=batch or datetime.fromtimestamp(spans[0].first_ms / 1000, UTC).date().isoformat(),
        transactions=sum(span.count for span in spans),
        first=first,
        last=last,
        first_ms=spans[0].first_ms,
        ignored=sum(survey.ignored for survey in surveys),
        size=sum(survey.size for survey in surveys),
        files=len(surveys),
        remarks=remarks,
    )


def _present(run: str, tree: PastTree, chroot: str) -> Iterator[Operation]:
    """Yield the znodes that a history begins with, each with room for two events, after the run's and sessions' events."""
    place = 1 + len(tree.sessions)
    for path in sorted(tree.znodes):
        if (below := path_of_kafka(path, chroot)) is not None:
            yield present(run, below, tree.znodes[path], place)
            place += 2


def _rejects_of(read: RunSummary, surveys: Iterable[TransactionLogSurvey]) -> Iterator[Reject]:
    for survey in surveys:
        if survey.torn_end is not None:
            yield Reject(read.batch, read.run, survey.path, None, TORN, survey.torn_end, None)


def events_of_keys(
    operations: Iterable[Operation], contexts: Mapping[str, ImportContext]
) -> Iterator[tuple[ImportContext, Event]]:
    """Import the operations of whole keys, which are together and in order. Yield each event and the context of its run."""
    for run, of_run in groupby(operations, key=lambda one: one.run):
        context = contexts[run]
        events: list[Event] = []
        for _, of_key in groupby(of_run, key=lambda one: one.key):
            importer = PathImporter(events.append, context)
            for operation in of_key:
                importer.take_operation(operation)
                for event in events:
                    yield context, event
                events.clear()
