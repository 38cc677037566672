"""A server's data directory: its logs as one stream of transactions, and the tree at any transaction.

Only one transaction and, where requested, one tree are kept in memory; so a directory may have any size. Only one server's
files are read: transactions that an ensemble committed while this server was down are not in its log; `remarks` reports such
holes.

Source: ZooKeeper 3.9, FileTxnSnapLog.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from kcsim.vocabulary import Zxid
from kcsim.zk.files.ensemble_log import follows
from kcsim.zk.files.log_writer import VERSION_2
from kcsim.zk.files.past_tree import NONE, PastTree
from kcsim.zk.files.snapshot import BadSnapshotError, SnapshotFile, snapshot_files, snapshot_zxid
from kcsim.zk.files.transaction_log import NO_BOUND, LogFile
from kcsim.zk.files.transactions import Transaction

FIRST_OF_ALL = (0x1, 0x1_0000_0001)
"""The first zxids of a complete history: of a standalone server, and of an ensemble."""
LOG_NAME = re.compile(r"log\.([0-9a-f]+)(\.gz)?")


class DataDirectoryError(Exception):
    """The directory does not contain what was requested. The message is one line that says why."""


class NoSuchFilesError(DataDirectoryError):
    """The directory does not exist, or has no transaction log in it."""


class DataDirectory:
    """The logs and snapshots of one server.

    Args:
        directory: dataDir, or version-2 in it; or a single log file.
        log_directory: dataLogDir, if the logs are not with the snapshots.

    Attributes:
        logs, snapshots: the files, oldest first.
        remarks: the defects found in the files read so far: torn ends, holes, damaged snapshots.
        torn_ends: of the logs read so far, where and how each breaks off that does.
    """

    def __init__(self, directory: Path, log_directory: Path | None = None) -> None:
        """Find the files. Raises: NoSuchFilesError."""
        self.directory = directory
        self.remarks: list[str] = []
        self.torn_ends: dict[Path, str] = {}
        if directory.is_file():
            self.logs, self.snapshots = [directory], []
            return
        logs_in = _version_2(log_directory or directory)
        self.logs = _logs(logs_in)
        self.snapshots = snapshot_files(_version_2(directory))
        if not self.logs:
            raise NoSuchFilesError(f"{logs_in} has no transaction log (log.…) in it, nor has a {VERSION_2} below it")

    def __str__(self) -> str:
        return str(self.directory)

    # --- transactions

    def transactions(self, after: Zxid = NONE, to: Zxid = NO_BOUND) -> Iterator[Transaction]:
        """Yield all transactions later than `after`, up to and including `to`, in order.

        Raises: BadLogError.
        """
        last = after
        for path, transaction in self.read(after, to):
            if last != NONE and not follows(last, transaction.zxid):
                self._remark(hole_remark(path, last, transaction.zxid))
            last = transaction.zxid
            yield transaction

    def read(self, after: Zxid = NONE, to: Zxid = NO_BOUND) -> Iterator[tuple[Path, Transaction]]:
        """Yield what `transactions` yields, each with its log, and make no remarks on holes. Raises: BadLogError."""
        last = after
        for path in self._logs_from(after):
            with LogFile(path) as log:
                for transaction in log.read(to):
                    if transaction.zxid > last:
                        last = transaction.zxid
                        yield path, transaction
                if log.torn_end is not None:
                    self.torn_ends[path] = log.torn_end
                    self._remark(f"{log.torn_end}; all before it counts")
                if not log.is_exhausted:
                    return

    def _logs_from(self, after: Zxid) -> list[Path]:
        """Return the logs without those that end before the first transaction after `after`."""
        begin = max((n for n, path in enumerate(self.logs) if log_zxid(path) <= after + 1), default=0)
        return self.logs[begin:]

    def last_zxid(self) -> Zxid:
        """Return the zxid of the logs' last transaction; 0 if they have none. Raises: BadLogError."""
        for path in reversed(self.logs):
            with LogFile(path) as log:
                last = max((transaction.zxid for transaction in log.read()), default=NONE)
            if last != NONE:
                return last
        return NONE

    def last_zxid_at(self, time_ms: int) -> Zxid:
        """Return the zxid of the last transaction at or before a time, ms since 1970.

        Raises: BadLogError; DataDirectoryError when the logs begin after that time.
        """
        found = NONE
        for path in reversed(self.logs):
            with LogFile(path) as log:
                for transaction in log.read():
                    if transaction.time_ms > time_ms:
                        break
                    found = transaction.zxid
            if found != NONE:
                return found
        raise DataDirectoryError(f"{self.directory}: the logs begin after that time")

    # --- trees

    def tree_before_the_logs(self) -> PastTree:
        """Return the tree before the first log, if it is known; an empty PastTree where old files were purged."""
        try:
            return self.tree_before(log_zxid(self.logs[0]))
        except DataDirectoryError:
            return PastTree()

    def tree_at(self, zxid: Zxid) -> PastTree:
        """Return the tree as it was after this transaction.

        Raises: BadLogError; DataDirectoryError when the files begin too late or end too early for it.
        """
        tree = self.tree_before(Zxid(zxid + 1))
        for transaction in self.transactions(tree.zxid, zxid):
            tree.apply(transaction)
        if tree.zxid < zxid:
            raise DataDirectoryError(f"{self.directory}: the logs end with transaction {tree.zxid:#x}, before {zxid:#x}")
        return tree

    def tree_before(self, zxid: Zxid) -> PastTree:
        """Return a tree that is exact before this transaction once the logs from the tree's own zxid on are applied to it.

        The newest snapshot before the transaction is not used, because it is not known when the server finished writing it.
        But a server writes one snapshot at a time, so the snapshot before that one was finished when the newest was begun.

        Raises: DataDirectoryError when the logs do not go back to the beginning, and no snapshot replaces the missing part.
        """
        older = [path for path in self.snapshots if snapshot_zxid(path) < zxid]
        begin = log_zxid(self.logs[0])
        for path in reversed(older[:-1]):
            if begin <= snapshot_zxid(path) + 1 and (tree := self._snapshot(path)) is not None:
                return tree
        if begin in FIRST_OF_ALL:
            return PastTree.empty()
        # There is only one older snapshot. The zxids in it show when it was finished, except for znodes that were deleted
        # while it was written.
        if older and (tree := self._snapshot(older[-1])) is not None and tree.newest_zxid < zxid:
            return tree
        newest = f"; the oldest snapshot is {self.snapshots[0].name}" if self.snapshots else ""
        raise DataDirectoryError(
            f"{self.directory}: what was before transaction {zxid:#x} cannot be known: the logs begin with {begin:#x},"
            f" and no snapshot is older{newest}"
        )

    def beginning(self) -> PastTree:
        """Return the earliest tree that is known exactly. Where old files were purged, some logs may begin before it.

        Raises: BadLogError; DataDirectoryError when the logs do not go back to the beginning, and there is no snapshot.
        """
        try:
            return self.tree_before(log_zxid(self.logs[0]))
        except DataDirectoryError:
            for path in self.snapshots:
                if (tree := self._snapshot(path)) is not None:
                    for transaction in self.transactions(tree.zxid, tree.newest_zxid):
                        tree.apply(transaction)
                    return tree
            raise

    def require_end(self, last: Zxid) -> None:
        """Reject logs that end, with transaction `last`, before the newest snapshot: the transactions between are missing.

        Raises: DataDirectoryError.
        """
        if self.snapshots and snapshot_zxid(self.snapshots[-1]) > last:
            raise DataDirectoryError(
                f"{self.snapshots[-1]} is newer than every log: the last transaction there is {last:#x}; the logs after it"
                " are missing"
            )

    def _snapshot(self, path: Path) -> PastTree | None:
        try:
            with SnapshotFile(path) as snapshot:
                return PastTree.of(snapshot)
        except BadSnapshotError as error:
            self._remark(f"{error}; passed over")
            return None

    def _remark(self, remark: str) -> None:
        if remark not in self.remarks:
            self.remarks.append(remark)


def hole_remark(where: object, before: Zxid, after: Zxid) -> str:
    return f"{where}: what happened between {before:#x} and {after:#x} is not in the logs"


def _version_2(directory: Path) -> Path:
    if not directory.is_dir():
        raise NoSuchFilesError(f"{directory}: no such directory")
    below = directory / VERSION_2
    return below if below.is_dir() else directory


def _logs(directory: Path) -> list[Path]:
    """Return the log files, oldest first; of a log that exists compressed and uncompressed, the uncompressed file."""
    found: dict[Zxid, Path] = {}
    for path in sorted(directory.iterdir(), reverse=True):
        if LOG_NAME.fullmatch(path.name):
            found[log_zxid(path)] = path
    return [found[zxid] for zxid in sorted(found)]


def log_zxid(path: Path) -> Zxid:
    """Return the zxid in a log's name, which is that of its first transaction; 0 for any other file name."""
    named = LOG_NAME.fullmatch(path.name)
    return Zxid(int(named[1], 16) if named else 0)
