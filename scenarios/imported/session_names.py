"""Whose a session is: a broker's, if that is how it registered."""

from kcsim.zk import paths
from kcsim.zk.events import hexadecimal
from kcsim.zk.files.past_tree import PastTree
from kcsim.zk.files.transactions import CreateTxn, Transaction
from kcsim.zk.vocabulary import SessionId


class SessionNames:
    """Learns from registrations: from a tree, then from transactions.

    A broker's session is named from its first request on, which comes before its registration: whoever wants that has to
    have gone through the whole log first.

    Args:
        chroot: the path below which Kafka's znodes are; empty for the root.
    """

    def __init__(self, chroot: str = "") -> None:
        self._ids = f"{chroot}{paths.BROKER_IDS}/"
        self._names: dict[SessionId, str] = {}

    def learn_tree(self, tree: PastTree) -> None:
        for path, znode in tree.znodes.items():
            self.learn_owner(path, znode.ephemeral_owner)

    def learn(self, transaction: Transaction) -> None:
        if not transaction.is_refused:
            for op in transaction.ops:
                if isinstance(op, CreateTxn) and op.ephemeral:
                    self.learn_owner(op.path, transaction.session_id)

    def broker(self, session_id: SessionId) -> str | None:
        """broker-N; None for anybody else's."""
        return self._names.get(session_id)

    def __getitem__(self, session_id: SessionId) -> str:
        """broker-N, or the id."""
        return self._names.get(session_id) or hexadecimal(session_id)

    def learn_owner(self, path: str, owner: SessionId) -> None:
        """Learn from an ephemeral znode."""
        number = path.removeprefix(self._ids)
        if owner and number != path and number.isdecimal():
            self._names[owner] = f"broker-{number}"
