"""Kafka's metadata in a running ZooKeeper: brokers, topics and their assignments. This module only reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kcsim.controller.decisions.broker_ring import BrokerMetadata
from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.scenarios.cli.kafka_tools.cluster_session import cluster_session
from kcsim.scenarios.cli.zookeeper_argument import security_of
from kcsim.vocabulary import TopicState
from kcsim.zk.servers.external import ConnectString, parse_connect_string


@dataclass(frozen=True, slots=True)
class ClusterMetadata:
    """The live brokers by id, the topics by name, and the topics whose deletion was requested."""

    brokers: tuple[BrokerMetadata, ...]
    topics: Mapping[str, TopicState] = field(default_factory=dict)
    queued_for_deletion: tuple[str, ...] = ()


def read_cluster(connect: str) -> ClusterMetadata:
    """Read a cluster.

    Args:
        connect: host:port,…/chroot.

    Raises: BadConnectStringError, UnreachableError, NoChrootError, ZooKeeperUnavailableError, BadZnodeError, and
        ZooKeeperError or ZooKeeperClientExpiredError when the connection or session is lost meanwhile.
    """
    where = parse_connect_string(connect)
    runtime = WallClockRuntime()
    return runtime.run(_read(runtime, where))


async def _read(runtime: WallClockRuntime, where: ConnectString) -> ClusterMetadata:
    async with cluster_session(runtime, where, security_of(str(where))) as kafka_zk:
        brokers = await kafka_zk.brokers.read_all_with_epochs()
        topics = await kafka_zk.topics.read(await kafka_zk.topics.names())
        deletions = await kafka_zk.topic_deletions.topics()
    return ClusterMetadata(tuple(BrokerMetadata(info.broker_id, info.rack) for info, _ in brokers), topics, deletions)
