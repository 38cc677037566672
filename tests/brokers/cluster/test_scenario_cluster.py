"""A scenario runs on every cluster through the same Protocol."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PRODUCT = ("kcsim", "zk", "controller", "brokers", "scenarios")
CLUSTERS = {"Cluster", "ProcessCluster", "ScenarioCluster", "SimulatedBrokers"}


def requested_kinds(node: ast.AST) -> set[str]:
    """Return the classes of clusters that an isinstance or a match asks for."""
    match node:
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, kinds]) | ast.MatchClass(cls=kinds):
            return CLUSTERS & set(re.findall(r"\w+", ast.unparse(kinds)))
    return set()


def test_nothing_asks_for_the_kind_of_a_cluster() -> None:
    """A cluster says what it can do (`simulated`, `is_seen_from_outside`): a third kind then needs no change elsewhere."""
    found = {}
    for file in (file for folder in PRODUCT for file in sorted((ROOT / folder).rglob("*.py"))):
        if kinds := {kind for node in ast.walk(ast.parse(file.read_text())) for kind in requested_kinds(node)}:
            found[str(file.relative_to(ROOT))] = kinds
    assert found == {}
