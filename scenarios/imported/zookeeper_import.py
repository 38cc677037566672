"""From a ZooKeeper's data directory to an event log of ours, the way through the files included.

They are read twice: whose a session is shows only when it registers, after its first writes. Nothing is held but the tree.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from msgspec import structs

from kcsim.scenarios.imported.session_names import SessionNames
from kcsim.scenarios.imported.zookeeper_trace import ZooKeeperTrace
from kcsim.zk.events import Event
from kcsim.zk.files.data_directory import DataDirectory, DataDirectoryError
from kcsim.zk.files.transaction_log import NO_BOUND
from kcsim.zk.files.transactions import Transaction
from kcsim.zk.vocabulary import Zxid

UNTIL_THE_LAST = NO_BOUND


@dataclass(frozen=True, slots=True)
class Survey:
    """What a first look at the logs found: how many transactions, the first and the last, and whose the sessions are."""

    names: SessionNames
    transactions: int
    first: Transaction
    last: Transaction


def survey(directory: DataDirectory, chroot: str = "", to: Zxid = UNTIL_THE_LAST) -> Survey:
    """Read the logs once.

    Raises: BadLogError; DataDirectoryError when there is nothing in them, or they lack what a newer snapshot has.
    """
    names = SessionNames(chroot)
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
        raise DataDirectoryError(f"{directory.directory}: there is no transaction in its logs that could be told")
    if to == UNTIL_THE_LAST:
        directory.require_end(last.zxid)
    return Survey(names, transactions, first, last)


def import_zookeeper(directory: DataDirectory, seen: Survey, write: Callable[[Event], None], chroot: str = "") -> None:
    """Call `write` with the events of all that a survey has found. Raises: what `write` raises."""
    tree = directory.beginning()
    begins_after = tree.zxid
    trace = ZooKeeperTrace(numbered(write), seen.names, tree, chroot)
    where = f"from {directory.directory}" + (f" below {chroot}" if chroot else "")
    trace.begin(seen.first.time_ms, f"{where}, transactions {seen.first.zxid:#x} to {seen.last.zxid:#x}")
    for transaction in directory.transactions(begins_after, seen.last.zxid):
        trace.take(transaction)
    trace.end()


def numbered(write: Callable[[Event], None]) -> Callable[[Event], int]:
    """Give each event its seq, from 0, before it is written; the seq is returned."""
    seqs = count()

    def put(event: Event) -> int:
        seq = next(seqs)
        write(structs.replace(event, seq=seq))
        return seq

    return put
