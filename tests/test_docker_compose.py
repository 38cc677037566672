"""docker-compose.yml: one ZooKeeper by default; by profile three, a cluster of brokers, or a Spark; none of them public."""

import re
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


MEMBERS = of_profile("single") | of_profile("ensemble")
BROKERS = {name: service for name, service in of_profile("cluster").items() if name != "zookeeper"}


@pytest.mark.parametrize("service", MEMBERS.values(), ids=MEMBERS.keys())
def test_a_member_is_the_official_image_and_says_when_it_serves(service: dict[str, Any]) -> None:
    assert service["image"] == "zookeeper:3.9"
    assert "srvr" in service["healthcheck"]["test"][1]


@pytest.mark.parametrize("profile", ["single", "ensemble"])
def test_members_are_reached_from_this_machine_only(profile: str) -> None:
    """ZooKeeper does not require a password; each member of a profile has its own port, on loopback."""
    published = [port for service in of_profile(profile).values() for port in service["ports"]]
    assert published == [f"127.0.0.1:{2181 + number}:2181" for number in range(len(published))]


def test_spark_has_a_master_and_two_workers_that_see_the_same_files() -> None:
    services = of_profile("spark")
    assert list(services) == ["spark-master", "spark-worker-1", "spark-worker-2"]
    assert {volume for service in services.values() for volume in service["volumes"]} == {
        "${KCSIM_DATA:-./spark-data}:/data"
    }
    assert {service["image"] for service in services.values()} == {"kcsim-spark:4.3.0"}
    assert set(MEMBERS) | set(services) | set(BROKERS) == set(SERVICES)


def test_spark_s_workers_wait_for_their_master_and_know_its_address() -> None:
    master, *workers = of_profile("spark").values()
    address = f"spark://{master['hostname']}:7077"
    assert all(f"Worker {address} " in worker["command"] for worker in workers)
    assert all(worker["depends_on"] == {"spark-master": {"condition": "service_healthy"}} for worker in workers)
    assert "ALIVE" in master["healthcheck"]["test"][1]


def test_spark_is_reached_from_this_machine_only() -> None:
    """Spark runs any job that it is given: only its web page is published, on loopback."""
    published = [port for service in of_profile("spark").values() for port in service.get("ports", ())]
    assert published == ["127.0.0.1:8080:8080"]


def test_spark_in_the_image_is_the_one_that_is_locked() -> None:
    """Driver and executors must have the same version."""
    locked = re.search(r"^pyspark==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert locked is not None
    dockerfile = (ROOT / "spark.Dockerfile").read_text()
    assert set(re.findall(r"apache/spark:([\d.]+)|pyspark==([\d.]+)", dockerfile)) == {(locked[1], ""), ("", locked[1])}
    assert {service["image"].partition(":")[2] for service in of_profile("spark").values()} == {locked[1]}


def test_a_cluster_has_five_brokers_in_three_racks_on_the_one_member() -> None:
    assert list(of_profile("cluster")) == ["zookeeper", *(f"broker-{number}" for number in range(1, 6))]
    racks = [command_of(service)["--rack"] for service in BROKERS.values()]
    assert sorted(set(racks)) == ["a", "b", "c"]
    for number, (name, service) in enumerate(BROKERS.items(), start=1):
        options = command_of(service)
        assert (options["--id"], options["--listen"]) == (str(number), f"{name}:9092")
        assert (service["hostname"], service["container_name"]) == (name, f"kcsim-{name}")
        assert service["healthcheck"]["test"][-1] == f"/brokers/ids/{number}"
        assert service["depends_on"] == {"zookeeper": {"condition": "service_healthy"}}
        assert "ports" not in service


def command_of(service: dict[str, Any]) -> dict[str, str]:
    """Return the options of `kcsim broker` with their values."""
    command, *words = service["command"].replace("--execute", "").split()
    assert command == "broker"
    return dict(zip(words[::2], words[1::2], strict=True))
