"""What inter.broker.protocol.version and the release decide: each difference is one capability, with a name.

A broker has a capability if its protocol version is that of the capability or a later one, and if no scenario switches the
capability off (protections.py has the switches: those of capabilities have `since`). A few depend on the release instead,
whatever the protocol version.

Source: Kafka 2.8 and 3.9, ApiVersion and MetadataVersion.
"""

from functools import cache
from typing import NamedTuple, NewType

from kcsim.controller.protections import PROTECTIONS, Protections

PROTOCOL_VERSIONS = ("2.6", "2.7", "2.8", "3.0", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9")
"""The values of inter.broker.protocol.version that are known, the oldest first."""
DEFAULT_PROTOCOL_VERSION = "2.8"

Release = NewType("Release", str)
"""A release of Kafka: its first two numbers, as in 3.9."""
RELEASES = tuple(Release(version) for version in PROTOCOL_VERSIONS if version not in ("2.6", "2.7"))
"""The releases that are simulated, the oldest first. 2.6 and 2.7 are known as protocol versions of newer releases only."""

SINCE = {
    "broker_features": "2.7",
    "finalized_features": "2.7",
    "truncation_on_fetch": "2.7",
    "leader_recovery_state": "3.2",
    "feature_version_2": "3.3",
}
"""The first protocol version with each capability that cannot be switched off; PROTECTIONS has the others."""
SINCE_RELEASE = {
    "log_topic_ids": "3.0",
    "isr_change_retries": "3.0",
    "high_watermark_after_alter_isr": "3.1",
    "kraft_controller_epoch": "3.4",
}
"""The first release with each capability that depends on no protocol version and cannot be switched off."""


class Capabilities(NamedTuple):
    """The capabilities of one broker.

    Attributes:
        alter_isr: leaders ask the controller for ISRs, and do not write them (KIP-497).
        broker_features: a registration names the broker's features (KIP-584).
        finalized_features: a new controller creates or mends /feature, and brokers read it (KIP-584).
        truncation_on_fetch: a follower learns from the response to a fetch where its log diverges (KIP-595).
        topic_ids: a topic has an id; the controller gives one to a topic that has none (KIP-516).
        log_topic_ids: the first request for a replica gives its log the topic's id, and is refused if the log has another;
            before, only later requests do. By the release.
        isr_change_retries: a leader asks again for an ISR that the controller failed to write; before, it waits for a
            LeaderAndIsr with a new leader epoch. By the release.
        high_watermark_after_alter_isr: a leader checks whether its high watermark moves when the controller has answered
            AlterIsr (KAFKA-13091); before, it does at the next append or fetch. By the release.
        refused_partitions_stay_online: a partition for which a broker refused its first LeaderAndIsr is not offline there;
            before, it is until the broker's next start. By the release.
        every_failure_is_announced: brokers get an UpdateMetadata when a broker without replicas fails, even if some
            partition has no leader (KAFKA-13225). By the release.
        allocated_producer_ids: the controller takes the blocks of producer ids for the brokers (KIP-730).
        replica_eligibility: a broker joins no ISR while the controller regards it as dead or stopping (KIP-841). By the
            release.
        isr_version_checks: the controller compares leader epoch and version of an ISR that a leader asks for with its own;
            before, an older leader epoch is refused, and ZooKeeper compares the version. By the release.
        leader_recovery_state: a state znode tells that the leader was elected from outside the ISR, until the ISR changes
            (KIP-704).
        feature_version_2: /feature has version 2, without the lowest levels (KIP-778).
        rebalance_during_reassignments: preferred leaders are elected automatically while partitions are being reassigned,
            too (KAFKA-10149). By the release.
        kraft_controller_epoch: /controller has a place for the epoch of a KRaft controller (KIP-866). By the release.
        min_isr_binds_high_watermark: a high watermark moves only while the ISR has min.insync.replicas members, or all
            replicas if these are fewer (KAFKA-15583). By the release.
    """

    alter_isr: bool
    broker_features: bool
    finalized_features: bool
    truncation_on_fetch: bool
    topic_ids: bool
    log_topic_ids: bool
    isr_change_retries: bool
    high_watermark_after_alter_isr: bool
    refused_partitions_stay_online: bool
    every_failure_is_announced: bool
    allocated_producer_ids: bool
    replica_eligibility: bool
    isr_version_checks: bool
    leader_recovery_state: bool
    feature_version_2: bool
    rebalance_during_reassignments: bool
    kraft_controller_epoch: bool
    min_isr_binds_high_watermark: bool


def default_release(protocol_version: str) -> Release:
    """Return the oldest simulated release that knows this protocol version."""
    return RELEASES[0] if protocol_version in ("2.6", "2.7") else Release(protocol_version)


@cache
def capabilities_of(protocol_version: str, protections: Protections, release: Release | None = None) -> Capabilities:
    """Return what a broker with this inter.broker.protocol.version can do.

    Args:
        release: that of the broker; None: default_release.

    Raises: ValueError for an unknown version, or one that the release does not know.
    """
    own = default_release(protocol_version) if release is None else release
    if not is_known_to(protocol_version, own):
        raise ValueError(f"Kafka {own} does not know inter.broker.protocol.version {protocol_version}")
    of_release, of_protocol = (
        {p.name.replace("-", "_"): p.since for p in PROTECTIONS if p.since is not None and p.is_of_release is by_release}
        for by_release in (True, False)
    )
    by_protocol = {name: _reaches(protocol_version, since) for name, since in {**SINCE, **of_protocol}.items()}
    by_release = {name: _reaches(own, since) for name, since in {**SINCE_RELEASE, **of_release}.items()}
    off = {name for name in (*of_protocol, *of_release) if not getattr(protections, name)}
    return Capabilities(**{name: has and name not in off for name, has in {**by_protocol, **by_release}.items()})


def is_from(release: Release, since: Release) -> bool:
    """Tell whether a release is this one or a later one."""
    return _reaches(release, since)


def is_known_to(protocol_version: str, release: Release) -> bool:
    """Tell whether a release can be given this protocol version: its own, or an older one."""
    return _reaches(release, protocol_version)


def _reaches(version: str, since: str) -> bool:
    return PROTOCOL_VERSIONS.index(version) >= PROTOCOL_VERSIONS.index(since)
