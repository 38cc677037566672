"""What ZooKeeper's log has of a test, and that and what the test did as one story."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from kcsim.scenarios.imported.log_listing import Line, Listing, Wanted
from kcsim.scenarios.imported.session_names import SessionNames
from kcsim.scenarios.testing.diary import Diary, Entry
from kcsim.zk.files.data_directory import DataDirectory, NoSuchFilesError
from kcsim.zk.files.transactions import Transaction
from kcsim.zk.vocabulary import SessionId


class ZooKeeperLog:
    """What a server's transaction log has on one chroot, and on the sessions that wrote there.

    Args:
        directory: dataDir or version-2, of a server that may still be writing.
        sessions: that count as well, although they may have written nothing.
    """

    def __init__(self, directory: Path, chroot: str = "/", sessions: Collection[SessionId] = ()) -> None:
        """Raises: DataDirectoryError, BadLogError."""
        self._told: list[tuple[Transaction, list[Line]]] = []
        self._listing: Listing | None = None
        self._names = SessionNames()
        try:
            files = DataDirectory(directory)
        except NoSuchFilesError:  # nobody has written anything yet
            return
        tree = files.tree_before_the_logs()
        names = self._names = SessionNames(chroot)
        names.learn_tree(tree)
        for transaction in files.transactions():
            names.learn(transaction)
        listing = self._listing = Listing(tree, names, Wanted())
        found = [(t, listing.take(t)) for t in files.transactions(tree.zxid)]
        ours = {*sessions, *(t.session_id for t, lines in found if any(_is_below(line, chroot) for line in lines))}
        for transaction, lines in found:
            is_ours = transaction.session_id in ours
            if kept := [line for line in lines if _is_below(line, chroot) or (is_ours and line.path is None)]:
                self._told.append((transaction, kept))

    def lines(self) -> Iterator[str]:
        """As `kcsim zk log` prints them."""
        for transaction, lines in self._told:
            assert self._listing is not None
            yield from self._listing.table_lines(transaction, lines)

    def __len__(self) -> int:
        return len(self._told)

    def entries(self, chroot: str, whose: dict[SessionId, str]) -> Iterator[Entry]:
        """The same for a story: paths below the chroot, and who it was by the name that the test has for them."""
        for transaction, lines in self._told:
            who = whose.get(transaction.session_id) or self._names[transaction.session_id]
            for line in lines:
                path = None if line.path is None else line.path.removeprefix(chroot) or "/"
                told = f"{line.op}  {path or ''}  {line.what}".rstrip()
                yield Entry(transaction.time_ms, who, told.replace("    ", "  "))


def _is_below(line: Line, chroot: str) -> bool:
    return line.path is not None and (line.path == chroot or line.path.startswith(chroot.rstrip("/") + "/"))


def story(diary: Diary, seen: Iterable[Entry]) -> str:
    """What the test did, and what ZooKeeper has seen, in one order: seconds since the test began, who, what."""
    since = [entry for entry in seen if entry.at_ms >= diary.began_ms]  # the making of its root came before that
    entries: Sequence[Entry] = sorted([*diary.entries, *since], key=lambda entry: entry.at_ms)
    width = max((len(entry.who) for entry in entries), default=0)
    return "".join(f"{(e.at_ms - diary.began_ms) / 1000:7.3f} s  {e.who:<{width}}  {e.what}\n" for e in entries)
