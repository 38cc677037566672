"""Reads ZooKeeper's transaction log: one file (LogFile), or a running server's whole log as it grows (TransactionLogTail).

A LogFile may also be a log that was compressed with gzip afterwards; a server neither writes nor reads compressed logs.

A standalone server writes a transaction to its log before it answers: so the log can be read synchronously when a reply with
that zxid arrives (also with forceSync=no: what is written can be read, though a power cut may still lose it). A member of an
ensemble may answer when the other members have written the transaction and it has not: see EnsembleLogTail.

Nothing here waits or uses a clock; nothing is read twice, except a record that was not complete at the first time.

Source: ZooKeeper 3.9, FileTxnLog; checked on files of 3.5.9 and 3.9.5.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Self
from zlib import adler32

from kcsim.vocabulary import Zxid
from kcsim.zk.files.log_source import NotCompressedError, source_of
from kcsim.zk.files.transaction_encoding import FILE_HEADER, MAGIC, RECORD_END, RECORD_HEADER, VERSION
from kcsim.zk.files.transactions import HEADER, LONG, ZXID_OFFSET, MalformedEntryError, Transaction, decode_entry

__all__ = ["BadLogError", "LogFile", "Transaction", "TransactionLogTail", "log_files"]

RECORD_FRAME = RECORD_HEADER.size + len(RECORD_END)
LOG_NAME = re.compile(r"log\.[0-9a-f]+")
COUNTER = 0xFFFF_FFFF  # the lower half of a zxid; the upper one is the epoch
FIRST_CHUNK = 8 * 1024
LARGEST_CHUNK = 1024 * 1024
NO_BOUND = Zxid(2**63 - 1)


class BadLogError(ValueError):
    """The file is not a transaction log, or a record in it cannot be read. The message has file and offset."""

    def __init__(self, path: Path, offset: int, reason: str) -> None:
        super().__init__(f"{path}, offset {offset}: {reason}")
        self.path, self.offset, self.reason = path, offset, reason

    def __reduce__(self) -> tuple[type[Self], tuple[Path, int, str]]:
        return type(self), (self.path, self.offset, self.reason)  # for pickle, which would call it with the message only


class LogFile:
    """One log file, read from its beginning as far as it is written; later reads continue when the file has grown.

    Attributes:
        is_exhausted: the last read ended at the end of the file, not because of its bound.
        torn_end: after a read, what stopped it before a clean end, with the offset: a record that is truncated or has a
            wrong checksum, as a crash leaves it (or a server that is writing at the moment); None at a clean end.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_exhausted = False
        self.torn_end: str | None = None
        self._source = source_of(path)
        self._offset = 0  # of the first byte not consumed

    def close(self) -> None:
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, to: Zxid = NO_BOUND) -> Iterator[Transaction]:
        """Yield the transactions not yielded before, in order, up to and including zxid `to`.

        Raises: BadLogError for what is not a transaction log.
        """
        self.torn_end, self.is_exhausted = None, True
        if self._offset == 0 and not self._read_file_header():
            return
        wanted = FIRST_CHUNK
        while True:
            start, at = self._offset, 0
            chunk = self._source.read(wanted, start)
            while (entry := self._record(chunk, at)) is not None:
                if len(entry) < HEADER.size:
                    raise BadLogError(self.path, self._offset, f"an entry of {len(entry)} bytes")
                if LONG.unpack_from(entry, ZXID_OFFSET)[0] > to:
                    self.is_exhausted = False
                    return
                transaction = self._decode(entry)
                at += RECORD_FRAME + len(entry)
                self._offset = start + at
                yield transaction
            # A chunk that begins with a record longer than the chunk is read again with a greater length.
            needed = self._needed(chunk, at)
            if needed == 0 or len(chunk) < wanted:
                if self._source.broken is not None:
                    self.torn_end = f"{self.path}, offset {self._offset}: {self._source.broken}"
                return
            wanted = max(min(wanted * 2, LARGEST_CHUNK), needed)

    def _record(self, chunk: bytes, at: int) -> bytes | None:
        """Return the entry of the record that begins at `at`; None when the record is incomplete or damaged."""
        if at + RECORD_HEADER.size > len(chunk):
            self._note_torn_end(chunk[at:], "record cut short")
            return None
        checksum, length = RECORD_HEADER.unpack_from(chunk, at)
        if length == 0:
            self._note_torn_end(chunk[at : at + RECORD_HEADER.size], "record without an entry")
            return None
        end = at + RECORD_FRAME + length
        if length < 0 or end > len(chunk):
            self._note_torn_end(chunk[at:], "record cut short" if length > 0 else f"record of {length} bytes")
            return None
        entry = chunk[at + RECORD_HEADER.size : end - 1]
        if adler32(entry) != checksum or chunk[end - 1 : end] != RECORD_END:
            self._note_torn_end(chunk[at:end], "record with a wrong checksum")
            return None
        self.torn_end = None
        return entry

    def _note_torn_end(self, rest: bytes, what: str) -> None:
        if rest.strip(b"\0"):  # zeros are space that the server has preallocated
            self.torn_end = f"{self.path}, offset {self._offset}: {what}"

    def _needed(self, chunk: bytes, at: int) -> int:
        """Return the number of bytes that the next record takes; 0 when no further record can be read."""
        if at + RECORD_HEADER.size > len(chunk):
            return RECORD_HEADER.size
        _, length = RECORD_HEADER.unpack_from(chunk, at)
        end = at + RECORD_FRAME + length
        # An intact record lies within the file; a length that reaches beyond the end of the file is damage.
        is_cut = length > 0 and end > len(chunk) and self._source.has(RECORD_FRAME + length, self._offset)
        return RECORD_FRAME + length if is_cut else 0

    def _decode(self, entry: bytes) -> Transaction:
        try:
            return decode_entry(entry)
        except MalformedEntryError as error:
            raise BadLogError(self.path, self._offset, str(error)) from None

    def _read_file_header(self) -> bool:
        try:
            header = self._source.read(FILE_HEADER.size, 0)
        except NotCompressedError as error:
            raise BadLogError(self.path, 0, str(error)) from None
        if self._source.broken is None and not header.strip(b"\0"):
            return False  # the file was created and has not been written yet
        if len(header) < FILE_HEADER.size:
            self.torn_end = f"{self.path}, offset 0: file header cut short"
            return False
        magic, version, _dbid = FILE_HEADER.unpack(header)
        if (magic, version) != (MAGIC, VERSION):
            raise BadLogError(self.path, 0, f"no transaction log of version 2, it begins {header[:8].hex()}")
        self._offset = FILE_HEADER.size
        return True


class TransactionLogTail:
    """Follows a server's log across its files: the server begins a new file after a snapshot, a restart, a change of leader.

    Attributes:
        last_zxid: of the last transaction returned.
    """

    def __init__(self, directory: Path, after: Zxid = Zxid(0)) -> None:  # noqa: B008 -- an int
        """Follow the log in this directory (which may not exist yet), from the first transaction later than `after`."""
        self.directory = directory
        self.last_zxid = after
        self._log: LogFile | None = None

    def read_to(self, zxid: Zxid = NO_BOUND) -> list[Transaction]:
        """Return all transactions up to and including this zxid that were not returned before, oldest first.

        The bound must be a zxid known to be committed (one that a reply carried): later transactions in an ensemble member's
        log may still be undone. When the log does not have the zxid yet, the transactions before it are returned, and
        has_reached(zxid) is False.

        Raises: BadLogError.
        """
        found: list[Transaction] = []
        self._read(zxid, found)
        while self.last_zxid < zxid and (self._log is None or self._log.is_exhausted):
            following = self._following_file()
            if following is None:
                break
            # The server finishes a file before it begins another: the present file is complete by now, so read its rest.
            self._read(zxid, found)
            if self._log is None or self._log.is_exhausted:
                self.close()
                self._log = LogFile(following)
                self._read(zxid, found)
        return found

    def has_reached(self, zxid: Zxid) -> bool:
        """Return whether all transactions up to this zxid were returned. Counter 0 of an epoch is never a transaction."""
        return self.last_zxid >= zxid or zxid & COUNTER == 0

    def close(self) -> None:
        """Close the file. A later read continues after the last transaction returned."""
        if self._log is not None:
            self._log.close()
            self._log = None

    def _read(self, zxid: Zxid, found: list[Transaction]) -> None:
        if self._log is None:
            return
        for transaction in self._log.read(zxid):
            if transaction.zxid > self.last_zxid:
                self.last_zxid = transaction.zxid
                found.append(transaction)

    def _following_file(self) -> Path | None:
        files = log_files(self.directory)
        if self._log is not None:
            here = first_zxid(self._log.path)
            return next((path for path in files if first_zxid(path) > here), None)
        # A file's name is the zxid of its first transaction: take the last file that does not begin too late.
        return max((path for path in files if first_zxid(path) <= self.last_zxid + 1), key=first_zxid, default=None) or next(
            iter(files), None
        )


def log_files(directory: Path) -> list[Path]:
    """Return the log files of a data directory's version-2, oldest first; none if it does not exist."""
    return sorted((path for path in directory.glob("log.*") if LOG_NAME.fullmatch(path.name)), key=first_zxid)


def first_zxid(path: Path) -> Zxid:
    """Return the zxid of the first transaction in a log file, from the file's name."""
    return Zxid(int(path.name.removeprefix("log."), 16))
