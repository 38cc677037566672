"""The table of protections, and the protections that a cluster has."""

from dataclasses import fields
from pathlib import Path

import pytest

from kcsim.controller.protections import ALL_ON, PROTECTION_NAMES, PROTECTIONS, Protection, Protections

FIDELITY = Path(__file__).parents[2] / "controller" / "FIDELITY.md"


def test_every_protection_is_listed_and_can_be_switched() -> None:
    assert [name.replace("-", "_") for name in PROTECTION_NAMES] == [field.name for field in fields(Protections)]


def test_every_protection_names_what_brought_it() -> None:
    assert all(protection.source.startswith(("KAFKA-", "KIP-", "apache/kafka#")) for protection in PROTECTIONS)


@pytest.mark.parametrize("protection", PROTECTIONS, ids=lambda protection: protection.name)
def test_the_page_on_fidelity_has_each_of_them_in_its_table(protection: Protection) -> None:
    row = f"| `{protection.name}` | {protection.source} | {protection.with_it} | {protection.without_it} |"
    assert row in FIDELITY.read_text(encoding="utf-8").splitlines()


def test_all_are_on() -> None:
    assert (Protections(), Protections().off) == (ALL_ON, ())


def test_those_that_are_off_are_listed_in_the_order_of_the_table() -> None:
    protections = ALL_ON.without(["expiry-clears-queue", "broker-epoch"])
    assert (protections.broker_epoch, protections.expiry_clears_queue) == (False, False)
    assert [protection.name for protection in protections.off] == ["broker-epoch", "expiry-clears-queue"]
    assert protections.without(["broker-epoch"]) == protections


def test_what_there_is_not_cannot_be_done_without() -> None:
    with pytest.raises(ValueError, match=r"unknown protection zookeeper; there are controller-epoch-fence, broker-epoch"):
        ALL_ON.without(["broker-epoch", "zookeeper"])
