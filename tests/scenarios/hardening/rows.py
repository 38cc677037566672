"""The rows of the hardening table, and the runs that show them.

A row is a scenario of the library up to its fault, followed by steps and expectations of its own (faults.yaml). With
hardening all of them hold; without it at least one does not.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
from ruamel.yaml import YAML

from kcsim.scenarios.engine.python_running import RunResult, run
from kcsim.scenarios.language.library import LIBRARY
from kcsim.scenarios.language.scenario_file import load_text
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.yaml_text import yaml_text

FAULTS = Path(__file__).parent / "faults.yaml"

Tree = dict[str, Any]


class HardeningRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row of the table.

    Attributes:
        fault: the scenario of the library.
        kafka, hardened, limit: the cells: what Kafka's controller does, what a hardened one does, what remains.
        steps: how many steps of the scenario's timetable are taken over.
        then: the steps that follow, as in a scenario file.
        expect: what must be true in the end.
        topics: further topics of the cluster.
        invariants: as in a scenario file; all if not given.
    """

    fault: str
    kafka: str
    hardened: str
    limit: str
    steps: int
    then: list[Tree]
    expect: list[Tree]
    topics: Tree = {}
    invariants: Any = None

    def scenario(self, is_hardened: bool) -> Scenario:
        """Return the scenario that shows the row."""
        tree = YAML(typ="safe").load((LIBRARY / f"{self.fault}.yaml").read_text(encoding="utf-8"))
        cluster: Tree = tree["cluster"]
        cluster["topics"] = {**cluster.get("topics", {}), **self.topics}
        if is_hardened:
            cluster["hardening"] = "on"
        tree["timetable"] = [*tree["timetable"][: self.steps], *self.then]
        tree["expect"] = self.expect
        tree.pop("invariants", None)
        if self.invariants is not None:
            tree["invariants"] = self.invariants
        return load_text(yaml_text(tree), f"{self.fault}.yaml").scenario


def run_row(row: HardeningRow, is_hardened: bool) -> RunResult:
    """Run the scenario of a row in virtual time."""
    return run(row.scenario(is_hardened))


def _rows() -> Mapping[str, HardeningRow]:
    rows = msgspec.convert(YAML(typ="safe").load(FAULTS.read_text(encoding="utf-8")), list[HardeningRow])
    return MappingProxyType({row.fault: row for row in rows})


ROWS = _rows()
"""Scenario of the library -> its row."""
