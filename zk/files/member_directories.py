"""The data directories of several members of one ensemble, read as one history.

A member that was down lacks transactions that others have: each transaction counts once, in whichever logs it is. Copies of
one server's files may be given as well, overlapping ones too.

Left out: the undoing of transactions that only a dead leader had logged (see EnsembleLogTail).
"""

from collections.abc import Iterator, Sequence
from heapq import merge
from pathlib import Path
from typing import Self

from kcsim.vocabulary import Zxid
from kcsim.zk.files.data_directory import DataDirectory, DataDirectoryError, hole_remark
from kcsim.zk.files.ensemble_log import follows
from kcsim.zk.files.past_tree import NONE, PastTree
from kcsim.zk.files.transaction_log import NO_BOUND
from kcsim.zk.files.transactions import Transaction


class MixedLogsError(DataDirectoryError):
    """Logs that were given as those of one ensemble have different transactions."""

    def __init__(self, zxid: Zxid) -> None:
        super().__init__(
            f"transaction {zxid:#x} is not the same in all of these logs: they are not of one ensemble;"
            " give each cluster a name, as east=DIR west=DIR"
        )
        self.zxid = zxid

    def __reduce__(self) -> tuple[type[Self], tuple[Zxid]]:
        return type(self), (self.zxid,)  # for pickle, which would call it with the message


class MemberDirectories:
    """The logs and snapshots of the members of one ensemble. It has the methods of DataDirectory that an import calls."""

    def __init__(self, directories: Sequence[DataDirectory]) -> None:
        self.directories = directories
        self._holes: list[str] = []

    def __str__(self) -> str:
        return ", ".join(map(str, self.directories))

    @property
    def logs(self) -> list[Path]:
        return [path for directory in self.directories for path in directory.logs]

    @property
    def torn_ends(self) -> dict[Path, str]:
        return {path: text for directory in self.directories for path, text in directory.torn_ends.items()}

    @property
    def remarks(self) -> list[str]:
        """The defects found in the files read so far. A hole is one that no member fills."""
        return [*(remark for directory in self.directories for remark in directory.remarks), *self._holes]

    def transactions(self, after: Zxid = NONE, to: Zxid = NO_BOUND) -> Iterator[Transaction]:
        """Yield all transactions later than `after`, up to and including `to`, in order, each once.

        Raises: BadLogError; MixedLogsError.
        """
        read = [directory.read(after, to) for directory in self.directories]
        last: Transaction | None = None
        for _, transaction in merge(*read, key=lambda found: found[1].zxid):
            if last is not None and transaction.zxid == last.zxid:
                if not _are_one(last, transaction):
                    raise MixedLogsError(last.zxid)
                continue
            before = after if last is None else last.zxid
            if before != NONE and not follows(before, transaction.zxid):
                remark = hole_remark(self, before, transaction.zxid)
                self._holes += [] if remark in self._holes else [remark]
            last = transaction
            yield transaction

    def last_zxid(self) -> Zxid:
        """Return the zxid of the last transaction; 0 if there is none. Raises: BadLogError."""
        return max(directory.last_zxid() for directory in self.directories)

    def beginning(self) -> PastTree:
        """Return the earliest tree that any member's files show exactly.

        Raises: BadLogError; DataDirectoryError when no member's logs go back to the beginning, and none has a snapshot.
        """
        found: list[PastTree] = []
        problems: list[DataDirectoryError] = []
        for directory in self.directories:
            try:
                found.append(directory.beginning())
            except DataDirectoryError as error:
                problems.append(error)
        if not found:
            raise problems[0]
        return min(found, key=lambda tree: tree.zxid)

    def require_end(self, last: Zxid) -> None:
        """Reject logs that end, with transaction `last`, before any member's newest snapshot. Raises: DataDirectoryError."""
        for directory in self.directories:
            directory.require_end(last)


def _are_one(one: Transaction, other: Transaction) -> bool:
    return (one.session_id, one.cxid, one.time_ms, one.ops) == (other.session_id, other.cxid, other.time_ms, other.ops)
