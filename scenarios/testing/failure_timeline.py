"""The timeline of a failed test: the test's own actions and the entries of ZooKeeper's transaction log, merged by time."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from kcsim.eventlog.events import hexadecimal
from kcsim.scenarios.testing.action_history import ActionHistory, TimelineEntry
from kcsim.vocabulary import SessionId
from kcsim.zk.capture.session_owners import SessionOwners
from kcsim.zk.capture.transaction_listing import OperationLine, TransactionFilter, TransactionListing, error_name
from kcsim.zk.errors import RolledBackError, RuntimeInconsistencyError
from kcsim.zk.files.data_directory import DataDirectory, NoSuchFilesError
from kcsim.zk.files.transactions import ErrorTxn, Transaction
from kcsim.zk.proxy import RecentWrites

NOT_THE_REASON = (RolledBackError.name, RuntimeInconsistencyError.name)
"""Errors of the operations of a multi beside the one that failed."""


class RefusedWrites(NamedTuple):
    """The refused requests of some sessions, as the client that owns these reports them. Ids are as in events."""

    sessions: frozenset[str]
    entries: Sequence[TimelineEntry]


class ZooKeeperLog:
    """The part of a server's transaction log that concerns one chroot and the sessions that wrote below it.

    Args:
        directory: dataDir or version-2, of a server that may still be writing.
        sessions: further sessions to include, although they may have written nothing.
    """

    def __init__(self, directory: Path, chroot: str = "/", sessions: Collection[SessionId] = ()) -> None:
        """Raises: DataDirectoryError, BadLogError."""
        self._transactions: list[tuple[Transaction, list[OperationLine]]] = []
        self._listing: TransactionListing | None = None
        self._names = SessionOwners()
        try:
            files = DataDirectory(directory)
        except NoSuchFilesError:  # nothing has been written yet
            return
        tree = files.tree_before_the_logs()
        names = self._names = SessionOwners(chroot)
        names.learn_tree(tree)
        for transaction in files.transactions():
            names.learn(transaction)
        listing = self._listing = TransactionListing(tree, names, TransactionFilter())
        found = [(t, listing.take(t)) for t in files.transactions(tree.zxid)]
        ours = {*sessions, *(t.session_id for t, lines in found if any(_is_below(line, chroot) for line in lines))}
        for transaction, lines in found:
            is_ours = transaction.session_id in ours
            if kept := [line for line in lines if _is_below(line, chroot) or (is_ours and line.path is None)]:
                self._transactions.append((transaction, kept))

    def lines(self) -> Iterator[str]:
        """Yield the lines that `kcsim zk log` prints."""
        for transaction, lines in self._transactions:
            assert self._listing is not None
            yield from self._listing.table_lines(transaction, lines)

    def __len__(self) -> int:
        return len(self._transactions)

    def entries(
        self,
        chroot: str,
        whose: Mapping[SessionId, str],
        requests: Mapping[SessionId, RecentWrites],
        without_refusals_of: Collection[str] = (),
    ) -> Iterator[TimelineEntry]:
        """Yield the operations as timeline entries, with paths below the chroot and the test's names for the sessions.

        Args:
            requests: what is known of sessions' requests: the log has no path of a refused one.
            without_refusals_of: ids, as in events, of sessions whose owner reports its refused requests itself.
        """
        for transaction, lines in self._transactions:
            who = whose.get(transaction.session_id) or self._names[transaction.session_id]
            if transaction.is_refused and hexadecimal(transaction.session_id) in without_refusals_of:
                continue
            if transaction.is_refused:
                yield TimelineEntry(transaction.time_ms, who, _refusal(transaction, requests.get(transaction.session_id)))
                continue
            for line in lines:
                path = None if line.path is None else line.path.removeprefix(chroot) or "/"
                text = f"{line.op}  {path or ''}  {line.what}".rstrip()
                yield TimelineEntry(transaction.time_ms, who, text.replace("    ", "  "))


def refusal_text(op: str, path: str, writes: int, error: str) -> str:
    """Return the text about a refused request: its operation that failed, of how many, and ZooKeeper's error."""
    return f"refused  {op} {path}{f', one of {writes} writes' if writes > 1 else ''}: {error}"


def _refusal(transaction: Transaction, requests: RecentWrites | None) -> str:
    """Return the text about a refused request, with its path if its client's requests are known.

    In a multi, the operations before the failed one have no error of their own, and those after it were not tried.
    """
    errors = [error_name(op.code) for op in transaction.ops if isinstance(op, ErrorTxn)]
    failed = next((i for i, name in enumerate(errors) if name not in NOT_THE_REASON), 0)
    writes = requests.find(transaction.session_id, transaction.cxid, transaction.time_ms) if requests else ()
    if len(writes) == len(errors):
        return refusal_text(writes[failed].op, writes[failed].path, len(writes), errors[failed])
    multi = f"one of {len(errors)} writes: " if transaction.is_multi else ""
    return f"refused  {multi}{errors[failed]}"


def _is_below(line: OperationLine, chroot: str) -> bool:
    return line.path is not None and (line.path == chroot or line.path.startswith(chroot.rstrip("/") + "/"))


def _merged(entries: Iterable[TimelineEntry]) -> Iterator[TimelineEntry]:
    """Yield one entry for several that follow each other and are alike, as the refusals of a retry."""
    for _, group in groupby(entries, key=lambda entry: (entry.who, entry.what)):
        alike = list(group)
        first = alike[0]
        yield first._replace(what=f"{first.what} ({len(alike)} times)") if len(alike) > 1 else first


def failure_timeline(history: ActionHistory, log_entries: Iterable[TimelineEntry]) -> str:
    """Return the test's actions and ZooKeeper's log merged by time, one entry per line.

    A line has the seconds since the test began, the name of the session or client, and a text.
    """
    since = [entry for entry in log_entries if entry.at_ms >= history.began_ms]  # the root's creation came before
    entries: Sequence[TimelineEntry] = sorted([*history.entries, *since], key=lambda entry: entry.at_ms)
    entries = list(_merged(entries))
    width = max((len(entry.who) for entry in entries), default=0)
    return "".join(f"{(e.at_ms - history.began_ms) / 1000:7.3f} s  {e.who:<{width}}  {e.what}\n" for e in entries)
