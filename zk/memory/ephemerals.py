"""Who owns which ephemeral znodes, and in which order they go when their session ends.

That order is visible: each deletion fires its own watches, in this order. The real server keeps the paths of a session in a
HashSet and deletes in the order in which a clone of it hands them out, so the model works out where Java would put them.

Source: ZooKeeper 3.9.5, observed (80 sessions of 2 to 100 ephemerals); java.util.HashMap, java.lang.String.hashCode.
"""

from collections.abc import Iterable

from kcsim.zk.memory.tree import NOBODY, ChangeKind, ZnodeChange
from kcsim.zk.vocabulary import SessionId

_SMALLEST_TABLE = 16


class Ephemerals:
    """The ephemeral znodes of each session."""

    def __init__(self) -> None:
        self._by_owner: dict[SessionId, JavaHashSet] = {}

    def note(self, changes: Iterable[ZnodeChange]) -> None:
        """Take over what a transaction changed."""
        for change in changes:
            if change.owner == NOBODY:
                continue
            if change.kind is ChangeKind.CREATED:
                self._by_owner.setdefault(change.owner, JavaHashSet()).add(change.path)
            elif change.kind is ChangeKind.DELETED:
                self._by_owner[change.owner].remove(change.path)

    def of(self, owner: SessionId) -> tuple[str, ...]:
        """Return the paths, in the order in which the end of the session deletes them."""
        paths = self._by_owner.get(owner)
        return paths.clone_order() if paths else ()

    def forget(self, owner: SessionId) -> None:
        self._by_owner.pop(owner, None)


class JavaHashSet:
    """A set of strings whose clone is read in the order of java.util.HashSet's: by table slot, then by insertion.

    Buckets so crowded that Java makes trees of them (more than 8 in one slot) are not modelled.
    """

    def __init__(self) -> None:
        self._items: dict[str, None] = {}
        self._table = _SMALLEST_TABLE

    def add(self, item: str) -> None:
        self._items[item] = None
        while len(self._items) > self._table * 3 // 4:  # a table never shrinks again
            self._table *= 2

    def remove(self, item: str) -> None:
        del self._items[item]

    def clone_order(self) -> tuple[str, ...]:
        """Return the items as a clone hands them out: its table is sized for them, and filled in our own order."""
        clone_table = 1
        while clone_table < int(len(self._items) / 0.75 + 1):
            clone_table *= 2
        slots = {item: _spread(item) for item in self._items}
        own_order = sorted(self._items, key=lambda item: slots[item] & (self._table - 1))
        return tuple(sorted(own_order, key=lambda item: slots[item] & (clone_table - 1)))


def _spread(item: str) -> int:
    """Return String.hashCode, its upper half folded into the lower, as HashMap does before it picks a slot."""
    hashed = 0
    for character in item:  # one UTF-16 unit each: no legal path has others
        hashed = (31 * hashed + ord(character)) & 0xFFFFFFFF
    return hashed ^ (hashed >> 16)
