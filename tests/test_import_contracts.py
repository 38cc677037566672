"""The import contracts of pyproject.toml catch what they say they catch.

A contract that names a module which has since moved is kept for ever and says nothing. So here stands a small house in which
each rule is broken once and each exception is used once, and the linter is asked what it sees.
"""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

FORBIDDEN = [
    ("kcsim.zk.znodes", "kcsim.controller.context"),
    ("kcsim.zk.znodes", "kcsim.brokers.broker"),
    ("kcsim.controller.context", "kcsim.scenarios.cluster"),
    ("kcsim.controller.context", "kcsim.brokers.broker"),
    ("kcsim.brokers.broker", "kcsim.scenarios.cluster"),
    ("kcsim.brokers.broker", "simpy"),
    ("kcsim.brokers.broker", "asyncio"),
    ("kcsim.brokers.apache_kafka.broker_process", "subprocess"),
    ("kcsim.scenarios.runtimes.wallclock", "simpy"),
    ("kcsim.controller.handlers.topics", "asyncio"),
    ("kcsim.scenarios.runtimes.simulated", "asyncio"),
    ("kcsim.zk.memory.client", "asyncio"),
    ("kcsim.zk.kafka_zk", "kazoo"),
    ("kcsim.zk.servers.external", "kazoo"),
    ("kcsim.zk.proxy.connection", "kazoo"),
    ("kcsim.zk.proxy.frames", "asyncio"),
    ("kcsim.zk.proxy.proxy", "time"),
    ("kcsim.zk.servers.embedded", "docker"),
    ("kcsim.zk.servers.embedded", "pyspark"),
    ("kcsim.scenarios.history", "pyspark"),
    ("kcsim.controller.context", "time"),
    ("kcsim.brokers.broker", "threading"),
    ("kcsim.brokers.broker", "socket"),
    ("kcsim.scenarios.history", "subprocess"),
    ("kcsim.scenarios.history", "signal"),
    ("kcsim.scenarios.playground.remote_verbs", "asyncio"),
    ("kcsim.scenarios.playground.remote_verbs", "socket"),
    ("kcsim.scenarios.playground.control", "asyncio"),
    ("kcsim.scenarios.playground.control", "threading"),
    ("kcsim.controller.decisions", "kcsim.zk.ports"),
    ("kcsim.controller.decisions.leader_election", "kcsim.zk.ports"),
    ("kcsim.controller.decisions.leader_election", "kcsim.controller.context"),
    ("kcsim.controller.decisions.leader_election", "random"),
    ("kcsim.controller.decisions.leader_election", "logging"),
    ("kcsim.zk.memory.tree", "random"),
    ("kcsim.zk.memory.server", "time"),
    ("kcsim.brokers.broker", "tests"),
    ("kcsim.scenarios.history", "pytest"),
    ("kcsim.scenarios.pytest_plugin", "hypothesis"),
    ("kcsim.scenarios.testing.artefacts", "pytest"),
    ("kcsim.scenarios.testing.member", "threading"),
    ("kcsim.scenarios.testing.zookeeper", "kazoo"),
]

ALLOWED = [
    ("kcsim.scenarios.faults", "kcsim.brokers.config"),
    ("kcsim.brokers.config", "kcsim.controller.events"),
    ("kcsim.brokers.apache_kafka.broker_process", "asyncio"),
    ("kcsim.controller.events", "kcsim.zk.operations"),
    ("kcsim.scenarios.runtimes.simulated", "simpy"),
    ("kcsim.scenarios.runtimes.wallclock", "asyncio"),
    ("kcsim.scenarios.runtimes.wallclock", "time"),
    ("kcsim.scenarios.live_world", "time"),
    ("kcsim.scenarios.playground.control", "socket"),
    ("kcsim.scenarios.playground.control_server", "asyncio"),
    ("kcsim.scenarios.playground.control_server", "socket"),
    ("kcsim.scenarios.testing.background", "threading"),
    ("kcsim.scenarios.testing.driven", "threading"),
    ("kcsim.scenarios.testing.znodes", "asyncio"),
    ("kcsim.zk.live", "kazoo"),
    ("kcsim.zk.live.connection", "kazoo"),
    ("kcsim.zk.live.connection", "threading"),
    ("kcsim.zk.proxy.peer", "socket"),
    ("kcsim.zk.proxy.door", "asyncio"),
    ("kcsim.zk.proxy.threaded", "threading"),
    ("kcsim.zk.servers.container", "docker"),
    ("kcsim.zk.servers.guard", "subprocess"),
    ("kcsim.scenarios.replay.spark", "pyspark"),
    ("kcsim.controller.decisions.leader_election", "kcsim.controller.decisions.assignment"),
    ("kcsim.controller.decisions.leader_election", "kcsim.zk.vocabulary"),
    ("kcsim.zk.memory.client", "random"),
    ("kcsim.scenarios.pytest_plugin", "pytest"),
]


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> frozenset[tuple[str, str]]:
    """Every direct import that the linter objects to in the small house: who, whom."""
    house = tmp_path_factory.mktemp("house")
    write_house(house)
    (house / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    linter = str(Path(sys.executable).with_name("lint-imports"))
    done = subprocess.run(
        [linter, "--no-cache"], cwd=house, env={"COLUMNS": "200"}, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return frozenset(re.findall(r"(kcsim[\w.]*) -> ([\w.]+) \(l\.\d+\)", done.stdout))


def write_house(house: Path) -> None:
    imports: dict[str, list[str]] = defaultdict(list)
    for importer, imported in FORBIDDEN + ALLOWED:
        imports[importer].append(imported)
        if imported.startswith("kcsim."):
            imports[imported]  # it exists, and may import nothing
    packages = {parent for module in imports for parent in parents(module)}
    for module in packages | imports.keys():
        place = house.joinpath(*module.split("."))
        path = place / "__init__.py" if module in packages else place.with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"import {imported}\n" for imported in imports[module]))


def parents(module: str) -> list[str]:
    """`a.b.c` lies in `a.b` and in `a`."""
    parts = module.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts))]


@pytest.mark.parametrize(("importer", "imported"), FORBIDDEN)
def test_what_the_house_forbids_is_found(importer: str, imported: str, findings: frozenset[tuple[str, str]]) -> None:
    assert (importer, imported) in findings


@pytest.mark.parametrize(("importer", "imported"), ALLOWED)
def test_what_the_house_allows_is_let_pass(importer: str, imported: str, findings: frozenset[tuple[str, str]]) -> None:
    assert (importer, imported) not in findings
