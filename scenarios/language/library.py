"""The library of scenarios that come with the simulator: their names, and what each shows.

Apart from scenario_file.py, so that a list of the library does not import the models of scenarios.
"""

from pathlib import Path
from typing import Any, NamedTuple

LIBRARY = Path(__file__).parent.parent / "library"


def library_names() -> list[str]:
    """Return the names of the scenarios that come with the simulator, sorted."""
    return sorted(path.stem for path in LIBRARY.glob("*.yaml"))


def library_file(name: str) -> Path:
    """Return the path of a scenario that comes with the simulator."""
    return LIBRARY / f"{name}.yaml"


class LibraryEntry(NamedTuple):
    """What a list of the library says about a scenario: how many brokers and ZooKeeper servers it has, and what it shows."""

    name: str
    description: str
    brokers: int
    zookeepers: int


def library_entries() -> list[LibraryEntry]:
    """Return an entry for each scenario that comes with the simulator, sorted by name.

    Only the part of each file before its timetable is read: validating all files takes seconds.
    """
    from ruamel.yaml import YAML

    return [_entry(YAML(typ="safe").load(_head(library_file(name)))) for name in library_names()]


def _head(path: Path) -> str:
    return path.read_text(encoding="utf-8").partition("\ntimetable:")[0]


def _entry(head: dict[str, Any]) -> LibraryEntry:
    brokers = head["cluster"]["brokers"]
    count = brokers if isinstance(brokers, int) else len(brokers)
    return LibraryEntry(head["name"], head["description"], count, head.get("zookeeper", {}).get("members", 1))
