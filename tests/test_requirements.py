"""A missing requirement skips a test, unless KCSIM_REQUIRE demands it."""

from collections.abc import Iterator

import pytest

from kcsim.zk.servers.errors import NoDockerError
from tests import requirements
from tests.requirements import VARIABLE, require

Failed = pytest.fail.Exception
Skipped = pytest.skip.Exception


def no_engine() -> None:
    raise NoDockerError("connection refused")


@pytest.fixture(autouse=True)
def _a_machine_with_java_and_without_docker(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(requirements, "LOOKS", {"docker": no_engine, "java": lambda: None})
    monkeypatch.delenv(VARIABLE, raising=False)
    requirements.problem_with.cache_clear()
    yield
    requirements.problem_with.cache_clear()


def test_what_is_there_lets_the_test_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "java")
    require("java")


def test_what_is_missing_skips_with_the_reason() -> None:
    with pytest.raises(Skipped, match="no Docker engine reachable: connection refused"):
        require("java", "docker")


def test_what_is_missing_and_insisted_on_fails_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "java, docker")
    with pytest.raises(Failed, match="KCSIM_REQUIRE names docker: no Docker engine reachable"):
        require("docker")


def test_insisting_on_one_thing_does_not_insist_on_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "java")
    with pytest.raises(Skipped):
        require("docker")


def test_a_mistyped_demand_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a typing error in the CI configuration would turn every demand off."""
    monkeypatch.setenv(VARIABLE, "dokcer")
    with pytest.raises(Failed, match="names dokcer; known are docker, java"):
        require("java")
