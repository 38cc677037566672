"""ZooKeeper's logs taken apart and told path by path, without Spark; and logs rewritten."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from kcsim.scenarios.replay.importing.zookeeper.log_file import operations_of_file
from kcsim.scenarios.replay.importing.zookeeper.one_run import Cluster, RunInHand, beginning, run_of, tell_keys
from kcsim.scenarios.replay.importing.zookeeper.operation import OF_THE_CLUSTER
from kcsim.zk.events import Event
from kcsim.zk.files.data_directory import DataDirectory
from kcsim.zk.files.log_writer import LogWriter
from kcsim.zk.files.transaction_log import NO_BOUND
from kcsim.zk.files.transactions import Transaction
from kcsim.zk.vocabulary import Zxid
from tests.scenarios.imported.histories import imported
from tests.scenarios.replay.importing.comparing import renumbered

RUN = "east"


def told_apart(directories: Sequence[Path], chroot: str = "", to: Zxid = NO_BOUND) -> tuple[RunInHand, list[Event]]:
    """What comes of the directories of one ensemble: the run, and its events."""
    cluster = Cluster(RUN, tuple(map(DataDirectory, directories)), to)
    tree = beginning(cluster)
    logs = [path for directory in cluster.directories for path in directory.logs]
    operations = [one for path in logs for one in operations_of_file(RUN, path, chroot, tree.zxid, to)]
    run = run_of(cluster, tree, operations, chroot, None)
    others = [one for one in (*operations, *run.more) if one.key != OF_THE_CLUSTER]
    ordered = sorted(others, key=lambda one: (one.key, one.zxid, one.place))
    return run, renumbered([*run.events, *(event for _, event in tell_keys(ordered, {RUN: run.past}))])


def in_one_go(directory: Path, chroot: str = "") -> list[Event]:
    """What one process makes of a directory."""
    return renumbered(imported(directory, chroot))


def rewritten(
    source: Path, to: Path, per_file: int = 10, change: Callable[[Transaction], Transaction | None] = lambda one: one
) -> Path:
    """A copy of a log in files of some length, with transactions changed, or left out."""
    return written(to, filter(None, map(change, DataDirectory(source).transactions())), per_file)


def written(to: Path, transactions: Iterable[Transaction], per_file: int = 10) -> Path:
    """A log of these transactions."""
    with LogWriter(to, per_file) as log:
        for transaction in transactions:
            log.write(transaction)
    return to
