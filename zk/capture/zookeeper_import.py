"""Imports a ZooKeeper's data directory, or those of an ensemble's members, as an event log.

The files are read twice, because a session's owner shows only when the broker registers, after the session's first writes.
Only the tree is kept in memory.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

from msgspec import structs

from kcsim.eventlog.events import Event
from kcsim.vocabulary import Zxid
from kcsim.zk.capture.session_owners import SessionOwners
from kcsim.zk.capture.transaction_events import path_of_kafka
from kcsim.zk.capture.zookeeper_trace import ZooKeeperTrace
from kcsim.zk.files.data_directory import DataDirectory, DataDirectoryError
from kcsim.zk.files.member_directories import MemberDirectories
from kcsim.zk.files.transaction_log import NO_BOUND
from kcsim.zk.files.transactions import (
    CloseSessionTxn,
    CreateSessionTxn,
    CreateTxn,
    DeleteTxn,
    SetDataTxn,
    Transaction,
)

UNTIL_THE_LAST = NO_BOUND


@dataclass(frozen=True, slots=True)
class TransactionLogScan:
    """The result of the first pass over the logs.

    Attributes:
        names: the owners of the sessions.
        transactions: how many there are.
        ignored: how many of them change nothing that concerns Kafka, refused ones included.
        first, last: the first and the last transaction.
    """

    names: SessionOwners
    transactions: int
    ignored: int
    first: Transaction
    last: Transaction


def scan_transaction_logs(
    files: DataDirectory | MemberDirectories, chroot: str = "", to: Zxid = UNTIL_THE_LAST
) -> TransactionLogScan:
    """Read the logs once and return the owners of their sessions and their range of transactions.

    Raises: BadLogError; DataDirectoryError when the logs have no transactions, or end before a newer snapshot.
    """
    names = SessionOwners(chroot)
    tree = files.beginning()
    names.learn_tree(tree)
    first = last = None
    transactions = ignored = 0
    for last in files.transactions(tree.zxid, to):
        names.learn(last)
        first = first or last
        transactions += 1
        ignored += not _concerns_kafka(last, chroot)
    if first is None or last is None:
        files.require_end(files.last_zxid())
        raise DataDirectoryError(f"{files}: there is no transaction in its logs that could be imported")
    if to == UNTIL_THE_LAST:
        files.require_end(last.zxid)
    return TransactionLogScan(names, transactions, ignored, first, last)


def _concerns_kafka(transaction: Transaction, chroot: str) -> bool:
    return not transaction.is_refused and any(
        isinstance(op, CreateSessionTxn | CloseSessionTxn)
        or (isinstance(op, CreateTxn | SetDataTxn | DeleteTxn) and path_of_kafka(op.path, chroot) is not None)
        for op in transaction.ops
    )


def import_zookeeper(
    files: DataDirectory | MemberDirectories, scan: TransactionLogScan, write: Callable[[Event], None], chroot: str = ""
) -> None:
    """Call `write` with the events of all transactions that the scan found. Raises: what `write` raises."""
    for event in events_of_logs(files, scan, chroot):
        write(event)


def events_of_logs(files: DataDirectory | MemberDirectories, scan: TransactionLogScan, chroot: str = "") -> Iterator[Event]:
    """Yield the events of all transactions that the scan found, in order, numbered from 0."""
    found: list[Event] = []
    tree = files.beginning()
    begins_after = tree.zxid
    trace = ZooKeeperTrace(numbered(found.append), scan.names, tree, chroot)
    where = f"from {files}" + (f" below {chroot}" if chroot else "")
    trace.begin(scan.first.time_ms, f"{where}, transactions {scan.first.zxid:#x} to {scan.last.zxid:#x}")
    for transaction in files.transactions(begins_after, scan.last.zxid):
        trace.take(transaction)
        yield from found
        found.clear()
    trace.end()
    yield from found


def numbered(write: Callable[[Event], None]) -> Callable[[Event], int]:
    """Return a function that gives each event its seq, from 0, passes the event to `write` and returns the seq."""
    seqs = count()

    def put(event: Event) -> int:
        seq = next(seqs)
        write(structs.replace(event, seq=seq))
        return seq

    return put
