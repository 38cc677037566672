"""What inter.broker.protocol.version decides: each difference between versions is one capability, with a name.

A cluster has a capability if its protocol version is that of the capability or a later one, and if no scenario switches the
capability off (protections.py has the switches: those of capabilities have `since`).

Source: Kafka 2.8 and 3.9, ApiVersion and MetadataVersion.
"""

from functools import cache
from typing import NamedTuple

from kcsim.controller.protections import PROTECTIONS, Protections

PROTOCOL_VERSIONS = ("2.6", "2.7", "2.8", "3.0", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9")
"""The values of inter.broker.protocol.version that are known, the oldest first."""
DEFAULT_PROTOCOL_VERSION = "2.6"

SINCE = {
    "broker_features": "2.7",
    "finalized_features": "2.7",
    "log_topic_ids": "3.0",
    "leader_recovery_state": "3.2",
    "feature_version_2": "3.3",
    "kraft_controller_epoch": "3.4",
}
"""The first protocol version with each capability that cannot be switched off; PROTECTIONS has the others."""


class Capabilities(NamedTuple):
    """The capabilities of one broker.

    Attributes:
        alter_isr: leaders ask the controller for ISRs, and do not write them (KIP-497).
        broker_features: a registration names the broker's features (KIP-584).
        finalized_features: a new controller creates or mends /feature, and brokers read it (KIP-584).
        topic_ids: a topic has an id; the controller gives one to a topic that has none (KIP-516).
        log_topic_ids: the first request for a replica gives its log the topic's id, and is refused if the log has another;
            before, only later requests do. In Kafka this depends on the release, 3.0 and newer.
        leader_recovery_state: a state znode tells that the leader was elected from outside the ISR, until the ISR changes
            (KIP-704).
        feature_version_2: /feature has version 2, without the lowest levels (KIP-778).
        kraft_controller_epoch: /controller has a place for the epoch of a KRaft controller (KIP-866). In Kafka this depends
            on the release, 3.4 and newer, whatever the protocol version.
    """

    alter_isr: bool
    broker_features: bool
    finalized_features: bool
    topic_ids: bool
    log_topic_ids: bool
    leader_recovery_state: bool
    feature_version_2: bool
    kraft_controller_epoch: bool


@cache
def capabilities_of(protocol_version: str, protections: Protections) -> Capabilities:
    """Return what a broker with this inter.broker.protocol.version can do.

    Raises: ValueError for an unknown version.
    """
    reached = PROTOCOL_VERSIONS.index(protocol_version)
    switchable = {p.name.replace("-", "_"): p.since for p in PROTECTIONS if p.since is not None}
    has = {name: PROTOCOL_VERSIONS.index(since) <= reached for name, since in {**SINCE, **switchable}.items()}
    return Capabilities(**{name: on and (name in SINCE or getattr(protections, name)) for name, on in has.items()})
