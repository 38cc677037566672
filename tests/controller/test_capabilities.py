"""What a broker can do by its protocol version. Source: KIP-497; Kafka 2.8, ApiVersion.isAlterIsrSupported."""

import pytest

from kcsim.controller.capabilities import DEFAULT_PROTOCOL_VERSION, PROTOCOL_VERSIONS, Capabilities, capabilities_of
from kcsim.controller.config import ControllerConfig
from kcsim.controller.protections import ALL_ON, PROTECTIONS

WITHOUT_ALTER_ISR = ALL_ON.without(["alter-isr"])


@pytest.mark.parametrize(("version", "alter_isr"), [("2.6", False), ("2.7", True), ("2.8", True), ("3.9", True)])
def test_leaders_ask_the_controller_for_isrs_from_2_7_on(version: str, alter_isr: bool) -> None:
    assert capabilities_of(version, ALL_ON) == Capabilities(alter_isr=alter_isr)
    assert ControllerConfig(inter_broker_protocol_version=version).capabilities == Capabilities(alter_isr=alter_isr)


@pytest.mark.parametrize("version", PROTOCOL_VERSIONS)
def test_what_is_switched_off_no_version_has(version: str) -> None:
    assert not capabilities_of(version, WITHOUT_ALTER_ISR).alter_isr
    config = ControllerConfig(inter_broker_protocol_version=version, protections=WITHOUT_ALTER_ISR)
    assert not config.capabilities.alter_isr


def test_a_protection_that_is_no_capability_decides_nothing() -> None:
    of_all_versions = [protection.name for protection in PROTECTIONS if protection.since is None]
    assert capabilities_of("2.8", ALL_ON.without(of_all_versions)) == capabilities_of("2.8", ALL_ON)


def test_every_capability_is_a_protection_that_came_with_a_known_version() -> None:
    since = {protection.name.replace("-", "_"): protection.since for protection in PROTECTIONS if protection.since}
    assert set(since) == set(Capabilities._fields)
    assert set(since.values()) <= set(PROTOCOL_VERSIONS)


@pytest.mark.parametrize("version", ["2.5", "2.10", "4.0", ""])
def test_an_unknown_version_is_an_error(version: str) -> None:
    with pytest.raises(ValueError, match="not in tuple"):
        capabilities_of(version, ALL_ON)


def test_without_a_setting_leaders_write_their_isrs_themselves() -> None:
    assert DEFAULT_PROTOCOL_VERSION == "2.6"
    assert not ControllerConfig().capabilities.alter_isr
