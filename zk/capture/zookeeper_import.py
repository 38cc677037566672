"""Imports a ZooKeeper's data directory as an event log.

The files are read twice, because a session's owner shows only when the broker registers, after the session's first writes.
Only the tree is kept in memory.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from msgspec import structs

from kcsim.eventlog.events import Event
from kcsim.vocabulary import Zxid
from kcsim.zk.capture.session_owners import SessionOwners
from kcsim.zk.capture.zookeeper_trace import ZooKeeperTrace
from kcsim.zk.files.data_directory import DataDirectory, DataDirectoryError
from kcsim.zk.files.transaction_log import NO_BOUND
from kcsim.zk.files.transactions import Transaction

UNTIL_THE_LAST = NO_BOUND


@dataclass(frozen=True, slots=True)
class TransactionLogScan:
    """The result of the first pass over the logs.

    Attributes:
        names: the owners of the sessions.
        transactions: how many there are.
        first, last: the first and the last transaction.
    """

    names: SessionOwners
    transactions: int
    first: Transaction
    last: Transaction


def scan_transaction_logs(directory: DataDirectory, chroot: str = "", to: Zxid = UNTIL_THE_LAST) -> TransactionLogScan:
    """Read the logs once and return the owners of their sessions and their range of transactions.

    Raises: BadLogError; DataDirectoryError when the logs have no transactions, or end before a newer snapshot.
    """
    names = SessionOwners(chroot)
    tree = directory.beginning()
    names.learn_tree(tree)
    first = last = None
    transactions = 0
    for last in directory.transactions(tree.zxid, to):
        names.learn(last)
        first = first or last
        transactions += 1
    if first is None or last is None:
        directory.require_end(directory.last_zxid())
        raise DataDirectoryError(f"{directory.directory}: there is no transaction in its logs that could be imported")
    if to == UNTIL_THE_LAST:
        directory.require_end(last.zxid)
    return TransactionLogScan(names, transactions, first, last)


def import_zookeeper(
    directory: DataDirectory, scan: TransactionLogScan, write: Callable[[Event], None], chroot: str = ""
) -> None:
    """Call `write` with the events of all transactions that the scan found. Raises: what `write` raises."""
    tree = directory.beginning()
    begins_after = tree.zxid
    trace = ZooKeeperTrace(numbered(write), scan.names, tree, chroot)
    where = f"from {directory.directory}" + (f" below {chroot}" if chroot else "")
    trace.begin(scan.first.time_ms, f"{where}, transactions {scan.first.zxid:#x} to {scan.last.zxid:#x}")
    for transaction in directory.transactions(begins_after, scan.last.zxid):
        trace.take(transaction)
    trace.end()


def numbered(write: Callable[[Event], None]) -> Callable[[Event], int]:
    """Return a function that gives each event its seq, from 0, passes the event to `write` and returns the seq."""
    seqs = count()

    def put(event: Event) -> int:
        seq = next(seqs)
        write(structs.replace(event, seq=seq))
        return seq

    return put
