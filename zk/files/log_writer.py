"""Writes transactions as a ZooKeeper server keeps them: files log.<zxid> below version-2.

What reads a server's log reads this. It is not forced to the disk, and no room is set aside in it: it is a record of a run,
and no server lives off it.
"""

from pathlib import Path
from typing import IO, Self

from kcsim.zk.files.transaction_encoding import FILE_HEADER, MAGIC, VERSION, encode_record
from kcsim.zk.files.transactions import Transaction

VERSION_2 = "version-2"
SNAP_COUNT = 100_000
"""snapCount: after so many transactions a server begins the next file."""
NO_DBID = 0


class LogExistsError(Exception):
    """The directory has a log already: two histories would be read as one."""

    def __init__(self, directory: Path) -> None:
        super().__init__(f"{directory} has a transaction log already; name a directory without one")
        self.directory = directory


def check_no_log(directory: Path) -> None:
    """Make sure that a log can be begun there. Raises: LogExistsError."""
    if any((directory / VERSION_2).glob("log.*")):
        raise LogExistsError(directory)


class LogWriter:
    """Call `write` with each transaction, in the order of their zxids.

    Args:
        directory: as dataDir in zoo.cfg; it is made if it is not there, and version-2 in it.
        transactions_per_file: how many before the next file is begun.
    """

    def __init__(self, directory: Path, transactions_per_file: int = SNAP_COUNT) -> None:
        """Prepare to write. Raises: OSError; LogExistsError."""
        check_no_log(directory)
        self.directory = directory / VERSION_2
        self.directory.mkdir(parents=True, exist_ok=True)
        self._per_file = transactions_per_file
        self._written = 0  # into the present file
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

    def close(self) -> None:
        """Finish the file. Raises: OSError."""
        if self._file is not None:
            file, self._file = self._file, None
            file.close()
