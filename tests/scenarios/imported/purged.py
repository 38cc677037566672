"""A data directory as ZooKeeper's purge leaves it: a snapshot, and the logs since."""

from pathlib import Path

from kcsim.zk.files.data_directory import DataDirectory
from kcsim.zk.files.log_writer import LogWriter
from kcsim.zk.vocabulary import Zxid
from tests.zk.files.snapshots import write_snapshot, znodes_of


def purged(directory: Path, to: Path) -> Path:
    """The second half of a history, with a snapshot as of the middle; the logs before it are gone."""
    files = DataDirectory(directory)
    middle = Zxid(files.last_zxid() // 2)
    with LogWriter(to) as log:
        for transaction in files.transactions(middle):
            log.write(transaction)
    tree = files.tree_at(middle)
    write_snapshot(log.directory, middle, znodes_of(tree), tree.sessions)
    return to
