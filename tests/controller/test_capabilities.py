"""What a broker can do by its protocol version.

Source: KIP-497, KIP-584, KIP-516, KIP-704, KIP-866; Kafka 2.8, ApiVersion; 3.9, MetadataVersion.
"""

import pytest

from kcsim.controller.capabilities import (
    DEFAULT_PROTOCOL_VERSION,
    PROTOCOL_VERSIONS,
    SINCE,
    SINCE_RELEASE,
    Capabilities,
    Release,
    capabilities_of,
)
from kcsim.controller.config import ControllerConfig
from kcsim.controller.protections import ALL_ON, PROTECTIONS

WITHOUT_ALTER_ISR = ALL_ON.without(["alter-isr"])


def names_of(capabilities: Capabilities) -> set[str]:
    return {name for name, is_there in capabilities._asdict().items() if is_there}


@pytest.mark.parametrize(
    ("version", "new"),
    [
        ("2.6", set()),
        ("2.7", {"alter_isr", "broker_features", "finalized_features", "truncation_on_fetch"}),
        ("2.8", {"topic_ids"}),
        ("3.0", {"allocated_producer_ids", "isr_change_retries", "log_topic_ids"}),
        ("3.1", {"every_failure_is_announced", "high_watermark_after_alter_isr", "refused_partitions_stay_online"}),
        ("3.2", {"leader_recovery_state"}),
        ("3.3", {"feature_version_2", "isr_version_checks", "replica_eligibility"}),
        ("3.4", {"kraft_controller_epoch", "rebalance_during_reassignments"}),
        ("3.7", {"min_isr_binds_high_watermark"}),
        ("3.9", set()),
    ],
)
def test_a_version_has_what_those_before_it_have_and_its_own(version: str, new: set[str]) -> None:
    place = PROTOCOL_VERSIONS.index(version)
    before = names_of(capabilities_of(PROTOCOL_VERSIONS[place - 1], ALL_ON)) if place else set()
    assert names_of(capabilities_of(version, ALL_ON)) == before | new
    assert ControllerConfig(inter_broker_protocol_version=version).capabilities == capabilities_of(version, ALL_ON)


@pytest.mark.parametrize(
    ("release", "protocol_version", "has"),
    [
        ("2.8", "2.6", set()),
        (
            "3.9",
            "2.6",
            {
                "isr_change_retries",
                "log_topic_ids",
                "high_watermark_after_alter_isr",
                "refused_partitions_stay_online",
                "every_failure_is_announced",
                "replica_eligibility",
                "isr_version_checks",
                "kraft_controller_epoch",
                "rebalance_during_reassignments",
                "min_isr_binds_high_watermark",
            },
        ),
        ("3.0", "2.8", {"isr_change_retries", "log_topic_ids", *names_of(capabilities_of("2.8", ALL_ON))}),
    ],
)
def test_some_capabilities_depend_on_the_release(release: Release, protocol_version: str, has: set[str]) -> None:
    assert names_of(capabilities_of(protocol_version, ALL_ON, release)) == has


def test_a_release_knows_no_newer_protocol_version() -> None:
    with pytest.raises(ValueError, match=r"Kafka 2\.8 does not know inter\.broker\.protocol\.version 3\.0"):
        capabilities_of("3.0", ALL_ON, Release("2.8"))


@pytest.mark.parametrize("version", PROTOCOL_VERSIONS)
def test_what_is_switched_off_no_version_has(version: str) -> None:
    assert not capabilities_of(version, WITHOUT_ALTER_ISR).alter_isr
    config = ControllerConfig(inter_broker_protocol_version=version, protections=WITHOUT_ALTER_ISR)
    assert not config.capabilities.alter_isr


def test_what_is_switched_off_no_release_has() -> None:
    off = ALL_ON.without(["replica-eligibility"])
    assert [capabilities_of("2.6", given, Release("3.3")).replica_eligibility for given in (ALL_ON, off)] == [True, False]


def test_a_protection_that_is_no_capability_decides_nothing() -> None:
    of_all_versions = [protection.name for protection in PROTECTIONS if protection.since is None]
    assert capabilities_of("2.8", ALL_ON.without(of_all_versions)) == capabilities_of("2.8", ALL_ON)


def test_every_capability_came_with_a_known_version() -> None:
    switchable = {protection.name.replace("-", "_"): protection.since for protection in PROTECTIONS if protection.since}
    assert sorted([*switchable, *SINCE, *SINCE_RELEASE]) == sorted(Capabilities._fields)
    assert {*switchable.values(), *SINCE.values()} <= set(PROTOCOL_VERSIONS)


@pytest.mark.parametrize("version", ["2.5", "2.10", "4.0", ""])
def test_an_unknown_version_is_an_error(version: str) -> None:
    with pytest.raises(ValueError, match="not in tuple"):
        capabilities_of(version, ALL_ON)


def test_without_a_setting_the_protocol_version_is_that_of_kafka_2_8() -> None:
    assert DEFAULT_PROTOCOL_VERSION == "2.8"
    assert ControllerConfig().capabilities == capabilities_of("2.8", ALL_ON)
