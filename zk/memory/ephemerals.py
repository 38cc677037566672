"""The ephemeral znodes of each session, and the order in which they are deleted when the session ends.

That order is visible: each deletion fires its own watches, in this order. The real server keeps the paths of a session in a
HashSet and deletes them in the iteration order of a clone of it, so the model keeps them in `HashedKeys`.

Source: ZooKeeper 3.9.5, observed (80 sessions of 2 to 100 ephemerals).
"""

from collections.abc import Iterable

from kcsim.jvm_hash_order import HashedKeys, string_hash
from kcsim.vocabulary import SessionId
from kcsim.zk.memory.tree import NO_OWNER, ChangeKind, ZnodeChange


class Ephemerals:
    """The ephemeral znodes of each session."""

    def __init__(self) -> None:
        self._by_owner: dict[SessionId, HashedKeys[str]] = {}

    def note(self, changes: Iterable[ZnodeChange]) -> None:
        """Record the changes of a transaction."""
        for change in changes:
            if change.owner == NO_OWNER:
                continue
            if change.kind is ChangeKind.CREATED:
                self._by_owner.setdefault(change.owner, HashedKeys()).add(change.path, string_hash(change.path))
            elif change.kind is ChangeKind.DELETED:
                self._by_owner[change.owner].remove(change.path)

    def of(self, owner: SessionId) -> tuple[str, ...]:
        """Return a session's paths, in the order in which the end of the session deletes them."""
        paths = self._by_owner.get(owner)
        return tuple(paths.in_clone_order()) if paths else ()

    def all(self) -> list[tuple[SessionId, tuple[str, ...]]]:
        """Return the sessions that own ephemeral znodes, each with its paths."""
        return [(owner, self.of(owner)) for owner in self._by_owner if self.of(owner)]

    def forget(self, owner: SessionId) -> None:
        self._by_owner.pop(owner, None)
