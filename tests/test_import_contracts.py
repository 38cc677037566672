"""The import contracts of pyproject.toml catch the imports that they claim to catch.

A contract that names a module which has since moved is always kept and detects nothing. These tests therefore build a small
project in which each rule is broken once and each exception is used once, and check what the linter reports.
"""

import ast
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import grimp
import networkx as nx
import pytest

ROOT = Path(__file__).parents[1]

LAYERS = ("zk", "controller", "brokers", "scenarios")
"""The layers above the base, lowest first."""

FORBIDDEN = [
    ("kcsim.text", "kcsim.znodes.paths"),
    ("kcsim.znodes.paths", "kcsim.eventlog.events"),
    ("kcsim.eventlog.events", "kcsim.zk.ports"),
    ("kcsim.zk.kafka.kafka_zk", "kcsim.zk.live"),
    ("kcsim.zk.files.snapshot", "kcsim.zk.kafka.kafka_zk"),
    ("kcsim.controller.context", "kcsim.controller.kafka_controller"),
    ("kcsim.brokers.log.disk", "kcsim.brokers.replication.isr"),
    ("kcsim.scenarios.engine.runner", "kcsim.scenarios.views.narration"),
    ("kcsim.scenarios.language.steps", "kcsim.scenarios.engine.runner"),
    ("kcsim.znodes", "kcsim.controller.context"),
    ("kcsim.znodes", "kcsim.brokers.broker"),
    ("kcsim.controller.context", "kcsim.brokers.cluster.cluster"),
    ("kcsim.controller.context", "kcsim.brokers.broker"),
    ("kcsim.brokers.broker", "kcsim.brokers.cluster.cluster"),
    ("kcsim.brokers.broker", "simpy"),
    ("kcsim.brokers.broker", "asyncio"),
    ("kcsim.brokers.apache_kafka.broker_process", "subprocess"),
    ("kcsim.runtime.wallclock", "simpy"),
    ("kcsim.controller.handlers.topics", "asyncio"),
    ("kcsim.runtime.simulated", "asyncio"),
    ("kcsim.zk.memory.client", "asyncio"),
    ("kcsim.zk.kafka.kafka_zk", "kazoo"),
    ("kcsim.brokers.request_handlers", "kio"),
    ("kcsim.zk.servers.external", "kazoo"),
    ("kcsim.zk.proxy.connection", "kazoo"),
    ("kcsim.zk.proxy.frames", "asyncio"),
    ("kcsim.zk.proxy.proxy", "time"),
    ("kcsim.zk.servers.embedded", "docker"),
    ("kcsim.zk.servers.embedded", "pyspark"),
    ("kcsim.eventlog.event_log", "pyspark"),
    ("kcsim.scenarios.analysis.analyses.health", "pyspark"),
    ("kcsim.scenarios.analysis.report.gathering", "pyspark"),
    ("kcsim.scenarios.analysis.engines.duckdb.frame", "pyspark"),
    ("kcsim.scenarios.analysis.engines.spark_engine", "duckdb"),
    ("kcsim.scenarios.analysis.analyses.health", "duckdb"),
    ("kcsim.controller.context", "time"),
    ("kcsim.brokers.broker", "threading"),
    ("kcsim.brokers.broker", "socket"),
    ("kcsim.eventlog.event_log", "subprocess"),
    ("kcsim.eventlog.event_log", "signal"),
    ("kcsim.scenarios.cli.up_cluster.control_commands", "asyncio"),
    ("kcsim.scenarios.cli.up_cluster.control_commands", "socket"),
    ("kcsim.scenarios.cli.up_cluster.control", "asyncio"),
    ("kcsim.scenarios.cli.up_cluster.control", "threading"),
    ("kcsim.controller.decisions", "kcsim.zk.ports"),
    ("kcsim.controller.decisions.leader_election", "kcsim.zk.ports"),
    ("kcsim.controller.decisions.leader_election", "kcsim.controller.context"),
    ("kcsim.controller.decisions.leader_election", "random"),
    ("kcsim.controller.decisions.leader_election", "logging"),
    ("kcsim.zk.memory.tree", "random"),
    ("kcsim.zk.memory.server", "time"),
    ("kcsim.brokers.broker", "tests"),
    ("kcsim.eventlog.event_log", "pytest"),
    ("kcsim.scenarios.testing.pytest_plugin", "hypothesis"),
    ("kcsim.scenarios.testing.artefacts", "pytest"),
    ("kcsim.scenarios.testing.member", "threading"),
    ("kcsim.scenarios.testing.zookeeper", "kazoo"),
]

ALLOWED = [
    ("kcsim.scenarios.engine.runner", "kcsim.brokers.config"),
    ("kcsim.brokers.config", "kcsim.controller.events"),
    ("kcsim.brokers.apache_kafka.broker_process", "asyncio"),
    ("kcsim.controller.events", "kcsim.zk.operations"),
    ("kcsim.runtime.simulated", "simpy"),
    ("kcsim.runtime.wallclock", "asyncio"),
    ("kcsim.runtime.wallclock", "time"),
    ("kcsim.brokers.cluster.live_environment", "time"),
    ("kcsim.scenarios.cli.up_cluster.control", "socket"),
    ("kcsim.scenarios.cli.up_cluster.control_server", "asyncio"),
    ("kcsim.scenarios.cli.up_cluster.control_server", "socket"),
    ("kcsim.scenarios.testing.background", "threading"),
    ("kcsim.scenarios.testing.cluster_run", "threading"),
    ("kcsim.scenarios.testing.znodes", "asyncio"),
    ("kcsim.brokers.wire.client_port", "asyncio"),
    ("kcsim.brokers.wire.client_port", "socket"),
    ("kcsim.brokers.wire.frames", "kio"),
    ("kcsim.zk.live", "kazoo"),
    ("kcsim.zk.live.connection", "kazoo"),
    ("kcsim.zk.live.connection", "threading"),
    ("kcsim.zk.proxy.peer", "socket"),
    ("kcsim.zk.proxy.pause_gate", "asyncio"),
    ("kcsim.zk.proxy.threaded", "threading"),
    ("kcsim.zk.servers.container", "docker"),
    ("kcsim.zk.servers.guard", "subprocess"),
    ("kcsim.scenarios.analysis.spark", "pyspark"),
    ("kcsim.scenarios.analysis.engines.spark_engine", "pyspark"),
    ("kcsim.scenarios.analysis.engines.duckdb.reading", "duckdb"),
    ("kcsim.scenarios.cli.spark.engines", "duckdb"),
    ("kcsim.controller.decisions.leader_election", "kcsim.controller.decisions.assignment"),
    ("kcsim.controller.decisions.leader_election", "kcsim.vocabulary"),
    ("kcsim.zk.memory.client", "random"),
    ("kcsim.scenarios.testing.pytest_plugin", "pytest"),
]


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> frozenset[tuple[str, str]]:
    """Return every direct import that the linter reports in the small project: (importer, imported)."""
    house = tmp_path_factory.mktemp("house")
    write_house(house)
    (house / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    linter = str(Path(sys.executable).with_name("lint-imports"))
    done = subprocess.run(
        [linter, "--no-cache"], cwd=house, env={"COLUMNS": "200"}, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return frozenset(re.findall(r"(kcsim[\w.]*) -> ([\w.]+) \(l\.\d+\)", done.stdout))


def write_house(house: Path) -> None:
    imports: dict[str, list[str]] = defaultdict(list)
    for importer, imported in FORBIDDEN + ALLOWED:
        imports[importer].append(imported)
        if imported.startswith("kcsim."):
            imports[imported]  # the module exists, and may import nothing
    for layer in layers():
        imports[layer]  # the linter requires each to exist
    packages = {parent for module in imports for parent in parents(module)}
    for module in packages | imports.keys():
        place = house.joinpath(*module.split("."))
        path = place / "__init__.py" if module in packages else place.with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"import {imported}\n" for imported in imports[module]))


def layers() -> Iterator[str]:
    """Return every module that a layers contract names."""
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]:
        for container, row in product(contract.get("containers", ()), contract.get("layers", ())):
            yield from (f"{container}.{name}" for name in re.split(r" [|:] ", row))


def parents(module: str) -> list[str]:
    """Return the parents of a module: `a.b.c` lies in `a.b` and in `a`."""
    parts = module.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts))]


@pytest.mark.parametrize(("importer", "imported"), FORBIDDEN)
def test_what_the_house_forbids_is_found(importer: str, imported: str, findings: frozenset[tuple[str, str]]) -> None:
    assert (importer, imported) in findings


@pytest.mark.parametrize(("importer", "imported"), ALLOWED)
def test_what_the_house_allows_is_let_pass(importer: str, imported: str, findings: frozenset[tuple[str, str]]) -> None:
    assert (importer, imported) not in findings


# --- rules that no contract of the linter covers


def test_no_folders_and_files_beside_each_other_import_each_other_in_a_circle() -> None:
    """Two packages that import each other are one package: neither can be understood, tested or moved without the other."""
    graph = grimp.build_graph("kcsim", exclude_type_checking_imports=True, cache_dir=None)
    circles = []
    for room in sorted(module for module in graph.modules if graph.find_children(module)):
        beside = nx.DiGraph()
        for importer, imported in product(graph.find_descendants(room), repeat=2):
            ends = [module.removeprefix(f"{room}.").partition(".")[0] for module in (importer, imported)]
            if ends[0] != ends[1] and graph.direct_import_exists(importer=importer, imported=imported):
                beside.add_edge(*ends)
        circles += [(room, sorted(found)) for found in nx.strongly_connected_components(beside) if len(found) > 1]
    assert circles == []


def test_files_of_a_lower_layer_import_nothing_from_a_higher_one() -> None:
    upward = []
    for layer in ("", *LAYERS):
        above = LAYERS[LAYERS.index(layer) + 1 :] if layer else LAYERS
        for test in files_of(layer):
            imported = {name.split(".")[1] for name in imported_by(test) if name.startswith(("kcsim.", "tests."))}
            upward += [(str(test.relative_to(ROOT)), higher) for higher in above if higher in imported]
    assert upward == []


def files_of(layer: str) -> Iterator[Path]:
    """Return the test files of one layer, or those of the base."""
    folders = [layer] if layer else ["eventlog", "runtime", "znodes"]
    return (file for folder in folders for file in sorted((ROOT / "tests" / folder).rglob("*.py")))


def imported_by(file: Path) -> set[str]:
    """Return the names that a file imports, each with its module."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found
