"""What Kafka keeps in a running ZooKeeper: brokers, topics and who hosts what. Reads only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kcsim.controller.decisions.broker_ring import BrokerMetadata
from kcsim.scenarios.history import EventLog
from kcsim.scenarios.runtimes.wallclock import WallClockRuntime
from kcsim.zk.kafka_zk import KafkaZk
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.operations import ChildrenRead, GetChildren
from kcsim.zk.servers.external import ConnectString, ExternalZooKeeper, parse_connect_string, require_chroot
from kcsim.zk.vocabulary import TopicState
from kcsim.zk.zookeeper_client import ZooKeeperClient

SESSION_TIMEOUT_MS = 10_000
CONNECT_TIMEOUT_MS = 10_000
READER = "reader"
"""The node under which this session's events would stand in a log."""


@dataclass(frozen=True, slots=True)
class ClusterSeen:
    """Live brokers by id; topics by name; topics whose deletion was asked for."""

    brokers: tuple[BrokerMetadata, ...]
    topics: Mapping[str, TopicState] = field(default_factory=dict)
    queued_for_deletion: tuple[str, ...] = ()


def read_cluster(connect: str) -> ClusterSeen:
    """Read a cluster.

    Args:
        connect: host:port,…/chroot.

    Raises: BadConnectStringError, UnreachableError, NoChrootError, ZooKeeperUnavailableError, BadZnodeError, and
        ZooKeeperError or ZooKeeperClientExpiredError when ZooKeeper gives up meanwhile.
    """
    where = parse_connect_string(connect)
    runtime = WallClockRuntime()
    return runtime.run(_read(runtime, where))


async def _read(runtime: WallClockRuntime, where: ConnectString) -> ClusterSeen:
    await ExternalZooKeeper(str(where)).start()
    await _require_chroot(where)
    sink = EventLog(runtime.now_ms).sink(READER)
    client = ZooKeeperClient(runtime, LiveZooKeeper(str(where)), sink, SESSION_TIMEOUT_MS, CONNECT_TIMEOUT_MS)
    await client.connect()
    try:
        kafka_zk = KafkaZk(client)
        brokers = await kafka_zk.all_brokers_with_epochs(register_watch=False)
        topics = await kafka_zk.topic_states(await kafka_zk.all_topics())
        deletions = await kafka_zk.topic_deletions()
    finally:
        await client.close()
    return ClusterSeen(tuple(BrokerMetadata(info.broker_id, info.rack) for info, _ in brokers), topics, deletions)


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
