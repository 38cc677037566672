"""Follows the logs of an ensemble as if they were one log.

A committed transaction is in the logs of a majority of the members, not in every log: a member that is down misses the
transactions of that time, a member that lags may get a snapshot in place of the transactions that it missed, and a leader
that died may have logged transactions that were never committed. So each read uses a log that has the requested zxid, and
fills a hole in that log (within an epoch, zxids have no gaps) from the others.

Left out: the undoing of a dead leader's last transactions when that leader returns so late that it is sent a snapshot
instead. Only its own log would contain them, and they would be returned only if this log were the first with a later zxid.
"""

from collections.abc import Sequence
from pathlib import Path

from kcsim.vocabulary import Zxid
from kcsim.zk.files.transaction_log import COUNTER, NO_BOUND, Transaction, TransactionLogTail


class EnsembleLogTail:
    """One stream of transactions from the members' logs; has the methods of TransactionLogTail.

    Attributes:
        last_zxid: of the last transaction returned.
    """

    def __init__(self, directories: Sequence[Path], after: Zxid = Zxid(0)) -> None:  # noqa: B008 -- an int
        self.last_zxid = after
        self._tails = [TransactionLogTail(directory, after) for directory in directories]
        # Per member: the transactions read from its log that have not been returned yet.
        self._unread: list[list[Transaction]] = [[] for _ in self._tails]
        self._followed = 0

    def read_to(self, zxid: Zxid = NO_BOUND) -> list[Transaction]:
        """Return all transactions up to and including this zxid that were not returned before, oldest first.

        Args:
            zxid: one that is known to be committed; by default all transactions of the most complete log are returned, the
                last of which a running ensemble may still undo.
        """
        self._followed = self._member_that_has(zxid)
        found: list[Transaction] = []
        for transaction in self._unread[self._followed]:
            if not follows(self.last_zxid, transaction.zxid):
                found.extend(self._missing_between(self.last_zxid, transaction.zxid))
            found.append(transaction)
            self.last_zxid = transaction.zxid
        return found

    def has_reached(self, zxid: Zxid) -> bool:
        """Return whether all transactions up to this zxid were returned. Counter 0 of an epoch is never a transaction."""
        return self.last_zxid >= zxid or zxid & COUNTER == 0

    def close(self) -> None:
        for tail in self._tails:
            tail.close()

    def _member_that_has(self, zxid: Zxid) -> int:
        members = [self._followed, *(m for m in range(len(self._tails)) if m != self._followed)]
        for member in members:
            self._read(member, zxid)
            if self._tails[member].last_zxid >= zxid:
                return member
        return max(members, key=lambda member: self._tails[member].last_zxid)

    def _read(self, member: int, zxid: Zxid) -> None:
        unread = [*self._unread[member], *self._tails[member].read_to(zxid)]
        self._unread[member] = [t for t in unread if t.zxid > self.last_zxid]

    def _missing_between(self, before: Zxid, after: Zxid) -> list[Transaction]:
        """Return the transactions between these two from the log that has most of them."""
        for member in range(len(self._tails)):
            if member != self._followed:
                self._read(member, after)
        return max(([t for t in unread if before < t.zxid < after] for unread in self._unread), key=len)


def follows(before: Zxid, after: Zxid) -> bool:
    """Return whether `after` directly follows `before`: the next zxid of the epoch, or the first of a later epoch."""
    return after == before + 1 or (after >> 32 > before >> 32 and after & COUNTER == 1)
