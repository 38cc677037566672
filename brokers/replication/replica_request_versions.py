"""The versions of the requests of followers to their leaders, which follow from inter.broker.protocol.version.

Left out: Fetch 13 and later, which name topics by their ids: followers send version 12 instead, which Kafka serves too.

Source: Kafka 2.8, ReplicaFetcherThread; Kafka 3.9, MetadataVersion; docs/kafka/requests.md 7.
"""

from typing import NamedTuple

from kcsim.controller.capabilities import PROTOCOL_VERSIONS


class ReplicaRequestVersions(NamedTuple):
    """The versions of one broker's requests as a follower."""

    fetch: int
    offsets_for_leader_epoch: int
    list_offsets: int


_SINCE = {
    "2.6": ReplicaRequestVersions(11, 3, 5),
    "2.7": ReplicaRequestVersions(12, 3, 5),
    "2.8": ReplicaRequestVersions(12, 4, 6),
}
"""By the first protocol version with them."""


def replica_request_versions(protocol_version: str) -> ReplicaRequestVersions:
    """Return the versions that a broker with this inter.broker.protocol.version uses."""
    known = PROTOCOL_VERSIONS[: PROTOCOL_VERSIONS.index(protocol_version) + 1]
    return next(_SINCE[version] for version in reversed(known) if version in _SINCE)
