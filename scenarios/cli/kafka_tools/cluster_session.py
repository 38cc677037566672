"""A session with the ZooKeeper of an existing cluster, as Kafka's client for its znodes."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from kcsim.eventlog.event_log import EventLog
from kcsim.runtime.ports import Runtime
from kcsim.zk.kafka.kafka_zk import KafkaZk, gateways_on
from kcsim.zk.kafka.zookeeper_client import ZooKeeperClient
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.operations import ChildrenRead, GetChildren
from kcsim.zk.ports import ZooKeeper
from kcsim.zk.servers.external import ConnectString, ExternalZooKeeper, require_chroot

SESSION_TIMEOUT_MS = 10_000
CONNECT_TIMEOUT_MS = 10_000
NODE = "admin"
"""The name of this session's node in an event log."""


@asynccontextmanager
async def cluster_session(
    runtime: Runtime, where: ConnectString, wrap: Callable[[ZooKeeper], ZooKeeper] = lambda zookeeper: zookeeper
) -> AsyncIterator[KafkaZk]:
    """Open a session, and close it at the end.

    Args:
        wrap: wraps the ZooKeeper that the session uses; by default nothing is wrapped.

    Raises: UnreachableError, NoChrootError, ZooKeeperUnavailableError.
    """
    await ExternalZooKeeper(str(where)).start()
    await _require_chroot(where)
    sink = EventLog(runtime.now_ms).sink(NODE)
    client = ZooKeeperClient(runtime, wrap(LiveZooKeeper(str(where))), sink, SESSION_TIMEOUT_MS, CONNECT_TIMEOUT_MS)
    await client.connect()
    try:
        yield gateways_on(client)
    finally:
        await client.close()


async def _require_chroot(where: ConnectString) -> None:
    """Check that the chroot exists: an empty cluster differs from a mistyped chroot. Raises: NoChrootError."""
    above = LiveZooKeeper(",".join(map(str, where.addresses)))
    session = await above.open_session(SESSION_TIMEOUT_MS, lambda _: None, CONNECT_TIMEOUT_MS)

    async def children(path: str) -> Sequence[str] | None:
        (reply,) = await session.call([GetChildren(path)])
        return reply.children if isinstance(reply, ChildrenRead) else None

    try:
        await require_chroot(where.chroot, children)
    finally:
        await session.close()
