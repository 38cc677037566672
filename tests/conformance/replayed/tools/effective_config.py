"""A topic's settings as a broker reports them: its own, and the broker's settings that differ from Kafka's defaults.

Source: Kafka 2.8, LogConfig.TopicConfigSynonyms.
"""

from collections.abc import Mapping

from kcsim.controller.capabilities import PROTOCOL_VERSIONS
from kcsim.jvm_hash_order import map_order

SETTINGS_HELD = 64
"""Initial capacity of the hash map in which a client holds a topic's settings."""
BROKER_SYNONYMS: Mapping[str, str] = {
    "compression.type": "compression.type",
    "min.insync.replicas": "min.insync.replicas",
    "unclean.leader.election.enable": "unclean.leader.election.enable",
    "message.max.bytes": "max.message.bytes",
    "log.cleanup.policy": "cleanup.policy",
    "log.index.interval.bytes": "index.interval.bytes",
    "log.index.size.max.bytes": "segment.index.bytes",
    "log.message.format.version": "message.format.version",
    "log.message.timestamp.type": "message.timestamp.type",
    "log.preallocate": "preallocate",
    "log.retention.bytes": "retention.bytes",
    "log.retention.ms": "retention.ms",
    "log.roll.jitter.ms": "segment.jitter.ms",
    "log.roll.ms": "segment.ms",
    "log.segment.bytes": "segment.bytes",
    "log.segment.delete.delay.ms": "file.delete.delay.ms",
}
"""Broker setting -> the topic setting whose default it is."""
IN_FORCE = {"message.format.version": "2.6-IV0"}
"""The recordings were made with the record format of the first of them."""
FROM_3_0 = {"message.format.version": "3.0-IV1"}
"""From protocol version 3.0 on the record format cannot be chosen; brokers report this one, as seen with Kafka 3.9.1."""


def effective_config(
    topic: Mapping[str, str], broker: Mapping[str, str | int | bool], protocol_version: str
) -> dict[str, str]:
    """Return a topic's settings as a client sees them, in the client's order.

    Args:
        broker: the settings in the file of the broker that is asked.
    """
    by_broker = {BROKER_SYNONYMS[name]: _text(value) for name, value in broker.items() if name in BROKER_SYNONYMS}
    has_fixed_format = PROTOCOL_VERSIONS.index(protocol_version) >= PROTOCOL_VERSIONS.index("3.0")
    found = {**IN_FORCE, **by_broker, **topic, **(FROM_3_0 if has_fixed_format else {})}
    return {name: found[name] for name in map_order(sorted(found, reverse=True), SETTINGS_HELD)}


def _text(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
