"""kcsim doctor: the requirements that are met, those that are missing, and how to get the missing ones."""

import json
import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator
from typing import Annotated, NamedTuple

import typer

from kcsim.scenarios.cli.command_exit import OutputFormat
from kcsim.versions import own_version

MEMORY_OF_A_SERVER_MB = 400
DISK_MB = 200


class Finding(NamedTuple):
    """One line of the report. `is_ok` False means that something cannot be used; `detail` then says how to get it."""

    what: str
    is_ok: bool
    detail: str


def doctor(output: Annotated[OutputFormat, typer.Option(help="How to print it.")] = OutputFormat.TABLE) -> None:
    """Check which programs are installed and which are missing: one line each, with the way to install it.

    Only the needs of the chosen --zookeeper are required: Java and the jars for embedded and ensemble, Docker for
    docker, neither for simulated. Spark runs on the same Java. Always exits with 0.
    """
    findings = list(check_environment())
    if output is OutputFormat.JSON:
        print(json.dumps([finding._asdict() for finding in findings], indent=2, ensure_ascii=False))
        return
    width = max(len(finding.what) for finding in findings)
    for finding in findings:
        print(f"{'ok     ' if finding.is_ok else 'missing'}  {finding.what:<{width}}  {finding.detail}")


def check_environment() -> Iterator[Finding]:
    """Check everything that a run can need."""
    yield Finding("Python", True, f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    yield Finding("kcsim", True, own_version())
    yield _checked("Java", _java)
    yield _checked("ZooKeeper", _jars)
    yield _checked("Spark", _spark)
    yield from _docker()
    yield _memory()
    yield _disk()


def _checked(what: str, look: Callable[[], str]) -> Finding:
    from kcsim.zk.servers.errors import ServerError

    try:
        return Finding(what, True, look())
    except ServerError as error:
        return Finding(what, False, str(error))


def _java() -> str:
    from kcsim.zk.servers.java import find_java

    java = find_java()
    return f"Java {java.version} from {java.source}: {java.executable}"


def _jars() -> str:
    from kcsim.zk.servers.embedded import zookeeper_jars

    jars = zookeeper_jars()
    server = next((jar for jar in jars if jar.name.startswith("zookeeper-") and "jute" not in jar.name), jars[0])
    return f"{server.stem.replace('zookeeper-', 'Apache ZooKeeper ')} from PySpark's jars: {server.parent}"


def _spark() -> str:
    from importlib.metadata import version

    from kcsim.scenarios.cli.spark.spark_command import missing_packages
    from kcsim.zk.servers.errors import ServerError
    from kcsim.zk.servers.java import find_java

    if missing := missing_packages():
        raise ServerError(missing)
    java = find_java()
    home = os.environ.get("SPARK_HOME")
    where = f"SPARK_HOME: {home}" if home else "its wheel"
    return f"Apache Spark {version('pyspark')} from {where}, on Java {java.version} from {java.source}"


def _docker() -> Iterator[Finding]:
    from kcsim.zk.servers.container import DEFAULT_IMAGE, IMAGE_VARIABLE, connect, require_image
    from kcsim.zk.servers.errors import ServerError

    image = os.environ.get(IMAGE_VARIABLE) or DEFAULT_IMAGE
    try:
        engine = connect()
    except ServerError as error:
        yield Finding("Docker engine", False, str(error))
        yield Finding("Docker image", False, f"{image} cannot be looked for without an engine")
        return
    yield Finding("Docker engine", True, f"version {engine.version().get('Version', 'unknown')}")

    def look() -> str:
        require_image(engine, image)
        return f"{image} is there ({IMAGE_VARIABLE} names another)"

    yield _checked("Docker image", look)
    engine.close()


def _memory() -> Finding:
    try:
        free_mb = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    except (ValueError, OSError):  # macOS has no such setting
        return Finding("Memory", True, "how much is free cannot be determined on this system")
    needed = f"one ZooKeeper server takes about {MEMORY_OF_A_SERVER_MB} MB, an ensemble three times that"
    return Finding("Memory", free_mb >= MEMORY_OF_A_SERVER_MB, f"{free_mb} MB free; {needed}")


def _disk() -> Finding:
    directory = tempfile.gettempdir()
    free_mb = shutil.disk_usage(directory).free // 2**20
    hint = "" if free_mb >= DISK_MB else "; set TMPDIR to a roomier place"
    return Finding("Disk", free_mb >= DISK_MB, f"{free_mb} MB free in {directory}, where servers keep their data{hint}")
