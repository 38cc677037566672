"""Replaces the names in a snapshot by hashes, so that the file can be given away.

Broker ids, numbers and Kafka's internal topics keep their names. The hashes have a key that is not kept: the same name has
the same hash within one file, and another one in another file.
"""

import hashlib
from collections.abc import Callable, Mapping

import msgspec

from kcsim.scenarios.snapshots.snapshot_format import (
    ControlPlaneSnapshot,
    ElectionRequest,
    ReassignmentRequest,
    SnapshotBroker,
    SnapshotTopic,
)
from kcsim.vocabulary import INTERNAL_TOPICS

HASH_BYTES = 6
HARMLESS_VALUES = frozenset({"true", "false", "delete", "compact", "compact,delete", "producer", "uncompressed", "*"})
"""Values of settings that are kept, beside numbers and lists of numbers."""


def anonymised(snapshot: ControlPlaneSnapshot, key: bytes) -> ControlPlaneSnapshot:
    """Return the snapshot with hashed names, without its source, cluster id, topic ids and hosts.

    Args:
        key: at most 64 bytes; with the key the names can be found out by trying.
    """

    def hashed(name: str) -> str:
        return hashlib.blake2b(name.encode(), digest_size=HASH_BYTES, key=key).hexdigest()

    def topic_name(name: str) -> str:
        return name if name in INTERNAL_TOPICS else f"topic-{hashed(name)}"

    topics = (
        SnapshotTopic(topic_name(t.name), t.partitions, None, _values_hashed(t.config, hashed)) for t in snapshot.topics
    )
    return msgspec.structs.replace(
        snapshot,
        source="an anonymised cluster",
        cluster_id=None,
        brokers=tuple(
            SnapshotBroker(broker.id, broker.epoch, None if broker.rack is None else f"rack-{hashed(broker.rack)}")
            for broker in snapshot.brokers
        ),
        broker_configs={name: _values_hashed(config, hashed) for name, config in snapshot.broker_configs.items()},
        topics=tuple(sorted(topics, key=lambda topic: topic.name)),
        topic_deletions=tuple(sorted(map(topic_name, snapshot.topic_deletions))),
        reassignment_requests=tuple(
            ReassignmentRequest(topic_name(request.topic), request.partition, request.replicas)
            for request in snapshot.reassignment_requests
        ),
        election_requests=tuple(
            ElectionRequest(topic_name(request.topic), request.partition) for request in snapshot.election_requests
        ),
        unread=(),
        is_anonymised=True,
    )


def _values_hashed(config: Mapping[str, str], hashed: Callable[[str], str]) -> dict[str, str]:
    return {key: value if _is_harmless(value) else f"value-{hashed(value)}" for key, value in config.items()}


def _is_harmless(value: str) -> bool:
    return value in HARMLESS_VALUES or not value.strip("0123456789.,:-")
