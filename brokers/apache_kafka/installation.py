"""Find an Apache Kafka installation: a folder whose libs folder holds the jars, as in Kafka's own download."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kcsim.brokers.apache_kafka.errors import (
    NoKafkaError,
    NoKafkaJarError,
    NoSuchHomeError,
    NoZooKeeperModeError,
    SeveralKafkasError,
    TooOldError,
)
from kcsim.zk.servers.java import Java, find_java

VARIABLE = "KAFKA_HOME"
FETCHED = Path(__file__).resolve().parents[2] / ".kafka" / "2.8.2"
"""Where `make kafka` puts the Kafka that it fetches by default; exists in a checkout only."""

Release = tuple[int, int]
"""A release is the first two numbers of a version: Kafka 2.8.2 belongs to release (2, 8)."""

OLDEST: Release = (2, 4)
WITHOUT_ZOOKEEPER: Release = (4, 0)

# Downloads up to 2.x hold kafka_2.13-2.8.2-sources.jar and similar jars beside the jar with the classes.
NOT_FOR_RUNNING = re.compile(r"-(sources|javadoc|scaladoc|test|test-sources)\.jar$")
KAFKA_JAR = re.compile(r"kafka_2\.1\d-(\d+\.\d+.*)\.jar")
LOG4J_BINDING = re.compile(r"slf4j-(log4j12|reload4j)-\d.*\.jar")


@dataclass(frozen=True, slots=True)
class KafkaInstallation:
    """An Apache Kafka that can be run, and the Java to run it. `version` is as in the name of Kafka's jar: 2.8.2."""

    home: Path
    version: str
    java: Java

    @property
    def release(self) -> Release:
        return release_of(self.version)

    def jars(self) -> tuple[Path, ...]:
        """Return the jars for the class path."""
        return tuple(sorted(jar for jar in (self.home / "libs").glob("*.jar") if not NOT_FOR_RUNNING.search(jar.name)))

    @property
    def writes_logs(self) -> bool:
        """Return whether its brokers write log files. Kafka's jars log nothing without a binding of slf4j to log4j."""
        return any(LOG4J_BINDING.fullmatch(jar.name) for jar in self.jars())


def find_kafka(home: Path | None, environment: Mapping[str, str] = os.environ) -> KafkaInstallation:
    """Return the Kafka in this folder or, for None, in KAFKA_HOME or, if that is not set, in the folder of `make kafka`.

    Any Java that find_java accepts runs each of these Kafkas (tried with 17 and 25).

    Raises: InstallationError when there is no Kafka that can be run; NoJavaError.
    """
    if home is None:
        named = environment.get(VARIABLE)
        home = Path(named) if named else FETCHED
        if not named and not home.is_dir():
            raise NoKafkaError
    if not home.is_dir():
        raise NoSuchHomeError(home)
    home = home.absolute()
    return KafkaInstallation(home, version_in(home), find_java(environment))


def version_in(home: Path) -> str:
    """Return Kafka's version, taken from the name of the jar in libs that holds the broker. Raises: InstallationError."""
    names = sorted(jar.name for jar in (home / "libs").glob("*.jar"))
    versions = {
        name: found[1] for name in names if not NOT_FOR_RUNNING.search(name) and (found := KAFKA_JAR.fullmatch(name))
    }
    if not versions:
        raise NoKafkaJarError(home, len(names))
    if len(versions) > 1:
        raise SeveralKafkasError(home, list(versions))
    (version,) = versions.values()
    if release_of(version) < OLDEST:
        raise TooOldError(home, version)
    if release_of(version) >= WITHOUT_ZOOKEEPER:
        raise NoZooKeeperModeError(home, version)
    return version


def release_of(version: str) -> Release:
    """Return the release that a version belongs to: 2.8.2 and 2.8.0-SNAPSHOT belong to (2, 8)."""
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is None:
        raise ValueError(f"{version!r} is no version of Kafka")
    return int(found[1]), int(found[2])
