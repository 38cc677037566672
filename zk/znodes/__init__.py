"""What stands in Kafka's znodes: JSON to vocabulary and back.

All versions are read; those are written that Kafka 2.8.2 writes at inter.broker.protocol.version 2.6, keys in its order
(that of a Scala hash map: it looks random and is not). Malformed content is met as Kafka meets it, kind by kind: where
Kafka throws, BadZnodeError is raised; where Kafka takes the znode for absent or empty, so do we, and say so to `report`.
A decoder without a `report` is never lenient.

Left out: ACLs and delegation tokens. Partitions of a topic are written in ascending order, not in that of a hash map.
Source: Kafka 2.8, ZkData; reference znodes.md 4 to 12.
"""

from kcsim.zk.znodes.cluster import (
    FeatureNode,
    ProducerIdBlock,
    decode_cluster_id,
    decode_feature,
    decode_producer_id_block,
    encode_cluster_id,
    encode_feature,
    encode_producer_id_block,
)
from kcsim.zk.znodes.configs import decode_config, decode_config_change, encode_config, encode_config_change
from kcsim.zk.znodes.controllers import (
    decode_controller,
    decode_controller_epoch,
    encode_controller,
    encode_controller_epoch,
)
from kcsim.zk.znodes.reading import BadZnodeError, Report
from kcsim.zk.znodes.registrations import decode_broker, encode_broker
from kcsim.zk.znodes.requests import (
    decode_isr_change,
    decode_log_dir_event,
    decode_preferred_election,
    decode_reassignment,
    encode_log_dir_event,
    encode_partitions,
    encode_reassignment,
)
from kcsim.zk.znodes.topics import decode_partition_state, decode_topic, encode_partition_state, encode_topic

__all__ = [
    "BadZnodeError",
    "FeatureNode",
    "ProducerIdBlock",
    "Report",
    "decode_broker",
    "decode_cluster_id",
    "decode_config",
    "decode_config_change",
    "decode_controller",
    "decode_controller_epoch",
    "decode_feature",
    "decode_isr_change",
    "decode_log_dir_event",
    "decode_partition_state",
    "decode_preferred_election",
    "decode_producer_id_block",
    "decode_reassignment",
    "decode_topic",
    "encode_broker",
    "encode_cluster_id",
    "encode_config",
    "encode_config_change",
    "encode_controller",
    "encode_controller_epoch",
    "encode_feature",
    "encode_log_dir_event",
    "encode_partition_state",
    "encode_partitions",
    "encode_producer_id_block",
    "encode_reassignment",
    "encode_topic",
]
