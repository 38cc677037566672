"""Follows the logs of an ensemble as if they were one.

A committed transaction is in the logs of a majority, not in every one: a member that is down has none of what happens
meanwhile, one that lags may get a snapshot in place of the transactions it missed, and a leader that died may hold some that
never came to be. So each read takes the log that has the zxid asked for, which therefore has what led up to it, and fills a
hole in it (within an epoch, zxids have no gaps) from the others.

Left out: the undoing of a dead leader's last transactions when it comes back so late that it is sent a snapshot instead.
Only its own log would show them, and only if it were the first to have a later zxid.
"""

from collections.abc import Sequence
from pathlib import Path

from kcsim.zk.files.transaction_log import COUNTER, NO_BOUND, Transaction, TransactionLogTail
from kcsim.zk.vocabulary import Zxid


class EnsembleLogTail:
    """One log out of the members' logs; used as TransactionLogTail is.

    Attributes:
        last_zxid: of the last transaction returned.
    """

    def __init__(self, directories: Sequence[Path], after: Zxid = Zxid(0)) -> None:  # noqa: B008 -- an int
        self.last_zxid = after
        self._tails = [TransactionLogTail(directory, after) for directory in directories]
        # What each member's log had that has not been returned yet.
        self._unread: list[list[Transaction]] = [[] for _ in self._tails]
        self._followed = 0

    def read_to(self, zxid: Zxid = NO_BOUND) -> list[Transaction]:
        """Return all transactions up to and including this one that were not returned before, oldest first.

        Args:
            zxid: one that is known to be committed; without it, all that the fullest log has, the end of which an
                ensemble at work may yet undo.
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
        """Tell whether nothing up to this zxid is missing. An epoch's zxid 0 is no transaction, and never missing."""
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
        """Return what the other log that has most of it has between these two."""
        for member in range(len(self._tails)):
            if member != self._followed:
                self._read(member, after)
        return max(([t for t in unread if before < t.zxid < after] for unread in self._unread), key=len)


def follows(before: Zxid, after: Zxid) -> bool:
    """Tell whether there can be no transaction between: the next in its epoch, or the first of a later one."""
    return after == before + 1 or (after >> 32 > before >> 32 and after & COUNTER == 1)
