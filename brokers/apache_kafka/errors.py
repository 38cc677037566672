"""Errors of Apache Kafka's own processes; each message is one line that says what to do."""

from collections.abc import Sequence
from pathlib import Path

from kcsim.zk.servers.errors import ServerError

OLDEST, NEWEST = "2.4", "3.9"


class KafkaError(ServerError):
    """Apache Kafka is missing or unusable, or one of its processes did not do what was requested."""


class InstallationError(KafkaError):
    """The folder holds no Apache Kafka that can be run here. Nothing was started."""


class NoKafkaError(InstallationError):
    """No folder was named, and `make kafka` has fetched none."""

    def __init__(self) -> None:
        super().__init__(
            "no Apache Kafka: KAFKA_HOME is not set, and `make kafka` has fetched none; run that in a checkout, or name the "
            f"folder of an unpacked download of Kafka {OLDEST} to {NEWEST}"
        )


class NoSuchHomeError(InstallationError):
    def __init__(self, home: Path) -> None:
        super().__init__(f"{home}: no such folder; name the one that holds Kafka's libs folder")
        self.home = home


class NoKafkaJarError(InstallationError):
    """The folder exists, but its libs/*.jar do not contain a broker's classes."""

    def __init__(self, home: Path, jars: int) -> None:
        found = f"none of the {jars} jars in its libs folder is kafka_2.13-VERSION.jar" if jars else "it has no libs/*.jar"
        super().__init__(f"{home} holds no Apache Kafka: {found}; name the folder of an unpacked download")
        self.home = home


class SeveralKafkasError(InstallationError):
    def __init__(self, home: Path, jars: Sequence[str]) -> None:
        super().__init__(f"{home} holds more than one Apache Kafka: {', '.join(jars)}; leave one of them in its libs folder")
        self.home, self.jars = home, tuple(jars)


class TooOldError(InstallationError):
    def __init__(self, home: Path, version: str) -> None:
        super().__init__(f"{home} holds Kafka {version}, which is too old: {OLDEST} to {NEWEST} can be run here")
        self.home, self.version = home, version


class NoZooKeeperModeError(InstallationError):
    def __init__(self, home: Path, version: str) -> None:
        super().__init__(f"{home} holds Kafka {version}, which no longer has a ZooKeeper mode: {OLDEST} to {NEWEST} have it")
        self.home, self.version = home, version


class OwnSettingError(KafkaError, ValueError):
    """The settings include one that this project sets for each broker itself."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(f"{', '.join(names)}: chosen for each Kafka broker by the simulator; leave it out")
        self.names = tuple(names)


class UnusableDirectoryError(KafkaError, ValueError):
    def __init__(self, directory: Path) -> None:
        super().__init__(f"{directory} cannot hold a Kafka broker's log: a comma ends a path in log.dirs; name another one")
        self.directory = directory


class BrokerExitedError(KafkaError):
    """A broker's process has ended by itself. `exit_status` is negative when a signal ended it."""

    def __init__(self, name: str, exit_status: int, reason: str, log_path: Path) -> None:
        super().__init__(f"{name} ended with status {exit_status}: {reason} (its log: {log_path})")
        self.name, self.exit_status, self.reason, self.log_path = name, exit_status, reason, log_path
