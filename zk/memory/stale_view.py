"""What a member shows its clients while it has not applied the latest transactions.

ZooKeeper promises one order of transactions, not that all members show the same state at the same time: a follower applies
what the leader has committed some time later, and `sync` waits for it.

Source: ZooKeeper 3.9 Programmer's Guide, "Consistency Guarantees".
"""

from collections.abc import Iterable
from copy import deepcopy
from typing import Protocol

from kcsim.vocabulary import Zxid
from kcsim.zk.memory.tree import ZnodeTree
from kcsim.zk.memory.watches import ConnectionId, ServerWatches


class ServerView(Protocol):
    """What a client reads: the znodes and the watches of the transactions up to a zxid."""

    tree: ZnodeTree
    watches: ServerWatches
    zxid: Zxid


class StaleView:
    """The state after a past transaction. The watches of the member's connections wait here until it catches up."""

    def __init__(self, present: ServerView, connections: Iterable[ConnectionId]) -> None:
        """Keep the present state, and take the watches of the connections from it."""
        self.tree = deepcopy(present.tree)
        self.watches = present.watches.taken_from(connections)
        self.zxid = present.zxid
