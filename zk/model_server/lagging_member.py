"""A member of the model that has not applied the latest transactions, and therefore answers reads from the past."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from kcsim.zk.memory.server import ServerFact, SessionEnded
from kcsim.zk.memory.stale_view import StaleView
from kcsim.zk.memory.tree import ZnodeChange
from kcsim.zk.memory.watches import ConnectionId
from kcsim.zk.operations import WatchEvent


class LaggingMember:
    """What a member has still to do, in the order of the transactions.

    A write of one of its clients is committed by the leader at once, and answered when the member has applied it. Until then
    the client's later requests wait, as in ZooKeeper's CommitProcessor.
    """

    def __init__(self, view: StaleView) -> None:
        self.view = view
        self.waiting: set[ConnectionId] = set()
        self._to_do: list[Sequence[ZnodeChange] | Callable[[], None]] = []

    def note(self, facts: Iterable[ServerFact]) -> None:
        """Note the changes of a transaction, whose watches fire when the member applies it."""
        changes: list[ZnodeChange] = []
        for fact in facts:
            if isinstance(fact, ZnodeChange):
                changes.append(fact)
            elif isinstance(fact, SessionEnded):
                changes += fact.removed
        if changes:
            self._to_do.append(changes)

    def answer_later(self, connection: ConnectionId, answer: Callable[[], None]) -> None:
        """Keep an answer until the member has applied all transactions so far."""
        self.waiting.add(connection)
        self._to_do.append(answer)

    def apply_all(self) -> Iterator[tuple[ConnectionId, WatchEvent]]:
        """Give the answers, and yield the events of the watches that fire, in the order of the transactions."""
        for each in self._to_do:
            if callable(each):
                each()
            else:
                yield from self.view.watches.fire(each)
