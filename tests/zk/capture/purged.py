"""A data directory as ZooKeeper's purge leaves it: a snapshot, and the later logs."""

from pathlib import Path

from kcsim.vocabulary import Zxid
from kcsim.zk.files.data_directory import DataDirectory
from kcsim.zk.files.log_writer import LogWriter
from tests.zk.files.snapshots import write_snapshot, znodes_of


def purged(directory: Path, to: Path) -> Path:
    """Write the second half of a history, with a snapshot from the middle; earlier logs are missing."""
    files = DataDirectory(directory)
    middle = Zxid(files.last_zxid() // 2)
    with LogWriter(to) as log:
        for transaction in files.transactions(middle):
            log.write(transaction)
    tree = files.tree_at(middle)
    write_snapshot(log.directory, middle, znodes_of(tree), tree.sessions)
    return to
