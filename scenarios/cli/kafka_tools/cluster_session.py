"""A session with the ZooKeeper of an existing cluster, as Kafka's client for its znodes."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from kcsim.eventlog.event_log import EventLog
from kcsim.runtime.ports import Runtime
from kcsim.zk.kafka.kafka_zk import KafkaZk, gateways_on
from kcsim.zk.kafka.zookeeper_client import ZooKeeperClient
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.ports import ZooKeeper
from kcsim.zk.security import ClientSecurity
from kcsim.zk.servers.external import ConnectString, ExternalZooKeeper, require_chroot

SESSION_TIMEOUT_MS = 10_000
CONNECT_TIMEOUT_MS = 10_000
NODE = "admin"
"""The name of this session's node in an event log."""


@asynccontextmanager
async def cluster_session(
    runtime: Runtime,
    where: ConnectString,
    security: ClientSecurity,
    wrap: Callable[[ZooKeeper], ZooKeeper] = lambda zookeeper: zookeeper,
) -> AsyncIterator[KafkaZk]:
    """Open a session, and close it at the end.

    Args:
        wrap: wraps the ZooKeeper that the session uses; by default nothing is wrapped.

    Raises: UnreachableError, NoChrootError, ZooKeeperUnavailableError.
    """
    await ExternalZooKeeper(str(where), security=security).start()
    await _require_chroot(where, security)
    sink = EventLog(runtime.now_ms).sink(NODE)
    zookeeper = wrap(LiveZooKeeper(str(where), security=security, accepts_read_only=True))
    client = ZooKeeperClient(runtime, zookeeper, sink, SESSION_TIMEOUT_MS, CONNECT_TIMEOUT_MS)
    await client.connect()
    try:
        yield gateways_on(client)
    finally:
        await client.close()


async def _require_chroot(where: ConnectString, security: ClientSecurity) -> None:
    """Check that the chroot exists: an empty cluster differs from a mistyped chroot. Raises: NoChrootError."""
    above = LiveZooKeeper(",".join(map(str, where.addresses)), security=security, accepts_read_only=True)
    session = await above.open_session(SESSION_TIMEOUT_MS, lambda _: None, CONNECT_TIMEOUT_MS)

    try:
        await require_chroot(where.chroot, session)
    finally:
        await session.close()
