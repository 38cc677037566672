"""ZooKeeper's logs imported without Spark, and logs rewritten for tests."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from kcsim.eventlog.events import Event
from kcsim.scenarios.analysis.importing.zookeeper.cluster_import import (
    ClusterDataDirectories,
    ScannedCluster,
    events_of,
    scanned,
)
from kcsim.zk.files.data_directory import DataDirectory
from kcsim.zk.files.log_writer import LogWriter
from kcsim.zk.files.transactions import Transaction
from tests.brokers.cluster.histories import imported
from tests.scenarios.analysis.importing.event_log_comparison import renumbered

RUN = "east"


def imported_together(directories: Sequence[Path], chroot: str = "") -> tuple[ScannedCluster, list[Event]]:
    """Import the directories of one ensemble; return what the first reading found, and the events."""
    found = scanned(ClusterDataDirectories(RUN, tuple(map(DataDirectory, directories))), chroot, None)
    return found, renumbered(events_of(found, chroot))


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
