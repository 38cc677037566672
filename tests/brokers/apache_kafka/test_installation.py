"""An installation is recognised by its jars; a folder that is none is refused with one clear line."""

from pathlib import Path

import pytest

from kcsim.brokers.apache_kafka import installation
from kcsim.brokers.apache_kafka.errors import (
    InstallationError,
    NoKafkaError,
    NoKafkaJarError,
    NoSuchHomeError,
    NoZooKeeperModeError,
    SeveralKafkasError,
    TooOldError,
)
from kcsim.brokers.apache_kafka.installation import KafkaInstallation, find_kafka, release_of, version_in
from kcsim.zk.servers.errors import ServerError
from kcsim.zk.servers.java import Java
from tests.brokers.apache_kafka.homes import COMPANY, make_home
from tests.requirements import require


@pytest.mark.parametrize(
    ("jar", "version", "release"),
    [
        ("kafka_2.13-2.8.2.jar", "2.8.2", (2, 8)),
        ("kafka_2.12-2.4.1.jar", "2.4.1", (2, 4)),
        ("kafka_2.11-2.4.0.jar", "2.4.0", (2, 4)),
        ("kafka_2.13-3.9.1.jar", "3.9.1", (3, 9)),
        ("kafka_2.13-3.10.0.jar", "3.10.0", (3, 10)),
        ("kafka_2.13-2.8.0-SNAPSHOT.jar", "2.8.0-SNAPSHOT", (2, 8)),
    ],
)
def test_the_version_is_that_of_the_broker_s_jar(tmp_path: Path, jar: str, version: str, release: tuple[int, int]) -> None:
    found = version_in(make_home(tmp_path, [*COMPANY, jar]))
    assert (found, release_of(found)) == (version, release)


def test_sources_and_tests_beside_the_classes_are_not_run(tmp_path: Path) -> None:
    """Downloads up to 2.x contain all of them in libs."""
    classes = "kafka_2.13-2.8.2.jar"
    others = [f"kafka_2.13-2.8.2-{what}.jar" for what in ("sources", "javadoc", "scaladoc", "test", "test-sources")]
    home = make_home(tmp_path, [classes, *others, "kafka_2.13-2.8.2.jar.asc"])
    kafka = KafkaInstallation(home, version_in(home), Java(Path("java"), 17, "PATH"))
    assert kafka.jars() == (home / "libs" / classes,)


@pytest.mark.parametrize(
    ("binding", "writes_logs"),
    [("slf4j-log4j12-1.7.30.jar", True), ("slf4j-reload4j-1.7.36.jar", True), ("slf4j-api-1.7.30.jar", False)],
)
def test_it_writes_logs_with_a_binding_to_log4j(tmp_path: Path, binding: str, writes_logs: bool) -> None:
    home = make_home(tmp_path, ["kafka_2.13-2.8.2.jar", binding])
    assert KafkaInstallation(home, "2.8.2", Java(Path("java"), 17, "PATH")).writes_logs == writes_logs


@pytest.mark.parametrize(
    ("jars", "error", "reason"),
    [
        ([], NoKafkaJarError, "it has no libs/*.jar"),
        (COMPANY, NoKafkaJarError, "none of the 3 jars in its libs folder is kafka_2.13-VERSION.jar"),
        (["kafka_2.13-2.3.1.jar"], TooOldError, "holds Kafka 2.3.1, which is too old: 2.4 to 3.9 can be run here"),
        (["kafka_2.13-4.0.0.jar"], NoZooKeeperModeError, "holds Kafka 4.0.0, which no longer has a ZooKeeper mode"),
        (
            ["kafka_2.13-2.8.2.jar", "kafka_2.12-2.8.2.jar"],
            SeveralKafkasError,
            "more than one Apache Kafka: kafka_2.12-2.8.2.jar, kafka_2.13-2.8.2.jar",
        ),
    ],
    ids=["no jars", "other jars", "too old", "no ZooKeeper mode", "two of them"],
)
def test_a_folder_that_will_not_do_is_refused_in_one_line(
    tmp_path: Path, jars: list[str], error: type[InstallationError], reason: str
) -> None:
    home = make_home(tmp_path, jars)
    with pytest.raises(error) as refused:
        find_kafka(home)
    assert str(refused.value).startswith(str(home))
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_folder_without_libs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoKafkaJarError, match=r"it has no libs/\*\.jar"):
        find_kafka(tmp_path)


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoSuchHomeError, match="gone: no such folder"):
        find_kafka(tmp_path / "gone")


def test_what_is_refused_is_a_server_error() -> None:
    """Code that handles a missing ZooKeeper therefore handles this error, too."""
    assert issubclass(InstallationError, ServerError)


class TestWhereItIsLookedFor:
    @pytest.fixture(autouse=True)
    def _java(self) -> None:
        require("java")

    @pytest.fixture
    def fetched(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """Return the place where `make kafka` installs Kafka; nothing is there yet."""
        monkeypatch.setattr(installation, "FETCHED", tmp_path / "fetched")
        return tmp_path / "fetched"

    def test_a_folder_that_is_named_goes_before_kafka_home(self, tmp_path: Path, fetched: Path) -> None:
        named, other = (make_home(tmp_path / f"kafka-{v}", [f"kafka_2.13-{v}.jar"]) for v in ("2.8.2", "3.9.1"))
        assert find_kafka(named, {"KAFKA_HOME": str(other), "PATH": ""}).version == "2.8.2"

    def test_kafka_home_goes_before_what_was_fetched(self, tmp_path: Path, fetched: Path) -> None:
        make_home(fetched, ["kafka_2.13-2.8.2.jar"])
        home = make_home(tmp_path / "home", ["kafka_2.13-3.9.1.jar"])
        assert find_kafka(None, {"KAFKA_HOME": str(home), "PATH": ""}).home == home

    def test_without_either_it_is_the_one_that_was_fetched(self, fetched: Path) -> None:
        make_home(fetched, ["kafka_2.13-2.8.2.jar"])
        assert find_kafka(None, {"PATH": ""}).home == fetched

    def test_a_kafka_home_that_is_wrong_is_not_passed_over(self, tmp_path: Path, fetched: Path) -> None:
        make_home(fetched, ["kafka_2.13-2.8.2.jar"])
        with pytest.raises(NoSuchHomeError):
            find_kafka(None, {"KAFKA_HOME": str(tmp_path / "gone"), "PATH": ""})

    def test_none_at_all_is_reported_with_how_to_get_one(self, fetched: Path) -> None:
        with pytest.raises(NoKafkaError, match="KAFKA_HOME is not set, and `make kafka` has fetched none"):
            find_kafka(None, {"PATH": ""})
