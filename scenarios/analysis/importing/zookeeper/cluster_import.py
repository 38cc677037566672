"""The transaction logs of one cluster, read as one process reads them, and what is kept of them for a dataset."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from kcsim.eventlog.events import Event
from kcsim.scenarios.analysis.tables.rejects_table import Reject
from kcsim.vocabulary import Zxid
from kcsim.zk.capture.zookeeper_import import TransactionLogScan, events_of_logs, scan_transaction_logs
from kcsim.zk.files.data_directory import DataDirectory
from kcsim.zk.files.member_directories import MemberDirectories
from kcsim.zk.files.transaction_log import NO_BOUND

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
class ScannedCluster:
    """A cluster whose logs have been read once.

    Attributes:
        rejects: the parts of the files that could not be read.
    """

    cluster: ClusterDataDirectories
    scan: TransactionLogScan
    summary: RunSummary
    rejects: list[Reject]


def scanned(cluster: ClusterDataDirectories, chroot: str, batch: str | None) -> ScannedCluster:
    """Read all logs of a cluster once.

    Args:
        batch: the batch of the run; if not given, the day (UTC) on which the run begins.

    Raises: BadLogError; DataDirectoryError; OSError.
    """
    files = MemberDirectories(cluster.directories)
    scan = scan_transaction_logs(files, chroot, cluster.to)
    batch = batch or datetime.fromtimestamp(scan.first.time_ms / 1000, UTC).date().isoformat()
    summary = RunSummary(
        run=cluster.run,
        batch=batch,
        transactions=scan.transactions,
        first=scan.first.zxid,
        last=scan.last.zxid,
        first_ms=scan.first.time_ms,
        ignored=scan.ignored,
        size=sum(path.stat().st_size for path in files.logs),
        files=len(files.logs),
        remarks=files.remarks,
    )
    rejects = [Reject(batch, cluster.run, str(path), None, TORN, text, None) for path, text in files.torn_ends.items()]
    return ScannedCluster(cluster, scan, summary, rejects)


def events_of(found: ScannedCluster, chroot: str) -> Iterator[Event]:
    """Yield the events of a cluster, in order. Its logs are read once more. Raises: as of `scanned`."""
    return events_of_logs(MemberDirectories(found.cluster.directories), found.scan, chroot)
