"""The versions of ZooKeeper and Java that serve a test run, found without starting or importing anything."""

from importlib.util import find_spec
from pathlib import Path

from kcsim.extras import install_command
from kcsim.zk.servers.errors import NoJavaError
from kcsim.zk.servers.java import find_java

JAR, SUFFIX = "zookeeper-[0-9]*.jar", ".jar"
IN_JVMS = {None: "embedded, ", "embedded": "embedded, ", "ensemble": "ensemble of three, "}


def zookeeper_description(zookeeper: str | None) -> str:
    """Return the ZooKeeper that a value of --kcsim-zookeeper stands for; None: the option was not given."""
    if zookeeper not in IN_JVMS:
        return f"ZooKeeper {zookeeper}"
    return f"ZooKeeper {zookeeper_version()}, {IN_JVMS[zookeeper]}{java()}"


def zookeeper_version() -> str:
    """Return the version of the ZooKeeper jar that PySpark brings."""
    pyspark = find_spec("pyspark")
    directory = Path(pyspark.origin).parent / "jars" if pyspark and pyspark.origin else None
    names = [jar.name for jar in sorted(directory.glob(JAR))] if directory else []
    return names[0].removeprefix("zookeeper-").removesuffix(SUFFIX) if names else f"missing ({install_command('zookeeper')})"


def java() -> str:
    """Return the Java runtime that would be used, with its version and source."""
    try:
        found = find_java()
    except NoJavaError:
        return f"no Java ({install_command('zookeeper')})"
    return f"Java {found.version} ({found.source})"
