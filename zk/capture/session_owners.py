"""The owners of sessions: a session belongs to a broker if the broker registered in it."""

from kcsim.eventlog.events import hexadecimal
from kcsim.vocabulary import SessionId
from kcsim.zk.files.past_tree import PastTree
from kcsim.zk.files.transactions import CreateTxn, Transaction
from kcsim.znodes import paths


class SessionOwners:
    """The brokers that sessions belong to, collected from registrations: from a tree, then from transactions.

    A broker's first requests come before its registration: to attribute these too, read the whole log before the first
    lookup.

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
        """Return broker-N, the owner of a session; None if the session does not belong to a broker."""
        return self._names.get(session_id)

    def __getitem__(self, session_id: SessionId) -> str:
        """Return broker-N, or the session id if the session does not belong to a broker."""
        return self._names.get(session_id) or hexadecimal(session_id)

    def learn_owner(self, path: str, owner: SessionId) -> None:
        """Record the owner's broker, if the ephemeral znode is a broker's registration."""
        number = path.removeprefix(self._ids)
        if owner and number != path and number.isdecimal():
            self._names[owner] = f"broker-{number}"
