"""ZooKeeper's logs split and imported path by path, without Spark; and logs rewritten for tests."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from kcsim.eventlog.events import Event
from kcsim.scenarios.analysis.importing.zookeeper.cluster_import import (
    ClusterDataDirectories,
    PreparedRun,
    beginning,
    events_of_keys,
    run_of,
)
from kcsim.scenarios.analysis.importing.zookeeper.log_file import operations_of_file
from kcsim.scenarios.analysis.importing.zookeeper.operation import OF_THE_CLUSTER
from kcsim.vocabulary import Zxid
from kcsim.zk.files.data_directory import DataDirectory
from kcsim.zk.files.log_writer import LogWriter
from kcsim.zk.files.transaction_log import NO_BOUND
from kcsim.zk.files.transactions import Transaction
from tests.brokers.cluster.histories import imported
from tests.scenarios.analysis.importing.event_log_comparison import renumbered

RUN = "east"


def imported_by_path(directories: Sequence[Path], chroot: str = "", to: Zxid = NO_BOUND) -> tuple[PreparedRun, list[Event]]:
    """Import the directories of one ensemble path by path; return the run and its events."""
    cluster = ClusterDataDirectories(RUN, tuple(map(DataDirectory, directories)), to)
    tree = beginning(cluster)
    logs = [path for directory in cluster.directories for path in directory.logs]
    operations = [one for path in logs for one in operations_of_file(RUN, path, chroot, tree.zxid, to)]
    run = run_of(cluster, tree, operations, chroot, None)
    others = [one for one in (*operations, *run.more) if one.key != OF_THE_CLUSTER]
    ordered = sorted(others, key=lambda one: (one.key, one.zxid, one.place))
    return run, renumbered([*run.events, *(event for _, event in events_of_keys(ordered, {RUN: run.context}))])


def in_one_go(directory: Path, chroot: str = "") -> list[Event]:
    """Return the events that one process imports from a directory."""
    return renumbered(imported(directory, chroot))


def rewritten(
    source: Path, to: Path, per_file: int = 10, change: Callable[[Transaction], Transaction | None] = lambda one: one
) -> Path:
    """Write a copy of a log in files of a given length, with transactions changed or left out; return its directory."""
    return written(to, filter(None, map(change, DataDirectory(source).transactions())), per_file)


def written(to: Path, transactions: Iterable[Transaction], per_file: int = 10) -> Path:
    """Write a log of these transactions and return its directory."""
    with LogWriter(to, per_file) as log:
        for transaction in transactions:
            log.write(transaction)
    return to
