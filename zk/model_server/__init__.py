"""The model of ZooKeeper behind a socket: any ZooKeeper client can use it, in any language.

It runs in a thread of this process, without Java, and serves within milliseconds. `requests` and `replies` are pure;
`client_connection` and `service` run on an event loop, `host` has one in a thread. Left out: SASL, quotas, reconfiguration,
observers and read-only members. All members answer from one tree, except those that lag behind on request.
"""

from collections.abc import Sequence

from kcsim.vocabulary import SessionId
from kcsim.zk.model_server.host import ModelHost
from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.managed import ManagedZooKeeper

__all__ = ["ModelZooKeeper"]


class ModelZooKeeper(ManagedZooKeeper):
    """The model as one server or an ensemble; see ZooKeeperServers for the operations.

    `with ModelZooKeeper() as zk: …zk.connect_string…`, or `async with`, or start() and stop().
    """

    def __init__(
        self,
        members: int = 1,
        settings: ServerSettings = ServerSettings(),  # noqa: B008 -- frozen
        client_ports: Sequence[int] | None = None,
    ) -> None:
        """Prepare to start; nothing is started yet.

        Args:
            members: 1, or an odd number of ensemble members.
            client_ports: one per member, on 127.0.0.1; None chooses free ports.
        """
        self._model = ModelHost(settings)
        super().__init__(self._model, members, client_ports)

    # --- exact faults

    def expire_session(self, session_id: SessionId) -> bool:
        """End a session now, as if its time-out had passed; return whether there was one."""
        return self._model.expire(session_id)

    def lose_reply(self, path: str | None = None, session_id: SessionId | None = None) -> None:
        """Apply the next write (to a path, of a session) and break its connection before the reply is sent."""
        self._model.lose_reply(path, session_id)

    def drop_watches(self, path: str) -> int:
        """Remove all one-time watches on a path without an event; return how many there were."""
        return self._model.drop_watches(path)

    def lag_member(self, name: str) -> None:
        """Let a follower apply no transaction from now on, until `catch_up_member`.

        Its clients read the state as it is now, and their watches do not fire. Their writes, `sync` and new sessions are
        committed, but not answered. A client that has seen a later state is refused. When the member dies, or the leader is
        lost, the lag ends. Unlike on a real follower, the connection of an expired session is closed at once.

        Raises: MemberStateError for the leader, for a member that does not serve, and for one that lags behind already.
        """
        self._model.lag(name)

    def catch_up_member(self, name: str) -> None:
        """Let a member that lags behind apply all transactions: watches fire, and writes are answered, in their order.

        Raises: MemberStateError if it does not lag behind.
        """
        self._model.catch_up(name)
