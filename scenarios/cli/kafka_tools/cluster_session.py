"""A session with the ZooKeeper of an existing cluster, as Kafka's client for its znodes."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from kcsim.eventlog.event_log import EventLog
from kcsim.runtime.ports import Runtime
from kcsim.scenarios.cli.zookeeper_argument import print_migration_note, print_read_only_note
from kcsim.zk.kafka.kafka_zk import KafkaZk, gateways_on
from kcsim.zk.kafka.zookeeper_client import ZooKeeperClient
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.ports import ZooKeeper
from kcsim.zk.security import ClientSecurity
from kcsim.zk.servers.errors import InMigrationError
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
    *,
    writes: bool = False,
) -> AsyncIterator[KafkaZk]:
    """Open a session, and close it at the end.

    Args:
        wrap: wraps the ZooKeeper that the session uses; by default nothing is wrapped.
        writes: whether the session is to write. If not, a member that is cut off from its ensemble may answer, and the
            cluster may be in migration to KRaft; a line on stderr says so.

    Raises: UnreachableError, NoChrootError, InMigrationError, ZooKeeperUnavailableError.
    """
    await ExternalZooKeeper(str(where), security=security).start()
    await _require_chroot(where, security, accepts_read_only=not writes)
    sink = EventLog(runtime.now_ms).sink(NODE)
    live = LiveZooKeeper(str(where), security=security, accepts_read_only=not writes)
    client = ZooKeeperClient(runtime, wrap(live), sink, SESSION_TIMEOUT_MS, CONNECT_TIMEOUT_MS)
    await client.connect()
    if live.has_read_only_session:
        print_read_only_note()
    kafka_zk = gateways_on(client)
    try:
        kraft_controller = await kafka_zk.controller.read_kraft_controller()
        if kraft_controller is not None:
            if writes:
                raise InMigrationError(str(where), kraft_controller)
            print_migration_note(kraft_controller)
        yield kafka_zk
    finally:
        await client.close()


async def _require_chroot(where: ConnectString, security: ClientSecurity, accepts_read_only: bool) -> None:
    """Check that the chroot exists: an empty cluster differs from a mistyped chroot. Raises: NoChrootError."""
    above = LiveZooKeeper(",".join(map(str, where.addresses)), security=security, accepts_read_only=accepts_read_only)
    session = await above.open_session(SESSION_TIMEOUT_MS, lambda _: None, CONNECT_TIMEOUT_MS)
    try:
        await require_chroot(where.chroot, session)
    finally:
        await session.close()
