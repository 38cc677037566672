"""The content of Kafka's znodes: decodes JSON into the types of kcsim.vocabulary and encodes them again.

All versions are read. The versions written are those that Kafka 2.8.2 writes at inter.broker.protocol.version 2.6, with the
keys in Kafka's order (the order of a Scala hash map, which looks random and is not). Malformed content is handled as Kafka
handles it for each kind of znode: where Kafka throws, BadZnodeError is raised; where Kafka treats the znode as absent or
empty, the decoder does so too and calls `report`. A decoder without a `report` parameter is never lenient.

Left out: ACLs and delegation tokens. Partitions of a topic are written in ascending order, not in the order of a hash map.
Source: Kafka 2.8, ZkData; docs/kafka/znodes.md 4 to 12.
"""

from kcsim.znodes.cluster import (
    FeatureNode,
    ProducerIdBlock,
    decode_cluster_id,
    decode_feature,
    decode_producer_id_block,
    encode_cluster_id,
    encode_feature,
    encode_producer_id_block,
)
from kcsim.znodes.configs import decode_config, decode_config_change, encode_config, encode_config_change
from kcsim.znodes.controllers import (
    decode_controller,
    decode_controller_epoch,
    encode_controller,
    encode_controller_epoch,
    kraft_controller_in,
)
from kcsim.znodes.reading import BadZnodeError, Report
from kcsim.znodes.reassignments import decode_reassignment, encode_reassignment
from kcsim.znodes.registrations import decode_broker, encode_broker
from kcsim.znodes.requests import (
    decode_isr_change,
    decode_log_dir_event,
    decode_preferred_election,
    encode_log_dir_event,
    encode_partitions,
    isr_change_name,
    log_dir_event_name,
)
from kcsim.znodes.topics import (
    decode_isr_after,
    decode_partition_state,
    decode_topic,
    encode_partition_state,
    encode_topic,
    partition_state_text,
    partition_state_text_before_isr,
)

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
    "decode_isr_after",
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
    "isr_change_name",
    "kraft_controller_in",
    "log_dir_event_name",
    "partition_state_text",
    "partition_state_text_before_isr",
]
