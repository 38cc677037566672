"""Kafka's cluster state in ZooKeeper: one gateway for each kind of znode, all on one client.

Every operation of a gateway takes, in this order, the entity's ids, the values, the expected controller epoch version and
`cause`, the event that it follows from. It raises ZooKeeperError (a refusal that the operation does not handle),
ZooKeeperClientExpiredError (the session ended while a request waited to be sent again) and, where it reads content,
BadZnodeError. Writes that take an expected controller epoch version are fenced (fencing.py): they raise
ControllerMovedError when /controller_epoch has another version.

Source: Kafka 2.8, KafkaZkClient and AdminZkClient.
"""

from dataclasses import dataclass

from kcsim.zk.kafka.brokers import BrokerZnodes
from kcsim.zk.kafka.cluster import ClusterZnodes
from kcsim.zk.kafka.config_changes import ConfigChangeZnodes
from kcsim.zk.kafka.configs import ConfigZnodes
from kcsim.zk.kafka.controller import ControllerZnodes
from kcsim.zk.kafka.features import FeatureZnodes
from kcsim.zk.kafka.isr_changes import IsrChangeZnodes
from kcsim.zk.kafka.log_dir_events import LogDirEventZnodes
from kcsim.zk.kafka.partition_states import PartitionStateZnodes
from kcsim.zk.kafka.preferred_elections import PreferredElectionZnodes
from kcsim.zk.kafka.producer_ids import ProducerIdZnodes
from kcsim.zk.kafka.reassignments import ReassignmentZnodes
from kcsim.zk.kafka.topic_deletions import TopicDeletionZnodes
from kcsim.zk.kafka.topics import TopicZnodes
from kcsim.zk.kafka.znode_requests import ZnodeRequests
from kcsim.zk.kafka.zookeeper_client import ZooKeeperClient


@dataclass(frozen=True, slots=True)
class KafkaZk:
    """All gateways on one client, for the code that wires a process up. Its parts receive only the gateways they use."""

    znodes: ZnodeRequests
    cluster: ClusterZnodes
    brokers: BrokerZnodes
    controller: ControllerZnodes
    topics: TopicZnodes
    topic_deletions: TopicDeletionZnodes
    partition_states: PartitionStateZnodes
    isr_changes: IsrChangeZnodes
    log_dir_events: LogDirEventZnodes
    reassignments: ReassignmentZnodes
    preferred_elections: PreferredElectionZnodes
    configs: ConfigZnodes
    config_changes: ConfigChangeZnodes
    producer_ids: ProducerIdZnodes
    features: FeatureZnodes


def gateways_on(client: ZooKeeperClient, epoch_ms: int = 0) -> KafkaZk:
    """Return all gateways on a client.

    Args:
        epoch_ms: wall-clock time of the run's beginning, in ms since 1970, for the timestamps in znodes.
    """
    znodes = ZnodeRequests(client)
    return KafkaZk(
        znodes,
        ClusterZnodes(znodes, epoch_ms),
        BrokerZnodes(znodes),
        ControllerZnodes(znodes, epoch_ms),
        TopicZnodes(znodes),
        TopicDeletionZnodes(znodes),
        PartitionStateZnodes(znodes),
        IsrChangeZnodes(znodes),
        LogDirEventZnodes(znodes),
        ReassignmentZnodes(znodes),
        PreferredElectionZnodes(znodes),
        ConfigZnodes(znodes),
        ConfigChangeZnodes(znodes),
        ProducerIdZnodes(znodes),
        FeatureZnodes(znodes),
    )
