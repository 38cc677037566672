"""What Kafka keeps in a running ZooKeeper: brokers, topics and who hosts what. Reads only."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kcsim.controller.decisions.broker_ring import BrokerMetadata
from kcsim.scenarios.admin.cluster_session import cluster_session
from kcsim.scenarios.runtimes.wallclock import WallClockRuntime
from kcsim.zk.servers.external import ConnectString, parse_connect_string
from kcsim.zk.vocabulary import TopicState


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
    async with cluster_session(runtime, where) as kafka_zk:
        brokers = await kafka_zk.all_brokers_with_epochs(register_watch=False)
        topics = await kafka_zk.topic_states(await kafka_zk.all_topics())
        deletions = await kafka_zk.topic_deletions()
    return ClusterSeen(tuple(BrokerMetadata(info.broker_id, info.rack) for info, _ in brokers), topics, deletions)
