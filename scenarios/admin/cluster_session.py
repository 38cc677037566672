"""A session with the ZooKeeper of somebody's cluster, and Kafka's words for what is there."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from kcsim.scenarios.history import EventLog
from kcsim.zk.kafka_zk import KafkaZk
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.operations import ChildrenRead, GetChildren
from kcsim.zk.ports import Runtime, ZooKeeper
from kcsim.zk.servers.external import ConnectString, ExternalZooKeeper, require_chroot
from kcsim.zk.zookeeper_client import ZooKeeperClient

SESSION_TIMEOUT_MS = 10_000
CONNECT_TIMEOUT_MS = 10_000
NODE = "admin"
"""The node under which this session's events would stand in a log."""


@asynccontextmanager
async def cluster_session(
    runtime: Runtime, where: ConnectString, through: Callable[[ZooKeeper], ZooKeeper] = lambda zookeeper: zookeeper
) -> AsyncIterator[KafkaZk]:
    """Open a session, and close it at the end.

    Args:
        through: what to put between us and the ZooKeeper; nothing, if left out.

    Raises: UnreachableError, NoChrootError, ZooKeeperUnavailableError.
    """
    await ExternalZooKeeper(str(where)).start()
    await _require_chroot(where)
    sink = EventLog(runtime.now_ms).sink(NODE)
    client = ZooKeeperClient(runtime, through(LiveZooKeeper(str(where))), sink, SESSION_TIMEOUT_MS, CONNECT_TIMEOUT_MS)
    await client.connect()
    try:
        yield KafkaZk(client)
    finally:
        await client.close()


async def _require_chroot(where: ConnectString) -> None:
    """Raises: NoChrootError. An empty cluster and a mistyped chroot are told apart."""
    above = LiveZooKeeper(",".join(map(str, where.addresses)))
    session = await above.open_session(SESSION_TIMEOUT_MS, lambda _: None, CONNECT_TIMEOUT_MS)

    async def children(path: str) -> Sequence[str] | None:
        (reply,) = await session.call([GetChildren(path)])
        return reply.children if isinstance(reply, ChildrenRead) else None

    try:
        await require_chroot(where.chroot, children)
    finally:
        await session.close()
