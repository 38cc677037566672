"""What is kept of a test that failed: files in a directory of its own, and what its report says of them."""

import hashlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path

LONGEST_NAME = 100
IGNORE_ALL = "# Made by kcsim's pytest plugin.\n*\n"
TOLD_LINES = 25
"""So many of the last lines of a timeline stand in the report of a test."""

TIMELINE, TRACE, ZOOKEEPER_LOG = "timeline.txt", "trace.jsonl", "zookeeper-log.txt"

Write = Callable[[Path], None]
"""Writes files into a directory."""


class Artefacts:
    """What one test could leave behind. Who serves the test offers to write; nothing is written before `collect`.

    Attributes:
        directory: does not exist unless something was collected.
        notes: said to whoever wants to see it again.
        keeps_data: whether the data directories of servers are wanted, too.
    """

    def __init__(self, root: Path, test: str, keeps_data: bool = False) -> None:
        """Prepare for a test; what an earlier run of it left is removed."""
        self.keeps_data = keeps_data
        self.directory = root / directory_name(test)
        self.notes: list[str] = []
        self._root = root
        self._offers: list[Write] = []
        self._is_collected = False
        if self.directory.is_dir():
            shutil.rmtree(self.directory)

    def offer(self, write: Write) -> None:
        """If the artefacts are wanted, let this write some of them."""
        self._offers.append(write)

    def collect(self) -> list[str]:
        """Write everything, once, and return what a report says of it; nothing if there is nothing."""
        if self._is_collected or not self._offers:
            return []
        self._is_collected = True
        self.directory.mkdir(parents=True, exist_ok=True)
        if not (ignored := self._root / ".gitignore").exists():
            ignored.write_text(IGNORE_ALL)
        problems = [problem for write in self._offers if (problem := self._written(write)) is not None]
        if self.notes:
            (self.directory / "repro.txt").write_text("".join(f"{note}\n" for note in self.notes))
        names = sorted(str(path.relative_to(self.directory)) for path in self.directory.rglob("*") if path.is_file())
        told = [f"artefacts: {shown(self.directory)}", *(f"  {name}" for name in names), *problems]
        return [*told, *(f"again: {note}" for note in self.notes), *self._end_of_timeline()]

    def _written(self, write: Write) -> str | None:
        try:
            write(self.directory)
        except Exception as error:  # whatever it is, it must not take the place of the test's own failure
            return f"  (not all could be kept: {type(error).__name__}: {error})"
        return None

    def _end_of_timeline(self) -> list[str]:
        told: list[str] = []
        for timeline in sorted(self.directory.glob("timeline*.txt")):
            if lines := timeline.read_text(encoding="utf-8").splitlines():
                which = f"the last {TOLD_LINES} lines of" if len(lines) > TOLD_LINES else "all of"
                told += [f"{which} {timeline.name}:", *(f"  {line}" for line in lines[-TOLD_LINES:])]
        return told


def shown(path: Path) -> str:
    """A path as its reader would write it: from where they are, if it is below that."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def unused(directory: Path, name: str) -> Path:
    """A file of this name, or the first of name-2, name-3, … that is not there: a test may have several of everything."""
    path, number = directory / name, 1
    while path.exists():
        number += 1
        path = (directory / name).with_stem(f"{Path(name).stem}-{number}")
    return path


def directory_name(test: str) -> str:
    """A name for a test's directory that every file system takes, and no other test has."""
    plain = re.sub(r"[^\w.\[\]]+", "-", test).strip("-")
    return f"{plain[:LONGEST_NAME]}-{hashlib.sha256(test.encode()).hexdigest()[:6]}"
