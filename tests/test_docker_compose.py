"""docker-compose.yml: one ZooKeeper by default, three by profile, each with a health check, none of them public."""

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]
SERVICES: dict[str, Any] = YAML(typ="safe").load(ROOT / "docker-compose.yml")["services"]


def of_profile(profile: str) -> dict[str, Any]:
    return {name: service for name, service in SERVICES.items() if profile in service["profiles"]}


def test_one_member_starts_by_default() -> None:
    assert "\nCOMPOSE_PROFILES=single\n" in (ROOT / ".env").read_text()
    assert list(of_profile("single")) == ["zookeeper"]


def test_the_ensemble_has_three_members_that_know_each_other() -> None:
    members = of_profile("ensemble")
    assert [service["environment"]["ZOO_MY_ID"] for service in members.values()] == [1, 2, 3]
    servers = " ".join(f"server.{number}={name}:2888:3888;2181" for number, name in enumerate(members, start=1))
    assert {service["environment"]["ZOO_SERVERS"] for service in members.values()} == {servers}


@pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES.keys())
def test_a_member_is_the_official_image_and_says_when_it_serves(service: dict[str, Any]) -> None:
    assert service["image"] == "zookeeper:3.9"
    assert "srvr" in service["healthcheck"]["test"][1]


@pytest.mark.parametrize("profile", ["single", "ensemble"])
def test_members_are_reached_from_this_machine_only(profile: str) -> None:
    """ZooKeeper asks nobody for a password; each member of a profile has a port of its own, on loopback."""
    published = [port for service in of_profile(profile).values() for port in service["ports"]]
    assert published == [f"127.0.0.1:{2181 + number}:2181" for number in range(len(published))]
