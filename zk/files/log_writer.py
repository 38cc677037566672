"""Writes transactions in the format of a ZooKeeper server: files log.<zxid> below version-2.

Every reader of a server's log can read these files. They are not forced to the disk and no space is preallocated: they are
the record of a run, and no server depends on them.
"""

from pathlib import Path
from typing import IO, Self

from kcsim.zk.files.transaction_encoding import FILE_HEADER, MAGIC, VERSION, encode_record
from kcsim.zk.files.transactions import Transaction

VERSION_2 = "version-2"
SNAP_COUNT = 100_000
"""snapCount: the number of transactions after which a server begins the next file."""
NO_DBID = 0


class LogExistsError(Exception):
    """The directory contains a log already: the two histories would be read as one."""

    def __init__(self, directory: Path) -> None:
        super().__init__(f"{directory} has a transaction log already; name a directory without one")
        self.directory = directory


def check_no_log(directory: Path) -> None:
    """Check that the directory contains no log. Raises: LogExistsError."""
    if any((directory / VERSION_2).glob("log.*")):
        raise LogExistsError(directory)


class LogWriter:
    """A writer of transaction logs. Call `write` with each transaction, in the order of the zxids.

    Args:
        directory: as dataDir in zoo.cfg; the directory, and version-2 in it, are created if they do not exist.
        transactions_per_file: how many transactions are written before the next file is begun.
        is_followed: whether readers follow the log: each transaction is then readable when `write` returns.
    """

    def __init__(self, directory: Path, transactions_per_file: int = SNAP_COUNT, is_followed: bool = False) -> None:
        """Prepare to write. Raises: OSError; LogExistsError."""
        check_no_log(directory)
        self.directory = directory / VERSION_2
        self.directory.mkdir(parents=True, exist_ok=True)
        self._per_file = transactions_per_file
        self._is_followed = is_followed
        self._written = 0  # transactions in the present file
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, transaction: Transaction) -> None:
        """Append a transaction. Raises: OSError."""
        if self._file is None or self._written == self._per_file:
            self.close()
            self._file = (self.directory / f"log.{transaction.zxid:x}").open("wb")
            self._file.write(FILE_HEADER.pack(MAGIC, VERSION, NO_DBID))
            self._written = 0
        self._file.write(encode_record(transaction))
        self._written += 1
        if self._is_followed:
            self._file.flush()

    def close(self) -> None:
        """Close the present file. Raises: OSError."""
        if self._file is not None:
            file, self._file = self._file, None
            file.close()
