"""Znodes written by hand, as an operator does with ZooKeeper's own command line."""

from collections.abc import Mapping

from kcsim.eventlog.run_actions import ClusterError, RunActionLog
from kcsim.zk.errors import ZooKeeperError
from kcsim.zk.operations import Create, Delete, Multi, MultiDone, Request, SetData
from kcsim.zk.ports import Session


class ZnodeEdits:
    """Each returns the seq of its AdminAct, and raises ClusterError with ZooKeeper's error.

    Args:
        admin: the scenario's own session, which owns the ephemeral znodes.
    """

    def __init__(self, actions: RunActionLog, admin: Session) -> None:
        self._actions = actions
        self._admin = admin

    async def create(self, path: str, data: str | None, *, ephemeral: bool = False, sequential: bool = False) -> int:
        """Create a znode, as an operator would."""
        return await self._by_hand("create", path, Create(path, _encoded(data), ephemeral, sequential))

    async def create_all(self, znodes: Mapping[str, bytes | None]) -> int:
        """Create many znodes, each after its parent, in the order given."""
        cause = self._actions.act_on_znode("create", next(iter(znodes)))
        for reply in await self._admin.call([Create(path, data) for path, data in znodes.items()], cause):
            if isinstance(reply, ZooKeeperError):
                raise ClusterError(f"create: {reply}")
        return cause

    async def set(self, path: str, data: str | None) -> int:
        return await self._by_hand("set", path, SetData(path, _encoded(data)))

    async def delete(self, path: str) -> int:
        return await self._by_hand("delete", path, Delete(path))

    async def recreate(self, path: str, data: str | None, *, ephemeral: bool = False) -> int:
        """Delete a znode and create it again in one transaction, so that no client can see it missing."""
        return await self._by_hand("recreate", path, Multi((Delete(path), Create(path, _encoded(data), ephemeral))))

    async def _by_hand(self, op: str, path: str, request: Request) -> int:
        cause = self._actions.act_on_znode(op, path)
        (reply,) = await self._admin.call([request], cause)
        error = reply.error if isinstance(reply, MultiDone) else reply
        if isinstance(error, ZooKeeperError):
            raise ClusterError(f"{op} {path}: {error}")
        return cause


def _encoded(data: str | None) -> bytes | None:
    return None if data is None else data.encode()
